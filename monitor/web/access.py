"""Who may see and do what: decided from the facts of one request."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from urllib.parse import urlsplit

from monitor.signing import KeyRing

# The cookie that stands for `web.token`.
SESSION = "paper-monitor"
# How Slack's requests begin, which it signs.
SLACK = "/slack/"
# What stands at the start of a path that needs no login: its token names what it opens.
SIGNED = ("/u/", "/v/", "/r/", SLACK)
OPEN = (*SIGNED, "/feed/", "/static/", "/healthz", "/login")
# What readers may see who are no operators, and post to.
FOR_READERS = (
    "/digests",
    "/papers",
    "/saved",
    "/topics",
    "/try",
    "/zone",
    "/logout",
    "/api/v1/papers",
)
# The answers of all readers, whatever their paths begin with.
OF_ALL_READERS = ("/api/v1/papers/rated", "/api/v1/papers/saved")
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Role(IntEnum):
    """What somebody may do; who may do more may do all that others may."""

    NOBODY = 0
    READER = 1
    OPERATOR = 2


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks: a reader has an `address`; an operator may have one."""

    role: Role
    address: str = ""

    @property
    def is_operator(self) -> bool:
        return self.role is Role.OPERATOR

    @property
    def is_known(self) -> bool:
        return self.role > Role.NOBODY


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, in words for who asks; with `login` they may log in first."""

    status: int
    message: str
    login: bool = False


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What the configuration says: see `web:` in docs/pages.md.

    `host` is that of `public_url`, "" without one. `operators` are in lower case.
    """

    host: str = ""
    token: str = field(default="", repr=False)
    user_header: str = ""
    operators: frozenset[str] = frozenset()
    proxies: tuple[Network, ...] = ()

    @property
    def session(self) -> str:
        """What the cookie of somebody who gave the token holds; another token makes another."""
        return KeyRing((self.token,)).sign("session", "operator")


@dataclass(frozen=True, slots=True)
class Asked:
    """The facts of a request. The names of `headers` are in lower case."""

    method: str
    path: str
    peer: str
    headers: Mapping[str, str]
    session: str = ""

    @property
    def host(self) -> str:
        """The name of the host asked for, in lower case and without its port."""
        return _host_of(self.headers.get("host", ""))

    @property
    def is_forwarded(self) -> bool:
        return any(name == "forwarded" or name.startswith("x-forwarded-") for name in self.headers)


def admit(rules: AccessRules, asked: Asked) -> Viewer | Refusal:
    """Return who asks, or why the request is refused."""
    refusal = _refuse_way(rules, asked) or _refuse_foreign(rules, asked)
    if refusal:
        return refusal
    viewer = _viewer(rules, asked)
    if isinstance(viewer, Refusal) or asked.path.startswith(OPEN):
        return viewer
    if not viewer.is_known:
        return _ask_to_log_in(rules, asked)
    if not viewer.is_operator and not _is_for_readers(asked.path):
        return Refusal(403, "This page is for the operators of this installation.")
    return viewer


def _is_for_readers(path: str) -> bool:
    """Return whether a path is for readers, too: of answers they see their own, on /saved."""
    return path == "/" or (path.startswith(FOR_READERS) and path not in OF_ALL_READERS)


def _ask_to_log_in(rules: AccessRules, asked: Asked) -> Refusal:
    """Lead to the login page, but not a program: it would take that page for the answer."""
    if asked.headers.get("authorization"):
        return Refusal(401, "This is not the token of web.token.")
    login = bool(rules.token) and asked.path != "/metrics"
    return Refusal(401, "Log in to see this page.", login=login)


def _refuse_way(rules: AccessRules, asked: Asked) -> Refusal | None:
    """Refuse what came by another name, or through a proxy that the configuration does not name."""
    if rules.host:
        if asked.host != rules.host:
            return Refusal(421, f"This server answers for {rules.host}, the host of public_url.")
        if asked.is_forwarded and not _is_proxy(rules, asked.peer):
            return Refusal(
                403, "This request came through a proxy that web.trusted_proxies does not name."
            )
        return None
    if not _is_loopback(asked.peer):
        return Refusal(403, "Without public_url, pages are shown on the same machine only.")
    if asked.host not in LOCAL_NAMES:  # a foreign page whose name leads here (DNS rebinding)
        return Refusal(421, "Without public_url, the address is http://localhost or 127.0.0.1.")
    if asked.is_forwarded:
        return Refusal(403, "This request came through a proxy; set public_url to allow it.")
    return None


def _refuse_foreign(rules: AccessRules, asked: Asked) -> Refusal | None:
    """Refuse a form that another site has posted; signed links prove themselves by their token."""
    if asked.method in ("GET", "HEAD") or asked.path.startswith(SIGNED):
        return None
    if asked.headers.get("authorization"):  # no browser sends this by itself
        return None
    if asked.headers.get("sec-fetch-site") == "same-origin":
        return None
    origin = asked.headers.get("origin", "")
    if origin and _host_of(urlsplit(origin).netloc) == asked.host:
        return None
    return Refusal(403, "This form was sent by another site, and nothing was changed.")


def _viewer(rules: AccessRules, asked: Asked) -> Viewer | Refusal:
    if rules.user_header and rules.user_header in asked.headers:
        if not _is_proxy(rules, asked.peer):
            return Refusal(
                403, "This request names a user, but came from no proxy of web.trusted_proxies."
            )
        address = asked.headers[rules.user_header].strip()
        if address:
            is_operator = address.lower() in rules.operators
            return Viewer(Role.OPERATOR if is_operator else Role.READER, address)
    if rules.token and _has_token(rules, asked):
        return Viewer(Role.OPERATOR)
    if not rules.token and not rules.user_header and not rules.host:
        return Viewer(Role.OPERATOR)
    return Viewer(Role.NOBODY)


def _has_token(rules: AccessRules, asked: Asked) -> bool:
    scheme, _, given = asked.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and is_token(rules, given.strip()):
        return True
    return _same(asked.session, rules.session)


def is_token(rules: AccessRules, given: str) -> bool:
    """Return whether somebody gave the right token, in a time that tells nothing of it."""
    return _same(given, rules.token)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _is_proxy(rules: AccessRules, peer: str) -> bool:
    address = _address(peer)
    return address is not None and any(address in network for network in rules.proxies)


def _is_loopback(peer: str) -> bool:
    address = _address(peer)
    return address is not None and address.is_loopback


def _address(peer: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def _host_of(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""
