"""Kind `feed`: RSS, RDF, Atom and JSON Feed.

bytes ── begins with { or [ ──> json_feed ────┐
      └─ XML ──> xml_feed (feedparser) ───────┴──> Entry ──> Paper or Rejected
"""

from __future__ import annotations

from datetime import datetime

from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.base import Source, failure
from monitor.sources.feed.entry import FeedEntries, paper
from monitor.sources.feed.json_feed import read_json
from monitor.sources.feed.xml_feed import read_xml

MAX_BYTES = 64 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Feed(Source):
    """Reads feeds. What an entry says it was published on counts as its announcement.

    `updated` never does: scrapers and feed builders write the time of their own run there.
    """

    kind = "feed"
    repeats = True

    def read(self, document: Document) -> Reading:
        """Read all entries; the reading is incomplete when the document is cut or ill-formed."""
        content = document.content.removeprefix(_BYTE_ORDER_MARK)
        if not content.strip():
            return failure("the document is empty")
        if len(content) > MAX_BYTES:
            return failure(f"the document is larger than {MAX_BYTES:,} bytes")
        if content.lstrip()[:1] in (b"{", b"["):
            feed = read_json(content)
        else:
            feed = read_xml(content, document.url, document.content_type)
        return _read_entries(feed, document.url or feed.home, self._clock())


def _read_entries(feed: FeedEntries, base: str, now: datetime) -> Reading:
    papers: list[Paper] = []
    rejected: list[Rejected] = []
    for number, entry in enumerate(feed.entries, start=1):
        result = entry if isinstance(entry, str) else paper(entry, base, now)
        if isinstance(result, Paper):
            papers.append(result)
        else:
            rejected.append(Rejected(f"entry {number}", result))
    error = feed.error
    if not error and rejected and not papers:
        error = f"no entry is a paper: {rejected[0].why}"
    return Reading(tuple(papers), tuple(rejected), error, complete=feed.complete and not error)
