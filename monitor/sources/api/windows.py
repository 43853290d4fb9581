"""Fetches what is new from a service: windows of time, of each its targets, of each its pages.

State between runs is `until`: everything that the service had up to then has been read. A run
starts at `until` minus an overlap, because services add papers late; the store decides what is new.
`until` moves only with a window whose last page was read whole, so that a failure, an empty page or
a restart affects only that window.

A service that dates its changes adds none late (`dates_changes`). Its state has two more entries
while windows are left: `from`, where the next one begins, and `days`, its length after a window had
too many pages: half of that window, doubled after each window that was read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, ClassVar, cast
from urllib.parse import urlencode

from pydantic import Field, SecretStr, model_validator

from monitor.errors import DocumentError, FetchError
from monitor.http.addresses import redact_url
from monitor.model import Document, Reading
from monitor.sources import sandbox
from monitor.sources.base import Found, Source, SourceOptions
from monitor.sources.fields.dates import parse_date

WEEK = timedelta(days=7)
UNTIL = "until"
FROM = "from"
DAYS = "days"


class ServiceOptions(SourceOptions):
    """Settings of a kind that knows the address of its service; `url` is another one.

    Of `query_settings`, one at least must say what to ask for; `exclusive` are pairs of settings
    that cannot be used together. A `url` with a query ("?") is a single document; with `reads_url`,
    so is any that there is nothing to ask for.
    """

    needs_address: ClassVar[bool] = False
    query_settings: ClassVar[tuple[str, ...]] = ()
    exclusive: ClassVar[tuple[tuple[str, str], ...]] = ()
    reads_url: ClassVar[bool] = False

    @property
    def asks(self) -> bool:
        names = self.query_settings
        return not names or any(getattr(self, name) for name in names)

    @property
    def reads_documents(self) -> bool:
        """Whether to read documents instead of asking the service."""
        return bool(self.path or "?" in (self.url or "") or (self.reads_url and not self.asks))

    @property
    def overlap(self) -> timedelta:
        return WEEK

    @model_validator(mode="after")
    def _check_query(self) -> ServiceOptions:
        if not (self.asks or self.path or (self.url and self.reads_documents)):
            raise ValueError("needs " + " or ".join(f"`{name}:`" for name in self.query_settings))
        for one, other in self.exclusive:
            if getattr(self, one) and getattr(self, other):
                raise ValueError(f"give either `{one}:` or `{other}:`")
        return self


# Settings of several services: each has its own default.
OverlapDays = Annotated[
    int, Field(ge=1, le=365, description="days to read again before the last complete run")
]
Query = Annotated[str, Field(description="a search in the service's language")]
ApiKey = Annotated[SecretStr, Field(description="your key (a secret)")]


class ApiOptions(ServiceOptions):
    """Settings of a service that lists its records by day."""

    overlap_days: OverlapDays = 7

    @property
    def overlap(self) -> timedelta:
        return timedelta(days=self.overlap_days)


class QueryOptions(ApiOptions):
    """Settings of a service that answers a search."""

    query_settings: ClassVar[tuple[str, ...]] = ("query",)

    query: Query = ""


class FilterOptions(QueryOptions):
    """Settings of a service that has filters beside its search, which is for free text."""

    query_settings: ClassVar[tuple[str, ...]] = ("query", "filter")

    filter: str = Field(
        "",
        description="filters in the service's syntax; without `about`, this or `query` is required",
    )


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of time to request, by the day; up to the present if it `is_last`.

    `targets` are requested one after the other: categories, sets, batches of identifiers.
    """

    begin: datetime
    end: datetime
    is_last: bool = True
    targets: Sequence[str] = ("",)

    @property
    def days(self) -> tuple[str, str]:
        return f"{self.begin:%Y-%m-%d}", f"{self.end:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for one page; `before` counts the records on the pages before it."""

    window: Window
    target: str = ""
    cursor: str = ""
    page: int = 1
    before: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """Whether a page is `whole`, how many records it has, and the cursor of the `following` page.

    `total` is the number of records on all pages, if the service reports it; `page_hash` tells
    whether a page is repeated; `expired` means that the service has forgotten the cursor;
    `responded` is the service's own time; `error` explains why the page is no response at all.
    """

    whole: bool = False
    records: int = 0
    page_hash: str = ""
    following: str = ""
    total: int = 0
    error: str = ""
    expired: bool = False
    responded: datetime | None = None


