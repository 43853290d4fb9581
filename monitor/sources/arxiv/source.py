"""Kind `arxiv`: the daily feeds of rss.arxiv.org, the query API, and OAI-PMH to fill gaps.

    the feed of the day ──> a publishing day between it and the last one that was read?
                              no:  that is all
                              yes: OAI-PMH since the last whole reading, a day over

Feeds hold one day each, and a day that was missed is gone from them. A `query:` is asked of the
query API instead, piece of time by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import ClassVar

from msgspec import structs
from pydantic import Field, field_validator, model_validator

from monitor.model import Document, FirstRun, Paper, Reading
from monitor.sources import sandbox
from monitor.sources.arxiv import oai_records, query_api
from monitor.sources.arxiv.query_api import Search
from monitor.sources.base import Found, SourceOptions
from monitor.sources.calendar import Calendar, american_holidays
from monitor.sources.feed.source import Feed
from monitor.sources.fields.arxiv_text import end_of_id_month
from monitor.sources.fields.dates import parse_date
from monitor.sources.formats.oai.envelope import Record
from monitor.sources.formats.oai.harvest import Harvester, Repository

FEEDS = "https://rss.arxiv.org/rss/"
ARCHIVE = "https://oaipmh.arxiv.org/oai"
DAY = timedelta(days=1)

_CATEGORY = re.compile(r"[a-z]+(?:-[a-z]+)*(?:\.[A-Za-z]+(?:-[a-z]+)*)?")
_OAI = re.compile(rb"<(?:\w{1,20}:)?(?:OAI-PMH|ListRecords|GetRecord|record)[\s>]")
_FEED_DAY = re.compile(rb"<(?:pubDate|lastBuildDate)>([^<]{8,60})</")
_GROUPS = frozenset({"cs", "econ", "eess", "math", "physics", "q-bio", "q-fin", "stat"})
_OF_PHYSICS = frozenset(
    {"astro-ph", "cond-mat", "gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th", "math-ph", "nlin"}
    | {"nucl-ex", "nucl-th", "quant-ph"}
)


# Mailings go out Sunday to Thursday at 20:00, feeds follow at midnight; both may be some hours
# late. https://info.arxiv.org/help/availability.html
CALENDAR = Calendar("America/New_York", frozenset(range(5)), time(4), american_holidays)


class ArxivOptions(SourceOptions):
    """Settings: `categories` such as cs.CL, or whole archives such as math; or a `query`.

    With either, `url` is the base of a mirror that has `/rss/`, `/oai` and `/api/query`;
    without, it is one document. `overlap_days` is how far the filling of a gap looks back
    behind it, and a query, which needs seven, if it is more.
    """

    places_needed: ClassVar[bool] = False

    categories: tuple[str, ...] = ()
    query: str = ""
    overlap_days: int = Field(default=1, ge=1, le=365)

    @field_validator("categories")
    @classmethod
    def _named(cls, categories: tuple[str, ...]) -> tuple[str, ...]:
        for name in categories:
            archive = name.partition(".")[0]
            if not _CATEGORY.fullmatch(name) or archive not in _OF_PHYSICS | _GROUPS:
                raise ValueError(f"“{name}” is not an arXiv category; write cs.CL, math.AG, hep-th")
        return tuple(dict.fromkeys(categories))

    @model_validator(mode="after")
    def _asks_something(self) -> ArxivOptions:
        if sum(map(bool, (self.categories, self.query.strip(), self.path))) > 1:
            raise ValueError("give either `categories:`, `query:` or `path:`")
        if not (self.categories or self.query.strip() or self.url or self.path):
            raise ValueError("needs `categories:` or `query:`")
        return self


class Arxiv(Harvester):
    """Reads all that arXiv sends. A day of announcement or a first version is its date."""

    kind: ClassVar[str] = "arxiv"
    Options: ClassVar[type[SourceOptions]] = ArxivOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = True
    calendar: ClassVar[Calendar | None] = CALENDAR

    def read(self, document: Document) -> Reading:
        """Read a feed, an answer of the query API or of OAI-PMH. An empty feed is a quiet day."""
        plain = document.content[:4096].replace(b"\0", b"")
        if _OAI.search(plain):
            return self.envelope(document.content).reading()
        reading = Feed(self.name, self.options, None, self._clock).read(document)
        return replace(reading, papers=tuple(map(_first_announced, reading.papers)))

    def told(self, record: Record) -> Paper | str:
        return oai_records.paper(record, self._clock())

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        """Find the feed of the day, and in OAI-PMH what is missing before it."""
        asked = self.options
        if not isinstance(asked, ArxivOptions) or not (asked.categories or asked.query.strip()):
            yield from super().find(validators)
            return
        base = asked.url.rstrip("/") if asked.url else ""
        overlap = timedelta(days=asked.overlap_days)
        if asked.query.strip():
            address = f"{base}/api/query" if base else query_api.ADDRESS
            page, read = partial(self._page, validators={}), partial(sandbox.read, self)
            search = Search(address, asked.query, page, read)
            yield from search.found(validators, self._clock(), overlap)
            return
        feeds, archive = (f"{base}/rss/", f"{base}/oai") if base else (FEEDS, ARCHIVE)
        today = _Today(self, feeds + "+".join(asked.categories), validators)
        yield Found(today.name, today.load)
        if not (today.asked and today.gap()):
            return
        repository = Repository(archive, "arXivRaw", sets(asked.categories))
        kept = {"day": f"{today.day}"} if today.day else {}
        yield from self.harvest(repository, validators, overlap, kept)


class _Today:
    """The feed of the day on its way; `asked` once it was tried, whatever came of it."""

    def __init__(self, source: Arxiv, url: str, state: Mapping[str, str]) -> None:
        self.source = source
        self.state = state
        self.asked = False
        self.day: date | None = None
        self._found = source._page(url, state)
        self.name = self._found.name

    def load(self) -> Document | None:
        self.asked = True
        document = self._found.load()
        if document is None:
            self.day = _day(self.state)
            return None
        self.day = feed_day(document.content)
        if self.day is None or self.gap():
            return replace(document, validators=dict(self.state))
        told = {"day": f"{self.day}", "until": document.at.isoformat()}
        return replace(document, validators={**document.validators, **told})

    def gap(self) -> bool:
        return is_gap(self.state, self.day, self.source._clock())


def is_gap(state: Mapping[str, str], day: date | None, now: datetime) -> bool:
    """Say whether something was announced that no feed told: `day` is that of today's, if any.

    So it is when a publishing day lies between it and the last feed that was read, or when
    the feed cannot be had or is an old one, and the last whole reading is over a day ago.
    """
    until = parse_date(state.get("until", ""))
    if until is None:
        return True
    last = _day(state)
    if day and last and publishing_days(last, day):
        return True
    fresh = day is not None and not publishing_days(day, now.astimezone(UTC).date())
    return not fresh and now - until > DAY


def publishing_days(after: date, before: date) -> int:
    """Count the days from Monday to Friday between two days: arXiv's feeds are of those."""
    days = max((before - after).days - 1, 0)
    weeks, rest = divmod(days, 7)
    return weeks * 5 + sum((after + DAY * n).weekday() < 5 for n in range(1, rest + 1))


def feed_day(content: bytes) -> date | None:
    """Return the day a feed is of, as arXiv counts days (midnight in its own zone)."""
    found = _FEED_DAY.search(content)
    try:
        return parsedate_to_datetime(found[1].decode()).date() if found else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def sets(categories: Sequence[str]) -> tuple[str, ...]:
    """Return the sets that hold categories: cs.LG is cs:cs:LG, hep-th is physics:hep-th."""
    found = []
    for name in categories:
        archive, _, part = name.partition(".")
        group = archive if archive in _GROUPS else "physics"
        found.append(":".join(filter(None, (group, archive, part))))
    return tuple(found)


def _first_announced(paper: Paper) -> Paper:
    """Date what is announced again by its identifier: a cross-list may be years old."""
    number = paper.keys.get("arxiv", "")
    if not paper.announced or paper.announce in ("", "new") or not isinstance(number, str):
        return paper
    month = end_of_id_month(number)
    return structs.replace(paper, announced=min(paper.announced, month)) if month else paper


def _day(state: Mapping[str, str]) -> date | None:
    try:
        return date.fromisoformat(state.get("day", ""))
    except ValueError:
        return None
