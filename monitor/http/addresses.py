"""Which addresses may be dialled, and how an address may be shown."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from monitor.errors import FetchError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PERMITTED_BY = (
    "allow_private: true permits the host and port of the configured address, and no others"
)

MASK = "********"
# Parameters, without case and punctuation, whose values are secret: api_key, X-Amz-Signature.
_SECRET_NAME = re.compile(
    r"token|secret|passw(?:or)?d|pwd|passphrase|credential|signature|jwt|keys?(?:id)?$|auth$"
    r"|^(?:pass|sig|sid|session|code)$"
)
_REFERENCE = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+")


def mask_url(url: str) -> str:
    """Return a URL with the secrets in it masked: its password, and keys and tokens in its query.

    `${NAME}` alone, a variable of the environment, is no secret. Other texts are unchanged.
    """
    if "://" not in url:
        return url
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:  # it is no address, whatever it may hold
        return MASK
    if password is not None and not _REFERENCE.fullmatch(password):
        user, _, host = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{user.partition(':')[0]}:{MASK}@{host}")
    query = _mask_parameters(parts.query)
    fragment = _mask_parameters(parts.fragment)
    parts = parts._replace(query=query, fragment=fragment)
    return urlunsplit(parts) if parts != urlsplit(url) else url


def _mask_parameters(query: str) -> str:
    return "".join(map(_mask_parameter, re.split("([&;])", query)))


def _mask_parameter(written: str) -> str:
    name, equals, value = written.partition("=")
    plain = re.sub(r"[\W_]", "", unquote_plus(name).lower())
    if not value or _REFERENCE.fullmatch(value):
        return written
    address = unquote_plus(value)
    is_secret = _SECRET_NAME.search(plain) or mask_url(address) != address
    return f"{name}{equals}{MASK}" if is_secret else written


def redact_url(url: str) -> str:
    """Return a URL without what may be secret in it: user, password, query and fragment."""
    try:
        parts = urlsplit(url.strip())
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "this address"
    return f"{parts.scheme}://{host}{port}{parts.path}" + ("?..." if parts.query else "")


def same_server(url: str, other: str) -> bool:
    """Say whether two valid http or https addresses name the same host and port."""
    return _server(url) == _server(other)


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


def is_private_host(host: str) -> bool:
    """Say whether a host, without asking for its addresses, is in no public network."""
    try:
        return is_refused(ipaddress.ip_address(host))
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def public_addresses(host: str, addresses: Iterable[str]) -> list[str]:
    public = [
        text for text in addresses if not is_refused(ipaddress.ip_address(text.split("%")[0]))
    ]
    if not public:
        raise FetchError(f"{host} is not a public address", PERMITTED_BY)
    return public
