"""`/`, `/status` and `/healthz`: how things are now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from monitor.commands.heartbeat import vital_signs
from monitor.commands.status import SourceStatus, status
from monitor.store.digests import digests
from monitor.store.sources import runs
from monitor.web.paging import Slice, parameter
from monitor.web.site import one_at_a_time, show, site_of, subscriptions_of, viewer_of, zone_of

NEWEST = 12
# Of a long list that another page has in full, and of one that has its pages here.
LISTED, PAGE = 50, 100


def today(request: Request) -> Response:
    """Show what came in, what was sent, what is due when, trouble, and the newest digests."""
    site, viewer = site_of(request), viewer_of(request)
    names = [s.name for s in subscriptions_of(request)]
    with site.runtime.database.reading() as tx:
        newest = digests.newest(tx, names, NEWEST)
    report = None
    if viewer.is_operator:
        report = status(site.runtime, probe=False, zone=zone_of(request))
    return show(
        request,
        "today",
        report=report,
        sources=_with_trouble_first(report.sources) if report else (),
        listed=LISTED,
        newest=newest,
        titles=site.titles,
        source_titles=site.source_titles,
    )


def _with_trouble_first(sources: Sequence[SourceStatus]) -> Sequence[SourceStatus]:
    """Return the sources in an order in which the first ones say enough where not all are shown."""
    if len(sources) <= LISTED:
        return sources
    return sorted(sources, key=lambda source: not (source.failing_since or source.troubles))


def show_status(request: Request) -> Response:
    report = status(site_of(request).runtime, probe=False, zone=zone_of(request))
    start = parameter(request, "after") or 0
    return show(
        request,
        "status",
        report=report,
        sources=_with_trouble_first(report.sources),
        listed=LISTED,
        subscriptions=Slice.of(report.subscriptions, start, PAGE),
    )


def health(request: Request) -> Response:
    """Answer 503 where the scheduler is dead or the store cannot be written, and for nothing else.

    A visitor who is logged in also gets the names.
    """
    runtime = site_of(request).runtime
    checks = vital_signs(runtime.database)
    ok = all(check.ok for check in checks)
    answer: dict[str, object] = {
        "ok": ok,
        "checks": [{"name": c.name, "ok": c.ok, "message": c.message} for c in checks],
    }
    if ok:
        answer |= _ages(request)
    return JSONResponse(answer, 200 if ok else 503)


def _ages(request: Request) -> dict[str, object]:
    """Return the age in seconds of each source's last good run, and of the oldest late digest."""
    runtime, is_known = site_of(request).runtime, viewer_of(request).is_known
    now = datetime.now(UTC)
    with runtime.database.reading() as tx:
        read = {name: runs.last_read(tx, name) for name in runtime.sources}
        due = digests.oldest_open(tx)
    ages = {name: round((now - at).total_seconds()) if at else None for name, at in read.items()}
    late = round((now - due.due_at).total_seconds()) if due else None
    if not is_known:
        return {"sources": list(ages.values()), "oldest_overdue_digest": late}
    named = {"subscription": due.subscription, "age": late} if due else None
    return {"sources": ages, "oldest_overdue_digest": named}


ROUTES = [
    Route("/", one_at_a_time(today)),
    Route("/status", one_at_a_time(show_status)),
    Route("/healthz", health),
]
