"""Where redirects lead, and what is remembered of an address that has moved for good."""

from __future__ import annotations

from dataclasses import dataclass, replace

import httpx

from monitor.errors import FetchError
from monitor.http.addresses import same_server
from monitor.http.request import Request

MAX_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Redirect:
    location: str
    permanent: bool


def follow(request: Request, moved: Redirect) -> Request:
    """Return the request for where a redirect leads."""
    target = request.url.join(moved.location)  # httpx has refused what is no address
    if request.url.scheme == "https" and target.scheme == "http":
        raise FetchError(f"{request.url.host} redirects from https to http, which is refused")
    return redirect_request(request, target)


def redirect_request(request: Request, target: httpx.URL) -> Request:
    """Ask another address; user, password, keys and permissions stay with their server."""
    if same_server(str(request.url), str(target)):
        return replace(request, url=target.copy_with(userinfo=request.url.userinfo))
    target = target.copy_with(userinfo=b"")
    return replace(request, url=target, headers={}, allow_private=False)


def stored_address(url: httpx.URL) -> str:
    """Return an address as it is remembered: without user, password, query and fragment."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def find_new_place(first: httpx.URL, target: httpx.URL) -> str:
    """Return the place to ask from now on, "" where that is not known: queries may hold keys."""
    if first.query == target.query:
        return stored_address(target)
    return "" if first.query else str(target.copy_with(userinfo=b"", fragment=None))


def move_request(request: Request, place: str) -> Request | None:
    """Return the request at the new place of its address, None where its query has none there."""
    target = httpx.URL(place)
    if request.url.query:
        if target.query:
            return None
        target = target.copy_with(query=request.url.query)
    return redirect_request(request, target)
