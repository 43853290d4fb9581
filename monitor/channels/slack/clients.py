"""The SDK's two clients, without redirects: urllib would take the token along to any other host.

The SDK has no setting for it, so each client's one method that opens a request is replaced.
"""

from __future__ import annotations

import ssl
from email.message import Message
from http.client import HTTPResponse
from typing import Any, NamedTuple, cast
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from slack_sdk.web.client import WebClient
from slack_sdk.webhook import WebhookClient, WebhookResponse

# An answer has a few thousand bytes; a page of history some hundred thousand.
MAX_ANSWER = 16 * 1024 * 1024


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
        body = response.read(MAX_ANSWER).decode(charset)
        return _Opened(response.status, response.headers, body)


class ApiClient(WebClient):
    """slack_sdk's client of the Web API; a redirect is an answer with its status."""

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        return _open(req, self.proxy, self.ssl, self.timeout)._asdict()


class HookClient(WebhookClient):
    """slack_sdk's client of an incoming webhook; a redirect is an answer with its status."""

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        answer = _open(req, self.proxy, self.ssl, self.timeout)
        return WebhookResponse(
            url=url, status_code=answer.status, body=answer.body, headers=dict(answer.headers)
        )
