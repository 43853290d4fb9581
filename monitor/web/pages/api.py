"""Addresses for programs: `/api/v1/`, which has the JSON of commands; health, metrics, Slack."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from importlib.metadata import version
from urllib.parse import parse_qs

from msgspec import structs
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from monitor.channels.slack.menus import TAKEN_WITHIN
from monitor.channels.slack.socket_mode import is_signed
from monitor.commands.json_output import (
    deliveries_json,
    explanation_json,
    like_trial_json,
    papers_json,
    rated_json,
    references_json,
    saved_json,
    status_json,
    subscriptions_json,
    trial_json,
)
from monitor.commands.like_trial import LOOKED_AT_ON_PAGE, try_like, with_bar
from monitor.commands.metrics import CONTENT_TYPE, metrics
from monitor.commands.paper_search import find_all
from monitor.commands.query_bounds import is_too_long
from monitor.commands.ratings import RaterScope, rated, saved
from monitor.commands.references import explain_or_find
from monitor.commands.status import sources_status, status
from monitor.commands.subscriptions import (
    count_waiting,
    find_subscriptions,
    narrow,
    report,
    report_topics,
)
from monitor.commands.topic_trial import topic_of, try_topic
from monitor.digest.paper_json import Answer, pick, plain
from monitor.model import LikeText, Topic
from monitor.store.digests import deliveries, digests, suppressions
from monitor.store.digests.suppressions import address_of
from monitor.store.sources import runs
from monitor.web import api_answers as answers
from monitor.web.access import Role
from monitor.web.openapi import OBJECT, Address, Schema, document
from monitor.web.pages.references import visible_references
from monitor.web.routes import PageRoute, Routes
from monitor.web.site import API, BAR_WITHOUT_TEXT, PAGES, SEARCHES, Visit

VERSION = f"{API}v1/"
MOST = 10_000
USUAL = 1_000
# A digest has as many deliveries as recipients.
MOST_DIGESTS = 200
USUAL_DIGESTS = 50
# Slack sends the whole message with what was chosen in it.
MAX_SLACK_BYTES = 1024 * 1024

routes = Routes()


_addresses: list[Address] = []

# The parameters of addresses.
_PARAMETERS = {
    "q": "a query in the language of topics; /topics/try also takes the name of a topic",
    "like": "in place of q=, a text that papers are near to",
    "at_least": "with like= or a topic that has it, how near a paper must be, from 0 to 1",
    "subscription": "the name of a subscription",
    "library": "the name of a library",
    "who": "the name of a subscription, or the address of a recipient",
    "id": "the number of a paper; also an identifier, a link or a title",
    "limit": "how many at most",
    "after": "how many come before those listed",
    "before": "the id of the digest before which the listed ones were composed",
}


def _answers(
    path: str,
    role: Role,
    about: str,
    schema: Schema,
    thread: str = "",
    takes: Collection[str] = (),
) -> Callable[[Callable[[Visit], Answer]], Callable[[Visit], Answer]]:
    """Add an address with the JSON that a function returns."""

    def add(work: Callable[[Visit], Answer]) -> Callable[[Visit], Answer]:
        named = {name: _PARAMETERS[name] for name in (*re.findall(r"{(\w+)}", path), *takes)}
        _addresses.append(Address(f"{VERSION}{path}", about, named, schema))
        routes.page(f"{VERSION}{path}", role, thread, takes=takes)(
            lambda visit: JSONResponse(work(visit))
        )
        return work

    return add


def _allowed(visit: Visit) -> list[Address]:
    """Return the addresses that a viewer may ask."""
    paths = {route.path for route in routes if route.role <= visit.viewer.role}
    return [address for address in _addresses if address.path in paths]


@_answers("", Role.READER, "these addresses", answers.ADDRESSES)
def get_index(visit: Visit) -> Answer:
    return {"addresses": [pick(address, "path about") for address in _allowed(visit)]}


@_answers("openapi.json", Role.READER, "these addresses as an OpenAPI document", OBJECT)
def get_openapi(visit: Visit) -> Answer:
    return document(_allowed(visit), version("paper-monitor"))


@_answers(
    "papers",
    Role.READER,
    "the newest papers that ?q= matches; &limit=1000",
    answers.PAPERS,
    SEARCHES,
    takes=("q", "limit"),
)
def get_papers(visit: Visit) -> Answer:
    query = visit.query_params.get("q", "")
    return papers_json(find_all(visit.runtime, query, most=_limit(visit), bounded=True))


@_answers(
    "papers/rated",
    Role.OPERATOR,
    "all ratings; ?subscription=NAME",
    answers.RATED,
    takes=("subscription",),
)
def get_rated(visit: Visit) -> Answer:
    scope = RaterScope(visit.query_params.get("subscription", ""))
    return rated_json(rated(visit.runtime, scope))


@_answers(
    "papers/saved",
    Role.READER,
    "the papers that you saved, an operator all; ?subscription=",
    answers.SAVED,
    takes=("subscription",),
)
def get_saved(visit: Visit) -> Answer:
    name = visit.query_params.get("subscription", "")
    viewer = visit.viewer
    if name and not viewer.is_operator:
        visit.require_subscription(name)
    return saved_json(saved(visit.runtime, name, viewer.author))


@_answers(
    "explain/{id}",
    Role.OPERATOR,
    "where a paper came from, and what became of it",
    answers.EXPLANATION,
)
def get_paper(visit: Visit) -> Answer:
    found = explain_or_find(visit.runtime, visit.path_params["id"])
    return references_json(found) if isinstance(found, list) else explanation_json(found)


@_answers(
    "references",
    Role.READER,
    "the entries of your libraries, and what became of them; ?library=NAME",
    answers.REFERENCES,
    takes=("library",),
)
def get_references(visit: Visit) -> Answer:
    return references_json(visible_references(visit, visit.parameter("library")))


@_answers(
    "topics/try",
    Role.OPERATOR,
    "what the query or topic ?q= matches, or what is near to the text ?like=; &at_least=0.35",
    answers.TRIAL,
    SEARCHES,
    takes=("q", "like", "at_least"),
)
def get_trial(visit: Visit) -> Answer:
    runtime = visit.runtime
    query = visit.query_params.get("q", "")
    text = visit.parameter("like")
    at_least = visit.bar("at_least")
    if query and text:
        raise HTTPException(400, "give either q= or like=, not both.")
    if too_long := is_too_long(text):
        raise too_long
    topic = Topic("", "", like=LikeText(text)) if text else topic_of(runtime, query)
    if topic.like and not topic.query:
        return like_trial_json(try_like(runtime, with_bar(topic, at_least), LOOKED_AT_ON_PAGE))
    if at_least is not None and not topic.like:
        raise HTTPException(400, BAR_WITHOUT_TEXT)
    return trial_json(try_topic(runtime, with_bar(topic, at_least), bounded=True))


@_answers(
    "topics",
    Role.READER,
    "topics and what they matched; ?limit=1000, after=COUNT",
    answers.TOPICS,
    PAGES,
    takes=("limit", "after"),
)
def get_topics(visit: Visit) -> Answer:
    """Return topics; a reader's `subscriptions` count their own."""
    topics = visit.slice(visit.runtime.topics, _limit(visit)).shown
    return {"topics": plain([*report_topics(visit.runtime, topics, visit.subscriptions)])}


