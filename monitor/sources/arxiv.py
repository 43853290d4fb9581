"""Kind `arxiv`: the daily feeds of rss.arxiv.org, the query API, and OAI-PMH to fill gaps.

A feed holds one day. If a publishing day lies between it and the last one that was read, OAI-PMH
is read since the last complete reading, and a day before. A `query:` goes to the query API instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from msgspec import structs
from pydantic import Field, field_validator

from monitor.model import Authority, Document, Paper, Reading, arxiv_month
from monitor.sources.api.windows import (
    WEEK,
    ApiOptions,
    Outline,
    OverlapDays,
    PageRequest,
    Query,
    WindowSource,
)
from monitor.sources.base import Found, Source
from monitor.sources.calendar import Calendar, american_holidays
from monitor.sources.feed.source import Feed
from monitor.sources.fields.dates import end_of_month, parse_date
from monitor.sources.oai.source import Oai, OaiOptions
from monitor.text.arxiv_categories import (
    ARXIV_ARCHIVES,
    ARXIV_GROUPS,
    as_arxiv_writes,
    nearest_category,
)

FEEDS = "https://rss.arxiv.org"
ARCHIVE = "https://oaipmh.arxiv.org"
DAY = timedelta(days=1)
PAGE_SIZE = 200  # of the query API

_CATEGORY = re.compile(r"[a-z]+(?:-[a-z]+)*(?:\.[A-Za-z]+(?:-[a-z]+)*)?")
_OAI = re.compile(rb"<(?:\w{1,20}:)?(?:OAI-PMH|ListRecords|GetRecord|record)[\s>]")
_TOTAL = re.compile(rb"<(?:\w{1,20}:)?totalResults[^<>]{0,200}>\s*(\d{1,9})\s*<")
_FEED_DAY = re.compile(rb"<(?:pubDate|lastBuildDate)>([^<]{8,60})</")


# Mailings go out Sunday to Thursday at 20:00, feeds follow at midnight; both may be some hours
# late. https://info.arxiv.org/help/availability.html
CALENDAR = Calendar("America/New_York", frozenset(range(5)), time(4), american_holidays)


class ArxivOptions(ApiOptions):
    """Settings: `categories` or a `query`.

    With either, `url` is the base of a mirror that has `/rss/`, `/oai` and `/api/query`;
    without, it is one document. `overlap_days` is how many days before a gap are read again when
    it is filled; a query reads at least seven again.
    """

    query_settings = ("categories", "query")
    exclusive = (("categories", "query"), ("categories", "path"), ("query", "path"))
    reads_url = True

    categories: tuple[str, ...] = Field(
        (), description="categories (`cs.CL`) and archives (`math`)"
    )
    query: Query = ""
    overlap_days: OverlapDays = 1

    @field_validator("categories")
    @classmethod
    def _check_categories(cls, categories: tuple[str, ...]) -> tuple[str, ...]:
        for name in categories:
            written = as_arxiv_writes(name)
            if written and written != name:
                raise ValueError(f"“{name}” is not how arXiv writes it; write {written}")
            archive = name.partition(".")[0]
            if not _CATEGORY.fullmatch(name) or archive not in ARXIV_ARCHIVES:
                raise ValueError(f"“{name}” is not an arXiv category; write cs.CL, math.AG, hep-th")
        return tuple(dict.fromkeys(categories))

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Doubt categories that arXiv has perhaps added since our table was made."""
        for name in self.categories:
            if not as_arxiv_writes(name):
                meant = f"did you mean “{nearest_category(name)}”? arXiv may have added it"
                yield "categories", f"“{name}” is not a known category of arXiv; {meant}"

    @property
    def overlap(self) -> timedelta:
        """A query lists papers by their submission, up to a week before they are announced."""
        return max(super().overlap, WEEK if self.query else DAY)


class Arxiv(Source):
    """Reads arXiv's feeds, query API and OAI-PMH; papers have the day they were announced."""

    kind = "arxiv"
    assigns = ("arxiv",)
    authority = Authority.EVERY
    Options = ArxivOptions
    options: ArxivOptions
    calendar = CALENDAR

    def read(self, document: Document) -> Reading:
        """Read a feed, or a response of the query API or OAI-PMH. An empty feed is a quiet day."""
        plain = document.content[:4096].replace(b"\0", b"")
        if _OAI.search(plain):
            return self._archive().read(document)
        reading = Feed(self.name, self.options, None, self._clock).read(document)
        return replace(reading, papers=tuple(map(_limit_announced, reading.papers)))

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        options = self.options
        if options.query:
            query = ArxivQuery(self.name, options, self._client, self._clock)
            yield from query.find(validators)
            return
        if not options.categories:
            yield from super().find(validators)
            return
        feed = f"{(options.url or FEEDS).rstrip('/')}/rss/{'+'.join(options.categories)}"
        page = self._page(feed, validators)
        today = _FeedOfToday(page, validators, self._clock)
        yield Found(page.name, today.load)
        if today.has_gap():
            archive = self._archive()
            archive.last_state = {"day": f"{today.day}"} if today.day else {}
            yield from archive.find(validators)

    def _archive(self) -> Oai:
        options = OaiOptions(
            url=f"{(self.options.url or ARCHIVE).rstrip('/')}/oai",
            allow_private=self.options.allow_private,
            overlap_days=self.options.overlap_days,
            sets=sets(self.options.categories),
            prefix="arXivRaw",
        )
        return Oai(self.name, options, self._client, self._clock)


