"""Pages of an API: fetched late, and what is remembered moves only when all of them were whole.

For a service that names its records first and sends them then (PubMed), so that all addresses are
known before the first page is asked for, and a page that fails holds up no other. Where each page
leads on to the next, `windows` follows; where resumption tokens do, `oaiharvest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from monitor.errors import DocumentError, MonitorError
from monitor.model import Document, Reading
from monitor.sources.base import Found

UNTIL = "until"


class Pages:
    """The pages of one run of a source: `page` finds one by its address, `read` reads it.

    Once a page could not be had or read, no later page of the run moves `until`.
    """

    def __init__(self, page: Callable[[str], Found], read: Callable[[Document], Reading]) -> None:
        self._page = page
        self._read = read
        self._failed = False

    def get(self, url: str) -> Document:
        """Fetch a page; raises FetchError."""
        document = self._page(url).load()
        if document is None:
            raise DocumentError("the server says that nothing has changed, and was not asked that")
        return document

    def found(self, urls: Sequence[str], until: datetime | None = None) -> Iterator[Found]:
        """Yield the pages in order; the last carries `until` if all before it were whole."""
        for number, url in enumerate(urls, start=1):
            state = {UNTIL: until.isoformat()} if until and number == len(urls) else {}
            name = f"{self._page(url).name} {number} of {len(urls)}"
            load: Callable[[], Document] = partial(self._load, url, name, state)
            yield Found(name, load)

    def _load(self, url: str, name: str, state: Mapping[str, str]) -> Document:
        try:
            document = self.get(url)
        except MonitorError:
            self._failed = True
            raise
        reading = self._read(document)
        if reading.error or not (reading.complete and document.complete and reading.papers):
            self._failed = True
        kept = {} if self._failed else state
        return replace(document, name=name, validators=kept, lifetime=timedelta(0))
