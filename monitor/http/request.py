"""One request: what it asks for, where redirects lead it, and which addresses are refused."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import BinaryIO
from urllib.parse import urlencode

import httpx

from monitor.errors import FetchError
from monitor.http import MAX_BYTES
from monitor.http.addresses import PERMITTED_BY, redact_url, same_server
from monitor.http.host_limits import gate_of

MAX_REDIRECTS = 5
DEADLINE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Request:
    """A GET from redirect to redirect, or a POST of `form` or `json`, which follows none."""

    # The address to ask now, which a redirect replaces. It may have a user and a password.
    url: httpx.URL
    # The `etag` and `last_modified` of an earlier response; the answer may be 304 with them.
    validators: Mapping[str, str] = field(default_factory=dict)
    # As in `Limits`; not in `repr`, since they may hold keys.
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    # As in `Limits`; a redirect to another server ends it.
    allow_private: bool = False
    # The most bytes of the decoded body, those before `begin` among them.
    max_bytes: int = MAX_BYTES
    # As in `Limits`.
    deadline: timedelta = DEADLINE
    # As in `Limits`.
    apart: timedelta = timedelta(0)
    # As in `Limits`.
    stays: bool = False
    # The file that gets the body; None to keep it in memory.
    file: BinaryIO | None = None
    # The number of bytes that `file` already has; only the rest is requested (Range).
    begin: int = 0
    # The server's name for the content that these bytes are of (If-Range).
    tag: str = ""
    # Names and values to post; not in `repr`, since they may be secrets.
    form: Mapping[str, str] | None = field(default=None, repr=False)
    # Encoded JSON to post; not in `repr`.
    json: bytes | None = field(default=None, repr=False)

    @property
    def posted(self) -> tuple[str, bytes] | None:
        """The content type and the body of a POST, None for a GET."""
        if self.form is not None:
            return "application/x-www-form-urlencoded", urlencode(self.form).encode()
        return None if self.json is None else ("application/json", self.json)


def parse_url(url: str) -> httpx.URL:
    try:
        return httpx.URL(url.strip())
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchError(f"{redact_url(url)} is not a valid address") from error


def check_address(request: Request) -> None:
    url = request.url
    if url.scheme not in ("http", "https") or not url.host:
        raise FetchError(f"{redact_url(str(url))} is not an http or https address")
    if not request.allow_private and port_of(url) not in (80, 443):
        raise FetchError(f"{redact_url(str(url))} uses a port other than 80 and 443", PERMITTED_BY)


def basic_auth(url: httpx.URL) -> dict[str, str]:
    """Return the header for the user and password in an address, none without them."""
    if not url.userinfo:
        return {}
    account = b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {"Authorization": f"Basic {account}"}


def port_of(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def server_of(request: Request) -> str:
    """Return the host, with an unusual port; all hosts of arXiv are one server."""
    port = port_of(request.url)
    host = gate_of(request.url.host)
    return host if port in (80, 443) else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Redirect:
    location: str
    permanent: bool


def follow(request: Request, moved: Redirect) -> Request:
    """Return the request for where a redirect leads."""
    try:
        target = request.url.join(moved.location)
    except httpx.InvalidURL as fault:
        message = f"{request.url.host}: Invalid URL in location header: {fault}."
        raise FetchError(message) from fault
    if request.url.scheme == "https" and target.scheme == "http":
        raise FetchError(f"{request.url.host} redirects from https to http, which is refused")
    return redirect_request(request, target)


def redirect_request(request: Request, target: httpx.URL) -> Request:
    """Ask another address; user, password, keys and permissions stay with their server."""
    if same_server(str(request.url), str(target)):
        return replace(request, url=target.copy_with(userinfo=request.url.userinfo))
    target = target.copy_with(userinfo=b"")
    elsewhere = replace(request, url=target, headers={}, allow_private=False)
    if request.stays and server_of(elsewhere) != server_of(request):
        message = f"{request.url.host} redirects to {target.host}, which may not be asked"
        raise FetchError(message, "if it moved, write its new address in `url:`")
    return elsewhere


def stored_address(url: httpx.URL) -> str:
    """Return an address to store: without user, password, query and fragment."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def find_new_address(first: httpx.URL, target: httpx.URL) -> str:
    """Return the address to request from now on, "" if it is not known: queries may hold keys."""
    if first.query == target.query:
        return stored_address(target)
    return "" if first.query else str(target.copy_with(userinfo=b"", fragment=None))


def move_request(request: Request, address: str) -> Request | None:
    """Return the request at a new address, None if both addresses have a query."""
    target = httpx.URL(address)
    if request.url.query:
        if target.query:
            return None
        target = target.copy_with(query=request.url.query)
    return redirect_request(request, target)
