"""Kind `dblp`: responses of dblp's search (XML and JSON), and records of dblp.xml.

    <hit><info> of the search API  ──┐
    hits.hit[].info of the same      ├──> Record ──> Paper or Rejected
    <article key=...> of dblp.xml  ──┘

https://dblp.org/faq/13501473.html (the search), https://dblp.org/faq/16154937.html (dblp.xml).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, cast
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from pydantic import Field, model_validator

from monitor.errors import DocumentError
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources import sandbox
from monitor.sources.base import Found, Source, SourceOptions, reading
from monitor.sources.dblp_records import TYPES, from_json, from_xml, to_paper
from monitor.sources.fields.markup import text
from monitor.sources.formats.api.records import MAX_RECORDS, value_of
from monitor.sources.formats.api.values import many, member, number, raw
from monitor.sources.formats.xml.repair import read_elements
from monitor.sources.formats.xml.safe_input import XmlError

BASE = "https://dblp.org/search/publ/api"
PAGE_RECORDS = 1_000  # the maximum of the search
MAX_HITS = 10_000  # of one query, by its documentation

_ROOTS = ("result", "dblp", "dblpperson", "bht", "hits", "hit", *TYPES)
_HEADS = ("status", "hits")


class DblpOptions(SourceOptions):
    """A `query` in dblp's own syntax ("attention venue:NeurIPS:"), for the last `years`.

    With a query, `url` is another server of the same API; without one, it is one document.
    """

    places_needed: ClassVar[bool] = False

    query: str = ""
    years: int = Field(default=2, ge=1, le=50)

    @model_validator(mode="after")
    def _asks_or_reads(self) -> DblpOptions:
        if self.path and self.query:
            raise ValueError("give either `query:` or `path:`")
        if not (self.query.strip() or self.path or self.url):
            raise ValueError("give a `query:` (or `path:` for files)")
        return self


class Dblp(Source):
    """Reads dblp, which has only the year of a paper: its papers are never older."""

    kind: ClassVar[str] = "dblp"
    Options: ClassVar[type[SourceOptions]] = DblpOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = False

    def read(self, document: Document) -> Reading:
        """Read all records; those that are whole if the document is broken."""
        content = document.content
        if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            return _read_json(content, self._clock())
        return _read_xml(content, self._clock())

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the pages of each of the last years; dblp has no search for what is new."""
        options = self.options
        if not isinstance(options, DblpOptions) or not options.query:
            yield from super().find(validators)
            return
        this_year = self._clock().year
        for year in range(this_year, this_year - options.years, -1):
            yield from self._pages(options, year)

    def total(self, document: Document) -> int:
        """Return the total number of records of a search; 0 if it is missing."""
        return number(value_of(document.content), "result", "hits", "@total") or 0

    def _pages(self, options: DblpOptions, year: int) -> Iterator[Found]:
        """Yield the pages of one year, until there are no more or one of them fails."""
        total = PAGE_RECORDS
        first = 0
        while first < total:
            page = self._page(_address(options, year, first), {})
            total = 0

            def load(page: Found = page) -> Document | None:
                nonlocal total
                document = page.load()
                total = cast("int", sandbox.ask(self, "total", document)) if document else 0
                return document

            yield Found(f"{page.name} {year} from {first}", load)
            if total > MAX_HITS:
                message = f"dblp has {total:,} records of {year}, more than {MAX_HITS:,}"
                raise DocumentError(message, "narrow the query")
            first += PAGE_RECORDS


def _address(options: DblpOptions, year: int, first: int) -> str:
    parameters = {
        "q": f"{options.query} year:{year}:",
        "h": PAGE_RECORDS,
        "f": first,
        "c": 0,
        "format": "json",
    }
    return f"{(options.url or BASE).rstrip('/')}?{urlencode(parameters)}"


# ── JSON ────────────────────────────────────────────────────────────────────────────


def _read_json(content: bytes, now: datetime) -> Reading:
    response = value_of(content)
    if response is None:
        return Reading(error="the JSON cannot be read", complete=False)
    hits = member(response, "result", "hits")
    error = _refusal(
        raw(response, "result", "status", "@code"), raw(response, "result", "status", "text")
    )
    if not isinstance(hits, Mapping):
        return Reading(error=error or "the JSON is not a response of dblp's search", complete=False)
    listed = many(hits, "hit")
    if len(listed) > MAX_RECORDS:
        response = f"the answer has more than {MAX_RECORDS:,} records"
        return Reading(error=response, complete=False)
    found = [
        to_paper(from_json(hit), f"record {place}", now)
        for place, hit in enumerate(listed, start=1)
    ]
    counts = {name: raw(hits, f"@{name}") for name in ("total", "sent", "first")}
    return _reading(found, True, error or _empty(counts, found), counts)


# ── XML ─────────────────────────────────────────────────────────────────────────────


def _read_xml(content: bytes, now: datetime) -> Reading:
    found: list[Paper | Rejected] = []
    whole, error = True, ""
    counts: Mapping[str, str] = {}
    stream = read_elements(content, ("hit", *TYPES), _HEADS)
    root = next(stream)
    if isinstance(root, Element) and root.tag not in _ROOTS:
        root = XmlError(f"the document holds no dblp records: it begins with <{root.tag[:60]}>")
    if isinstance(root, XmlError):
        return Reading(error=str(root), complete=False)
    for element in stream:
        where = f"record {len(found) + 1}"
        if isinstance(element, XmlError):
            found.append(Rejected(where, str(element)))
            whole = False
        elif element.tag == "status":
            error = _refusal(element.get("code", ""))
        elif element.tag == "hits":
            counts = dict(element.attrib)
        else:
            found.append(to_paper(from_xml(element), where, now))
    return _reading(found, whole, error or _empty(counts, found), counts)


# ── status and counts of a search ────────────────────────────────────────────────────


def _refusal(code: str, words: str = "") -> str:
    """Return the error of a search, which has HTTP status 200."""
    if code in ("", "200"):
        return ""
    return f"dblp answered with an error: {text(f'{code} {words}')[:200]}"


def _empty(counts: Mapping[str, str], found: Sequence[object]) -> str:
    total, first = (_count(counts, name) for name in ("total", "first"))
    if found or total <= first:
        return ""
    return f"the answer is empty although it says that there are {total:,}"


def _reading(
    found: Sequence[Paper | Rejected], whole: bool, error: str, counts: Mapping[str, str]
) -> Reading:
    if error:
        return Reading(error=error, complete=False)
    return reading(found, whole and len(found) >= _count(counts, "sent"))


def _count(counts: Mapping[str, str], name: str) -> int:
    number = counts.get(name, "")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
