"""Queries of arXiv's query API: windows of time, oldest first, each in numbered pages.

https://info.arxiv.org/help/api/user-manual.html: `search_query`, `start`, `max_results`; the
results are sorted, since the pages of unsorted ones overlap. A page begins where the entries read
so far end.
"""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlencode

from monitor.model import Document
from monitor.sources.api.windows import Outline, PageRequest, WindowSource
from monitor.sources.feed.source import Feed

PAGE_SIZE = 200
# A paper is listed under the day it was submitted, and appears when it is announced: after a
# weekend, a holiday or a check, days later.
OVERLAP = timedelta(days=7)

_TOTAL = re.compile(rb"<(?:\w{1,20}:)?totalResults[^<>]{0,200}>\s*(\d{1,9})\s*<")


class ArxivQuery(Feed, WindowSource):
    """Reads the answers to one query."""

    service = "arXiv"
    address = "https://export.arxiv.org"
    max_records = 10_000

    @property
    def overlap(self) -> timedelta:
        return max(super().overlap, OVERLAP)

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page of results, the first submitted first."""
        first, last = (day.replace("-", "") for day in request.span.days)
        when = f"submittedDate:[{first}0000 TO {last}2359]"
        parameters = {
            "search_query": f"({getattr(self.options, 'query', '')}) AND {when}",
            "start": request.before,
            "max_results": PAGE_SIZE,
            "sortBy": "submittedDate",
            "sortOrder": "ascending",
        }
        return f"{self.base}/api/query?{urlencode(parameters)}"

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Count on. An empty page in the middle is not the end: arXiv sends one when it is busy."""
        reading = self.read(document)
        if reading.error or not (reading.complete and document.complete):
            return Outline()
        if "html" in document.content_type.lower():
            return Outline(error="arXiv returned an HTML page instead of a feed")
        total = _TOTAL.search(document.content)
        if total is None:
            return Outline(error="the response is not from arXiv's query API: it reports no total")
        records = len(reading.papers) + len(reading.rejected)
        if not records and request.page > 1:
            return Outline(error="the page is empty although arXiv announced more results")
        seen = request.before + records
        following = str(seen) if seen < int(total[1]) else ""
        return Outline(True, records, f"up to {seen}", following, int(total[1]))
