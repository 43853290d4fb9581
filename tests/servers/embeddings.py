"""A server of embeddings, which answers from words and may misbehave.

    with embedding_server() as server:
        settings = {"url": server.url, "model": "tiny", "allow_private": True}
        server.misbehaves(Fault.NAN)
        server.misbehaves(None)
        assert server.texts == ["the first text that came", ...]

Its vectors count words by their hash: texts with the same words have near vectors. `model` may
give others, as `tests.servers.minilm` does.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from tests.servers import bombs
from tests.servers.bombs import ENDLESS
from tests.servers.web import Answer, Asked, MisbehavingServer, misbehaving_server

LENGTH = 64

Model = Callable[[Sequence[str]], Sequence[Sequence[float]]]


class Fault(StrEnum):
    SLOW = "an answer that comes in pieces, with pauses"
    NEVER = "no answer"
    OTHER_LENGTH = "vectors of another length"
    MIXED_LENGTHS = "a vector of another length than the first"
    FEWER = "fewer vectors"
    MORE = "more vectors"
    TWICE = "two vectors with one number"
    NAN = "NaN, which is no JSON"
    INFINITE = "a number that no double can hold"
    ZEROS = "a vector of zeros"
    WORDS = "words for numbers"
    DEEP = "lists in lists, a hundred thousand deep"
    HTML = "a page of HTML with status 200"
    EMPTY = "no byte"
    HALF = "half of the answer"
    CUT = "the answer, on a connection that ends before it should"
    MOVED = "a redirect to another server"
    LATER = "429 with Retry-After"
    UNKNOWN_KEY = "401"
    BROKEN = "500"
    REFUSED = "400 for a text that is too long"
    ENDLESS = "an answer without an end"
    PACKED = "a gigabyte in a megabyte"
    PACKED_TWICE = "a gigabyte in ten kilobytes, compressed twice"
    PACKED_SECRETLY = "the same, by a header compressed once"
    PACKED_WITHOUT_END = "compressed blocks of nothing without an end"


def count_words(texts: Sequence[str]) -> list[list[float]]:
    """Return how often each text has the words of each place."""
    rows = []
    for text in texts:
        row = [0.01] * LENGTH
        for word in text.casefold().split():
            row[zlib.crc32(word.strip(".,:").encode()) % LENGTH] += 1.0
        rows.append(row)
    return rows


class EmbeddingServer:
    """`texts` are those that were sent, `keys` the keys, `refuses` says which texts are refused."""

    def __init__(self, web: MisbehavingServer, model: Model) -> None:
        self.web = web
        self.url = web.url("/v1")
        self.model = model
        self.texts: list[str] = []
        self.models: list[str] = []
        self.keys: list[str] = []
        self.refuses: Callable[[str], bool] = lambda text: False
        self._fault: Fault | None = None
        web.decides("/v1/embeddings", self._answer)

    @property
    def requests(self) -> int:
        return len(self.web.requests)

    def misbehaves(self, fault: Fault | None) -> None:
        self._fault = fault

    def _answer(self, asked: Asked) -> Answer:
        question = json.loads(asked.body)
        assert asked.method == "POST" and asked.headers["content-type"] == "application/json"
        texts = question["input"]
        self.texts += texts
        self.models.append(question["model"])
        self.keys.append(asked.headers.get("authorization", ""))
        if any(map(self.refuses, texts)):
            return Answer(400, b'{"error": {"message": "input is too long"}}')
        rows = [[float(number) for number in row] for row in self.model(texts)]
        return _misbehaving(self._fault, rows) if self._fault else Answer(body=_body(rows))


def _misbehaving(fault: Fault, rows: list[list[float]]) -> Answer:
    body = _body(rows)
    match fault:
        case Fault.SLOW:
            return Answer(body=body, piece=1)
        case Fault.NEVER:
            return Answer(hang=True)
        case Fault.OTHER_LENGTH:
            return Answer(body=_body([row[:-1] for row in rows]))
        case Fault.MIXED_LENGTHS:
            return Answer(body=_body([*rows[:-1], rows[-1][:-1]]))
        case Fault.FEWER:
            return Answer(body=_body(rows[:-1]))
        case Fault.MORE:
            return Answer(body=_body([*rows, rows[0]]))
        case Fault.TWICE:
            return Answer(body=body.replace(b'"index": 0', b'"index": 1'))
        case Fault.NAN:
            return Answer(body=_body([[float("nan"), *row[1:]] for row in rows]))
        case Fault.INFINITE:
            return Answer(body=body.replace(b"0.01", b"1e999"))
        case Fault.ZEROS:
            return Answer(body=_body([[0.0] * len(row) for row in rows]))
        case Fault.WORDS:
            return Answer(body=body.replace(b"0.01", b'"near"'))
        case Fault.DEEP:
            return Answer(body=b'{"usage": ' + b"[" * 100_000)
        case Fault.HTML:
            return Answer(body=b"<html><body>Sign in</body></html>")
        case Fault.EMPTY:
            return Answer(body=b"")
        case Fault.HALF:
            return Answer(body=body[: len(body) // 2])
        case Fault.CUT:
            return Answer(body=body, length=len(body) + 1)
        case Fault.MOVED:
            return Answer(307, headers={"Location": "http://127.0.0.1/v1/embeddings"})
        case Fault.LATER:
            return Answer(429, headers={"Retry-After": "7200"})
        case Fault.UNKNOWN_KEY:
            return Answer(401, b'{"error": {"message": "wrong key"}}')
        case Fault.BROKEN:
            return Answer(500)
        case Fault.REFUSED:
            return Answer(400, b'{"error": {"message": "input is too long"}}')
        case Fault.ENDLESS:
            return Answer(body=b" " * (1 << 25), length=ENDLESS)
        case Fault.PACKED:
            return bombs.packed()
        case Fault.PACKED_TWICE:
            return bombs.packed_twice()
        case Fault.PACKED_SECRETLY:
            return bombs.packed_secretly()
        case Fault.PACKED_WITHOUT_END:
            return bombs.packed_without_end()


def _body(rows: Sequence[Sequence[float]]) -> bytes:
    """Return an answer in the reverse order, as a server may that works on several texts."""
    data: list[Mapping[str, Any]] = [
        {"object": "embedding", "index": at, "embedding": list(row)} for at, row in enumerate(rows)
    ]
    return json.dumps({"object": "list", "data": data[::-1], "usage": {}}).encode()


@contextmanager
def embedding_server(model: Model = count_words) -> Iterator[EmbeddingServer]:
    with misbehaving_server() as web:
        yield EmbeddingServer(web, model)
