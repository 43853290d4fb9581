"""Fetches what is new from a service: windows of time in pieces, each piece in pages.

State between runs is `until`: everything that the service had up to then has been read. A run
starts at `until` minus an overlap, because services add papers late; the store decides what is new.
`until` moves only with a piece whose last page was read whole, so that a failure, an empty page or
a restart affects only that piece.

Each page leads to the next (by a cursor, a total, or its last record). The kind outlines it, in a
worker process if it is large.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, cast

from pydantic import Field, model_validator

from monitor.errors import DocumentError, FetchError
from monitor.http.addresses import redact_url
from monitor.model import Document
from monitor.sources import sandbox
from monitor.sources.api.records import JsonSource, Listing, value_of
from monitor.sources.base import Found, Source, SourceOptions
from monitor.sources.fields.dates import parse_date

MAX_PAGES = 200
WINDOW_MARGIN = timedelta(days=7)


class ApiOptions(SourceOptions):
    """Settings of a kind that fetches from a service.

    `url` is another address of the service; one with a query ("?") is a single document.
    `overlap_days` is by how many days a run overlaps with the previous one.
    """

    places_needed: ClassVar[bool] = False
    query_settings: ClassVar[tuple[str, ...]] = ()

    overlap_days: int = Field(default=7, ge=1, le=365)

    @model_validator(mode="after")
    def _check_query(self) -> ApiOptions:
        """Of the settings `query_settings`, one at least must say what to ask the service for."""
        asks = any(getattr(self, name) for name in self.query_settings)
        if self.query_settings and not (asks or self.path or one_document(self.url)):
            named = " or ".join(f"`{name}:`" for name in self.query_settings)
            raise ValueError(f"needs {named}")
        return self


class FilterOptions(ApiOptions):
    """`query` is free text; `filter` as the API writes it, such as "issn:1234-5678"."""

    query_settings: ClassVar[tuple[str, ...]] = ("query", "filter")

    query: str = ""
    filter: str = ""


class QueryOptions(SourceOptions):
    """A `query` in the service's own syntax, or the files of a `path` or of a `url`."""

    places_needed: ClassVar[bool] = False

    query: str = ""

    @model_validator(mode="after")
    def _asks_or_reads(self) -> QueryOptions:
        if self.path and self.query:
            raise ValueError("give either `query:` or `path:`")
        if not (self.query.strip() or self.path or self.url):
            raise ValueError("give a `query:` (or `path:` for files)")
        return self


def one_document(url: str | None) -> bool:
    """Whether an address is that of a single response instead of the service."""
    return "?" in (url or "")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of time to request; services take its ends by the day."""

    begin: datetime
    end: datetime

    @property
    def days(self) -> tuple[str, str]:
        return f"{self.begin:%Y-%m-%d}", f"{self.end:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for one page; `before` counts the records on the pages before it."""

    span: Span
    target: str = ""
    cursor: str = ""
    page: int = 1
    before: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """Whether a page is `whole`, how many records it has, and the cursor of the `following` page.

    `total` is the number of records on all pages, if the service reports it; `mark` is a digest of
    the page's records; `error` explains why the page must not be taken for an answer.
    """

    whole: bool = False
    records: int = 0
    mark: str = ""
    following: str = ""
    total: int = 0
    error: str = ""


def spans(until: datetime, now: datetime, overlap: timedelta, longest: timedelta) -> Iterator[Span]:
    """Cut the time from `until` minus the overlap to `now` into pieces, oldest first."""
    begin = min(until, now) - overlap
    while now - begin > longest:
        yield Span(begin, begin + longest)
        begin += longest
    yield Span(begin, now)


