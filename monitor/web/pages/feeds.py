"""`/feed/`: the papers of a subscription or a topic as Atom.

Feed readers cannot log in: with `public_url`, a token in the address opens one feed and no other.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.shown_papers import search_site
from monitor.commands.topic_trial import find_topic
from monitor.store.papers import sightings
from monitor.store.topics import matches
from monitor.web.access import Role
from monitor.web.atom import Feed, FeedPaper, is_unchanged, validators, write_feed
from monitor.web.site import (
    one_at_a_time,
    path_to,
    show_problem,
    site_of,
    subscriptions_of,
    viewer_of,
    with_query,
)

PURPOSE = "feed"
SUBSCRIPTION, TOPIC = "subscription", "topic"
LATELY = timedelta(days=30)
NEWEST = 50
_TYPE = "application/atom+xml; charset=utf-8"


def subscription_feed(request: Request) -> Response:
    """Return what was news for the topics of a subscription."""
    site, name = site_of(request), request.path_params["name"]
    seen = {s.name for s in subscriptions_of(request)} if viewer_of(request).is_known else ()
    topics = {s.name: s.topics for s in site.runtime.subscriptions}
    if name not in topics or not (name in seen or _has_token(request, SUBSCRIPTION, name)):
        return _refuse(request)
    title = site.titles.get(name, name)
    return _answer(request, title, (SUBSCRIPTION, name), topics[name], "/digests")


def topic_feed(request: Request) -> Response:
    """Return what was news for a topic."""
    runtime, name = site_of(request).runtime, request.path_params["name"]
    is_allowed = viewer_of(request).is_known or _has_token(request, TOPIC, name)
    if not is_allowed or not find_topic(runtime, name):
        return _refuse(request)
    title = runtime.sections[name].title if name in runtime.sections else name
    return _answer(request, title, (TOPIC, name), [name], path_to("topics", name))


def feed_path(request: Request, kind: str, name: str) -> str:
    """Return where a feed is read, with its token: feed readers cannot log in."""
    site = site_of(request)
    path = path_to("feed", TOPIC, name) if kind == TOPIC else path_to("feed", name)
    token = site.runtime.keys.sign(PURPOSE, kind, name)
    return with_query(f"{path}.atom", {"token": token})


def _has_token(request: Request, kind: str, name: str) -> bool:
    token, keys = request.query_params.get("token", ""), site_of(request).runtime.keys
    return bool(keys.keys) and keys.read(PURPOSE, token) == (kind, name)


def _refuse(request: Request) -> Response:
    """What is not there and what is not allowed look alike."""
    status = 404 if viewer_of(request).role > Role.NOBODY else 403
    return show_problem(
        request, status, "There is no such feed, or its address was cut off: copy it whole."
    )


def _answer(
    request: Request, title: str, name: tuple[str, str], topics: Collection[str], page: str
) -> Response:
    site = site_of(request)
    base, now = site.url or str(request.base_url).rstrip("/"), site.runtime.clock.now()
    with site.runtime.database.reading() as tx:
        news = matches.newest_news(tx, topics, now - LATELY, NEWEST)
        sources = sightings.sources(tx, [stored.id for stored, _ in news])
    feed = Feed(
        title=title,
        name="/".join(name),
        host=site.rules.host or "localhost",
        address=f"{base}{feed_path(request, *name)}",
        page=f"{base}{page}",
        began=(now - LATELY).replace(hour=0, minute=0, second=0, microsecond=0),
        papers=tuple(
            FeedPaper(
                stored.id,
                stored.paper,
                at,
                search_site(site.runtime, sources.get(stored.id, ())),
            )
            for stored, at in news
        ),
    )
    content = write_feed(feed)
    current = validators(content, feed.updated)
    headers = {
        "etag": current.etag,
        "last-modified": current.last_modified,
        "cache-control": "private, no-cache",
    }
    asked = (request.headers.get(name, "") for name in ("if-none-match", "if-modified-since"))
    if is_unchanged(current, *asked):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPE, headers=headers)


ROUTES = [
    Route("/feed/topic/{name}.atom", one_at_a_time(topic_feed)),
    Route("/feed/{name}.atom", one_at_a_time(subscription_feed)),
]
