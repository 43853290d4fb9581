"""`/sources`: when each was read, what it brought, and what is wrong with it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.history import count_of_source, source_history
from monitor.commands.status import status
from monitor.model import DayCount
from monitor.pipeline.runtime import ConfiguredSource
from monitor.setting_types import duration
from monitor.store.sources import runs
from monitor.web.paging import Slice, parameter
from monitor.web.plots import plot_days
from monitor.web.site import one_at_a_time, show, site_of, zone_of

RUNS = 50
# Sources on a page: each may have an error.
PAGE = 120


def all_sources(request: Request) -> Response:
    """List the sources with their last run and what is wrong."""
    site = site_of(request)
    report = status(site.runtime, probe=False, zone=zone_of(request))
    start = parameter(request, "after") or 0
    sources = Slice.of(report.sources, start, PAGE)
    return show(request, "sources", sources=sources, titles=site.source_titles)


def one_source(request: Request) -> Response:
    """Show what a source brought on each day, its runs, gaps, rejected records and errors."""
    site, name = site_of(request), request.path_params["name"]
    runtime = site.runtime
    if name not in runtime.sources:
        raise HTTPException(404, f"There is no source “{name}”.")
    source = runtime.sources[name]
    history = source_history(runtime, name, RUNS)
    with runtime.database.reading() as tx:
        last = runs.last_start(tx, name)
    return show(
        request,
        "source",
        source_name=name,
        heading=site.source_titles.get(name, name),
        source=source,
        history=history,
        plot=_plot(count_of_source(runtime, name), source),
        every=duration(source.settings.every),
        next_run=last + source.settings.every if last else None,
    )


def _plot(days: tuple[DayCount, ...], source: ConfiguredSource) -> str:
    zone = source.calendar.zone if source.calendar else "UTC"
    return plot_days(days, "New papers a day", axis=f"day ({zone})")


ROUTES = [
    Route("/sources", one_at_a_time(all_sources)),
    Route("/sources/{name}", one_at_a_time(one_source)),
]
