"""`/papers`: the search."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from starlette.responses import Response

from monitor.commands.paper_search import PapersPage, find_page
from monitor.commands.shown_papers import show_papers
from monitor.errors import QueryError, TooWideError, UsageError
from monitor.match import parse_query
from monitor.model import ChangeKind, DigestPaper, PaperFilter
from monitor.web.access import Role
from monitor.web.routes import Routes
from monitor.web.site import MOST_LISTED, SEARCHES, Visit, with_query

# The kinds of news that the form offers: not that of papers seen too late to be news.
KINDS = (ChangeKind.NEW, ChangeKind.REVISED, ChangeKind.WITHDRAWN)

routes = Routes()


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The fields of the search as they were filled in.

    `since` and `until` are days, the last one included; `after` is the cursor of the page.
    """

    q: str = ""
    source: str = ""
    topic: str = ""
    kind: str = ""
    since: str = ""
    until: str = ""
    after: str = ""

    @classmethod
    def of(cls, visit: Visit) -> SearchForm:
        """Return the search that an address holds."""
        return cls(**{name: visit.parameter(name) for name in cls.__slots__})

    @property
    def is_filtered(self) -> bool:
        return any((self.source, self.topic, self.kind, self.since, self.until))

    def filter(self, zone: str) -> PaperFilter:
        """Return the filter, with the days of a zone. Raises UsageError for what is no day."""
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"“{self.kind}” is not a kind of news", f"use {', '.join(KINDS)}")
        return PaperFilter(
            source=self.source,
            topic=self.topic,
            kind=ChangeKind(self.kind) if self.kind else None,
            since=_midnight(self.since, zone),
            until=_midnight(self.until, zone, days=1),
        )

    def path(self, path: str, after: int | None = None) -> str:
        """Return the address of a page with these fields, from a cursor on."""
        return with_query(path, asdict(replace(self, after=str(after or ""))))


def _midnight(text: str, zone: str, days: int = 0) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"“{text}” is not a day", "write it as 2026-11-21") from None


@routes.page("/papers", Role.READER, SEARCHES)
def search_papers(visit: Visit) -> Response:
    """Search in the language of topics, newest first, page by page."""
    runtime, search, cursor = visit.runtime, SearchForm.of(visit), visit.number("after")
    fault: str | QueryError = ""
    status = 200
    page = PapersPage(())
    entries: list[DigestPaper] = []
    try:
        parsed = parse_query(search.q, runtime.synonyms) if search.q else None
        page = find_page(runtime, search.q, search.filter(visit.zone), cursor)
        with runtime.database.reading() as tx:
            entries = show_papers(runtime, tx, page.papers, parsed)
    except QueryError as error:
        fault = error
        status = 400 if isinstance(error, TooWideError) else 200
    except UsageError as error:
        fault = f"{error.message}; {error.hint}"
    return visit.show(
        "papers",
        status,
        search=search,
        entries=entries,
        page=page,
        fault=fault,
        topics=[topic.name for topic in runtime.topics[: MOST_LISTED + 1]],
        kinds=KINDS,
    )
