"""Addresses for programs: `/api/v1/`, which has the JSON of commands; health, metrics, Slack."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from monitor.channels.slack.menus import TAKEN_WITHIN
from monitor.channels.slack.socket_mode import is_signed
from monitor.commands.explain import explain
from monitor.commands.heartbeat import vital_signs
from monitor.commands.json_output import (
    deliveries_json,
    explanation_json,
    papers_json,
    rated_json,
    status_json,
    suppressions_json,
    trial_json,
)
from monitor.commands.metrics import CONTENT_TYPE, metrics
from monitor.commands.paper_search import find_all
from monitor.commands.ratings import RaterScope, rated, saved
from monitor.commands.status import status
from monitor.commands.topic_trial import find_topic, try_topic
from monitor.store.digests import deliveries, digests, suppressions
from monitor.store.sources import runs
from monitor.web.access import Role
from monitor.web.routes import PageRoute, Routes
from monitor.web.site import PAGES, SEARCHES, Visit

MOST, USUAL = 10_000, 1_000
# Slack sends the whole message with what was chosen in it.
MAX_SLACK_BYTES = 1024 * 1024

routes = Routes()


@routes.page("/api/v1/papers", Role.READER, SEARCHES)
def get_papers(visit: Visit) -> Response:
    """Return the papers that `q` finds, newest first; `limit` is 1,000 when it is not given."""
    limit = min(visit.number("limit") or USUAL, MOST)
    query = visit.query_params.get("q", "")
    return JSONResponse(papers_json(find_all(visit.runtime, query, most=limit, bounded=True)))


@routes.page("/api/v1/papers/rated", Role.OPERATOR)
def get_rated(visit: Visit) -> Response:
    scope = RaterScope(visit.query_params.get("subscription", ""))
    return JSONResponse(rated_json(rated(visit.runtime, scope)))


@routes.page("/api/v1/papers/saved", Role.OPERATOR)
def get_saved(visit: Visit) -> Response:
    subscription = visit.query_params.get("subscription", "")
    return JSONResponse(papers_json(saved(visit.runtime, subscription)))


@routes.page("/api/v1/explain/{id}", Role.OPERATOR)
def get_paper(visit: Visit) -> Response:
    return JSONResponse(explanation_json(explain(visit.runtime, visit.path_params["id"])))


@routes.page("/api/v1/topics/try", Role.OPERATOR, SEARCHES)
def get_trial(visit: Visit) -> Response:
    runtime, query = visit.runtime, visit.query_params.get("q", "")
    trial = try_topic(runtime, find_topic(runtime, query) or query, bounded=True)
    return JSONResponse(trial_json(trial))


@routes.page("/api/v1/status", Role.OPERATOR)
def get_status(visit: Visit) -> Response:
    return JSONResponse(status_json(status(visit.runtime, probe=False)))


@routes.page("/api/v1/deliveries", Role.OPERATOR)
def get_deliveries(visit: Visit) -> Response:
    with visit.runtime.database.reading() as tx:
        return JSONResponse(deliveries_json(deliveries.listing(tx, limit=MOST)))


@routes.page("/api/v1/suppressions", Role.OPERATOR)
def get_suppressions(visit: Visit) -> Response:
    now = visit.runtime.clock.now()
    with visit.runtime.database.reading() as tx:
        return JSONResponse(suppressions_json(suppressions.listing(tx, now)))


@routes.page("/metrics", Role.OPERATOR, PAGES)
def show_metrics(visit: Visit) -> Response:
    """Return all metrics in Prometheus' text format."""
    return Response(metrics(visit.runtime), headers={"content-type": CONTENT_TYPE})


@routes.page("/healthz", Role.NOBODY)
def health(visit: Visit) -> Response:
    """Answer 503 where the scheduler is dead or the store cannot be written, and for nothing else.

    A visitor who is logged in also gets the names.
    """
    checks = vital_signs(visit.runtime.database)
    ok = all(check.ok for check in checks)
    answer: dict[str, object] = {
        "ok": ok,
        "checks": [{"name": c.name, "ok": c.ok, "message": c.message} for c in checks],
    }
    if ok:
        answer |= _ages(visit)
    return JSONResponse(answer, 200 if ok else 503)


def _ages(visit: Visit) -> dict[str, object]:
    """Return the age in seconds of each source's last good run, and of the oldest late digest."""
    now = datetime.now(UTC)
    with visit.runtime.database.reading() as tx:
        read = {name: runs.last_read(tx, name) for name in visit.runtime.sources}
        due = digests.oldest_open(tx)
    ages = {name: round((now - at).total_seconds()) if at else None for name, at in read.items()}
    late = round((now - due.due_at).total_seconds()) if due else None
    if not visit.viewer.is_known:
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
    except (KeyError, ValueError):
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
