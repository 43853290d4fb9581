"""Kind `dblp`: answers of dblp's search (XML and JSON), and records as dblp.xml has them.

    <hit><info> of the search API  ──┐
    hits.hit[].info of the same      ├──> _Record ──> Paper or Rejected
    <article key=...> of dblp.xml  ──┘

https://dblp.org/faq/13501473.html (the search), https://dblp.org/faq/16154937.html (dblp.xml).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, cast
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from pydantic import Field, model_validator

from monitor.errors import DocumentError
from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources import sandbox
from monitor.sources.base import Found, Source, SourceOptions, reading
from monitor.sources.fields.dates import parse_date, within_reason
from monitor.sources.fields.identifiers import identifiers
from monitor.sources.fields.limits import MAX_ENTRY
from monitor.sources.fields.links import http_link
from monitor.sources.fields.markup import text
from monitor.sources.formats.api.records import MAX_RECORDS, many, member, number, raw, value_of
from monitor.sources.formats.xml.repair import read_elements
from monitor.sources.formats.xml.safe_input import XmlError
from monitor.text import clean

BASE = "https://dblp.org/search/publ/api"
PAGE_RECORDS = 1_000  # the most that the search gives at once
MAX_HITS = 10_000  # of one query, says its documentation

# What the search calls the elements of dblp.xml.
_TYPES = {
    "article": "Journal Articles",
    "inproceedings": "Conference and Workshop Papers",
    "proceedings": "Editorship",
    "book": "Books and Theses",
    "incollection": "Parts in Books or Collections",
    "phdthesis": "Books and Theses",
    "mastersthesis": "Books and Theses",
    "data": "Data and Artifacts",
    "www": "home page",
}
_INFORMAL = "Informal and Other Publications"
_ROOTS = ("result", "dblp", "dblpperson", "bht", "hits", "hit", *_TYPES)
_HEADS = ("status", "hits")
_HOMONYM = re.compile(r"\s+\d{4}$")
_OPENREVIEW = re.compile(r"openreview\.net/(?:forum|pdf)\?id=([\w-]+)")
_ARXIV_VOLUME = re.compile(r"abs/(.+)")


class DblpOptions(SourceOptions):
    """What to search for, in dblp's own words ("attention venue:NeurIPS:"), of how many years.

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


@dataclass(frozen=True, slots=True)
class _Record:
    """What dblp says of a publication, whatever it says it in."""

    key: str
    title: str
    authors: Sequence[str]
    venues: Sequence[str]
    year: str
    type: str
    dois: Sequence[str]
    links: Sequence[str]
    volume: str = ""
    changed: str = ""
    withdrawn: bool = False


