"""`/feed/`: the papers of a subscription or a topic as Atom.

Feed readers cannot log in: with `public_url`, a token in the address opens one feed and no other.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, timedelta
from email.utils import format_datetime
from hashlib import sha256

from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from monitor.commands.shown_papers import search_site
from monitor.commands.topic_trial import find_topic
from monitor.store.papers import sightings
from monitor.store.topics import matches
from monitor.web.access import Role
from monitor.web.atom import Feed, FeedPaper, write_feed
from monitor.web.routes import Routes
from monitor.web.site import PAGES, Visit, path_to, with_query

PURPOSE = "feed"
SUBSCRIPTION, TOPIC = "subscription", "topic"
LATELY = timedelta(days=30)
NEWEST = 50
_TYPE = "application/atom+xml; charset=utf-8"

routes = Routes()


@routes.page("/feed/topic/{name}.atom", Role.NOBODY, PAGES)
def topic_feed(visit: Visit) -> Response:
    """Return what was news for a topic."""
    runtime, name = visit.runtime, visit.path_params["name"]
    is_allowed = visit.viewer.is_known or _has_token(visit, TOPIC, name)
    if not is_allowed or not find_topic(runtime, name):
        return _refuse(visit)
    title, page = runtime.sections[name].title, path_to("topics", name)
    return _answer(visit, title, (TOPIC, name), [name], page)


@routes.page("/feed/{name}.atom", Role.NOBODY, PAGES)
def subscription_feed(visit: Visit) -> Response:
    """Return what was news for the topics of a subscription."""
    name, is_known = visit.path_params["name"], visit.viewer.is_known
    seen = {s.name for s in visit.subscriptions} if is_known else set()
    topics = {s.name: s.topics for s in visit.runtime.subscriptions}
    if name not in topics or not (name in seen or _has_token(visit, SUBSCRIPTION, name)):
        return _refuse(visit)
    title = visit.site.titles.get(name, name)
    return _answer(visit, title, (SUBSCRIPTION, name), topics[name], "/digests")


def feed_path(visit: Visit, kind: str, name: str) -> str:
    """Return where a feed is read, with its token: feed readers cannot log in."""
    path = path_to("feed", TOPIC, name) if kind == TOPIC else path_to("feed", name)
    token = visit.runtime.keys.sign(PURPOSE, kind, name)
    return with_query(f"{path}.atom", {"token": token})


def _has_token(visit: Visit, kind: str, name: str) -> bool:
    return visit.runtime.keys.read(PURPOSE, visit.parameter("token")) == (kind, name)


def _refuse(visit: Visit) -> Response:
    """Refuse a feed: one that is not there and one that is not allowed look alike."""
    status = 404 if visit.viewer.is_known else 403
    message = "There is no such feed, or its address was cut off: copy it whole."
    return visit.show_problem(status, message)


def _answer(
    visit: Visit, title: str, name: tuple[str, str], topics: Collection[str], page: str
) -> Response:
    site = visit.site
    base, now = site.rules.url or str(visit.base_url).rstrip("/"), site.runtime.clock.now()
    with site.runtime.database.reading() as tx:
        news = matches.newest_news(tx, topics, now - LATELY, NEWEST)
        sources = sightings.sources(tx, [stored.id for stored, _ in news])
    long_ago = (now - LATELY).replace(hour=0, minute=0, second=0, microsecond=0)
    updated = max((at for _, at in news), default=long_ago)
    feed = Feed(
        title=title,
        name="/".join(name),
        host=site.rules.host or "localhost",
        address=f"{base}{feed_path(visit, *name)}",
        page=f"{base}{page}",
        updated=updated,
        papers=tuple(
            FeedPaper(
                stored.id, stored.paper, at, search_site(site.runtime, sources.get(stored.id, ()))
            )
            for stored, at in news
        ),
    )
    content = write_feed(feed)
    headers = {
        "cache-control": "private, no-cache",
        # A silent correction of a text changes the ETag, and not the date.
        "etag": f'"{sha256(content).hexdigest()[:32]}"',
        "last-modified": format_datetime(updated.astimezone(UTC), usegmt=True),
    }
    answer = Response(content, media_type=_TYPE, headers=headers)
    is_known = StaticFiles().is_not_modified(answer.headers, visit.headers)
    # Weak, since the answer may be compressed (RFC 9110, 8.8.3.3); Starlette knows strong ones.
    answer.headers["etag"] = f"W/{answer.headers['etag']}"
    return NotModifiedResponse(answer.headers) if is_known else answer