class WindowSource(Source):
    """A kind that fetches windows of time from its service.

    `dates_changes`: windows are of changes, none of which is dated back. `first`: how far the first
    run looks back (None: the overlap). `independent_targets`: after a page that failed, the other
    targets of its window are still requested.
    """

    options: ServiceOptions
    service: ClassVar[str]
    address: ClassVar[str]
    longest: ClassVar[timedelta | None] = None  # of a window; None: the overlap and a week
    first: ClassVar[timedelta | None] = None
    max_records: ClassVar[int | None] = None  # of a window, where the service has a limit
    max_pages: ClassVar[int] = 200  # of a window
    enough_pages: ClassVar[int] = 200  # after which a run leaves the other windows to the next
    dates_changes: ClassVar[bool] = False
    independent_targets: ClassVar[bool] = False
    last_state: Mapping[str, str] = {}  # added to the state after the last window

    @abstractmethod
    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page, below `self.base`."""

    @abstractmethod
    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a page: all that is needed to request the next one."""

    def read_page(self, document: Document, request: PageRequest) -> tuple[Outline, Reading]:
        """Return the outline of a page and its papers."""
        return self.outline(document, request), self.read(document)

    def targets(self) -> Sequence[str]:
        """Return what to request one after the other: categories, venues."""
        return ("",)

    def page_name(self, request: PageRequest) -> str:
        first, last = request.window.days
        target = f"{request.target} " if request.target else ""
        return f"{target}{first}..{last} page {request.page}"

    @property
    def server_address(self) -> str:
        return self.base

    @property
    def base(self) -> str:
        return (self.options.url or self.address).rstrip("/")

    def address_of(self, path: str, parameters: Mapping[str, object]) -> str:
        """Return an address of the service, with the parameters that are not empty."""
        used = {name: value for name, value in parameters.items() if value != ""}
        return f"{self.base}{path}{'&' if '?' in self.base else '?'}{urlencode(used)}"

    def windows(self, state: Mapping[str, str]) -> Iterator[Window]:
        """Yield the windows of a run without gaps, oldest first."""
        now = self._clock()
        targets = self.targets()
        overlap = self.options.overlap
        start = now + overlap - (self.first or overlap)
        until = min(parse_date(state.get(UNTIL, "")) or start, now)
        begin = min(parse_date(state.get(FROM, "")) or until - overlap, now)
        days = state.get(DAYS, "")
        longest = self.longest or overlap + WEEK
        longest = timedelta(days=int(days)) if days.isdigit() else longest
        while now - begin > longest:
            yield Window(begin, begin + longest, False, targets)
            begin += longest
        yield Window(begin, now, True, targets)

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the pages of each window; a page that fails ends the run."""
        if self.options.reads_documents:
            return super().find(validators)
        return _Walk(self, validators).find()

    def fetch_page(self, request: PageRequest, name: str) -> Document:
        """Fetch one page, also an error that the service explains; raises FetchError."""
        url = self.page_url(request)
        try:
            return replace(self.fetch(url), name=name)
        except FetchError as fault:
            document = Document(name, fault.body, self._clock(), url=redact_url(url))
            if fault.retry_after is not None or not self.is_answer(document):
                raise
            return document

    def is_answer(self, document: Document) -> bool:
        """Whether a response with a status of failure is the service's own."""
        return "error: " in self.read(document).error


