"""`/slack/actions`: what Slack sends when somebody chose something in a menu."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from monitor.channels.slack.signature import is_signed
from monitor.web.site import site_of


async def take_action(request: Request) -> Response:
    """Answer at once, and store the answer then: Slack waits three seconds, and tries again."""
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
    return Response(status_code=200, background=BackgroundTask(slack.take, payload))


ROUTES = [Route("/slack/actions", take_action, methods=["POST"])]
