"""One exchange with a server, without redirects: a request sent, and what its answer means."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cached_property
from http import HTTPStatus
from urllib.parse import urlencode

import httpcore
import httpx

from monitor.errors import FetchError
from monitor.http.addresses import public_addresses
from monitor.http.cache_headers import LEAST, retry_after
from monitor.http.dialing import Guard, TooLateError, Watch, core_url, proxy_for
from monitor.http.request import Redirect, Request, port_of, server_of
from monitor.http.response import (
    NETWORK_ERRORS,
    Response,
    headers_of,
    is_rest,
    read_refusal_body,
    read_response,
)
from monitor.http.server_memory import Memory, Wait

TIMEOUTS = {"connect": 10.0, "read": 20.0, "write": 20.0, "pool": 5.0}
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.8"

# Statuses whose body is the answer to a form (RFC 6749, 5.2).
_FORM_ANSWERS = (200, 400, 401, 403)
_KNOWN_STATUSES = frozenset(int(status) for status in HTTPStatus)
_HINTS = {
    401: "the address needs a user and password",
    403: "it refuses this client; ask its operator, and set `contact`",
    404: "check the address in a browser",
    410: "the page is permanently gone; remove the source",
    429: "too many requests; it will be asked again later",
}


class NotTheRestError(FetchError):
    """A server was asked for the rest of an answer, and sent something else."""


@dataclass(frozen=True)
class Exchanger:
    """Sends requests, one at a time, over connections that go only where they may."""

    user_agent: str
    memory: Memory
    wall: Callable[[], float]
    resolve: Callable[[str, int], list[str]]
    dialler: httpcore.NetworkBackend

    def exchange(self, request: Request, watch: Watch) -> Response | Redirect:
        form = request.form
        try:
            with (
                self._pool(request, watch) as pool,
                pool.stream(
                    "GET" if form is None else "POST",
                    core_url(request.url),
                    headers=self._headers(request),
                    content=None if form is None else urlencode(form).encode(),
                    extensions={"timeout": TIMEOUTS},
                ) as response,
            ):
                return self._read_answer(request, response, watch)
        except TooLateError as late:
            raise FetchError(f"{request.url.host} did not finish within {late}") from late
        except NETWORK_ERRORS as error:
            raise FetchError(f"{request.url.host}: {describe(error)}") from error

    def _headers(self, request: Request) -> list[tuple[str, bytes]]:
        url = request.url
        headers = {
            "Host": url.netloc.decode(),
            "User-Agent": self.user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": "identity" if request.file else "gzip",
            "If-None-Match": request.validators.get("etag", ""),
            "If-Modified-Since": request.validators.get("last_modified", ""),
        }
        if request.begin:
            headers |= {"Range": f"bytes={request.begin}-", "If-Range": request.tag}
        if request.form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        if url.userinfo:
            account = b64encode(f"{url.username}:{url.password}".encode()).decode()
            headers["Authorization"] = f"Basic {account}"
        headers |= request.headers
        return [(name, value.encode()) for name, value in headers.items() if value]

    def _read_answer(
        self, request: Request, response: httpcore.Response, watch: Watch
    ) -> Response | Redirect:
        if request.form is not None:
            return self._read_form_answer(request, response, watch)
        headers = headers_of(response)
        match response.status:
            case 200:
                return read_response(request, response, watch, self.wall())
            case 206 | 416 if request.begin:
                if not is_rest(request, response):
                    raise NotTheRestError(f"{request.url.host} has no such rest of the answer")
                return read_response(request, response, watch, self.wall())
            case 304 if request.validators:
                return Response(
                    304, str(request.url), validators=request.validators, not_modified=True
                )
            case 301 | 302 | 303 | 307 | 308 as status if "location" in headers:
                return Redirect(headers["location"], permanent=status in (301, 308))
        raise self._refusal_error(request, response, watch)

    def _read_form_answer(
        self, request: Request, response: httpcore.Response, watch: Watch
    ) -> Response:
        if response.status not in _FORM_ANSWERS:
            raise self._refusal_error(request, response, watch)
        return Response(
            response.status,
            str(request.url),
            content=read_refusal_body(response, watch),
            date=headers_of(response).get("date", ""),
        )

    def _refusal_error(
        self, request: Request, response: httpcore.Response, watch: Watch
    ) -> FetchError:
        status = response.status
        phrase = HTTPStatus(status).phrase if status in _KNOWN_STATUSES else "no known status"
        message = f"{request.url.host} answered {status} {phrase}"
        body = read_refusal_body(response, watch)
        left = retry_after(headers_of(response), self.wall()) if status in (429, 503) else None
        if left is None and status == 429:
            left = LEAST  # the server does not say for how long
        if left is None:
            return FetchError(message, _HINTS.get(status, ""), body=body)
        wait = self.memory.record_wait(server_of(request), left, f"it answered {status} {phrase}")
        return FetchError(
            message, f"it will not be asked again before {show_minute(wait)}", left, body
        )

    def _pool(self, request: Request, watch: Watch) -> httpcore.ConnectionPool:
        proxy = proxy_for(request.url)
        if proxy is None:
            guard = Guard(self.dialler, self.resolve, watch, request.allow_private)
            return httpcore.ConnectionPool(self._tls, network_backend=guard)
        self._check_behind_proxy(request)
        # The operator chose the proxy, so it may be in a private network.
        guard = Guard(self.dialler, self.resolve, watch, allow_private=True)
        return httpcore.HTTPProxy(
            core_url(proxy.url), proxy.raw_auth, ssl_context=self._tls, network_backend=guard
        )

    def _check_behind_proxy(self, request: Request) -> None:
        """The proxy dials, so all that can be refused here is what resolves to a bad address."""
        try:
            addresses = self.resolve(request.url.host, port_of(request.url))
        except OSError:
            return  # only the proxy knows the name
        if not request.allow_private:
            public_addresses(request.url.host, addresses)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


def show_minute(wait: Wait) -> str:
    """Return the end of a wait, rounded up to the minute."""
    return f"{wait.until.astimezone(UTC) + timedelta(seconds=59):%Y-%m-%d %H:%M} UTC"


def describe(error: Exception) -> str:
    """Describe an error in plain words, without addresses."""
    if isinstance(error, httpcore.TimeoutException):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
