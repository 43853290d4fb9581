"""PubMed's search: windows of days, the PMIDs of each, and the addresses of their records.

https://www.ncbi.nlm.nih.gov/books/NBK25499/ names the parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from urllib.parse import urlencode

from pydantic import Field, SecretStr

from monitor.errors import DocumentError, FetchError, MonitorError
from monitor.http.addresses import redact_url
from monitor.model import Document, Reading
from monitor.sources.api.windows import QueryOptions
from monitor.sources.base import Found
from monitor.sources.fields.dates import parse_date
from monitor.sources.fields.markup import text

UNTIL = "until"
BASE = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"
BATCH_RECORDS = 100
MAX_WINDOW_RECORDS = 5_000  # records of one window; esearch itself stops at 10,000
MAX_SEARCH_BYTES = 1024 * 1024  # the identifiers of a window need a tenth of it
MAX_BATCHES = 100  # of one run


class PubMedOptions(QueryOptions):
    """A `query:` in PubMed's own syntax, or the files of a `path:`.

    With a query, `url` is another server of the same API; without one, it is one document.
    `api_key` (a secret) and `email` (else the operator's `contact`) are sent to NCBI.
    """

    api_key: SecretStr = SecretStr("")
    email: str = ""
    overlap_days: int = Field(default=7, ge=1, le=365)
    first_days: int = Field(default=30, ge=1, le=365)


def read_search(content: bytes) -> tuple[list[str], int, str]:
    """Return the PMIDs of an esearch response, their total number, and the error."""
    if len(content) > MAX_SEARCH_BYTES:
        raise DocumentError(f"PubMed's search answered with more than {MAX_SEARCH_BYTES:,} bytes")
    try:
        response = json.loads(content)
        result = response.get("esearchresult", response)
        error = str(result.get("ERROR") or response.get("error") or "")
        if error:
            return [], 0, f"PubMed answered with an error: {text(error)[:200]}"
        ids = [str(one) for one in result["idlist"] if str(one).isdigit()]
        return ids, int(result["count"]), ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DocumentError("the JSON is not a response of PubMed's search") from None


@dataclass(slots=True)
class Search:
    """One run of a query: windows of days, each small enough for esearch, oldest first.

    `fetch` returns a page by its address, `read` reads it. After a page that could not be fetched
    or read, no later page of the run moves `until`.
    """

    options: PubMedOptions
    fetch: Callable[[str], Document]
    read: Callable[[Document], Reading]
    now: datetime
    contact: str = ""
    failed: bool = False

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        last = parse_date(validators.get(UNTIL, ""))
        today = self.now.date()
        fresh = min(last, self.now).date() if last else today - timedelta(self.options.first_days)
        first = fresh - timedelta(self.options.overlap_days) if last else fresh
        left = MAX_BATCHES
        while left > 0:
            first, end, ids = self.window(first, fresh, today)
            until = self.now if end >= today else datetime.combine(end, time(), UTC)
            batches = [ids[at : at + BATCH_RECORDS] for at in range(0, len(ids), BATCH_RECORDS)]
            urls = [self.url("efetch", id=",".join(batch), retmode="xml") for batch in batches]
            for number, url in enumerate(urls, start=1):
                state = {UNTIL: until.isoformat()} if number == len(urls) else {}
                name = f"{redact_url(url)} {number} of {len(urls)}"
                yield Found(name, partial(self._load, url, name, state))
            left -= len(batches)
            if end >= today:
                return
            first = fresh = end

    def _load(self, url: str, name: str, state: Mapping[str, str]) -> Document:
        try:
            document = self.fetch(url)
        except MonitorError:
            self.failed = True
            raise
        reading = self.read(document)
        if reading.error or not (reading.complete and document.complete and reading.papers):
            self.failed = True
        return replace(document, name=name, validators={} if self.failed else state)

    def window(self, first: date, fresh: date, end: date) -> tuple[date, date, list[str]]:
        """Find the days from `first` on with few enough records; the overlap is dropped first."""
        while True:
            ids, total = self.search(first, end)
            if total <= MAX_WINDOW_RECORDS:
                if len(ids) < total:
                    raise DocumentError(f"PubMed found {total} records and named {len(ids)}")
                return first, end, ids
            if first < fresh:
                first = fresh
            elif end - first <= timedelta(1):
                day = f"{first:%Y-%m-%d}"
                raise DocumentError(
                    f"PubMed has {total:,} records for {day}, more than {MAX_WINDOW_RECORDS:,}",
                    "narrow the query",
                )
            else:
                end = first + (end - first) / 2

    def search(self, first: date, end: date) -> tuple[list[str], int]:
        url = self.url(
            "esearch",
            term=self.options.query,
            datetype="edat",
            mindate=f"{first:%Y/%m/%d}",
            maxdate=f"{end:%Y/%m/%d}",
            retmode="json",
            retmax=str(MAX_WINDOW_RECORDS),
        )
        ids, total, error = read_search(self.fetch(url).content)
        if error:
            raise FetchError(error)
        return ids, total

    def url(self, tool: str, **arguments: str) -> str:
        base = (self.options.url or BASE).rstrip("/")
        key = self.options.api_key.get_secret_value()
        who = {"tool": "paper-monitor", "email": self.options.email or self.contact, "api_key": key}
        parameters = {"db": "pubmed", **who, **arguments}
        return f"{base}/{tool}.fcgi?" + urlencode({k: v for k, v in parameters.items() if v})
