"""Queries of arXiv's query API: spans of time, oldest first, each in numbered pages.

https://info.arxiv.org/help/api/user-manual.html: `search_query`, `start`, `max_results`; the
results are sorted, since the pages of unsorted ones overlap. State between runs is `until`.

The spans are those of `windows`. Its pages are not: no page links to the next, so each begins where
the entries read so far end. An empty page in the middle, which elsewhere is the end, is how arXiv
responds when it is busy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from monitor.errors import DocumentError
from monitor.model import Document, Reading
from monitor.sources.base import Found
from monitor.sources.fields.dates import parse_date
from monitor.sources.formats.api.windows import Span, spans

ADDRESS = "https://export.arxiv.org/api/query"
PAGE_SIZE = 200
MAX_RESULTS = 10_000  # of one span
# A paper is listed under the day it was submitted, and appears when it is announced: after a
# weekend, a holiday or a check, days later.
OVERLAP = timedelta(days=7)

_TOTAL = re.compile(rb"<(?:\w{1,20}:)?totalResults[^<>]{0,200}>\s*(\d{1,9})\s*<")


class Search:
    """One run of a query; `page` finds a response by its address, `read` reads it."""

    def __init__(
        self,
        address: str,
        query: str,
        page: Callable[[str], Found],
        read: Callable[[Document], Reading],
    ) -> None:
        self.address, self.query = address, query
        self.page, self.read = page, read

    def find(self, state: Mapping[str, str], now: datetime, overlap: timedelta) -> Iterator[Found]:
        """Find the pages since `state`; a page that fails ends the run, and nothing moves."""
        overlap = max(overlap, OVERLAP)
        until = parse_date(state.get("until", "")) or now
        for span in spans(until, now, overlap, overlap + OVERLAP):
            done = {"until": max(span.end, min(until, now)).isoformat()}
            page = _Page(self, span, 0, 0, state, done)
            yield Found(page.name, page.load)
            while page.whole and page.next < page.total:
                page = _Page(self, span, page.next, page.total, state, done)
                yield Found(page.name, page.load)
            if not page.whole:
                return
            state = done


class _Page:
    """One page; `total` is how many results the pages before it announced."""

    def __init__(
        self,
        search: Search,
        span: Span,
        begin: int,
        total: int,
        state: Mapping[str, str],
        done: Mapping[str, str],
    ) -> None:
        self.search, self.begin, self.total = search, begin, total
        self.state, self.done = state, done
        self.whole = False
        self.next = begin
        first, last = span.days
        when = f"submittedDate:[{first.replace('-', '')}0000 TO {last.replace('-', '')}2359]"
        parameters = {
            "search_query": f"({search.query}) AND {when}",
            "start": begin,
            "max_results": PAGE_SIZE,
            "sortBy": "submittedDate",
            "sortOrder": "ascending",
        }
        self.response = search.page(f"{search.address}?{urlencode(parameters)}")
        self.name = f"{self.response.name} {first}..{last} from {begin}"

    def load(self) -> Document:
        document = self.response.load()
        if document is None:
            raise DocumentError("unexpected 304 Not Modified: the request had no validators")
        document = replace(
            document, name=self.name, validators=dict(self.state), lifetime=timedelta(0)
        )
        reading = self.search.read(document)
        if reading.error or not (reading.complete and document.complete):
            return document
        self._count(document, reading)
        self.whole = True
        return document if self.next < self.total else replace(document, validators=self.done)

    def _count(self, document: Document, reading: Reading) -> None:
        """Count on. An empty page in the middle is not the end: arXiv sends one when it is busy."""
        if "html" in document.content_type.lower():
            raise DocumentError("arXiv returned an HTML page instead of a feed")
        total = _TOTAL.search(document.content)
        if total is None:
            raise DocumentError("the response is not from arXiv's query API: it reports no total")
        self.total = max(self.total, int(total[1]))
        self.next = self.begin + len(reading.papers) + len(reading.rejected)
        if self.total > MAX_RESULTS:
            raise DocumentError(
                f"the query has {self.total:,} results in one span, more than {MAX_RESULTS:,}",
                "narrow the query",
            )
        if self.next == self.begin < self.total:
            raise DocumentError(
                f"the page is empty although arXiv announced {self.total:,} results"
            )
