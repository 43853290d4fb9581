"""Kind `pubmed`: records of PubMed, from a search of its API or from its update files.

    esearch (JSON, identifiers only) ──> efetch (XML, 100 records each) ──┐
    daily update files (XML, gzip, 30,000 records, deletions) ────────────┴──> Paper or Rejected

https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html names the elements,
https://www.ncbi.nlm.nih.gov/books/NBK25499/ the parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode

from pydantic import Field, SecretStr

from monitor.errors import DocumentError, FetchError
from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.windows import (
    UNTIL,
    Outline,
    PageRequest,
    QueryOptions,
    Window,
    WindowSource,
)
from monitor.sources.base import Terms, failure, reading
from monitor.sources.fields.dates import parse_date
from monitor.sources.fields.markup import text
from monitor.sources.pubmed_records import read_record
from monitor.sources.xml.repair import read_elements
from monitor.sources.xml.safe_input import XmlError

MAX_FILE_BYTES = 128 * 1024 * 1024  # of a daily update file, compressed
BATCH_RECORDS = 100
MAX_WINDOW_RECORDS = 5_000  # of one window; esearch itself stops at 10,000
MAX_SEARCH_BYTES = 1024 * 1024  # the identifiers of a window need a tenth of it

_RECORDS = ("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "DeleteCitation", "ERROR")
_OUTER = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation")
_ROOTS = (
    *("PubmedArticleSet", "PubmedBookArticleSet", "MedlineCitationSet", "DeleteCitation"),
    *("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "ERROR", "eFetchResult"),
)


class PubMedOptions(QueryOptions):
    """A `query:` in PubMed's own syntax, or the files of a `path:`.

    With a query, `url` is another server of the same API; without one, it is one document.
    `api_key` (a secret) and `email` (else the operator's `contact`) are sent to NCBI.
    """

    api_key: SecretStr = SecretStr("")
    email: str = ""
    overlap_days: int = Field(default=7, ge=1, le=365)
    first_days: int = Field(default=30, ge=1, le=365)


class PubMed(WindowSource):
    """Reads PubMed. A record is announced on the day on which it was added."""

    kind = "pubmed"
    Options = PubMedOptions
    options: PubMedOptions
    service = "PubMed"
    address = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    enough_pages = 100
    independent_targets = True

    def read(self, document: Document) -> Reading:
        """Read all records; after a fault the reading is partial."""
        if document.content.lstrip()[:1] in (b"{", b"["):
            return failure(_describe_json(document.content))
        records: list[Paper | Rejected] = []
        whole = True
        for element in read_elements(document.content, _RECORDS, roots=_ROOTS, outer=_OUTER):
            where = f"record {len(records) + 1}"
            if isinstance(element, XmlError):
                whole = False
                records.append(Rejected(where, str(element)))
            else:
                records.extend(read_record(element, where, self._clock()))
        return reading(records, whole)

    @property
    def reads_documents(self) -> bool:
        return not self.options.query

    @property
    def terms(self) -> Terms:
        """Three requests a second, ten with a key (NBK25497); an update file is large."""
        if self.reads_documents:
            return Terms(max_bytes=MAX_FILE_BYTES, deadline=timedelta(minutes=10))
        rate = 10 if self.options.api_key.get_secret_value() else 3
        return Terms(apart=timedelta(0) if self.options.url else timedelta(seconds=1 / rate))

    def windows(self, state: Mapping[str, str]) -> Iterator[Window]:
        """Search for days with few enough records; their targets are batches of PMIDs."""
        now = self._clock()
        last, today = parse_date(state.get(UNTIL, "")), now.date()
        fresh = min(last, now).date() if last else today - timedelta(self.options.first_days)
        first = fresh - timedelta(self.options.overlap_days) if last else fresh
        is_last = False
        while not is_last:
            first, end, ids = self._find_window(first, fresh, today)
            is_last = end >= today
            batches = range(0, len(ids), BATCH_RECORDS)
            targets = [",".join(ids[at : at + BATCH_RECORDS]) for at in batches]
            yield Window(_midnight(first), now if is_last else _midnight(end), is_last, targets)
            first = fresh = end

    def _find_window(self, first: date, fresh: date, end: date) -> tuple[date, date, list[str]]:
        """Find the days from `first` on with few enough records; the overlap is dropped first."""
        while True:
            ids, total = self._search(first, end)
            if total <= MAX_WINDOW_RECORDS:
                if len(ids) < total:
                    raise DocumentError(f"PubMed found {total} records and named {len(ids)}")
                return first, end, ids
            if first < fresh:
                first = fresh
            elif end - first <= timedelta(1):
                why = f"PubMed has {total:,} records for {first}, more than {MAX_WINDOW_RECORDS:,}"
                raise DocumentError(why, "narrow the query")
            else:
                end = first + (end - first) / 2

    def _search(self, first: date, end: date) -> tuple[list[str], int]:
        url = self._url(
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

    def page_url(self, request: PageRequest) -> str:
        """Return the address of the records of a batch."""
        return self._url("efetch", id=request.target, retmode="xml")

    def page_name(self, request: PageRequest) -> str:
        first, last = request.window.days
        return f"{first}..{last} from PMID {request.target.partition(',')[0]}"

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a batch, in which there is at least one record."""
        records = self.read(document)
        return Outline(bool(records.complete and document.complete and records.papers))

    def _url(self, tool: str, **arguments: str) -> str:
        key = self.options.api_key.get_secret_value()
        email = self.options.email or self.contact
        client = {"tool": "paper-monitor", "email": email, "api_key": key}
        parameters = {"db": "pubmed", **client, **arguments}
        return f"{self.base}/{tool}.fcgi?" + urlencode({k: v for k, v in parameters.items() if v})


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
        ids = [str(name) for name in result["idlist"] if str(name).isdigit()]
        return ids, int(result["count"]), ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DocumentError("the JSON is not a response of PubMed's search") from None


def _describe_json(content: bytes) -> str:
    try:
        ids, total, error = read_search(content)
    except DocumentError as fault:
        return str(fault)
    return error or f"the document is a search result with {len(ids)} of {total} PMIDs, no records"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
