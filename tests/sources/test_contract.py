"""What every kind of source keeps to: `read` always answers with a Reading, whatever it is given.

A kind is added to KINDS with one good document; everything else is asked of all of them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import FetchError
from monitor.http import Door
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.resources import resource
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source, SourceOptions
from monitor.sources.feed import Feed
from monitor.sources.huggingface import HuggingFacePage
from monitor.sources.huggingface_api import HuggingFace
from monitor.sources.oai import Oai
from tests.servers.web import misbehaving_server
from tests.sources import answers, libraries
from tests.sources.scenario import NOW, opened, read

RSS = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>c</title>'
    + b"".join(
        b"<item><title>Paper %d</title><guid>g%d</guid><description>Text %d.</description></item>"
        % (n, n, n)
        for n in range(5)
    )
    + b"</channel></rss>"
)
JSON = b'{"version": "https://jsonfeed.org/version/1.1", "items": [%s]}' % b",".join(
    b'{"id": "%d", "title": "Paper %d", "content_text": "Text."}' % (n, n) for n in range(5)
)
OAI = (
    b'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>'
    + b"".join(
        b"<record><header><identifier>oai:arXiv.org:2505.0000%d</identifier></header><metadata>"
        b'<dc xmlns="http://purl.org/dc/elements/1.1/"><title>Paper %d</title></dc>'
        b"</metadata></record>" % (n, n)
        for n in range(5)
    )
    + b"</ListRecords></OAI-PMH>"
)
SEED = (resource("seeds") / "000_431663cd178f853b.txt").read_bytes()
PAGE = b"\n\n".join(SEED.split(b"\n\n")[:15])
KINDS: list[tuple[type[Source], bytes]] = [
    (HuggingFacePage, PAGE),
    (Feed, RSS),
    (Feed, JSON),
    (Arxiv, RSS),
    (Arxiv, OAI),
    (Oai, OAI),
    *answers.KINDS,
    *libraries.KINDS,
]
NOTHING_NEW: dict[type[Source], list[bytes]] = {
    HuggingFace: [b"[]"]
}  # answers that say so, and are no failure
HOSTILE = [
    b"",
    b" \n\t ",
    b"\x00" * 1000,
    bytes(range(256)) * 20,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    gzip.compress(PAGE),
    b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>",
    b"<html><head><title>Rate exceeded</title></head></html>",
    b"Rate exceeded.",
    b'{"error": "rate limited"}',
    b"[]",
    b"null",
    b"{" * 100_000,
    b"[" * 100_000,
    b'{"items": [1, null, [], {"title": null}, {"title": {"a": 1}}, "x"]}',
    b'{"items": [{"title": "x", "id": ' + b"9" * 10_000 + b"}]}",
    b"<rss>" * 100_000,
    b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss version="2.0">&b;</rss>',
    b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss version="2.0">&x;</rss>',
    b'<?xml version="1.0" encoding="nonsense"?><rss version="2.0"/>',
    b'<rss version="2.0"><channel><item><title>' + b"<div>" * 20_000,
    b"agents" * 50_000 + b".",
    b"short line\n" * 100_000,
    b"\n\n".join([b"A Title That Stands Alone"] * 2_000),
    b"\n\n".join([b"An abstract. It has sentences. " * 20] * 500),
]

every_kind = pytest.mark.parametrize(
    ("kind", "good"), KINDS, ids=[f"{kind.kind}-{n}" for n, (kind, _) in enumerate(KINDS)]
)


def keeps_the_contract(reading: Reading) -> None:
    assert isinstance(reading, Reading)
    assert all(isinstance(paper, Paper) and paper.title.strip() for paper in reading.papers)
    assert all(isinstance(r, Rejected) and r.where and r.why for r in reading.rejected)
    assert not (reading.error and reading.complete)
    for paper in reading.papers:
        assert paper.url == "" or paper.url.startswith(("http://", "https://"))
        assert not any(c < " " for text in (paper.title, paper.abstract) for c in text)
        for at in (paper.published, paper.updated, paper.announced):
            assert at is None or at.utcoffset() is not None


@every_kind
def test_a_good_document_is_read_whole(kind: type[Source], good: bytes) -> None:
    reading = read(kind, good)
    assert len(reading.papers) == 5 and reading.rejected == ()
    assert reading.complete and not reading.error


@every_kind
def test_reading_is_pure(kind: type[Source], good: bytes) -> None:
    source = opened(kind)
    document = Document("page", good, NOW)
    assert source.read(document) == source.read(document)


@every_kind
@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_F01_F06_hostile_documents_are_told_never_raised(
    kind: type[Source], good: bytes, content: bytes
) -> None:
    reading = read(kind, content)
    keeps_the_contract(reading)
    silent = not (reading.error or reading.papers) and reading.complete
    assert not silent or content in NOTHING_NEW.get(kind, ())


@every_kind
@given(content=st.binary(max_size=400))
@settings(deadline=None)
def test_any_bytes_give_a_reading(kind: type[Source], good: bytes, content: bytes) -> None:
    keeps_the_contract(read(kind, content))


@every_kind
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_F02_a_document_cut_anywhere_gives_a_reading(
    kind: type[Source], good: bytes, data: st.DataObject
) -> None:
    end = data.draw(st.integers(0, len(good) - 1))
    reading = read(kind, good[:end])
    keeps_the_contract(reading)
    whole = read(kind, good).papers
    finished = reading.papers[:-1]
    assert finished == whole[: len(finished)]


@every_kind
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_broken_bytes_anywhere_give_a_reading(
    kind: type[Source], good: bytes, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(good)))
    keeps_the_contract(read(kind, good[:place] + data.draw(st.binary(max_size=20)) + good[place:]))


@every_kind
def test_a_kind_says_what_its_first_reading_is_worth(kind: type[Source], good: bytes) -> None:
    assert isinstance(kind.default_first_run, FirstRun)
    assert isinstance(kind.dated, bool) and kind.kind
    assert issubclass(kind.Options, SourceOptions)


# ── finding documents, by path and by URL ───────────────────────────────────────────


@every_kind
def test_files_are_found_in_name_order_and_read_late(
    kind: type[Source], good: bytes, tmp_path: Path
) -> None:
    for name in ("b.txt", "a.txt", "c.dat", ".hidden.txt"):
        (tmp_path / name).write_bytes(good)
    source = kind("daily", SourceOptions(path=str(tmp_path / "*.txt")), None, lambda: NOW)
    first, second = source.find({})
    assert (first.name, second.name) == ("a.txt", "b.txt")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(FetchError, match=r"cannot read .*a\.txt: No such file"):
        first.load()
    document = second.load()
    assert document is not None and document.content == good


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    door = Door(version="1", gate_dir=tmp_path / "gates")
    yield door
    door.close()


@every_kind
def test_a_page_is_fetched_with_its_validators(kind: type[Source], good: bytes, door: Door) -> None:
    with misbehaving_server() as web:
        web.answers("/list?key=hush", body=good, headers={"ETag": '"2"'})
        options = SourceOptions(url=web.url("/list?key=hush"), allow_private=True)
        (found,) = kind("daily", options, door, lambda: NOW).find({"etag": '"1"'})
        document = found.load()
        assert document is not None
        assert document.content == good and document.at == NOW
        assert document.validators == {"etag": '"2"'}
        assert "hush" not in found.name + document.name
        assert web.requests[0].headers["if-none-match"] == '"1"'
        web.answers("/list?key=hush", status=304)
        assert found.load() is None


@every_kind
def test_a_page_that_cannot_be_had_is_a_failure_of_its_document(
    kind: type[Source], good: bytes, door: Door
) -> None:
    with misbehaving_server() as web:
        options = SourceOptions(url=web.url("/gone?list=1"), allow_private=True)
        (found,) = kind("daily", options, door, lambda: NOW).find({})
        with pytest.raises(FetchError, match="404"):
            found.load()


def test_sources_may_be_read_at_the_same_time() -> None:
    readings: list[Reading] = []
    threads = [Thread(target=lambda: readings.append(read(Feed, RSS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(readings) == 8 and all(r == readings[0] for r in readings)
