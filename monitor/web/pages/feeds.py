"""`/feed/`: the papers of a subscription, a topic, a search, or those that were saved, as Atom.

Feed readers cannot log in: with `public_url`, a token in the address opens one feed and no other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256

from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from monitor.commands.shown_papers import show_papers
from monitor.commands.topic_trial import find_topic
from monitor.digest.page_paths import path_to
from monitor.model import StoredPaper
from monitor.store.topics import matches
from monitor.web.access import Role
from monitor.web.routes import Routes
from monitor.web.site import PAGES, Visit, with_query

PURPOSE = "feed"
SUBSCRIPTION = "subscription"
TOPIC = "topic"
SEARCH = "search"
SAVED = "saved"
# Where the feeds are whose name is no part of their path.
_PATHS = {SEARCH: "/feed/papers/search.atom", SAVED: "/feed/papers/saved.atom"}
LATELY = timedelta(days=30)
NEWEST = 50
_TYPE = "application/atom+xml; charset=utf-8"

routes = Routes()

News = Sequence[tuple[StoredPaper, datetime]]


@routes.page("/feed/topic/{name}.atom", Role.NOBODY, PAGES)
def topic_feed(visit: Visit) -> Response:
    runtime = visit.runtime
    name = visit.path_params["name"]
    is_allowed = visit.viewer.is_known or signed_names(visit) == (TOPIC, name)
    if not is_allowed or not find_topic(runtime, name):
        return refuse_feed(visit)
    title = runtime.group_rules[name].title
    page = path_to("topics", name)
    return show_feed(visit, title, (TOPIC, name), _newest_news(visit, [name]), page)


@routes.page("/feed/{name}.atom", Role.NOBODY, PAGES)
def subscription_feed(visit: Visit) -> Response:
    name = visit.path_params["name"]
    seen = {s.name for s in visit.subscriptions}
    topics = {s.name: s.topics for s in visit.runtime.subscriptions}
    is_allowed = name in seen or signed_names(visit) == (SUBSCRIPTION, name)
    if name not in topics or not is_allowed:
        return refuse_feed(visit)
    title = visit.runtime.titles.get(name, name)
    news = _newest_news(visit, topics[name])
    return show_feed(visit, title, (SUBSCRIPTION, name), news, "/digests")


def feed_path(visit: Visit, kind: str, name: str, /, **query: str) -> str:
    """Return where a feed is read, with its token: feed readers cannot log in."""
    named = path_to("feed", TOPIC, name) if kind == TOPIC else path_to("feed", name)
    token = visit.runtime.keys.sign(PURPOSE, kind, name)
    return with_query(_PATHS.get(kind, f"{named}.atom"), query | {"token": token})


def hashed(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def signed_names(visit: Visit) -> tuple[str, str]:
    """Return the kind and name of the feed that the token of an address opens, "" without one."""
    names = visit.runtime.keys.read(PURPOSE, visit.parameter("token"))
    return (names[0], names[1]) if names and len(names) == 2 else ("", "")


def refuse_feed(visit: Visit) -> Response:
    """Refuse a feed: one that is not there and one that is not allowed look alike."""
    status = 404 if visit.viewer.is_known else 403
    message = "There is no such feed, or its address was cut off: copy the whole address."
    return visit.show_problem(status, message)


def _newest_news(visit: Visit, topics: Collection[str]) -> News:
    with visit.runtime.database.reading() as tx:
        return matches.newest_news(tx, topics, visit.runtime.clock.now() - LATELY, NEWEST)


def show_feed(
    visit: Visit, title: str, name: tuple[str, str], news: News, page: str, /, **query: str
) -> Response:
    """Return papers as a feed of a kind and name; `query` is what its address has to say."""
    site = visit.site
    (kind, own_name) = name
    base = site.rules.url or str(visit.base_url).rstrip("/")
    now = site.runtime.clock.now()
    with site.runtime.database.reading() as tx:
        entries = show_papers(site.runtime, tx, [stored for stored, _ in news])
    long_ago = (now - LATELY).replace(hour=0, minute=0, second=0, microsecond=0)
    moments = [at for _, at in news]
    updated = max(moments, default=long_ago)
    content = site.runtime.fallback_templates.render(
        "pages/feed.xml.j2",
        title=title,
        # Ids stay the same for ever; of a person or a search, they have no more than a hash.
        id=f"{kind}/{hashed(own_name) if kind in _PATHS else own_name}",
        host=site.rules.host or "localhost",
        address=f"{base}{feed_path(visit, *name, **query)}",
        page=f"{base}{page}",
        updated=updated,
        entries=list(zip(entries, moments, strict=True)),
    )
    headers = {
        "cache-control": "private, no-cache",
        # A silent correction of a text changes the ETag, and not the date.
        "etag": f'"{hashed(content)}"',
        "last-modified": format_datetime(updated.astimezone(UTC), usegmt=True),
    }
    answer = Response(content, media_type=_TYPE, headers=headers)
    is_known = StaticFiles().is_not_modified(answer.headers, visit.headers)
    # Weak, since the answer may be compressed (RFC 9110, 8.8.3.3); Starlette knows strong ones.
    answer.headers["etag"] = f"W/{answer.headers['etag']}"
    return NotModifiedResponse(answer.headers) if is_known else answer