class WindowSource(Source):
    """A kind that fetches windows of time from its service."""

    service: ClassVar[str]
    address: ClassVar[str]
    longest: ClassVar[timedelta | None] = None  # of a piece; None: the overlap and a week
    max_records: ClassVar[int | None] = None  # of a piece, where the service has a limit

    @abstractmethod
    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page, below `self.base`."""

    @abstractmethod
    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a page: all that is needed to request the next one."""

    def targets(self) -> Sequence[str]:
        """Return what to request one after the other: categories, venues."""
        return ("",)

    def page_name(self, request: PageRequest) -> str:
        """Return what a page is called below the address of the service."""
        first, last = request.span.days
        target = f"{request.target} " if request.target else ""
        return f"{target}{first}..{last} page {request.page}"

    @property
    def reads_documents(self) -> bool:
        """Whether it reads documents instead of asking the service."""
        return bool(self.options.path) or one_document(self.options.url)

    @property
    def base(self) -> str:
        return (self.options.url or self.address).rstrip("/")

    @property
    def overlap(self) -> timedelta:
        return timedelta(days=getattr(self.options, "overlap_days", WINDOW_MARGIN.days))

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the pages of each piece; a page that fails ends the run."""
        if self.reads_documents:
            yield from super().find(validators)
            return
        now = self._clock()
        until = min(parse_date(validators.get("until", "")) or now, now)
        read = 0
        for span in spans(until, now, self.overlap, self.longest or self.overlap + WINDOW_MARGIN):
            done = {"until": max(span.end, until).isoformat()}
            pages = yield from self._pages(span, validators, done)
            read += pages
            if not pages or read >= MAX_PAGES:
                return
            validators = done

    def _pages(
        self, span: Span, state: Mapping[str, str], done: Mapping[str, str]
    ) -> Generator[Found, None, int]:
        """Yield the pages of one piece; return their number, 0 if not all were read."""
        count = 0
        *others, last = self.targets()
        for target in (*others, last):
            request, seen = PageRequest(span, target), set[str]()
            while True:
                name = f"{redact_url(self.base)} {self.page_name(request)}"
                page = _Page(self, request, name, state, done if target == last else state)
                yield Found(name, page.load)
                outline = page.outline
                if not outline.whole:
                    return 0
                count += 1
                self._check_bounds(name, outline, outline.mark in seen, count)
                if not outline.following:
                    break
                seen.add(outline.mark)
                request = replace(
                    request,
                    cursor=outline.following,
                    page=request.page + 1,
                    before=request.before + outline.records,
                )
        return count

    def _check_bounds(self, name: str, outline: Outline, repeated: bool, count: int) -> None:
        """Raise DocumentError for a list that has no end, or more records than can be read."""
        if outline.following and repeated:
            raise DocumentError(f"{self.service} gives the same page again and again: {name}")
        if outline.following and count >= MAX_PAGES:
            why = f"{self.service} has more than {MAX_PAGES} pages between {name}"
            raise DocumentError(why, "narrow the request")
        if self.max_records and outline.total > self.max_records:
            why = f"{self.service} has {outline.total:,} records in {name}"
            raise DocumentError(f"{why}, more than {self.max_records:,}", "narrow the query")

    def fetch_page(self, request: PageRequest, name: str) -> Document:
        """Fetch one page; raises FetchError with the service's own message."""
        try:
            return replace(self.fetch(self.page_url(request)), name=name)
        except FetchError as fault:
            error = self.read(Document(name, fault.body, self._clock())).error if fault.body else ""
            if fault.retry_after is not None or "error: " not in error:
                raise
            raise FetchError(fault.message, error) from fault


@dataclass(slots=True)
class _Page:
    """One page; `outline` is set once it was loaded."""

    source: WindowSource
    request: PageRequest
    name: str
    state: Mapping[str, str]
    done: Mapping[str, str]
    outline: Outline = Outline()

    def load(self) -> Document:
        document = self.source.fetch_page(self.request, self.name)
        outline = cast("Outline", sandbox.ask(self.source, "outline", document, self.request))
        if outline.error:
            raise DocumentError(outline.error)
        self.outline = outline
        ended = outline.whole and not outline.following
        return replace(document, validators=self.done if ended else self.state)


class ApiSource(JsonSource, WindowSource):
    """A kind that fetches JSON from its service."""

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the cursor of the next page; "" if this is the last."""
        seen = request.before + len(listing.items)
        ended = not listing.items or (listing.total is not None and seen >= listing.total)
        return "" if ended else listing.cursor

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a page by the list in it."""
        reading = self.read(document)
        if not (document.complete and reading.complete):
            return Outline()
        listing = self.listing(value_of(document.content))
        mark = hashlib.sha256(json.dumps(listing.items).encode()).hexdigest()
        following = self.following(listing, request)
        return Outline(True, len(listing.items), mark, following, listing.total or 0)
