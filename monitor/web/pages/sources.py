"""`/sources`: when each was read, what it brought, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.status import status
from monitor.model import DayCount
from monitor.setting_types import duration
from monitor.store import incidents, runs, source_history
from monitor.web.plots import plot_days
from monitor.web.site import show, show_problem, site_of, zone_of

DAYS = timedelta(days=60)
RUNS = 50


def all_sources(request: Request) -> Response:
    """List the sources with their last run and what is wrong."""
    site = site_of(request)
    report = status(site.runtime, probe=False)
    return show(request, "sources", sources=report.sources, titles=site.source_titles)


def one_source(request: Request) -> Response:
    """Show what a source brought on each day, its runs, gaps, rejected records and errors."""
    site, name = site_of(request), request.path_params["name"]
    runtime, zone = site.runtime, zone_of(request)
    if name not in runtime.sources:
        return show_problem(request, 404, f"There is no source “{name}”.")
    now, source = runtime.clock.now(), runtime.sources[name]
    with runtime.database.reading() as tx:
        past = source_history.last_runs(tx, name, RUNS)
        days = source_history.new_papers_by_day(tx, name, now - DAYS, zone)
        last = runs.last_start(tx, name)
        troubles = [
            one for one in incidents.open_incidents_and_gaps(tx) if one.subject == f"source {name}"
        ]
    return show(
        request,
        "source",
        source_name=name,
        heading=site.source_titles.get(name, name),
        source=source,
        runs=past,
        plot=_plot(days, runtime.clock.now().astimezone(ZoneInfo(zone)).date(), zone),
        every=duration(source.every),
        next_run=last + source.every if last else None,
        troubles=troubles,
    )


def _plot(counts: Mapping[date, int], today: date, zone: str) -> str:
    """Return the new papers of each day since the first reading shown; a gap was not read."""
    if not counts:
        return ""
    first = min(counts)
    days = (first + timedelta(days=number) for number in range((today - first).days + 1))
    shown = [DayCount(day, counts.get(day)) for day in days]
    return plot_days(shown, "New papers a day", axis=f"day ({zone})")


ROUTES = [
    Route("/sources", all_sources),
    Route("/sources/{name}", one_source),
]
