"""`/slack/actions`: what Slack sends after a choice in a menu."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from monitor.channels.slack.menus import TAKEN_WITHIN
from monitor.channels.slack.socket_mode import is_signed
from monitor.web.site import site_of


async def take_action(request: Request) -> Response:
    """Store the answer and acknowledge it, or the other way round where that takes too long."""
    slack = site_of(request).slack
    if slack is None:
        return PlainTextResponse("slack.signing_secret is not set", 404)
    try:
        body = await request.body()
    except ClientDisconnect:
        return PlainTextResponse("cut off", 413)
    if not is_signed(slack.secret, body, request.headers):
        return PlainTextResponse("not signed by Slack", 401)
    try:
        payload = json.loads(parse_qs(body.decode())["payload"][0])
    except (KeyError, ValueError):
        return PlainTextResponse("no payload", 400)
    taking = asyncio.create_task(run_in_threadpool(slack.take, payload))
    done, _ = await asyncio.wait((taking,), timeout=TAKEN_WITHIN)
    if done:
        await taking  # an error is shown beside the menu
    return Response(status_code=200, background=None if done else BackgroundTask(_end, taking))


async def _end(taking: Awaitable[None]) -> None:
    await taking


ROUTES = [Route("/slack/actions", take_action, methods=["POST"])]