@_answers(
    "subscriptions",
    Role.READER,
    "who gets what, when, and what waits; ?who=NAME or ADDRESS, limit=1000, after=COUNT",
    answers.SUBSCRIPTIONS,
    PAGES,
    takes=("who", "limit", "after"),
)
def get_subscriptions(visit: Visit) -> Answer:
    """Return subscriptions; a reader's are their own, with no other recipient."""
    runtime = visit.runtime
    who = visit.query_params.get("who", "")
    allowed = visit.subscriptions
    address = address_of(visit.viewer.address)
    if visit.viewer.is_operator:
        allowed = tuple(find_subscriptions(runtime, who))
    elif who and address_of(who) != address:
        name = visit.require_subscription(who)
        allowed = tuple(known for known in allowed if known.name == name)
    selected = visit.slice(allowed, _limit(visit)).shown
    if visit.viewer.is_operator:
        return subscriptions_json(count_waiting(runtime, report(runtime, selected)))
    own = count_waiting(runtime, report(runtime, [narrow(known, address) for known in selected]))
    # Deliveries that failed may be those of other recipients.
    return subscriptions_json(structs.replace(known, troubles=()) for known in own)


@_answers(
    "digests",
    Role.READER,
    "digests, newest first; ?subscription=, limit=50, before=ID",
    answers.DIGESTS,
    takes=("subscription", "limit", "before"),
)
def get_digests(visit: Visit) -> Answer:
    """Return digests with their deliveries: a reader those of their own address."""
    name = visit.query_params.get("subscription", "")
    address = address_of(visit.viewer.address)
    names = [visit.require_subscription(name)] if name else [s.name for s in visit.subscriptions]
    limit = min(visit.number("limit") or USUAL_DIGESTS, MOST_DIGESTS)
    listing = []
    with visit.runtime.database.reading() as tx:
        listed = digests.newest(tx, names, limit, visit.number("before"))
        sent = deliveries.of_digests(tx, [digest.id for digest in listed])
    for digest in listed:
        shown = [
            pick(delivery, answers.OF_DELIVERY_OF_DIGEST)
            for delivery in sent[digest.id]
            if visit.viewer.is_operator or address_of(delivery.recipient) == address
        ]
        listing.append(pick(digest, answers.OF_DIGEST) | {"deliveries": shown})
    return {"digests": listing}


