"""The only door to the network: polite to hosts, suspicious of addresses and bodies.

What the door promises of every fetch:

    one at a time for each host, across all processes; arXiv 3 s apart (arXiv terms of use)
    a server that asked to be left alone (429, 503) is not asked, by anybody, before its time
    no private address, checked for the address that is dialled, at every redirect
    a total deadline, a least rate, a cap on what comes out of the decompressor
    conditional requests (RFC 9110, 13); where an address moved for good, it is asked there
    no secret in a message or a log line: queries and passwords of addresses are left out
"""

from __future__ import annotations

import logging
import re
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, cast

import httpcore
import httpx

from monitor.errors import FetchError, WaitError
from monitor.http.addresses import PERMITTED_BY, allowed, same_server, shown
from monitor.http.body import MAX_BYTES, Decoder
from monitor.http.cache_headers import LEAST, lifetime, retry_after
from monitor.http.dialing import Guard, TooLateError, Watch, resolve
from monitor.http.host_limits import Gates, gate_of
from monitor.http.server_memory import CONFIRMED, Memory, NoMemory, Wait
from monitor.http.transport import Transport, core_url, proxy_for

DOWNLOAD = "paper-monitor-"
DEADLINE = timedelta(seconds=60)
SAVING = timedelta(hours=12)
MOST_RESUMED = 10  # times that a transfer of a file is taken up again
MAX_REDIRECTS = 5
LEAST_RATE = 200  # bytes a second, once LEAST_RATE_AFTER seconds have passed
LEAST_RATE_AFTER = 10
MAX_REFUSAL = 64 * 1024  # of what comes with a status that refuses
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
    `validators` (etag, last_modified) are empty when they must not be kept. `lifetime` is for how
    long it says that it stays as it is; `tag` names it surely enough to ask for the rest of it.
    """

    status: int
    url: str
    content: bytes = b""
    content_type: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    not_modified: bool = False
    complete: bool = True
    lifetime: timedelta = timedelta(0)
    tag: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    """What one `get` asked for, as it goes from redirect to redirect.

    `file` has the first `begin` bytes already, of what the server called `tag`.
    """

    url: httpx.URL
    validators: Mapping[str, str]
    headers: Mapping[str, str]
    allow_private: bool
    max_bytes: int
    seconds: float
    apart: float
    file: BinaryIO | None = None
    begin: int = 0
    tag: str = ""


class _NotTheRestError(FetchError):
    """A server was asked for the rest of an answer, and sent something else."""


@dataclass(frozen=True, slots=True)
class _Moved:
    location: str
    for_good: bool


class HttpClient:
    """Fetches for all sources of a process; thread-safe.

    Processes that share `gate_dir` share the hosts' gates. Proxies are taken from the
    environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), certificates from
    SSL_CERT_FILE where it is set. `contact` is told to every server; sources may tell it to
    services that ask for it in another place, too.
    """

    def __init__(
        self,
        *,
        version: str,
        contact: str = "",
        gate_dir: Path | None = None,
        memory: Memory | None = None,
        downloads: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        resolve: Callable[[str, int], list[str]] = resolve,
        dialler: httpcore.NetworkBackend | None = None,
    ) -> None:
        self.contact = contact
        self._downloads = downloads
        self._agent = _agent(version, contact)
        self._memory = memory or NoMemory()
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
        headers: Mapping[str, str] | None = None,
        allow_private: bool = False,
        max_bytes: int = MAX_BYTES,
        deadline: timedelta = DEADLINE,
        apart: timedelta = timedelta(0),
    ) -> Response:
        """Fetch a page, following at most 5 redirects.

        `deadline` bounds the whole of it, from dialling to the last byte of the last answer, but
        not the time in which other requests have their turn; `validators` are those of an earlier
        Response; `headers`, keys for one, go to this server alone; `apart` is how far apart the
        service wants requests, where no rule of the host says more. `allow_private` holds for the
        host and port of `url`, not for where it redirects to.

        Raises FetchError, with `retry_after` when the server named a time, and WaitError, with
        nothing sent, before a time that it named.
        """
        return self._got(
            _Request(
                _parsed(url),
                validators or {},
                headers or {},
                allow_private,
                max_bytes,
                deadline.total_seconds(),
                apart.total_seconds(),
            )
        )

    def download_file(self) -> BinaryIO:
        """Open a file for `save`, in `downloads` or else the folder for temporary files.

        It has no name, so no crash leaves it behind. Raises FetchError where none can be opened.
        """
        try:
            return cast("BinaryIO", tempfile.TemporaryFile(prefix=DOWNLOAD, dir=self._downloads))
        except OSError as fault:
            where = self._downloads or tempfile.gettempdir()
            raise FetchError(f"no file can be made in {where}: {fault.strerror}") from fault

    def save(
        self,
        url: str,
        file: BinaryIO,
        *,
        max_bytes: int,
        validators: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        allow_private: bool = False,
        apart: timedelta = timedelta(0),
    ) -> Response:
        """Fetch what may be larger than memory into `file`; the Response has no content.

        As `get`, but that a transfer may take 12 hours, at the least rate, and where it breaks off
        the rest is asked for (RFC 9110, 14). Raises FetchError also where the file cannot hold it.
        """
        seconds = SAVING.total_seconds()
        request = _Request(
            _parsed(url),
            validators or {},
            headers or {},
            allow_private,
            max_bytes,
            seconds,
            apart.total_seconds(),
            file,
        )
        ends = self._monotonic() + seconds
        answer = self._got(request)
        held = 0
        for _ in range(MOST_RESUMED):
            if answer.complete or not answer.tag or file.tell() <= held:
                break
            held = file.tell()
            again = replace(request, validators={}, seconds=ends - self._monotonic())
            try:
                answer = self._got(replace(again, begin=held, tag=answer.tag))
            except _NotTheRestError:
                return self._got(again)
            except FetchError:
                break  # what came so far is whole up to there
        return answer

    def _got(self, request: _Request) -> Response:
        """Ask where an address is now, and note where it moved to."""
        address = _address(request.url)
        move = self._memory.move(address)
        elsewhere = _moved_to(request, move.place) if move and move.seen >= CONFIRMED else None
        if elsewhere:
            try:
                return self._asked(elsewhere)[0]
            except FetchError as fault:
                if fault.retry_after is not None:
                    raise
                self._memory.moved(address, "")
        answer, place = self._asked(request)
        if place or move:
            self._memory.moved(address, place)
        return answer

    @staticmethod
    def shown(url: str) -> str:
        """Return a URL as it may be shown: see `shown`."""
        return shown(url)

    def close(self) -> None:
        """Forget the gates that no other process shares."""
        if self._own_gates:
            self._own_gates.cleanup()

    def _asked(self, request: _Request) -> tuple[Response, str]:
        """Return the answer at the end of all redirects, and the place it has moved to for good."""
        first, place, for_good = request.url, "", True
        watch = Watch(self._monotonic, request.seconds)
        for _ in range(MAX_REDIRECTS + 1):
            _admit(request)
            self._heed(request)
            came = self._monotonic()
            with self._gates.turn(request.url.host, request.apart):
                watch.put_off(self._monotonic() - came)
                answer = self._exchange(request, watch)
            if isinstance(answer, Response):
                return answer, place
            request = _follow(request, answer)
            for_good = for_good and answer.for_good
            if for_good:
                place = _new_place(first, request.url)
        raise FetchError(f"{shown(str(first))} redirects more than {MAX_REDIRECTS} times")

    def _heed(self, request: _Request) -> None:
        wait = self._memory.wait(_server(request))
        if wait:
            raise WaitError(
                f"{_server(request)} will not be asked again before {_minute(wait)}: {wait.why}",
                retry_after=wait.left,
            )

    def _exchange(self, request: _Request, watch: Watch) -> Response | _Moved:
        try:
            with (
                httpx.Client(transport=self._transport(request, watch), timeout=TIMEOUT) as client,
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
        fixed = {
            "User-Agent": self._agent,
            "Accept": ACCEPT,
            "Accept-Encoding": "identity" if request.file else "gzip",
        }
        conditions = {name: value for name, value in told.items() if value}
        rest = {"Range": f"bytes={request.begin}-", "If-Range": request.tag}
        return {**fixed, **conditions, **(rest if request.begin else {}), **request.headers}

    def _judged(
        self, request: _Request, response: httpx.Response, watch: Watch
    ) -> Response | _Moved:
        match response.status_code:
            case 200:
                return _received(request, response, watch, self._wall())
            case 206 | 416 if request.begin:
                if not _is_rest(request, response):
                    raise _NotTheRestError(f"{_host(request)} has no such rest of the answer")
                return _received(request, response, watch, self._wall())
            case 304 if request.validators:
                return Response(
                    304, str(request.url), validators=request.validators, not_modified=True
                )
            case 301 | 302 | 303 | 307 | 308 as status if "location" in response.headers:
                return _Moved(response.headers["location"], for_good=status in (301, 308))
        raise self._refusal(request, response, watch)

    def _refusal(self, request: _Request, response: httpx.Response, watch: Watch) -> FetchError:
        status = response.status_code
        phrase = HTTPStatus(status).phrase if status in _STATUSES else "no known status"
        message = f"{_host(request)} answered {status} {phrase}"
        body = _said(response, watch)
        left = retry_after(response.headers, self._wall()) if status in (429, 503) else None
        if left is None and status == 429:
            left = LEAST  # it does not say for how long
        if left is None:
            return FetchError(message, _HINTS.get(status, ""), body=body)
        wait = self._memory.must_wait(_server(request), left, f"it answered {status} {phrase}")
        return FetchError(message, f"it will not be asked again before {_minute(wait)}", left, body)

    def _transport(self, request: _Request, watch: Watch) -> Transport:
        proxy = proxy_for(request.url)
        if proxy is None:
            guard = Guard(self._dialler, self._resolve, watch, request.allow_private)
            return Transport(httpcore.ConnectionPool(self._tls, network_backend=guard))
        self._check_behind_proxy(request)
        # The operator chose the proxy, so it may stand in a private network.
        guard = Guard(self._dialler, self._resolve, watch, allow_private=True)
        return Transport(
            httpcore.HTTPProxy(
                core_url(proxy.url), proxy.raw_auth, ssl_context=self._tls, network_backend=guard
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
            PERMITTED_BY,
        )


def _follow(request: _Request, moved: _Moved) -> _Request:
    """Return the request for where a redirect leads."""
    target = request.url.join(moved.location)  # httpx has refused what is no address
    if request.url.scheme == "https" and target.scheme == "http":
        raise FetchError(f"{_host(request)} redirects from https to http, which is refused")
    return _elsewhere(request, target)


def _elsewhere(request: _Request, target: httpx.URL) -> _Request:
    """Ask another address; user, password, keys and permissions stay with their server."""
    if same_server(str(request.url), str(target)):
        return replace(request, url=target.copy_with(userinfo=request.url.userinfo))
    target = target.copy_with(userinfo=b"")
    return replace(request, url=target, headers={}, allow_private=False)


def _address(url: httpx.URL) -> str:
    """What is remembered of a moved address: without user, password, query and fragment."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _new_place(first: httpx.URL, target: httpx.URL) -> str:
    """Return the place to ask from now on, "" where it cannot be told: queries may hold keys."""
    if first.query == target.query:
        return _address(target)
    return "" if first.query else str(target.copy_with(userinfo=b"", fragment=None))


