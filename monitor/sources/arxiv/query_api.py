"""Asking arXiv's query API: pieces of time, oldest first, each in pages that are counted on.

https://info.arxiv.org/help/api/user-manual.html: `search_query`, `start`, `max_results`; the
answers are sorted, since the pages of one that is not overlap. State between runs is `until`.

The pieces are those of `windows`; its pages are not, for here nothing leads from one to the next.
They are Atom, counted on by what was read of each, and an empty one in the middle, which elsewhere
is the end, is how arXiv answers when it is busy.
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
PAGE = 200
MOST = 10_000  # results of one piece
# A paper is listed under the day it was submitted, and appears when it is announced: after a
# weekend, a holiday or a check, days later.
OVERLAP = timedelta(days=7)

_TOTAL = re.compile(rb"<(?:\w{1,20}:)?totalResults[^<>]{0,200}>\s*(\d{1,9})\s*<")


class Search:
    """One run of a query; `page` finds an answer by its address, `read` reads it."""

    def __init__(
        self,
        address: str,
        query: str,
        page: Callable[[str], Found],
        read: Callable[[Document], Reading],
    ) -> None:
        self.address, self.query = address, query
        self.page, self.read = page, read

    def found(self, state: Mapping[str, str], now: datetime, overlap: timedelta) -> Iterator[Found]:
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
    """A page on its way; `total` is what the pages before it said there is."""

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
        asked = {
            "search_query": f"({search.query}) AND {when}",
            "start": begin,
            "max_results": PAGE,
            "sortBy": "submittedDate",
            "sortOrder": "ascending",
        }
        self.answer = search.page(f"{search.address}?{urlencode(asked)}")
        self.name = f"{self.answer.name} {first}..{last} from {begin}"

    def load(self) -> Document:
        document = self.answer.load()
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
        """An empty page in the middle is no end: arXiv answers so when it is busy."""
        if "html" in document.content_type.lower():
            raise DocumentError("arXiv returned an HTML page instead of a feed")
        told = _TOTAL.search(document.content)
        if told is None:
            raise DocumentError("the response is not from arXiv's query API: it reports no total")
        self.total = max(self.total, int(told[1]))
        self.next = self.begin + len(reading.papers) + len(reading.rejected)
        if self.total > MOST:
            raise DocumentError(
                f"arXiv has {self.total:,} results of a piece, more than {MOST:,}",
                "narrow the query",
            )
        if self.next == self.begin < self.total:
            raise DocumentError(
                f"the page is empty although arXiv said that there are {self.total:,} results"
            )
