"""Large documents are read by a process that can be killed; small ones are read at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from monitor.errors import DocumentError
from monitor.model import Document
from monitor.sources import sandbox
from monitor.sources.base import Source, failure
from monitor.sources.bibtex import BibTex
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from tests.patience import PATIENCE
from tests.sources.conftest import Service
from tests.sources.greedy import DeadlyApi, Greedy
from tests.sources.scenario import NOW, opened

EVERY_FORM = (BibTex, Feed, HuggingFacePage, Jsonl, PubMed)
FILL = b" " * (sandbox.MAX_BYTES_HERE + 1)


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    sandbox.end()
    yield
    sandbox.end()


def ask(does: bytes, seconds: float = PATIENCE) -> str:
    """Return the title of the one paper that is read of a document."""
    (paper,) = sandbox.read(opened(Greedy), Document("x", does + FILL, NOW), seconds).papers
    return paper.title


def test_small_documents_are_read_here_and_large_ones_are_not() -> None:
    here = f"read by {os.getpid()}"
    assert sandbox.read(opened(Greedy), Document("x", b"", NOW)).papers[0].title == here
    assert ask(b"") != here


@pytest.mark.parametrize(
    ("kind", "content", "name"),
    [
        *[(kind, b"PK\x03\x04\x14" + b"\0" * 99, "ZIP archive: unpack") for kind in EVERY_FORM],
        *[(kind, b"\x89PNG\r\n\x1a\n" + b"\0" * 99, "a picture (PNG)") for kind in EVERY_FORM],
        (HuggingFacePage, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "a PDF"),
        (
            HuggingFacePage,
            b'\n[\n {"title": "Sand"}]',
            "JSON, not the text of a page; the kind jsonl",
        ),
        (
            HuggingFacePage,
            b"<html><body>Papers</body></html>",
            "a web page (HTML), not the text of",
        ),
        (
            HuggingFacePage,
            b"From: <Saved by Blink>\nSubject: Papers",
            "a web page (MHTML), not the",
        ),
        (
            Ris,
            b"<?xml version='1.0'?>\n<rss><channel/></rss>",
            "a feed, not RIS; the kind feed reads",
        ),
        (BibTex, b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "a compressed file, not BibTeX"),
        (BibTex, b"TY  - JOUR\nTI  - Sand\nER  - \n", "RIS, not BibTeX; the kind ris reads"),
        (HuggingFacePage, b"\nPMID- 1\nTI  - Sand\n", "RIS, not the text of a page"),
        (HuggingFacePage, b"@article{sand,\n title={Sand}}", "BibTeX, not the text of a page"),
        (HuggingFacePage, b"From: a@b.org\r\nTo: x,\r\n y\r\nMime-Version: 1.0\r\n", "an e-mail"),
        (HuggingFacePage, b"From - Mon\nReceived: from x\n\nSand\n\nIt flows.\n", "an e-mail"),
    ],
)
def test_a_file_of_another_format_is_called_by_its_name(
    kind: type[Source], content: bytes, name: str
) -> None:
    """Nothing else is said of it: its NUL bytes are not in the place of text."""
    try:
        reading = sandbox.read(opened(kind), Document("x", content, NOW))
    except DocumentError as fault:
        reading = failure(str(fault))
    assert reading.error.startswith("the document is ") and name in reading.error
    assert (reading.papers, reading.rejected) == ((), ())


@pytest.mark.parametrize("header", ["From: Papers of the day", "Issue: 7\nReceived: 3 May"])
def test_a_page_that_begins_like_a_mail_is_read(header: str) -> None:
    page = f"{header}\n\nSand\n\nIt flows through a narrow hole.\n\nMIME-Version: 1\n".encode()
    assert sandbox.read(opened(HuggingFacePage), Document("x", page, NOW)).papers


def test_F06_nothing_of_a_document_is_held_when_the_next_comes() -> None:
    assert len({ask(b"ring ") for _ in range(4)}) == 1


@pytest.mark.parametrize("fill", [b"", FILL], ids=["read here", "read by a worker"])
def test_an_author_whom_a_record_lists_twice_is_one(fill: bytes) -> None:
    names = "Ada Byron; Jane Roe; Ada Byron"
    record = b"TY  - JOUR\nTI  - Sand\nAU  - %b\nER  - \n" % names.encode()
    (paper,) = sandbox.read(opened(Ris), Document("x", record + fill, NOW)).papers
    assert paper.authors == ("Ada Byron", "Jane Roe")


@pytest.mark.parametrize(
    ("does", "seconds", "why", "lives"),
    [
        (b"hang ", 1, "no papers within 1 s", False),
        (b"eat  ", PATIENCE, "more memory", True),
        (b"die  ", PATIENCE, "broke its reader", False),
        (b"raise", PATIENCE, "unexpected KeyError: 'nobody", True),
    ],
)
def test_F06_F12_a_document_that_would_hang_or_break_the_service_is_reported(
    does: bytes, seconds: float, why: str, lives: bool
) -> None:
    worker = ask(b"")
    with pytest.raises(DocumentError, match=why):
        ask(does, seconds)
    assert (ask(b"") == worker) is lives


def test_F06_a_reader_whose_master_is_killed_does_not_go_on_for_ever() -> None:
    """The operating system ends it: nobody is left to do so."""
    assert 0 < int(ask(b"bound")) < 1_000


def test_a_large_document_is_given_its_time_where_nobody_waits_for_it() -> None:
    small, large = (Document("x", bytes(size), NOW) for size in (0, 20 * 1024 * 1024))
    assert sandbox.unattended_seconds(small) == sandbox.SECONDS
    assert sandbox.unattended_seconds(large) > 60


@pytest.mark.parametrize(
    ("does", "why"),
    [(b"raise", "unexpected KeyError"), (b" " * 1_001, "larger than 1,000 bytes")],
)
def test_F12_a_document_that_cannot_be_read_here_is_reported_too(
    does: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Greedy, "max_bytes", 1_000)
    with pytest.raises(DocumentError, match=why):
        sandbox.read(opened(Greedy), Document("x", does, NOW))


def test_F06_one_document_that_is_slow_holds_up_no_other(tmp_path: Path) -> None:
    """It is read until the test lets it come to its end, after the others."""
    os.mkfifo(tmp_path / "end")
    end = os.open(tmp_path / "end", os.O_RDWR)
    slow: list[str] = []
    thread = Thread(target=lambda: slow.append(ask(b"wait " + bytes(tmp_path / "end"))))
    thread.start()
    assert [ask(b"") for _ in range(3)]
    assert slow == []
    os.write(end, b"now\n")
    thread.join(PATIENCE)
    assert len(slow) == 1
    os.close(end)


API_PAGE = b'{"status": "ok", "message": {"total-results": 1, "items": [{"title": ["T"]}]}}'


def test_F06_a_page_of_a_harvest_that_breaks_its_reader_breaks_nothing_else(
    service: Service,
) -> None:
    service.web.answers("*", body=API_PAGE + FILL)
    (page,) = service.open(DeadlyApi, query="roots").find({})
    with pytest.raises(DocumentError, match="broke its reader"):
        page.load()
