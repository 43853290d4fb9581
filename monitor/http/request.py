"""One request: what it asks for, which server it goes to, and which addresses are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

import httpx

from monitor.errors import FetchError
from monitor.http.addresses import PERMITTED_BY, redact_url
from monitor.http.host_limits import gate_of


@dataclass(frozen=True, slots=True)
class Request:
    """What one `get` or `save` asks for, from redirect to redirect.

    `file` already has the first `begin` bytes of what the server calls `tag`.
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
        raise FetchError(
            f"{redact_url(str(url))} uses a port other than 80 and 443",
            PERMITTED_BY,
        )


def port_of(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def server_of(request: Request) -> str:
    """Return the host, with an unusual port; all hosts of arXiv are one server."""
    port = port_of(request.url)
    host = gate_of(request.url.host)
    return host if port in (80, 443) else f"{host}:{port}"
