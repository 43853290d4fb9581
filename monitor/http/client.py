"""The only way to the network: polite to hosts, suspicious of addresses and bodies.

docs/guarantees.md says what every fetch promises. No secret is in a message or a log line: queries
and passwords of addresses are left out.
"""

from __future__ import annotations

import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from functools import cached_property
from http.client import responses
from pathlib import Path
from typing import BinaryIO, Unpack, cast

import httpcore
import httpx

from monitor.errors import FetchError, WaitError
from monitor.http import Limits
from monitor.http.addresses import redact_url
from monitor.http.cache_headers import LEAST, retry_after
from monitor.http.dialing import Guard, TooLateError, Watch, core_url, open_pool, resolve
from monitor.http.host_limits import Gates
from monitor.http.request import (
    MAX_REDIRECTS,
    Redirect,
    Request,
    basic_auth,
    check_address,
    find_new_address,
    follow,
    move_request,
    parse_url,
    server_of,
    stored_address,
)
from monitor.http.response import (
    NETWORK_ERRORS,
    Response,
    headers_of,
    is_rest,
    read_response,
    read_short_body,
)
from monitor.http.server_memory import CONFIRMED, Memory, Move, Wait

SAVE_DEADLINE = timedelta(hours=12)
MAX_RESUMPTIONS = 10  # of the transfer of one file
TIMEOUTS = {"connect": 10.0, "read": 20.0, "write": 20.0, "pool": 5.0}
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, */*;q=0.8"

_HINTS = {
    401: "the address needs a user and password",
    403: "it refuses this client; ask its operator, and set `contact`",
    404: "check the address in a browser",
    410: "the page is permanently gone; remove the source",
    429: "too many requests; it will be asked again later",
}


class NotTheRestError(FetchError):
    """A server was asked for the rest of an answer, and sent something else."""


@dataclass(kw_only=True, eq=False)
class HttpClient:
    """Fetches for all sources of a process; thread-safe.

    Proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY),
    certificates from SSL_CERT_FILE where it is set. Forms are posted to their end: a refresh token
    may be valid only once.
    """

    # The version of Paper Monitor, sent in User-Agent.
    version: str
    # The folder of the hosts' gates: processes with one folder take turns at a host.
    gate_dir: Path
    # The account that may own that folder, beside this one and root (0).
    gate_owner: int = 0
    # The setting `contact`, sent in User-Agent, "" for none. Sources also send it where a service
    # asks for it elsewhere.
    contact: str = ""
    # The pauses that servers asked for, and addresses that moved; the default remembers none.
    memory: Memory = field(default_factory=Memory)
    # The folder for files that `save` writes, None for that of temporary files.
    downloads: Path | None = None
    # Once it is set, fetches end within seconds with a DeferredError.
    stopping: threading.Event = field(default_factory=threading.Event)

    # Returns seconds of a clock that is never set, for deadlines.
    monotonic: Callable[[], float] = time.monotonic
    # Returns seconds since 1970, for dates in headers and the distance of requests.
    wall: Callable[[], float] = time.time
    # Waits for some seconds between two requests to a host.
    sleep: Callable[[float], None] = time.sleep
    # Returns the addresses of a host and port in the order they should be tried.
    resolve: Callable[[str, int], list[str]] = resolve
    # Opens connections to addresses that were checked.
    dialler: httpcore.NetworkBackend = field(default_factory=httpcore.SyncBackend)

    def __post_init__(self) -> None:
        self._gates = Gates(self.gate_dir, self.wall, self.sleep, self.gate_owner)

    def get(
        self, url: str, validators: Mapping[str, str] | None = None, **limits: Unpack[Limits]
    ) -> Response:
        """Fetch a page, following at most 5 redirects; `validators` are of an earlier Response.

        Raises FetchError, with `retry_after` when the server named a time, and WaitError, with
        nothing sent, before a time that it named.
        """
        return self._fetch(Request(parse_url(url), validators or {}, **limits))

    def post_form(
        self, url: str, form: Mapping[str, str], *, allow_private: bool = False
    ) -> Response:
        """Post a form; the Response may be a refusal with 400, 401 or 403, which explains itself.

        Redirects are not followed: a form may hold secrets. Raises FetchError as `get` does.
        """
        headers = {"Accept": "application/json"}
        request = Request(parse_url(url), headers=headers, allow_private=allow_private, form=form)
        return self._follow_redirects(request)[0]

    def post_json(self, url: str, content: bytes, **limits: Unpack[Limits]) -> Response:
        """Post JSON; the Response has status 200.

        Redirects are not followed: the content is for this server alone. Raises FetchError as `get`
        does.
        """
        request = Request(parse_url(url), json=content, **limits)
        return self._follow_redirects(request)[0]

    def download_file(self) -> BinaryIO:
        """Open a file for `save`, in `downloads` or else the folder for temporary files.

        It has no name, so no crash leaves it behind. Raises FetchError where none can be opened.
        """
        try:
            return cast("BinaryIO", tempfile.TemporaryFile(dir=self.downloads))
        except OSError as error:
            where = self.downloads or tempfile.gettempdir()
            raise FetchError(f"no file can be made in {where}: {error.strerror}") from error

    def save(
        self,
        url: str,
        file: BinaryIO,
        validators: Mapping[str, str] | None = None,
        **limits: Unpack[Limits],
    ) -> Response:
        """Fetch what may be larger than memory into `file`; the Response has no content.

        Unlike `get`, a transfer may take 12 hours, at the minimum rate, and one that breaks off is
        resumed (RFC 9110, 14). Also raises FetchError when the file cannot be written.
        """
        limits.setdefault("deadline", SAVE_DEADLINE)
        request = Request(parse_url(url), validators or {}, file=file, **limits)
        return self._resume(request, file, self.monotonic() + request.deadline.total_seconds())

    def _resume(self, request: Request, file: BinaryIO, deadline: float) -> Response:
        """Fetch into `file`, and the rest of it as often as the transfer breaks off."""
        response = self._fetch(request)
        size = 0
        for _ in range(MAX_RESUMPTIONS):
            if response.complete or not response.tag or file.tell() <= size:
                break
            size = file.tell()
            left = timedelta(seconds=deadline - self.monotonic())
            rest = replace(request, validators={}, deadline=left)
            try:
                response = self._fetch(replace(rest, begin=size, tag=response.tag))
            except NotTheRestError:
                return self._fetch(rest)
            except FetchError:
                break  # keep the bytes before the fault
        return response

    def _fetch(self, request: Request) -> Response:
        """Request the current address, and record a permanent redirect."""
        address = stored_address(request.url)
        move = self.memory.move(address)
        elsewhere = self._moved_to(request, move) if move and move.seen >= CONFIRMED else None
        if elsewhere:
            try:
                return self._follow_redirects(elsewhere)[0]
            except FetchError as error:
                if error.retry_after is not None:
                    raise
                self.memory.record_move(address, "")
        answer, new_address = self._follow_redirects(request)
        if new_address or move:
            self.memory.record_move(address, new_address)
        return answer

    def _moved_to(self, request: Request, move: Move) -> Request | None:
        """Return the request for a new address, None if that may not be asked.

        The old one is asked then: it may not redirect any more.
        """
        try:
            return move_request(request, move.target)
        except FetchError:  # the old one raises it again if it still redirects
            return None

    def _follow_redirects(self, request: Request) -> tuple[Response, str]:
        """Return the response after all redirects, and the address of a permanent one."""
        first = request.url
        new_address = ""
        permanent = True
        stopping = self.stopping if request.form is None else None
        watch = Watch(self.monotonic, request.deadline.total_seconds(), stopping)
        for _ in range(MAX_REDIRECTS + 1):
            check_address(request)
            self._check_wait(request)
            waited_from = self.monotonic()
            apart = request.apart.total_seconds()
            with self._gates.turn(request.url.host, apart, watch.go_on):
                watch.put_off(self.monotonic() - waited_from)
                answer = self._exchange(request, watch)
            if isinstance(answer, Response):
                return answer, new_address
            request = follow(request, answer)
            permanent = permanent and answer.permanent
            if permanent:
                new_address = find_new_address(first, request.url)
        raise FetchError(f"{redact_url(str(first))} redirects more than {MAX_REDIRECTS} times")

    def _check_wait(self, request: Request) -> None:
        wait = self.memory.wait(server_of(request))
        if wait:
            until = f"{server_of(request)} will not be asked again before {show_minute(wait)}"
            raise WaitError(f"{until}: {wait.why}", retry_after=wait.left)

    # ── one exchange, without redirects ─────────────────────────────────────────────

    def _exchange(self, request: Request, watch: Watch) -> Response | Redirect:
        posted = request.posted
        try:
            with (
                self._pool(request, watch) as pool,
                pool.stream(
                    "POST" if posted else "GET",
                    core_url(request.url),
                    headers=self._headers(request),
                    content=posted[1] if posted else None,
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
            "User-Agent": _user_agent(self.version, self.contact),
            "Accept": ACCEPT,
            "Accept-Encoding": "identity" if request.file else "gzip",
            "If-None-Match": request.validators.get("etag", ""),
            "If-Modified-Since": request.validators.get("last_modified", ""),
        }
        if request.begin:
            headers |= {"Range": f"bytes={request.begin}-", "If-Range": request.tag}
        if posted := request.posted:
            headers["Content-Type"] = posted[0]
        headers |= {**basic_auth(url), **request.headers}
        return [(name, value.encode()) for name, value in headers.items() if value]

    def _read_answer(
        self, request: Request, response: httpcore.Response, watch: Watch
    ) -> Response | Redirect:
        headers = headers_of(response)
        posted = request.posted is not None
        match response.status:
            case 200 | 400 | 401 | 403 as status if request.form is not None:  # RFC 6749, 5.2
                content = read_short_body(response, watch)
                date = headers.get("date", "")
                return Response(status, str(request.url), content=content, date=date)
            case _ if request.form is not None:
                pass
            case 200:
                return read_response(request, response, watch, self.wall())
            case 206 | 416 if request.begin:
                if not is_rest(request, response):
                    raise NotTheRestError(f"{request.url.host} has no such rest of the answer")
                return read_response(request, response, watch, self.wall())
            case 304 if request.validators:
                return Response(304, str(request.url), validators=request.validators)
            case 301 | 302 | 303 | 307 | 308 as status if "location" in headers and not posted:
                return Redirect(headers["location"], permanent=status in (301, 308))
        raise self._refusal_error(request, response, watch)

    def _refusal_error(
        self, request: Request, response: httpcore.Response, watch: Watch
    ) -> FetchError:
        status = response.status
        phrase = responses.get(status, "no known status")
        message = f"{request.url.host} answered {status} {phrase}"
        body = read_short_body(response, watch)
        left = retry_after(headers_of(response), self.wall()) if status in (429, 503) else None
        if left is None and status == 429:
            left = LEAST  # the server does not say for how long
        if left is None:
            return FetchError(message, _HINTS.get(status, ""), body=body, status=status)
        wait = self.memory.record_wait(server_of(request), left, f"it answered {status} {phrase}")
        hint = f"it will not be asked again before {show_minute(wait)}"
        return FetchError(message, hint, left, body, status)

    def _pool(self, request: Request, watch: Watch) -> httpcore.ConnectionPool:
        guard = Guard(self.dialler, self.resolve, watch, request.allow_private)
        return open_pool(request.url, guard, self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


def _user_agent(version: str, contact: str) -> str:
    printable = "".join(c for c in contact if " " <= c <= "~").strip()
    return f"paper-monitor/{version}" + (f" (+{printable})" if printable else "")


def show_minute(wait: Wait) -> str:
    """Return the end of a wait, rounded up to the minute."""
    return f"{wait.until.astimezone(UTC) + timedelta(seconds=59):%Y-%m-%d %H:%M} UTC"


def describe(error: Exception) -> str:
    """Describe an error in plain words, without addresses."""
    if isinstance(error, httpcore.TimeoutException):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