@_answers(
    "sources",
    Role.OPERATOR,
    "sources, when each was read, and their problems",
    answers.SOURCES,
    PAGES,
)
def get_sources(visit: Visit) -> Answer:
    return {"sources": plain(sources_status(visit.runtime))}


@_answers("status", Role.OPERATOR, "the state of everything, and why nothing came", answers.STATUS)
def get_status(visit: Visit) -> Answer:
    return status_json(status(visit.runtime, probe=False))


@_answers("deliveries", Role.OPERATOR, "the newest 10,000 deliveries", answers.DELIVERIES)
def get_deliveries(visit: Visit) -> Answer:
    with visit.runtime.database.reading() as tx:
        return deliveries_json(deliveries.listing(tx, limit=MOST))


@_answers(
    "suppressions",
    Role.OPERATOR,
    "who gets nothing, since when and until when",
    answers.SUPPRESSIONS,
)
def get_suppressions(visit: Visit) -> Answer:
    now = visit.runtime.clock.now()
    with visit.runtime.database.reading() as tx:
        return {"suppressions": plain(suppressions.listing(tx, now))}


def _limit(visit: Visit) -> int:
    return min(visit.number("limit") or USUAL, MOST)


@routes.page("/metrics", Role.OPERATOR, PAGES)
def show_metrics(visit: Visit) -> Response:
    return Response(metrics(visit.runtime), headers={"content-type": CONTENT_TYPE})


@routes.page("/healthz", Role.NOBODY)
def health(visit: Visit) -> Response:
    """Answer 503 where the scheduler is dead or the store cannot be written, and for nothing else.

    It is checked once in a few seconds. An operator also gets the names: those of libraries are the
    affair of their readers.
    """
    checks = visit.app.state.vital_signs.checks()
    ok = all(check.ok for check in checks)
    answer = {"ok": ok, "checks": [pick(check, "name ok message") for check in checks]}
    return JSONResponse(answer | (_ages(visit) if ok else {}), 200 if ok else 503)


def _ages(visit: Visit) -> Answer:
    """Return the age in seconds of each source's last good run, and of the oldest late digest."""
    now = datetime.now(UTC)
    with visit.runtime.database.reading() as tx:
        read = {name: runs.last_read(tx, name) for name in visit.runtime.sources}
        due = digests.oldest_open(tx)
    ages = {name: round((now - at).total_seconds()) if at else None for name, at in read.items()}
    late = round((now - due.due_at).total_seconds()) if due else None
    if not visit.viewer.is_operator:
        return {"sources": list(ages.values()), "oldest_overdue_digest": late}
    named = {"subscription": due.subscription, "age": late} if due else None
    return {"sources": ages, "oldest_overdue_digest": named}


async def take_slack_action(request: Request) -> Response:
    """Store a choice in a menu and acknowledge it; the other way round where that takes long."""
    site = Visit(request.scope).site
    if site.slack is None:
        return PlainTextResponse("slack.signing_secret is not set", 404)
    body = await request.body()
    if not is_signed(site.rules.slack_secret, body, request.headers):
        return PlainTextResponse("not signed by Slack", 401)
    try:
        payload = json.loads(parse_qs(body.decode())["payload"][0])
    except (KeyError, ValueError, RecursionError):
        return PlainTextResponse("no payload", 400)
    taking = asyncio.create_task(run_in_threadpool(site.slack.take, payload))
    done, _ = await asyncio.wait((taking,), timeout=TAKEN_WITHIN)
    if done:
        await taking  # an error is shown beside the menu
    waits = None if done else BackgroundTask(asyncio.wait_for, taking, None)
    return Response(status_code=200, background=waits)


routes.append(
    PageRoute(
        "/slack/actions",
        take_slack_action,
        Role.NOBODY,
        "POST",
        has_token=True,
        max_bytes=MAX_SLACK_BYTES,
    )
)