class ArxivQuery(Feed, WindowSource):
    """Reads the responses to one query: windows of time, oldest first, each in numbered pages.

    https://info.arxiv.org/help/api/user-manual.html. The results are sorted, since the pages of
    unsorted ones overlap. A page begins where the entries read so far end.
    """

    service = "arXiv"
    address = "https://export.arxiv.org"
    max_records = 10_000
    options: ArxivOptions

    def page_url(self, request: PageRequest) -> str:
        first, last = (day.replace("-", "") for day in request.window.days)
        submitted = f"submittedDate:[{first}0000 TO {last}2359]"
        parameters = {
            "search_query": f"({self.options.query}) AND {submitted}",
            "start": request.before,
            "max_results": PAGE_SIZE,
            "sortBy": "submittedDate",
            "sortOrder": "ascending",
        }
        return self.address_of("/api/query", parameters)

    def outline(self, document: Document, request: PageRequest) -> Outline:
        return self.read_page(document, request)[0]

    def read_page(self, document: Document, request: PageRequest) -> tuple[Outline, Reading]:
        reading = self.read(document)
        return _outline(document, request, reading), reading


def _outline(document: Document, request: PageRequest, reading: Reading) -> Outline:
    """Count on. An empty page in the middle is not the end: arXiv sends one when it is busy."""
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


@dataclass(slots=True)
class _FeedOfToday:
    """The feed of the day, fetched by `load`; `day` is None until it is, and if that fails."""

    page: Found
    state: Mapping[str, str]
    clock: Callable[[], datetime]
    day: date | None = None

    def load(self) -> Document | None:
        document = self.page.load()
        if document is None:
            self.day = _day(self.state.get("day", ""))
            return None
        self.day = feed_day(document.content)
        if self.day is None or self.has_gap():
            return replace(document, validators=dict(self.state))
        state = {"day": f"{self.day}", "until": document.at.isoformat()}
        return replace(document, validators={**document.validators, **state})

    def has_gap(self) -> bool:
        return is_gap(self.state, self.day, self.clock())


def is_gap(state: Mapping[str, str], day: date | None, now: datetime) -> bool:
    """Whether something was announced in no feed that was read; `day` is that of today's, if any.

    So it is when a publishing day lies between it and the last feed that was read, or when the
    feed is old or cannot be fetched, and the last complete reading is over a day ago.
    """
    until = parse_date(state.get("until", ""))
    if until is None:
        return True
    last = _day(state.get("day", ""))
    if day and last and publishes_between(last, day):
        return True
    fresh = day is not None and not publishes_between(day, now.astimezone(UTC).date())
    return not fresh and now - until > DAY


def publishes_between(after: date, before: date) -> bool:
    """Whether a day from Monday to Friday lies between two days: arXiv's feeds are of those."""
    return any((after + DAY * n).weekday() < 5 for n in range(1, (before - after).days))


def feed_day(content: bytes) -> date | None:
    """Return the day of a feed: its date is midnight at arXiv, which is no other day in UTC."""
    written = _FEED_DAY.search(content)
    return _day(written[1].decode(errors="replace")) if written else None


def sets(categories: Sequence[str]) -> tuple[str, ...]:
    """Return the sets that hold categories: cs.LG is cs:cs:LG, hep-th is physics:hep-th."""
    parts = (name.split(".") for name in categories)
    return tuple(
        ":".join([archive if archive in ARXIV_GROUPS else "physics", archive, *part])
        for archive, *part in parts
    )


def _limit_announced(paper: Paper) -> Paper:
    """Date by its identifier what is announced once more: a cross-list may be years old."""
    month = next(filter(None, map(arxiv_month, paper.identifiers("arxiv"))), None)
    if not (paper.announced and month) or paper.announce in ("", "new"):
        return paper
    end = datetime.combine(end_of_month(month), time(23, 59, 59), UTC)
    return structs.replace(paper, announced=min(paper.announced, end))


def _day(written: str) -> date | None:
    at = parse_date(written)
    return at.date() if at else None
