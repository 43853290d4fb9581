"""What the search on `/papers` asks for: the same parameters for its page and its exports."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from starlette.requests import Request

from monitor.errors import UsageError
from monitor.model import ChangeKind, PaperFilter
from monitor.web.paging import read_number
from monitor.web.site import with_query, zone_of

# What was seen too late to be news is no filter that anybody would look for.
KINDS = (ChangeKind.NEW, ChangeKind.REVISED, ChangeKind.WITHDRAWN)


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

    @property
    def is_filtered(self) -> bool:
        return any((self.source, self.topic, self.kind, self.since, self.until))

    @property
    def cursor(self) -> int | None:
        return read_number("after", self.after)

    def wanted(self, zone: str) -> PaperFilter:
        """Return the filter, with the days of a zone. Raises UsageError for what is no day."""
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"“{self.kind}” is not a kind of news", f"use {', '.join(KINDS)}")
        until = _midnight(self.until, zone, days=1)
        return PaperFilter(
            source=self.source,
            topic=self.topic,
            kind=ChangeKind(self.kind) if self.kind else None,
            since=_midnight(self.since, zone),
            until=until,
        )

    def path(self, path: str, after: int | None = None) -> str:
        """Return the address of a page with these fields, from a cursor on."""
        return with_query(path, asdict(replace(self, after=str(after or ""))))


def read_search(request: Request) -> SearchForm:
    """Return the search that an address holds."""
    parameters = request.query_params
    return SearchForm(**{name: parameters.get(name, "").strip() for name in SearchForm.__slots__})


def wanted_by(request: Request, search: SearchForm) -> PaperFilter:
    """Return the filter of a search, its days in the viewer's zone. Raises UsageError."""
    return search.wanted(zone_of(request))


def _midnight(text: str, zone: str, days: int = 0) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=days)
        return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"“{text}” is not a day", "write it as 2026-11-21") from None
