"""`/papers`: the search."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.commands.paper_search import PapersPage, find_page
from monitor.commands.query_bounds import is_too_long
from monitor.commands.shown_papers import show_papers
from monitor.errors import QueryError
from monitor.match import parse_query
from monitor.model import ChangeKind, DigestPaper, PaperFilter
from monitor.web.access import Role
from monitor.web.pages.feeds import (
    NEWEST,
    SEARCH,
    feed_path,
    hashed,
    refuse_feed,
    show_feed,
    signed_names,
)
from monitor.web.routes import Routes
from monitor.web.site import (
    SEARCHES,
    QueryFault,
    Visit,
    as_sentence,
    fault_of,
    name_of,
    names_of,
    told_apart,
    with_query,
)

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
        return cls(**{name: visit.parameter(name) for name in cls.__slots__})

    @property
    def is_filtered(self) -> bool:
        return any((self.source, self.topic, self.kind, self.since, self.until))

    def filter(self, visit: Visit) -> PaperFilter:
        """Return the filter, with the viewer's days; refuse with 400 what it cannot be."""
        zone = visit.zone
        if self.kind and self.kind not in KINDS:
            raise HTTPException(400, f"“{self.kind}” is not a kind of news: use {', '.join(KINDS)}")
        return PaperFilter(
            source=name_of(self.source, visit.source_titles),
            topic=_topic_name(visit, self.topic),
            kind=ChangeKind(self.kind) if self.kind else None,
            since=_midnight(self.since, zone),
            until=_midnight(self.until, zone, days=1),
        )

    def without_days(self) -> SearchForm:
        """Return the search of a feed: days end, and feeds go on."""
        return replace(self, since="", until="", after="")

    def path(self, path: str, after: int | None = None) -> str:
        """Return the address of a page with these fields, from a cursor on."""
        return with_query(path, asdict(replace(self, after=str(after or ""))))


def _topic_name(visit: Visit, text: str) -> str:
    """Return the name of the topic with a name or a title, or refuse with 400."""
    if not text:
        return ""
    names = names_of(text, visit.topic_titles)
    if len(names) != 1:
        which = "more than one" if names else "no"
        raise HTTPException(400, f"{which} topic is called “{text}”: the page Topics has the names")
    return names[0]


def _is_day(text: str) -> bool:
    """Return whether a field for dates can hold a text; any other is shown as it was typed."""
    try:
        return not text or date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _midnight(text: str, zone: str, days: int = 0) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise HTTPException(400, f"“{text}” is not a day: write it as 2026-11-21") from None
    try:
        start = datetime.combine(day + timedelta(days=days), time(), ZoneInfo(zone))
        return start.astimezone(UTC)
    except OverflowError:  # not in every zone do the first and the last day have a midnight
        return (datetime.max if day.year > 1 else datetime.min).replace(tzinfo=UTC)


@routes.page("/feed/papers/search.atom", Role.NOBODY, SEARCHES)
def search_feed(visit: Visit) -> Response:
    """Return the newest papers that a search finds, by the time when they were first seen."""
    search = SearchForm.of(visit).without_days()
    fields = asdict(search)
    name = hashed(with_query("", fields))
    if not (visit.viewer.is_known or signed_names(visit) == (SEARCH, name)):
        return refuse_feed(visit)
    wanted = search.filter(visit)
    papers = find_page(visit.runtime, search.q, wanted, limit=NEWEST).papers
    source = visit.source_titles.get(wanted.source, search.source)
    topic = visit.runtime.group_rules[wanted.topic].title if wanted.topic else ""
    title = " · ".join(filter(None, (search.q, topic, source, search.kind))) or "All papers"
    news = [(stored, stored.first_seen) for stored in papers]
    return show_feed(visit, title, (SEARCH, name), news, search.path("/papers"), **fields)


@routes.page("/papers", Role.READER, SEARCHES, takes=SearchForm.__slots__)
def search_papers(visit: Visit) -> Response:
    """Search in the language of topics, newest first, page by page."""
    runtime = visit.runtime
    search = SearchForm.of(visit)
    cursor = visit.number("after")
    fault: str | QueryFault = ""
    page = PapersPage(())
    entries: list[DigestPaper] = []
    fields = asdict(search.without_days())
    too_long = is_too_long(search.q)
    try:
        if too_long:
            raise too_long
        parsed = parse_query(search.q, runtime.synonyms) if search.q else None
        counted = cursor is None
        page = find_page(runtime, search.q, search.filter(visit), cursor, counted=counted)
        with runtime.database.reading() as tx:
            entries = show_papers(runtime, tx, page.papers, parsed, visit.libraries)
    except QueryError as error:
        fault = fault_of(error)
    except HTTPException as error:
        fault = as_sentence(error.detail)
    return visit.show(
        "papers",
        413 if too_long else 400 if fault else 200,
        search=search,
        entries=entries,
        page=page,
        feed="" if fault else feed_path(visit, SEARCH, hashed(with_query("", fields)), **fields),
        fault=fault,
        sources=told_apart(visit.source_titles),
        topics=told_apart(visit.topic_titles),
        kinds=KINDS,
        is_day=_is_day,
    )
