"""The only door to the network: polite to hosts, suspicious of addresses and bodies.

What the door promises of every fetch:

    one at a time for each host, across all processes; arXiv 3 s apart (arXiv terms of use)
    no private address, checked for the address that is dialled, at every redirect
    a total deadline, a least rate, a cap on what comes out of the decompressor
    conditional requests (RFC 9110, 13); `Retry-After` of 429 and 503 reported, never slept on
    no secret in a message or a log line: queries and passwords of addresses are left out
"""

from __future__ import annotations

import logging
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

import httpcore
import httpx

from monitor.errors import FetchError
from monitor.net.addresses import allowed, shown
from monitor.net.body import Decoder, retry_after
from monitor.net.dial import Guard, TooLateError, Watch, resolve
from monitor.net.gates import Gates

MAX_BYTES = 15 * 1024 * 1024
DEADLINE = timedelta(seconds=60)
MAX_REDIRECTS = 5
LEAST_RATE = 200  # bytes a second, once LEAST_RATE_AFTER seconds have passed
LEAST_RATE_AFTER = 10
TIMEOUT = httpx.Timeout(connect=10, read=20, write=20, pool=5)
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.8"

_FAULTS = (
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Response:
    """A usable answer: status 200, or 304 with `not_modified` and no content.

    `content` is decoded; `complete` is false when the connection ended before the body did.
    `validators` (etag, last_modified) are empty when they must not be kept.
    """

    status: int
    url: str
    content: bytes = b""
    content_type: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    not_modified: bool = False
    complete: bool = True


@dataclass(frozen=True, slots=True)
class _Request:
    """What one `get` asked for, as it goes from redirect to redirect."""

    url: httpx.URL
    validators: Mapping[str, str]
    allow_private: bool
    max_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Moved:
    location: str


class Door:
    """Fetches for all sources of a process; thread-safe.

    Processes that share `gate_dir` share the hosts' gates. Proxies are taken from the
    environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), certificates from
    SSL_CERT_FILE where it is set.
    """

    def __init__(
        self,
        *,
        version: str,
        contact: str = "",
        gate_dir: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        resolve: Callable[[str, int], list[str]] = resolve,
        dialler: httpcore.NetworkBackend | None = None,
    ) -> None:
        self._agent = _agent(version, contact)
        self._own_gates: tempfile.TemporaryDirectory[str] | None = None
        if gate_dir is None:
            self._own_gates = tempfile.TemporaryDirectory(prefix="paper-monitor-")
            gate_dir = Path(self._own_gates.name)
        self._gates = Gates(gate_dir, wall, sleep)
        self._monotonic = monotonic
        self._wall = wall
        self._resolve = resolve
        self._dialler = dialler or httpcore.SyncBackend()
        for name in ("httpx", "httpcore"):  # they log whole URLs, with the keys in them
            logging.getLogger(name).setLevel(logging.WARNING)

    def get(
        self,
        url: str,
        *,
        validators: Mapping[str, str] | None = None,
        allow_private: bool = False,
        max_bytes: int = MAX_BYTES,
        deadline: timedelta = DEADLINE,
    ) -> Response:
        """Fetch a page, following at most 5 redirects.

        `deadline` bounds the whole of one answer, from dialling to the last byte; `validators`
        are those of an earlier Response. Raises FetchError, with `retry_after` when the server
        named a time.
        """
        request = _Request(
            _parsed(url), validators or {}, allow_private, max_bytes, deadline.total_seconds()
        )
        for _ in range(MAX_REDIRECTS + 1):
            _admit(request)
            with self._gates.turn(request.url.host):
                answer = self._exchange(request)
            if isinstance(answer, Response):
                return answer
            request = _follow(request, answer)
        raise FetchError(f"{shown(url)} redirects more than {MAX_REDIRECTS} times")

    @staticmethod
    def shown(url: str) -> str:
        """Return a URL as it may be shown: see `shown`."""
        return shown(url)

    def close(self) -> None:
        """Forget the gates that no other process shares."""
        if self._own_gates:
            self._own_gates.cleanup()

    def _exchange(self, request: _Request) -> Response | _Moved:
        watch = Watch(self._monotonic, request.seconds)
        try:
            with (
                httpx.Client(
                    transport=self._transport(request, watch), timeout=TIMEOUT, trust_env=False
                ) as client,
                client.stream("GET", request.url, headers=self._headers(request)) as response,
            ):
                return self._judged(request, response, watch)
        except TooLateError as late:
            raise FetchError(f"{_host(request)} did not finish within {late}") from late
        except _FAULTS as fault:
            raise FetchError(f"{_host(request)}: {_words(fault)}") from fault

    def _headers(self, request: _Request) -> dict[str, str]:
        asked = {"If-None-Match": "etag", "If-Modified-Since": "last_modified"}
        told = {name: request.validators.get(key, "") for name, key in asked.items()}
        fixed = {"User-Agent": self._agent, "Accept": ACCEPT, "Accept-Encoding": "gzip"}
        return fixed | {name: value for name, value in told.items() if value}

    def _judged(
        self, request: _Request, response: httpx.Response, watch: Watch
    ) -> Response | _Moved:
        match response.status_code:
            case 200:
                return _received(request, response, watch)
            case 304 if request.validators:
                return Response(
                    304, str(request.url), validators=request.validators, not_modified=True
                )
            case 301 | 302 | 303 | 307 | 308 if "location" in response.headers:
                return _Moved(response.headers["location"])
        raise self._refusal(request, response)

    def _refusal(self, request: _Request, response: httpx.Response) -> FetchError:
        status = response.status_code
        phrase = HTTPStatus(status).phrase if status in _STATUSES else "no known status"
        wait = retry_after(response.headers.get("retry-after", ""), self._wall())
        message = f"{_host(request)} answered {status} {phrase}"
        return FetchError(message, _HINTS.get(status, ""), wait if status in (429, 503) else None)

    def _transport(self, request: _Request, watch: Watch) -> _Transport:
        proxy = _proxy_for(request.url)
        if proxy is None:
            guard = Guard(self._dialler, self._resolve, watch, request.allow_private)
            return _Transport(httpcore.ConnectionPool(self._tls, network_backend=guard))
        self._check_behind_proxy(request)
        # The operator chose the proxy, so it may stand in a private network.
        guard = Guard(self._dialler, self._resolve, watch, allow_private=True)
        return _Transport(
            httpcore.HTTPProxy(
                _core_url(proxy.url), proxy.raw_auth, ssl_context=self._tls, network_backend=guard
            )
        )

    def _check_behind_proxy(self, request: _Request) -> None:
        """The proxy dials, so all that can be refused here is what resolves to a bad address."""
        try:
            found = self._resolve(request.url.host, _port(request.url))
        except OSError:
            return  # only the proxy knows the name
        if not request.allow_private:
            allowed(request.url.host, found)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


# ── addresses ───────────────────────────────────────────────────────────────────────


def _parsed(url: str) -> httpx.URL:
    try:
        return httpx.URL(url.strip())
    except (httpx.InvalidURL, ValueError) as fault:
        raise FetchError(f"{shown(url)} is not a valid address") from fault


def _admit(request: _Request) -> None:
    url = request.url
    if url.scheme not in ("http", "https") or not url.host:
        raise FetchError(f"{shown(str(url))} is not an http or https address")
    if not request.allow_private and _port(url) not in (80, 443):
        raise FetchError(
            f"{shown(str(url))} uses a port other than 80 and 443",
            "allow_private: true permits it for this source",
        )


def _follow(request: _Request, moved: _Moved) -> _Request:
    """Return the request for where a redirect leads; user and password stay with their host."""
    target = request.url.join(moved.location)  # httpx has refused what is no address
    if request.url.scheme == "https" and target.scheme == "http":
        raise FetchError(f"{_host(request)} redirects from https to http, which is refused")
    same = (target.host, _port(target)) == (request.url.host, _port(request.url))
    target = target.copy_with(userinfo=request.url.userinfo if same else b"")
    return replace(request, url=target)


def _port(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def _host(request: _Request) -> str:
    return request.url.host


def _proxy_for(url: httpx.URL) -> httpx.Proxy | None:
    proxies = urllib.request.getproxies()
    told = proxies.get(url.scheme) or proxies.get("all") or ""
    if not told or urllib.request.proxy_bypass(url.host):
        return None
    proxy = httpx.Proxy(told if "://" in told else f"http://{told}")
    if proxy.url.scheme not in ("http", "https"):
        raise FetchError(f"a {proxy.url.scheme} proxy is not supported", "use an http proxy")
    return proxy


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


# ── connections ─────────────────────────────────────────────────────────────────────


class _Transport(httpx.BaseTransport):
    """Joins httpx to a connection pool that dials through the guard."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._pool.handle_request(
            httpcore.Request(
                request.method,
                _core_url(request.url),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


# ── answers ─────────────────────────────────────────────────────────────────────────

_STATUSES = frozenset(int(status) for status in HTTPStatus)
_HINTS = {
    401: "the address needs a user and password",
    403: "it refuses this client; ask its operator, and set `contact`",
    404: "check the address in a browser",
    410: "the page is gone for good; remove the source",
    429: "too many requests; it will be asked again later",
}


def _agent(version: str, contact: str) -> str:
    printable = "".join(c for c in contact if " " <= c <= "~").strip()
    return f"paper-monitor/{version}" + (f" (+{printable})" if printable else "")


def _received(request: _Request, response: httpx.Response, watch: Watch) -> Response:
    body = Decoder(response.headers.get("content-encoding", ""), request.max_bytes)
    complete = _read_body(response, body, watch)
    if not complete and not body.content:
        raise FetchError(f"{_host(request)} closed the connection before it had answered")
    return Response(
        status=200,
        url=str(request.url.copy_with(userinfo=b"")),
        content=bytes(body.content),
        content_type=response.headers.get("content-type", ""),
        validators=_validators(response.headers) if complete else {},
        complete=complete,
    )


def _read_body(response: httpx.Response, body: Decoder, watch: Watch) -> bool:
    """Read to the end; return False when the connection ended before the body did."""
    began = watch.monotonic()
    try:
        for chunk in response.iter_raw():
            body.feed(chunk)
            elapsed = watch.monotonic() - began
            if elapsed > LEAST_RATE_AFTER and body.received < LEAST_RATE * elapsed:
                raise FetchError(f"the answer came at less than {LEAST_RATE} bytes a second")
    except (httpcore.RemoteProtocolError, httpcore.ReadError):
        return False
    return body.ended


def _validators(headers: Mapping[str, str]) -> dict[str, str]:
    """Validators worth keeping: a server that says `Expires: 0` does not stand by its own."""
    if headers.get("expires", "").strip() == "0":
        return {}
    told = {"etag": headers.get("etag", ""), "last_modified": headers.get("last-modified", "")}
    return {name: value for name, value in told.items() if value}


def _words(fault: Exception) -> str:
    """A fault as a person would say it, without addresses."""
    if isinstance(fault, (httpcore.TimeoutException, httpx.TimeoutException)):
        return "no answer in time"
    return getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
