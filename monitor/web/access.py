"""Who may see and do what: decided from the facts of one request."""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from urllib.parse import urlsplit

from monitor.model import OPERATOR_NAME

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Headers by which proxies say that they passed a request on; `X-Forwarded-*` are others.
FORWARDED = frozenset({"forwarded", "via", "x-real-ip"})
PROXY_SECRET = "x-proxy-secret"

# RFC 9110, 7.2: a name or address, and a port. Anything else could be read in two ways.
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_PORTS = {"http": 80, "https": 443}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Role(IntEnum):
    """The rights of a visitor; each role has those of the roles before it."""

    NOBODY = 0
    READER = 1
    OPERATOR = 2


class Proof(Enum):
    """How a request proved that it is the operator's."""

    NONE = "none"
    SESSION = "session"  # a cookie, which browsers also send for a form of another site
    BEARER = "bearer"  # `Authorization: Bearer`, which no browser sends by itself


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks: a reader has an `address`; an operator may have one.

    A guest of the demo is a reader without an address who sees all subscriptions and changes
    nothing.
    """

    role: Role
    address: str = ""
    is_guest: bool = False

    @property
    def name(self) -> str:
        """The viewer's name in the log and in rows: an operator by token has no address."""
        return self.address or OPERATOR_NAME

    @property
    def is_operator(self) -> bool:
        return self.role is Role.OPERATOR

    @property
    def sees_all(self) -> bool:
        """Whether all subscriptions and libraries are shown, and not those of one reader."""
        return self.is_operator or self.is_guest

    @property
    def author(self) -> str:
        """Whose answers are shown: an operator sees those of all, ""."""
        return "" if self.is_operator else self.address

    @property
    def is_known(self) -> bool:
        return self.role > Role.NOBODY


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a request is refused, shown to the visitor; with `login` they may log in.

    `viewer` is who asks, if they are known but may not do this.
    """

    status: int
    message: str
    login: bool = False
    viewer: Viewer = field(default_factory=lambda: Viewer(Role.NOBODY))


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The access settings of a configuration: see `web:` in docs/pages.md, and Slack's secret."""

    # The setting `public_url`, "" without one: then only this machine is answered.
    url: str = ""
    # The setting `web.token`, by which the operator logs in; "" for none.
    token: str = field(default="", repr=False)
    # The header in which a proxy names the visitor, in lower case; "" for none.
    user_header: str = ""
    # The addresses in that header that are operators', in lower case.
    operators: frozenset[str] = frozenset()
    # The networks of the proxies whose headers count.
    proxies: tuple[Network, ...] = ()
    # The value of X-Proxy-Secret that these proxies have to send; "" for none.
    proxy_secret: str = field(default="", repr=False)
    # The secret by which Slack signs answers; "" for none, and without `public_url`.
    slack_secret: str = field(default="", repr=False)
    # All peers are proxies: the mode of the socket's file says who may connect.
    on_unix_socket: bool = False
    # Pages can be looked at from all machines and under any name; no setting does that.
    is_demo: bool = False

    @property
    def host(self) -> str:
        """The name of the host of `public_url`, "" without one."""
        return urlsplit(self.url).hostname or ""

    @property
    def takes_logins(self) -> bool:
        """Whether the operator logs in here, and not only at the proxy in front."""
        return not self.is_demo and (bool(self.token) or not self.user_header)