@dataclass(slots=True)
class _Walk:
    # The source whose windows are walked through.
    source: WindowSource
    # The state after the last window that was read whole; at first that of the last run.
    state: Mapping[str, str]
    # The request for the next page.
    request: PageRequest = field(init=False)
    # The target is the last of its window, and all others were read whole.
    is_last: bool = False
    # The outline of the page loaded last; an empty one if it could not be loaded.
    outline: Outline = Outline()
    # Hashes of the pages of the target before this one: a list that repeats one has no end.
    seen: set[str] = field(default_factory=set)
    # The target was begun again, as the service forgot a cursor. That may happen once.
    restarted: bool = False
    # Pages of the window that were read whole.
    pages: int = 0
    # The service's own time at the first response of the window, None if it gives none.
    responded: datetime | None = None

    def find(self) -> Iterator[Found]:
        pages = 0
        for window in self.source.windows(self.state):
            self.pages = 0
            self.responded = None
            whole = True
            for number, target in enumerate(window.targets, start=1):
                self.is_last = whole and number == len(window.targets)
                self.request = PageRequest(window, target)
                yield from self._find_pages()
                whole = whole and self.outline.whole and not self.outline.following
                if not (whole or self.source.independent_targets):
                    return
            pages += self.pages
            if not whole or pages >= self.source.enough_pages:
                return
            self.state = self._done(window)

    def _find_pages(self) -> Iterator[Found]:
        """Yield the pages of a target; DocumentError if the list has no end."""
        self.seen = set()
        self.restarted = False
        while True:
            self.outline = Outline()
            name = f"{redact_url(self.source.base)} {self.source.page_name(self.request)}"
            yield Found(name, partial(self._load, name))
            if not self.outline.whole or not self._goes_on(name):
                return
            self.seen.add(self.outline.page_hash)
            self.request = replace(
                self.request,
                cursor=self.outline.following,
                page=self.request.page + 1,
                before=self.request.before + self.outline.records,
            )

    def _goes_on(self, name: str) -> bool:
        """Whether to request the next page; DocumentError for more than can be read."""
        source = self.source
        outline = self.outline
        if outline.following and outline.page_hash in self.seen:
            raise DocumentError(f"{source.service} gives the same page again and again: {name}")
        is_long = outline.following and self.pages >= source.max_pages
        if is_long and not self._half:
            why = f"{source.service} has more than {source.max_pages} pages between {name}"
            raise DocumentError(why, "narrow the request")
        if source.max_records and outline.total > source.max_records:
            why = f"{source.service} has {outline.total:,} records in {name}"
            raise DocumentError(f"{why}, more than {source.max_records:,}", "narrow the query")
        return bool(outline.following and not is_long)

    def _load(self, name: str) -> Document:
        document, outline = self._fetch(name)
        if outline.expired and self.request.cursor:
            if self.restarted:
                raise DocumentError(f"{self.source.service} rejected its own resumption token")
            self.restarted, self.request = True, replace(self.request, cursor="", before=0)
            self.seen.clear()
            document, outline = self._fetch(name)
        if outline.error:
            raise DocumentError(outline.error)
        if not outline.records and outline.total > self.request.before:
            total = f"{outline.total:,}"
            raise DocumentError(f"the answer is empty although it says that there are {total}")
        self.outline = outline
        self.pages += outline.whole
        self.responded = self.responded or outline.responded
        return replace(document, validators=dict(self._state_after_page()))

    def _fetch(self, name: str) -> tuple[Document, Outline]:
        document = self.source.fetch_page(self.request, name)
        outline = sandbox.ask(self.source, "outline", document, self.request)
        return document, cast("Outline", outline)

    def _state_after_page(self) -> Mapping[str, str]:
        """Return the state to store with the page that was loaded last."""
        if self.outline.whole and self.is_last and not self.outline.following:
            return self._done(self.request.window)
        is_long = self.outline.following and self.pages >= self.source.max_pages
        return (self._half if is_long else None) or self.state

    def _done(self, window: Window) -> dict[str, str]:
        if window.is_last:
            before = {k: v for k, v in self.state.items() if k not in (FROM, DAYS)}
            until = self.responded or window.end
            return {**before, **self.source.last_state, UNTIL: until.isoformat()}
        until = max(window.end, parse_date(self.state.get(UNTIL, "")) or window.end)
        state = {**self.state, UNTIL: until.isoformat()}
        if self.source.dates_changes:
            state[FROM] = window.end.isoformat()
        if days := self.state.get(DAYS):
            state[DAYS] = str(min(2 * int(days), WEEK.days))
        return state

    @property
    def _half(self) -> Mapping[str, str] | None:
        """The state that requests half of this window; None if it cannot be halved."""
        window = self.request.window
        days = (window.end - window.begin).days
        if not self.source.dates_changes or days < 2:
            return None
        return {**self.state, FROM: window.begin.isoformat(), DAYS: str(days // 2)}