def _moved_to(request: _Request, place: str) -> _Request | None:
    """Return the request at the new place of its address, None where its query has none there."""
    target = httpx.URL(place)
    if request.url.query:
        if target.query:
            return None
        target = target.copy_with(query=request.url.query)
    return _elsewhere(request, target)


def _port(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def _host(request: _Request) -> str:
    return request.url.host


def _server(request: _Request) -> str:
    """The host, and the port where it is a server beside the usual one; arXiv's hosts are one."""
    port = _port(request.url)
    host = gate_of(request.url.host)
    return host if port in (80, 443) else f"{host}:{port}"


# ── answers ─────────────────────────────────────────────────────────────────────────

_STATUSES = frozenset(int(status) for status in HTTPStatus)
_CONTENT_RANGE = re.compile(r"bytes (?P<begin>\d{1,18})-(?P<last>\d{1,18})/(?P<size>\d{1,18}|\*)")
_HINTS = {
    401: "the address needs a user and password",
    403: "it refuses this client; ask its operator, and set `contact`",
    404: "check the address in a browser",
    410: "the page is permanently gone; remove the source",
    429: "too many requests; it will be asked again later",
}


def _agent(version: str, contact: str) -> str:
    printable = "".join(c for c in contact if " " <= c <= "~").strip()
    return f"paper-monitor/{version}" + (f" (+{printable})" if printable else "")


def _minute(wait: Wait) -> str:
    return f"{wait.until.astimezone(UTC) + timedelta(seconds=59):%Y-%m-%d %H:%M} UTC"


def _said(response: httpx.Response, watch: Watch) -> bytes:
    """The beginning of what came with a status that refuses; nothing where it cannot be had."""
    try:
        body = Decoder(response.headers.get("content-encoding", ""), MAX_REFUSAL)
        _read_body(response, body, watch)
    except (FetchError, TooLateError, *_FAULTS):
        return b""
    return bytes(body.content)


def _is_rest(request: _Request, response: httpx.Response) -> bool:
    """Say whether an answer begins where the file ends: some servers send what they like."""
    told = _content_range(response)
    same = response.headers.get("etag", request.tag) == request.tag or request.tag[:1] != '"'
    plain = response.headers.get("content-encoding", "identity") == "identity"
    return bool(told and int(told["begin"]) == request.begin and same and plain)


def _content_range(response: httpx.Response) -> re.Match[str] | None:
    return _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())


