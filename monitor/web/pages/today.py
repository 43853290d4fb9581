"""`/` and `/status`: the state of the service now; `/static/`, `/robots.txt`: without a login."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import PlainTextResponse, Response

from monitor.commands.status import SourceStatus, status
from monitor.store.digests import digests
from monitor.web.access import Role
from monitor.web.routes import Routes
from monitor.web.site import ASSETS, PAGES, Visit, asset_content

NEWEST = 12
# Of a long list that another page has in full, and of one that has its pages here.
LISTED, PAGE = 50, 100

routes = Routes()


@routes.page("/", Role.READER, PAGES)
def today(visit: Visit) -> Response:
    """Show what came in, what was sent, what is due when, trouble, and the newest digests."""
    with visit.runtime.database.reading() as tx:
        newest = digests.newest(tx, [s.name for s in visit.subscriptions], NEWEST)
    is_operator = visit.viewer.is_operator
    report = status(visit.runtime, probe=False, zone=visit.zone) if is_operator else None
    return visit.show(
        "today",
        report=report,
        sources=_with_trouble_first(report.sources) if report else (),
        listed=LISTED,
        newest=newest,
    )


def _with_trouble_first(sources: Sequence[SourceStatus]) -> Sequence[SourceStatus]:
    """Return the sources in an order in which the first ones say enough where not all are shown."""
    if len(sources) <= LISTED:
        return sources
    return sorted(sources, key=lambda source: not (source.failing_since or source.troubles))


@routes.page("/status", Role.OPERATOR, PAGES)
def show_status(visit: Visit) -> Response:
    report = status(visit.runtime, probe=False, zone=visit.zone)
    return visit.show(
        "status",
        report=report,
        sources=_with_trouble_first(report.sources),
        listed=LISTED,
        subscriptions=visit.slice(report.subscriptions, PAGE),
    )


@routes.page("/static/{name}", Role.NOBODY, has_token=True)
def show_asset(visit: Visit) -> Response:
    """Return the style, the script or the icon of all pages."""
    name = visit.path_params["name"]
    if name not in ASSETS:
        return Response("not found", 404)
    headers = {"cache-control": "public, max-age=86400"}
    return Response(asset_content(name), media_type=ASSETS[name][0], headers=headers)


@routes.page("/robots.txt", Role.NOBODY, has_token=True)
def refuse_robots(visit: Visit) -> Response:
    """Ask robots to read nothing (RFC 9309)."""
    return PlainTextResponse("User-agent: *\nDisallow: /\n")