@dataclass(frozen=True, slots=True)
class Asked:
    """The facts of a request. The names of `headers` are in lower case.

    `role` is the least one that its route is for. A route with `has_token` proves a request by
    the token in its path, or by a signature.
    """

    method: str
    path: str
    peer: str
    headers: Mapping[str, str]
    role: Role = Role.READER
    has_token: bool = False

    @property
    def host(self) -> str:
        """The name of the host asked for, in lower case and without its port; "" if it has none."""
        parts = _HOST.fullmatch(self.headers.get("host", ""))
        return parts["name"].strip("[]").lower() if parts else ""

    @property
    def bearer(self) -> str:
        """The token after `Authorization: Bearer`, "" without it."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @property
    def is_forwarded(self) -> bool:
        return any(name in FORWARDED or name.startswith("x-forwarded-") for name in self.headers)


def refuse_way(rules: AccessRules, asked: Asked) -> Refusal | None:
    """Refuse a request by another name, or through a proxy that the configuration does not name."""
    if not asked.host:
        return Refusal(400, "The Host header should be a host and a port.")
    if rules.is_demo:
        return None
    if rules.url:
        if asked.host != rules.host:
            return Refusal(421, f"This server answers for {rules.host}, the host of public_url.")
        return _refuse_proxy(rules, asked) if asked.is_forwarded else None
    if not _is_loopback(asked.peer):
        return Refusal(403, "Without public_url, pages are shown on the same machine only.")
    if asked.host not in LOCAL_NAMES:  # a foreign page whose name leads here (DNS rebinding)
        return Refusal(421, "Without public_url, the address is http://localhost or 127.0.0.1.")
    if asked.is_forwarded:
        return Refusal(403, "This request came through a proxy; set public_url to allow it.")
    return None


def admit(rules: AccessRules, asked: Asked, proof: Proof = Proof.NONE) -> Viewer | Refusal:
    """Return who asks, or why a request is refused that `refuse_way` let through."""
    if rules.is_demo:
        return _admit_guest(asked)
    if rules.user_header in asked.headers and (refusal := _refuse_proxy(rules, asked)):
        return refusal
    address = asked.headers.get(rules.user_header, "").strip()
    if address:
        is_operator = address.lower() in rules.operators
        viewer = Viewer(Role.OPERATOR if is_operator else Role.READER, address)
    else:
        viewer = Viewer(Role.NOBODY if proof is Proof.NONE else Role.OPERATOR)
    if proof is not Proof.BEARER and _is_foreign_form(rules, asked):
        return Refusal(403, "This form was sent by another site, and nothing was changed.")
    if viewer.role >= asked.role:
        return viewer
    if not viewer.is_known:
        return _ask_to_log_in(rules, asked)
    message = "This page is for the operators of this installation."
    return Refusal(403, message, viewer=viewer)


def _admit_guest(asked: Asked) -> Viewer | Refusal:
    guest = Viewer(Role.READER, is_guest=True)
    if asked.method not in ("GET", "HEAD"):
        return Refusal(403, "This is the demo: nothing can be changed here.", viewer=guest)
    if asked.role > guest.role:
        return Refusal(403, "The demo shows what readers of digests see.", viewer=guest)
    return guest


def may_compress(rules: AccessRules, asked: Asked) -> bool:
    """Return whether the length of an answer may depend on how often its texts repeat.

    Another site must not have a browser ask for pages that show its guesses beside a secret, such
    as the address of a feed: an answer is shorter where the guess repeats the secret (BREACH).
    """
    site = asked.headers.get("sec-fetch-site")
    if site is None:  # a program, or an old browser
        return "cookie" not in asked.headers and rules.user_header not in asked.headers
    return site in ("same-origin", "none")


def client_address(rules: AccessRules, asked: Asked) -> str:
    """Return the address of a visitor, as the last trusted proxy on the way reports it.

    Addresses further left in X-Forwarded-For, and X-Real-IP beside it, may be the visitor's own
    words.
    """
    if _refuse_proxy(rules, asked):
        return asked.peer
    written = asked.headers.get("x-forwarded-for") or asked.headers.get("x-real-ip", "")
    reported = [_address(address.strip()) for address in reversed(written.split(","))]
    for visitor in reported:
        if visitor is None:
            return asked.peer
        if not any(visitor in network for network in rules.proxies):
            return str(visitor)
    return str(reported[0])


def network_of(address: str) -> str:
    """Return an address; of IPv6 the /64, of which one host has all addresses (RFC 4291, 2.5.4)."""
    parsed = _address(address)
    if _is_loopback(address):  # every account of this machine has all of 127.0.0.0/8
        return "loopback"
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed or address)


def _ask_to_log_in(rules: AccessRules, asked: Asked) -> Refusal:
    """Lead a browser to the login page; a program would take that page for the answer."""
    if asked.bearer and rules.token:
        return Refusal(401, "This is not the token of web.token.")
    is_program = bool(asked.bearer) or asked.path == "/metrics" or asked.path.startswith("/api/")
    if is_program and rules.takes_logins:
        how = "send it" if rules.token else "set it, and send it"
        return Refusal(401, f"Programs need web.token: {how} as Authorization: Bearer.")
    return Refusal(401, "Log in to see this page.", login=rules.takes_logins)


def _refuse_proxy(rules: AccessRules, asked: Asked) -> Refusal | None:
    """Refuse headers that only a proxy may set, where no proxy of the configuration set them."""
    if not is_proxy_address(rules, asked.peer):
        return Refusal(403, "A proxy sent this request that web.trusted_proxies does not name.")
    secret = asked.headers.get(PROXY_SECRET, "")
    if rules.proxy_secret and not same_secret(secret, rules.proxy_secret):
        return Refusal(403, "The proxy did not send web.proxy_secret as X-Proxy-Secret.")
    return None


def is_proxy_address(rules: AccessRules, peer: str) -> bool:
    """Return whether a trusted proxy has this address; the peer of a Unix socket has none."""
    if rules.on_unix_socket:
        return True
    address = _address(peer)
    return address is not None and any(address in network for network in rules.proxies)


def _is_foreign_form(rules: AccessRules, asked: Asked) -> bool:
    """Return whether another site posted a form."""
    if asked.method in ("GET", "HEAD") or asked.has_token:
        return False
    site = asked.headers.get("sec-fetch-site")
    origin = asked.headers.get("origin")
    if site is None and origin is None:  # every browser sends one of them with a form
        return True
    if site not in (None, "same-origin"):
        return True
    own = rules.url or f"http://{asked.headers.get('host', '')}"
    return origin is not None and _origin(origin) != _origin(own)


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port of a URL, None where it has none (RFC 6454, 4)."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None


def same_secret(first: str, other: str) -> bool:
    """Compare in a time that says nothing about the secret."""
    return hmac.compare_digest(first.encode(), other.encode())


def _is_loopback(peer: str) -> bool:
    """Whether a visitor is on this machine. Of hosts in settings, `setting_types` says it."""
    address = _address(peer)
    return address is not None and address.is_loopback


def _address(peer: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
