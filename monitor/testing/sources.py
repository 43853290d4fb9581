"""The contract of every source as tests: docs/contributing.md has an example."""

from __future__ import annotations

import gzip
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.base import Source, SourceOptions

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
PLACES = 40  # at which a document is cut, or broken
HOSTILE = [
    b"",
    b" \n\t ",
    b"\x00" * 1000,
    bytes(range(256)) * 20,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    gzip.compress(b"A title.\n\nA text. It has sentences.\n\n" * 50),
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
_NASTY = (b"\x00", b"\xff\xfe\x80", b"<", b"&#0;", b"]]>", b'"', b"\\", b"{[", b"\n\n\n")


def keeps_the_contract(reading: Reading) -> None:
    """Assert what holds of every reading, whatever was read."""
    assert isinstance(reading, Reading)
    assert all(isinstance(paper, Paper) and paper.title.strip() for paper in reading.papers)
    assert all(isinstance(r, Rejected) and r.where and r.why for r in reading.rejected)
    assert not (reading.error and reading.complete)
    for paper in reading.papers:
        assert paper.url == "" or paper.url.startswith(("http://", "https://"))
        assert not any(c < " " for text in (paper.title, paper.abstract) for c in text)
        for at in (paper.published, paper.updated, paper.announced):
            assert at is None or at.utcoffset() is not None


class SourceContract:
    """The contract of a kind of source. A class derived from it names it and one good document.

    `papers` says how many papers the good document holds, all of them whole. `nothing_new` are
    those of HOSTILE that this kind's service answers when it has nothing to say.
    """

    kind: ClassVar[type[Source]]
    good: ClassVar[bytes]
    papers: ClassVar[int]
    nothing_new: ClassVar[tuple[bytes, ...]] = ()

    def read(self, content: bytes) -> Reading:
        source = self.kind("daily", self.kind.Options(path="dumps/*"), None, lambda: NOW)
        return source.read(Document("page", content, NOW))

    def test_a_good_document_is_read_whole(self) -> None:
        reading = self.read(self.good)
        keeps_the_contract(reading)
        assert len(reading.papers) == self.papers and reading.rejected == ()
        assert reading.complete and not reading.error

    def test_reading_is_pure(self) -> None:
        assert self.read(self.good) == self.read(self.good)

    @pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
    def test_F01_F06_hostile_documents_are_reported_never_raised(self, content: bytes) -> None:
        reading = self.read(content)
        keeps_the_contract(reading)
        silent = not (reading.error or reading.papers) and reading.complete
        assert not silent or content in self.nothing_new

    def test_any_bytes_give_a_reading(self) -> None:
        dice = random.Random(0)
        for size in range(0, 400, 400 // PLACES):
            keeps_the_contract(self.read(dice.randbytes(size)))

    def test_F02_a_document_cut_anywhere_gives_what_was_whole(self) -> None:
        whole = self.read(self.good).papers
        for end in self._places():
            reading = self.read(self.good[:end])
            keeps_the_contract(reading)
            finished = reading.papers[:-1]
            assert finished == whole[: len(finished)]

    def test_broken_bytes_anywhere_give_a_reading(self) -> None:
        for number, at in enumerate(self._places()):
            nasty = _NASTY[number % len(_NASTY)]
            keeps_the_contract(self.read(self.good[:at] + nasty + self.good[at:]))

    def test_a_kind_says_what_its_first_reading_is_worth(self) -> None:
        assert isinstance(self.kind.default_first_run, FirstRun)
        assert isinstance(self.kind.dated, bool) and self.kind.kind
        assert issubclass(self.kind.Options, SourceOptions)

    def test_files_are_found_in_name_order_and_read_late(self, tmp_path: Path) -> None:
        for name in ("b.txt", "a.txt", "c.dat", ".hidden.txt"):
            (tmp_path / name).write_bytes(self.good)
        source = self.kind("daily", self.kind.Options(path=f"{tmp_path}/*.txt"), None, lambda: NOW)
        first, second = source.find({})
        assert (first.name, second.name) == ("a.txt", "b.txt")
        (tmp_path / "a.txt").unlink()
        with pytest.raises(FetchError, match=r"cannot read .*a\.txt: No such file"):
            first.load()
        document = second.load()
        assert document is not None and document.content == self.good

    def test_a_page_is_fetched_with_its_validators(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = http_client(tmp_path, monkeypatch)
        with _serving(self.good) as (page, etags):
            options = self.kind.Options(url=f"{page}?verb=list&key=hush", allow_private=True)
            (listed,) = self.kind("daily", options, client, lambda: NOW).find({"etag": '"1"'})
            document = listed.load()
            assert document is not None
            assert document.content == self.good and document.at == NOW
            assert document.validators == {"etag": '"2"'}
            assert "hush" not in listed.name + document.name
            assert etags == ['"1"']
            (again,) = self.kind("daily", options, client, lambda: NOW).find({"etag": '"2"'})
            assert again.load() is None

    def test_a_page_that_cannot_be_had_is_a_failure_of_its_document(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = http_client(tmp_path, monkeypatch)
        with _serving(b"") as (page, _):
            options = self.kind.Options(url=f"{page}?verb=gone", allow_private=True)
            (listed,) = self.kind("daily", options, client, lambda: NOW).find({})
            with pytest.raises(FetchError, match="404"):
                listed.load()

    def _places(self) -> range:
        return range(0, len(self.good), max(1, len(self.good) // PLACES))


def http_client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> HttpClient:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return HttpClient(version="1", gate_dir=folder / "gates")


@contextmanager
def _serving(page: bytes) -> Iterator[tuple[str, list[str]]]:
    """Serve a page whose ETag is "2" (an empty one is gone), and list the ETags asked with."""
    etags: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            etags.append(self.headers.get("If-None-Match", ""))
            body = page if etags[-1] != '"2"' else b""
            self.send_response(200 if body else 304 if page else 404)
            self.send_header("ETag", '"2"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/list", etags
        server.shutdown()
