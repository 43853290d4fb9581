"""What every kind of source keeps to: `read` always answers with a Reading, whatever it is given.

A kind is added to KINDS with one good document; everything else is asked of all of them: the
suite that kinds of other packages pass (`monitor.testing`), and what the sandbox adds.
"""

from __future__ import annotations

from threading import Thread

import pytest

from monitor.model import Document, Reading
from monitor.resources import resource
from monitor.sources import sandbox
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface import HuggingFace
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.semanticscholar import SemanticScholar
from monitor.testing import SourceContract
from tests.patience import PATIENCE
from tests.sources import answers, dumps, libraries
from tests.sources.scenario import NOW, opened, read
from tests.sources.test_oai import oai, records

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
OAI = oai(records(*(f"Paper {n}" for n in range(5))))
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
    *dumps.KINDS,
]
NOTHING_NEW: dict[type[Source], tuple[bytes, ...]] = {
    HuggingFace: (b"[]",),
    Jsonl: (b"[]",),
}  # answers that say so, and are no failure
every_kind = pytest.mark.parametrize(
    ("kind", "good"), KINDS, ids=[f"{kind.kind}-{n}" for n, (kind, _) in enumerate(KINDS)]
)


for _number, (_kind, _good) in enumerate(KINDS):
    _name = f"Test{_kind.__name__}{_number}"
    _members = {
        "kind": _kind,
        "good": _good,
        "papers": 5,
        "nothing_new": NOTHING_NEW.get(_kind, ()),
    }
    globals()[_name] = type(_name, (SourceContract,), _members)


@every_kind
@pytest.mark.parametrize("count", [3, 5_000, 200_000])
@pytest.mark.parametrize("at_end", [False, True], ids=["at the beginning", "at the end"])
def test_F13_NUL_bytes_around_a_document_cost_no_record(
    kind: type[Source], good: bytes, count: int, at_end: bool
) -> None:
    """A file whose writer lost its power may end with them, a log that was truncated begin."""
    packed = good.startswith(b"\x1f\x8b")
    if packed and not at_end:
        pytest.skip("nothing writes NUL bytes before a compressed document")
    nulls = b"\0" * count
    reading = read_in_sandbox(kind, good + nulls if at_end else nulls + good)
    assert reading.papers == read(kind, good).papers
    assert reading.complete and not reading.error
    if packed or (kind is Jsonl and (count < 16 or good is dumps.LIST) and at_end):
        return  # padding
    (rejected,) = reading.rejected
    assert f"{count:,} NUL bytes in place of text" in rejected.why
    assert f"byte {len(good) if at_end else 0}" in rejected.where


@every_kind
def test_NUL_bytes_alone_are_an_empty_document(kind: type[Source], good: bytes) -> None:
    assert "empty" in read_in_sandbox(kind, b"\0" * 5_000).error


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (BioRxiv, b'{"messages": [{"status": "no posts found"}], "collection": []}'),
        (Crossref, b'{"status": "ok", "message": {"total-results": 0, "items": []}}'),
        (EuropePmc, b'{"hitCount": 0, "resultList": {"result": []}}'),
        (OpenAlex, b'{"meta": {"count": 0, "next_cursor": null}, "results": []}'),
        (OpenReview, b'{"notes": [], "count": 0}'),
        (SemanticScholar, b'{"total": 0, "offset": 0}'),
        (Oai, oai('<error code="noRecordsMatch">nothing changed</error>')),
        (Oai, oai("<ListRecords><resumptionToken>t</resumptionToken></ListRecords>")),
        (PubMed, b"<?xml version='1.0'?><PubmedArticleSet></PubmedArticleSet>"),
        (Dblp, libraries.dblp_json(range(0), total=0)),
        (Dblp, b'<result><hits total="0"/></result>'),
        (Jsonl, b'{"papers": []}'),
        (Jsonl, b"title,abstract\n"),
    ],
)
def test_F11_an_answer_of_no_records_is_no_failure(kind: type[Source], content: bytes) -> None:
    assert read(kind, content) == Reading()


def read_in_sandbox(kind: type[Source], content: bytes) -> Reading:
    return sandbox.read(opened(kind), Document("page", content, NOW))


def test_sources_may_be_read_at_the_same_time() -> None:
    readings: list[Reading] = []
    threads = [Thread(target=lambda: readings.append(read(Feed, RSS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(readings) == 8 and all(r == readings[0] for r in readings)
