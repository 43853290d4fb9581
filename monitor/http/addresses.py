"""Which addresses may be dialled, and how an address may be shown."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from monitor.errors import FetchError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PERMITTED_BY = "allow_private: true permits the host and port in the source's url, and no others"


def redact_url(url: str) -> str:
    """Return a URL without what may be secret in it: user, password, query and fragment."""
    try:
        parts = urlsplit(url.strip())
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "this address"
    return f"{parts.scheme}://{host}{port}{parts.path}" + ("?..." if parts.query else "")


def same_server(one: str, other: str) -> bool:
    """Say whether two valid http or https addresses name the same host and port."""
    return _server(one) == _server(other)


def _server(url: str) -> tuple[str, int]:
    parts = urlsplit(url.strip())
    return parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def is_refused(address: Address) -> bool:
    """Say whether an address leads, or may be led, to anything but the public network.

    `is_global` alone calls multicast and NAT64 addresses of private hosts global (64:ff9b::/96
    and all else in ::/8 are `is_reserved`), and `is_private` does not know 100.64.0.0/10
    (RFC 6598).
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_refused(address.ipv4_mapped)
        if address.sixtofour or address.is_site_local:
            return True
    return not address.is_global or address.is_multicast or address.is_reserved


def public_addresses(host: str, found: Iterable[str]) -> list[str]:
    public = [text for text in found if not is_refused(ipaddress.ip_address(text.split("%")[0]))]
    if not public:
        raise FetchError(f"{host} is not a public address", PERMITTED_BY)
    return public