def _received(request: _Request, response: httpx.Response, watch: Watch, now: float) -> Response:
    begin = request.begin if response.status_code == 206 else 0
    if request.file:
        request.file.seek(begin)
        request.file.truncate()
    encoding = response.headers.get("content-encoding", "")
    body = Decoder(encoding, request.max_bytes - begin, request.file)
    complete = _read_body(response, body, watch)
    if begin and (told := _content_range(response)) and told["size"] != "*":
        complete = complete and begin + body.size == int(told["size"])
    if not complete and not body.size and not begin:
        raise FetchError(f"{_host(request)} closed the connection before it had answered")
    return Response(
        status=response.status_code,
        url=str(request.url.copy_with(userinfo=b"")),
        content=bytes(body.content),
        content_type=response.headers.get("content-type", ""),
        validators=_validators(response.headers) if complete else {},
        complete=complete,
        lifetime=lifetime(response.headers, now) if complete else timedelta(0),
        tag="" if encoding not in ("", "identity") else _tag(response.headers),
    )


def _tag(headers: Mapping[str, str]) -> str:
    """Return what names an answer byte for byte (RFC 9110, 13.1.5), "" where nothing does."""
    etag = headers.get("etag", "")
    return etag if etag.startswith('"') else "" if etag else headers.get("last-modified", "")


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