class Dblp(Source):
    """Reads dblp, which tells the year of a paper and no date: its papers are never older."""

    kind: ClassVar[str] = "dblp"
    Options: ClassVar[type[SourceOptions]] = DblpOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = False

    def read(self, document: Document) -> Reading:
        """Read all records; of a broken document, those that are whole."""
        content = document.content
        if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            return _read_json(content, self._clock())
        return _read_xml(content, self._clock())

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Ask for each of the last years, page by page; dblp cannot be asked for what is new."""
        options = self.options
        if not isinstance(options, DblpOptions) or not options.query:
            yield from super().find(validators)
            return
        this_year = self._clock().year
        for year in range(this_year, this_year - options.years, -1):
            yield from self._pages(options, year)

    def total(self, document: Document) -> int:
        """Return how many records a search found in all; 0 when its answer does not say."""
        return number(value_of(document.content), "result", "hits", "@total") or 0

    def _pages(self, options: DblpOptions, year: int) -> Iterator[Found]:
        """The pages of one year, until there are no more or one of them fails."""
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
    asked = {
        "q": f"{options.query} year:{year}:",
        "h": PAGE_RECORDS,
        "f": first,
        "c": 0,
        "format": "json",
    }
    return f"{(options.url or BASE).rstrip('/')}?{urlencode(asked)}"


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
        _paper(_from_json(hit), f"record {place}", now) for place, hit in enumerate(listed, start=1)
    ]
    counts = {name: raw(hits, f"@{name}") for name in ("total", "sent", "first")}
    return _reading(found, True, error or _empty(counts, found), counts)


def _from_json(hit: object) -> _Record:
    info = member(hit, "info")
    return _Record(
        key=raw(info, "key"),
        title=_text_of(member(info, "title")),
        authors=[_text_of(one) for one in many(info, "authors", "author")],
        venues=[_text_of(one) for one in many(info, "venue")],
        year=raw(info, "year"),
        type=raw(info, "type"),
        dois=[_text_of(one) for one in many(info, "doi")],
        links=[_text_of(one) for one in (*many(info, "ee"), *many(info, "url"))],
        volume=raw(info, "volume"),
    )


def _text_of(value: object) -> str:
    """A value that is a text, or an object with a text."""
    return raw(value, "text") if isinstance(value, Mapping) else raw({"text": value}, "text")


# ── XML ─────────────────────────────────────────────────────────────────────────────


def _read_xml(content: bytes, now: datetime) -> Reading:
    found: list[Paper | Rejected] = []
    whole, error = True, ""
    counts: Mapping[str, str] = {}
    stream = read_elements(content, ("hit", *_TYPES), _HEADS)
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
            found.append(_paper(_from_xml(element), where, now))
    return _reading(found, whole, error or _empty(counts, found), counts)


def _from_xml(element: Element) -> _Record:
    inner = element.find("info")
    info = element if inner is None else inner
    tag, kind = info.tag, info.get("publtype", "")
    named = _TYPES.get(tag, "") if kind != "informal" else _INFORMAL
    return _Record(
        key=clean(info.get("key", "") or _first(info, "key")),
        title=_first(info, "title"),
        authors=_all(info, "authors/author", "author") or _all(info, "editor"),
        venues=_all(info, "venue", "journal") or _all(info, "booktitle") or _all(info, "school"),
        year=_first(info, "year"),
        type=_first(info, "type") or named,
        dois=_all(info, "doi"),
        links=_all(info, "ee", "url"),
        volume=_first(info, "volume"),
        changed=info.get("mdate", ""),
        withdrawn=kind == "withdrawn",
    )


def _all(element: Element, *paths: str) -> list[str]:
    return ["".join(one.itertext()) for path in paths for one in element.iterfind(path)]


def _first(element: Element, path: str) -> str:
    return next(iter(_all(element, path)), "")


# ── a record ────────────────────────────────────────────────────────────────────────


def _paper(record: _Record, where: str, now: datetime) -> Paper | Rejected:
    if record.type == _TYPES["www"]:
        return Rejected(where, "record is a home page, not a paper")
    if sum(map(len, (record.title, *record.authors, *record.links))) > MAX_ENTRY:
        return Rejected(where, f"record is larger than {MAX_ENTRY:,} characters")
    title = _without_stop(text(record.title))
    if not title:
        return Rejected(where, "record has no title")
    volume = _ARXIV_VOLUME.fullmatch(record.volume.strip())
    named = [*record.dois, *record.links, f"arxiv:{volume[1]}" if volume else ""]
    keys, _ = identifiers(named)
    review = next(filter(None, map(_OPENREVIEW.search, record.links)), None)
    key = text(record.key)
    year = record.year.strip()
    return Paper(
        title=title,
        authors=tuple(filter(None, (_HOMONYM.sub("", text(name)) for name in record.authors))),
        venue=", ".join(map(text, record.venues)),
        year=int(year) if year.isascii() and year.isdigit() and len(year) == 4 else None,
        updated=within_reason(parse_date(record.changed), now),
        url=_link(record),
        keys=({"dblp": key} if key else {})
        | dict(keys)
        | ({"openreview": review[1]} if review else {}),
        categories=(text(record.type),) if record.type.strip() else (),
        withdrawn=record.withdrawn or "withdrawn" in record.type.lower(),
        raw_id=key,
    )


def _without_stop(title: str) -> str:
    """Drop the full stop that dblp puts behind every title, not an ellipsis."""
    return title[:-1].rstrip() if title.endswith(".") and not title.endswith("..") else title


def _link(record: _Record) -> str:
    """The publisher's page, else the one of dblp; its own links are relative in dblp.xml."""
    links = (http_link(link, "") for link in record.links)
    own = f"https://dblp.org/rec/{record.key}" if re.fullmatch(r"[\w/.:-]+", record.key) else ""
    return next(filter(None, links), own)


# ── what a search says of itself ────────────────────────────────────────────────────


def _refusal(code: str, words: str = "") -> str:
    """Say that the search failed, which it does with HTTP status 200."""
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
