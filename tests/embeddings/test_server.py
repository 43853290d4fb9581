"""What the server of embeddings is sent, and which of its answers count."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from math import isclose
from pathlib import Path

import pytest

from monitor.embeddings import server as module
from monitor.embeddings.server import MOST_NUMBERS, read_vectors
from monitor.embeddings.server import EmbeddingServer as Client
from monitor.embeddings.settings import EmbeddingSettings
from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.servers.embeddings import LENGTH, EmbeddingServer, Fault, embedding_server


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def client(server: EmbeddingServer, tmp_path: Path) -> Client:
    settings = EmbeddingSettings(url=f"{server.url}/", model="tiny", allow_private=True)
    return Client(settings, HttpClient(version="1", gate_dir=tmp_path / "gates"))


def answer(*rows: object) -> bytes:
    return json.dumps({"data": [{"embedding": row} for row in rows]}).encode()


def test_vectors_come_in_the_order_of_the_texts_and_have_length_1(client: Client):
    first, second, again = client.ask(["agents plan", "agents plan", "olives and vines"])
    assert first == second != again
    assert [first] == client.ask(["agents plan"])
    assert isclose(sum(number * number for number in first), 1.0, rel_tol=1e-5)
    assert len(second) == LENGTH


def test_what_is_sent_is_the_model_and_the_texts(server: EmbeddingServer, client: Client):
    client.ask(["agents “plan”"])
    [asked] = server.web.requests
    assert json.loads(asked.body) == {"model": "tiny", "input": ["agents “plan”"]}
    assert (asked.method, asked.target) == ("POST", "/v1/embeddings")
    assert asked.headers["content-type"] == "application/json"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("fault", list(Fault))
def test_an_answer_that_is_not_whole_and_valid_counts_as_none(
    server: EmbeddingServer, client: Client, fault: Fault, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "DEADLINE", timedelta(seconds=1))
    server.misbehaves(fault)
    with pytest.raises(FetchError) as raised:
        client.ask(["agents plan", "olives"], LENGTH)
    statuses = {Fault.BROKEN: 500, Fault.UNKNOWN_KEY: 401, Fault.REFUSED: 400, Fault.LATER: 429}
    assert raised.value.status == statuses.get(fault, 307 if fault is Fault.MOVED else 0)


def test_a_longer_answer_than_its_vectors_can_be_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    assert client.ask(["agents plan"])
    monkeypatch.setattr(module, "MOST_BYTES", 200)
    with pytest.raises(FetchError, match="larger than"):
        client.ask(["agents plan"])


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault.PACKED, "is larger than|over 100 times its size"),
        (Fault.PACKED_SECRETLY, "no JSON|over 100 times its size"),
        (Fault.PACKED_TWICE, "encoded as 'gzip, gzip', which was not requested"),
        (Fault.PACKED_WITHOUT_END, "is larger than 3,145,728 bytes"),
    ],
)
def test_a_bomb_is_refused_with_little_memory_however_it_is_packed(
    server: EmbeddingServer, client: Client, fault: Fault, why: str
):
    server.misbehaves(fault)
    tracemalloc.start()
    try:
        with pytest.raises(FetchError, match=why):
            client.ask(["agents plan"], LENGTH)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64_000_000, "the server of the test has its answer in memory, too"


def test_a_pause_that_is_asked_for_is_named(server: EmbeddingServer, client: Client):
    server.misbehaves(Fault.LATER)
    with pytest.raises(FetchError) as raised:
        client.ask(["agents"])
    assert raised.value.retry_after and raised.value.retry_after > timedelta(hours=1)


def test_a_private_address_has_to_be_allowed(server: EmbeddingServer, tmp_path: Path):
    settings = EmbeddingSettings(url=server.url, model="tiny")
    refused = Client(settings, HttpClient(version="1", gate_dir=tmp_path))
    with pytest.raises(FetchError, match="port other than 80 and 443"):
        refused.ask(["agents"])
    assert server.requests == 0


def test_vectors_without_numbers_are_in_order():
    assert [list(row) for row in read_vectors(answer([3, 4], [0, 2]), 2)] == [
        pytest.approx([0.6, 0.8]),
        [0.0, 1.0],
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"error": "no such model"}',
        answer([]),
        answer([1.0], [1.0]),
        answer([[1.0]]),
        answer([True]),
        answer([1.0] * (MOST_NUMBERS + 1)),
        answer([1e200, 1e200]),
        b'{"data": [{"embedding": [1.0], "index": 7}]}',
        b'{"data": [{"embedding": [1.0], "index": -1}]}',
        b'{"data": [{"embedding": [1e999]}]}',
        b'{"data": [{"embedding": "AACAPw=="}]}',
        b"\xff\xfe",
    ],
)
def test_what_has_no_vector_is_refused(content: bytes):
    with pytest.raises(FetchError):
        read_vectors(content, 1)
