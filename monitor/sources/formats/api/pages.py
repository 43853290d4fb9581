"""Pages of an API whose addresses are all known first; state moves only if all pages were whole.

For a service that lists its records first and sends them afterwards (PubMed), so that a page
that fails delays no other. Where each page leads to the next, `windows.py` follows them; where
resumption tokens do, `formats/oai/harvest.py`.
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

    After a page that could not be fetched or read, no later page of the run moves `until`.
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

    def find(self, urls: Sequence[str], until: datetime | None = None) -> Iterator[Found]:
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
        validators = {} if self._failed else state
        return replace(document, name=name, validators=validators, lifetime=timedelta(0))
