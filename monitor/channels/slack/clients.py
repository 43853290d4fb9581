"""The SDK's two clients, without redirects: urllib would take the token along to any other host.

The SDK has no setting for it, so each client's one method that opens a request is replaced.
"""

from __future__ import annotations

import logging
import ssl
from email.message import Message
from http.client import HTTPResponse
from typing import Any, NamedTuple, cast
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from slack_sdk.errors import SlackApiError
from slack_sdk.web.client import WebClient
from slack_sdk.webhook import WebhookClient, WebhookResponse

from monitor.channels.slack.errors import Answer
from monitor.model import Json

# An answer has a few thousand bytes; a page of history some hundred thousand.
MAX_ANSWER_BYTES = 16 * 1024 * 1024

# The SDK logs whole requests, webhook URLs among them, at DEBUG: its logger is silenced.
SILENT = logging.getLogger("monitor.channels.slack.clients.sdk")
SILENT.setLevel(logging.CRITICAL + 1)


class _NoRedirects(HTTPRedirectHandler):
    """Leave a redirect as it is: an HTTPError with its status, which the SDK returns."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Opened(NamedTuple):
    status: int
    headers: Message
    body: str


def _open(
    request: Request, proxy: str | None, context: ssl.SSLContext | None, timeout: int
) -> _Opened:
    handlers = [_NoRedirects(), HTTPSHandler(context=context)]
    if proxy:
        handlers.append(ProxyHandler({"http": proxy, "https": proxy}))
    with cast("HTTPResponse", build_opener(*handlers).open(request, timeout=timeout)) as response:
        charset = response.headers.get_content_charset() or "utf-8"
        body = response.read(MAX_ANSWER_BYTES).decode(charset)
        return _Opened(response.status, response.headers, body)


class ApiClient(WebClient):
    """slack_sdk's client of the Web API; a redirect is an answer with its status."""

    def __init__(self, token: str, base_url: str, timeout: int) -> None:
        super().__init__(
            token, base_url=base_url, timeout=timeout, retry_handlers=[], logger=SILENT
        )

    def ask(
        self,
        method: str,
        *,
        json: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
    ) -> Answer:
        """Call a method with `json` or `params`; a refusal is an answer, too."""
        try:
            response = self.api_call(method, json=json, params=params)
        except SlackApiError as error:
            response = error.response
        data = response.data if isinstance(response.data, dict) else {}
        code = "" if data.get("ok") is True else str(data.get("error", ""))
        return Answer(response.status_code, response.headers, code, data)

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        return _open(req, self.proxy, self.ssl, self.timeout)._asdict()


class HookClient(WebhookClient):
    """slack_sdk's client of an incoming webhook; a redirect is an answer with its status."""

    def __init__(self, url: str, timeout: int) -> None:
        super().__init__(url, timeout, retry_handlers=[], logger=SILENT)

    def ask(self, body: Json) -> Answer:
        """Post a message; Slack answers with one word."""
        response = self.send_dict(dict(body))
        return Answer(response.status_code, response.headers, response.body.strip(), {})

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        answer = _open(req, self.proxy, self.ssl, self.timeout)
        return WebhookResponse(
            url=url, status_code=answer.status, body=answer.body, headers=dict(answer.headers)
        )
