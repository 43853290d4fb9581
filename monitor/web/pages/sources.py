"""`/sources`: when each was read, what it brought, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.commands import remedies
from monitor.commands.status import sources_status
from monitor.digest.page_paths import path_to
from monitor.model import DayCount, Run
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline.ingest import is_read_requested
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.source_silence import compare_days
from monitor.setting_types import duration
from monitor.store.digests import incidents as stored_incidents
from monitor.store.papers import undecided
from monitor.store.sources import reading_state, runs
from monitor.web.access import Role
from monitor.web.plots import DAYS, plot_days
from monitor.web.routes import Form, Routes
from monitor.web.site import PAGES, Visit, go

# Sources on a page: each may have an error.
PAGE = 120
# Of one source: the days of its incidents and faulty runs, the newest runs, and undecided records.
RECENT = timedelta(days=30)
RUNS = 50
UNDECIDED = 20

routes = Routes()


@routes.page("/sources", Role.OPERATOR, PAGES, takes=("after",))
def all_sources(visit: Visit) -> Response:
    sources = visit.slice(sources_status(visit.runtime), PAGE)
    return visit.show("sources", sources=sources, titles_of_sources=visit.source_titles)


@routes.form("/sources/{name}/read", Role.OPERATOR)
def read(visit: Visit, fields: Form) -> Response:
    """Have a source read at the next tick of the service."""
    name = visit.path_params["name"]
    if name not in visit.runtime.sources:
        raise HTTPException(404, f"There is no source “{name}”.")
    remedies.read_now(visit.runtime, name)
    return go(path_to("sources", name))


@routes.page("/sources/{name}", Role.OPERATOR, PAGES)
def one_source(visit: Visit) -> Response:
    """Show what a source brought on each day, its runs, gaps, rejected records and errors."""
    runtime = visit.runtime
    name = visit.path_params["name"]
    if name not in runtime.sources:
        raise HTTPException(404, f"There is no source “{name}”.")
    source = runtime.sources[name]
    since = runtime.clock.now() - RECENT
    days_in = source.calendar.zone
    with runtime.database.reading() as tx:
        newest = runs.newest_of_source(tx, name, RUNS)
        faulty = runs.newest_of_source(tx, name, RUNS, only_faulty_since=since)
        noted = stored_incidents.of_subject(tx, Subject(SubjectKind.SOURCE, name), since)
        records = undecided.listing(tx, UNDECIDED, name)
        last = runs.last_start(tx, name)
        state = reading_state.source_state(tx, name, source.address)
    return visit.show(
        "source",
        source_name=name,
        heading=visit.runtime.source_titles.get(name, name),
        source=source,
        runs=newest,
        faulty=_once_each(faulty),
        incidents=noted,
        undecided=records,
        plot=plot_days(count_of_source(runtime, name), "New papers a day", axis=f"day ({days_in})"),
        every=duration(source.settings.every),
        is_read_requested=is_read_requested(state, last),
        next_run=last + source.settings.every if last else None,
    )


def count_of_source(runtime: Runtime, source: str) -> tuple[DayCount, ...]:
    """Return how many papers a configured source had on each day, and usually has, oldest first.

    The days are the source's own. Nothing for a source whose first reading is not complete.
    """
    calendar = runtime.sources[source].calendar
    with runtime.database.reading() as tx:
        first = runs.first_read(tx, source)
        stored = runs.days(tx, source)
    if first is None:
        return ()
    now = runtime.clock.now()
    return compare_days(stored, calendar.day(first), now, calendar, DAYS)


def _once_each(faulty: Sequence[Run]) -> list[Run]:
    """Keep the newest run of each document and error: a bad file fails each minute."""
    newest: dict[tuple[str | None, str, int], Run] = {}
    for run in faulty:
        newest.setdefault((run.document, run.error, run.rejected), run)
    return list(newest.values())
