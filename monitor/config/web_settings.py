"""The pages: where they are served, and who may see and do what."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    model_validator,
)

from monitor.errors import UsageError
from monitor.setting_types import (
    Address,
    Line,
    OneOrMore,
    Secret,
    Section,
    SettingsContext,
    Variable,
    context_of,
    is_loopback,
    line,
    one_or_more,
    resolve_path,
)

_LISTEN = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
# A shorter one can be guessed; `openssl rand -hex 16` makes 32 characters.
_SHORTEST_TOKEN = 16
UNIX_SOCKET = "unix:"
# `sun_path` has 108 bytes on Linux, and a zero at its end.
_MAX_SOCKET_PATH_BYTES = 107


def _address(text: str, context: SettingsContext) -> str:
    if text.startswith(UNIX_SOCKET):
        return _unix_socket(text.removeprefix(UNIX_SOCKET), context)
    match = _LISTEN.fullmatch(text)
    if not match or not 0 < int(match["port"]) < 65_536:
        raise ValueError(
            f"“{text}” should be an address and a port, as in 127.0.0.1:8080, or a Unix socket, "
            "as in unix:/run/paper-monitor/web.sock"
        )
    return text


def _unix_socket(text: str, context: SettingsContext) -> str:
    """Return the address of a Unix socket, with its path made absolute."""
    path = resolve_path(context.folder, line(text))
    if len(bytes(path)) > _MAX_SOCKET_PATH_BYTES:
        raise ValueError(
            f"{path} is too long for a Unix socket, whose path has at most "
            f"{_MAX_SOCKET_PATH_BYTES} bytes"
        )
    if not context.public_url:
        raise ValueError("a proxy stands before a Unix socket; set public_url: to its address")
    return f"{UNIX_SOCKET}{path}"


def _public_url(text: str) -> str:
    """Return the URL without a slash at its end."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("https", "http") and parts.port != 0 and not parts.username
    except ValueError:
        good = False
    if not good or not parts.hostname or parts.path not in ("", "/") or parts[3:] != ("", ""):
        raise ValueError(
            f"“{text}” should be a scheme and a host, as in https://papers.example.org"
        )
    return text.rstrip("/")


def _header(text: str) -> str:
    if not _HEADER.fullmatch(text):
        raise ValueError(f"“{text}” should be the name of a header, as in Remote-User")
    return text


def _network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(
            f"“{text}” is not an address or network, as in 127.0.0.1 or 10.0.0.0/8"
        ) from None
    return text


def _long_enough(secret: Secret) -> Secret:
    if len(secret.reveal()) < _SHORTEST_TOKEN:
        raise ValueError(f"needs at least {_SHORTEST_TOKEN} characters")
    return secret


PublicUrl = Annotated[Line, AfterValidator(_public_url)]
StrongSecret = Annotated[Secret, AfterValidator(_long_enough)]
# The first signs links, and all verify them.
Keys = Annotated[
    tuple[StrongSecret, ...],
    BeforeValidator(one_or_more),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class WebSettings(Section):
    """Where pages are served, and who may see them.

    With a Unix socket, its peer is trusted as `trusted_proxies` are.
    """

    listen: Annotated[str, AfterValidator(lambda text, info: _address(text, context_of(info)))] = (
        Field(
            "127.0.0.1:8080",
            description="address and port; one that other machines reach needs `token` or "
            "`user_header`. Or a Unix socket for a proxy: `unix:/run/paper-monitor/web.sock`",
        )
    )
    token: StrongSecret | None = Field(
        None,
        repr=False,
        description="what the operator and programs log in with: a secret of at least 16 "
        "characters, better 32. Without it, `paper-monitor web login` prints an address that logs "
        "in",
    )
    user_header: Annotated[str, AfterValidator(_header)] | None = Field(
        None,
        description="the header in which a proxy gives the visitor's e-mail address, as in "
        "`Remote-User`",
    )
    operators: OneOrMore[Address] = Field(
        (),
        description="with `user_header` only: addresses that may change something. Others see "
        "papers, topics and their own subscriptions",
    )
    trusted_proxies: OneOrMore[Annotated[str, AfterValidator(_network)]] = Field(
        (),
        description="addresses or networks of proxies: only they may send `user_header`, "
        "`Forwarded`, `X-Forwarded-*`, `X-Real-IP` and `Via`",
    )
    proxy_secret: Annotated[StrongSecret | None, Variable("PROXY_SECRET")] = Field(
        None,
        repr=False,
        description="a secret that these proxies must send as `X-Proxy-Secret` with such headers",
    )

    @property
    def socket_path(self) -> Path | None:
        """The Unix socket to listen on, None for a host and port."""
        is_unix = self.listen.startswith(UNIX_SOCKET)
        return Path(self.listen.removeprefix(UNIX_SOCKET)) if is_unix else None

    @property
    def address(self) -> tuple[str, int]:
        """The host and port to listen on, where it is no Unix socket."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def local_url(self) -> str:
        """The address of the pages on this machine; one that listens everywhere listens here."""
        host, port = self.address
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://{f'[{here}]' if ':' in here else here}:{port}"

    def listening_on(self, listen: str, *, has_public_url: bool) -> WebSettings:
        """Return these settings with another address. Raises UsageError.

        The path of a Unix socket is relative to the current folder.
        """
        context = SettingsContext(folder=Path.cwd(), public_url=has_public_url)
        try:
            return self.model_copy(update={"listen": _address(listen, context)}).checked()
        except ValueError as fault:
            raise UsageError(f"--listen: {str(fault).removeprefix('listen: ')}") from None

    @classmethod
    def open_to_all(cls, listen: str) -> WebSettings:
        """Return settings of pages without a login. Raises ValueError."""
        return cls().model_copy(update={"listen": _address(listen, SettingsContext())})

    def checked(self) -> WebSettings:
        """Return these settings. Raises ValueError where anybody could see the pages."""
        is_open = self.socket_path is None and not is_loopback(self.address[0])
        if is_open and not (self.token or self.user_header):
            raise ValueError(
                "listen: lets other machines in; set token:, or else user_header: and "
                "trusted_proxies:, so that not everybody sees the pages"
            )
        if self.user_header and not self.trusted_proxies and self.socket_path is None:
            raise ValueError(
                "user_header: needs trusted_proxies:, since anybody else can send that header"
            )
        if self.operators and not self.user_header:
            raise ValueError("operators: needs user_header:, which says who is logged in")
        return self

    _check_access = model_validator(mode="after")(checked)
