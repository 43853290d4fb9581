"""The SDK's clients: they build requests and read answers; `monitor.channels.post` sends.

Their own sending follows redirects with the token, has no deadline, and does not say whether the
request had left when it failed.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Protocol
from urllib.request import Request

from slack_sdk.errors import SlackApiError
from slack_sdk.web import WebClient
from slack_sdk.web.slack_response import SlackResponse
from slack_sdk.webhook import WebhookClient, WebhookResponse

from monitor.channels.post import USER_AGENT, Answer
from monitor.model import Json, Outcome

# The SDK logs messages and addresses: its loggers are silenced.
SILENT = logging.getLogger("monitor.channels.slack.sdk")
SILENT.setLevel(logging.CRITICAL + 1)


class Post(Protocol):
    """Posts what a client has built."""

    def __call__(self, url: str, message: str, *, headers: dict[str, str]) -> Answer | Outcome: ...


class NoAnswerError(Exception):
    """Nothing was answered; `outcome` says what that means."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


def call(
    post: Post, token: str, base_url: str, method: str, body: Json | None, form: Json | None
) -> SlackResponse:
    """Call a method of the Web API, whose answer may be a refusal. Raises NoAnswerError."""
    client = _WebClient(token, base_url, logger=SILENT, retry_handlers=[])
    client.post = post
    as_json = None if body is None else dict(body)
    params = None if form is None else dict(form)
    try:
        return client.api_call(method, json=as_json, params=params)
    except SlackApiError as refusal:
        answer: SlackResponse = refusal.response
        return answer


def post_to_webhook(post: Post, url: str, body: Json) -> WebhookResponse:
    """Post to an incoming webhook. Raises NoAnswerError."""
    client = _WebhookClient(url, logger=SILENT, retry_handlers=[])
    client.post = post
    return client.send_dict(dict(body))


class _WebClient(WebClient):
    post: Post

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        answer = _send(self.post, url, req)
        # The SDK takes any JSON for an object.
        text = answer.text if _is_object(answer.text) else ""
        return {"status": answer.status, "headers": answer.headers, "body": text}


class _WebhookClient(WebhookClient):
    post: Post

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        answer = _send(self.post, url, req)
        return WebhookResponse(
            url=url, status_code=answer.status, body=answer.text, headers=dict(answer.headers)
        )


def _send(post: Post, url: str, request: Request) -> Answer:
    assert request.data is None or isinstance(request.data, bytes)
    # Their own names the versions of Python and of the system.
    headers = dict(request.header_items()) | {"User-agent": USER_AGENT}
    answer = post(url, (request.data or b"").decode(), headers=headers)
    if isinstance(answer, Outcome):
        raise NoAnswerError(answer)
    return answer


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
