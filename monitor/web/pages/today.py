"""`/` and `/status`: today, and the operator's tables; `/static/`, `/robots.txt`: for anyone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from starlette.responses import PlainTextResponse, Response

from monitor.commands.shown_papers import show_papers
from monitor.commands.status import soonest, status
from monitor.digest.said_once import said_of
from monitor.store.digests import digests
from monitor.store.topics import matches
from monitor.web.access import Role
from monitor.web.routes import Routes
from monitor.web.site import ASSETS, PAGES, Visit, asset_content

NEWEST = 6
NEXT = 10
PAPERS = 12
DAY = timedelta(days=1)
# Of a long list that another page has in full, and of one that has its pages here.
LISTED = 50
PAGE = 100

routes = Routes()


@routes.page("/", Role.READER, PAGES)
def today(visit: Visit) -> Response:
    """Show the problems, the papers of the last day, the next digests, and the newest ones."""
    runtime = visit.runtime
    now = visit.runtime.clock.now()
    topics = {topic for subscription in visit.subscriptions for topic in subscription.topics}
    with runtime.database.reading() as tx:
        newest = digests.newest(tx, [s.name for s in visit.subscriptions], NEWEST)
        newest = digests.with_notices(tx, newest)
        news = matches.newest_news(tx, topics, now - DAY, PAPERS + 1)
        papers = show_papers(runtime, tx, [stored for stored, _ in news[:PAPERS]])
    report = None
    if visit.viewer.is_operator:
        report = status(runtime, probe=False, zone=visit.zone, selected=soonest(runtime, NEXT))
    return visit.show(
        "today",
        report=report,
        papers=papers,
        # Titles lead to the papers' pages here, not to a search.
        said=replace(said_of(papers, visit.zone), search=""),
        has_more=len(news) > PAPERS,
        subscriptions=visit.subscriptions,
        listed=LISTED,
        newest=newest,
    )


@routes.page("/status", Role.OPERATOR, PAGES, takes=("after",))
def show_status(visit: Visit) -> Response:
    page = visit.slice(visit.runtime.subscriptions, PAGE)
    report = status(visit.runtime, probe=False, zone=visit.zone, selected=page.shown)
    return visit.show(
        "status",
        report=report,
        # Those in trouble first, since not all may be shown.
        sources=sorted(report.sources, key=lambda s: not (s.failing_since or s.troubles)),
        listed=LISTED,
        subscriptions=page,
    )


@routes.page("/static/{name}", Role.NOBODY, has_token=True)
def show_asset(visit: Visit) -> Response:
    name = visit.path_params["name"]
    if name not in ASSETS:
        return Response("not found", 404)
    headers = {"cache-control": "public, max-age=86400"}
    return Response(asset_content(name), media_type=ASSETS[name][0], headers=headers)


@routes.page("/robots.txt", Role.NOBODY, has_token=True)
def refuse_robots(visit: Visit) -> Response:
    """Ask robots to read nothing (RFC 9309)."""
    return PlainTextResponse("User-agent: *\nDisallow: /\n")
