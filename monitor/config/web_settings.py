"""The pages: where they are served, and who may see and do what."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from monitor.config.section import Section
from monitor.errors import UsageError
from monitor.setting_types import Address, Line, OneOrMore, Secret, is_loopback, one_or_more

_LISTEN = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
# A shorter one can be guessed; `openssl rand -hex 16` makes 32 characters.
_SHORTEST_TOKEN = 16


def _listen(text: str) -> str:
    found = _LISTEN.fullmatch(text)
    if not found or not 0 < int(found["port"]) < 65_536:
        raise ValueError(f"“{text}” should be an address and a port, as in 127.0.0.1:8080")
    return text


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

    `token` is what the operator logs in with. `user_header` holds the address of who is logged in,
    as one of `trusted_proxies` says, which sends `proxy_secret` in X-Proxy-Secret where that is
    set; `operators` are those who may change something.
    """

    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:8080"
    token: StrongSecret | None = Field(None, repr=False)
    user_header: Annotated[str, AfterValidator(_header)] | None = None
    operators: OneOrMore[Address] = ()
    trusted_proxies: OneOrMore[Annotated[str, AfterValidator(_network)]] = ()
    proxy_secret: StrongSecret | None = Field(None, repr=False)

    @property
    def address(self) -> tuple[str, int]:
        """The host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def local_url(self) -> str:
        """The address of the pages on this machine; one that listens everywhere listens here."""
        host, port = self.address
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://{f'[{here}]' if ':' in here else here}:{port}"

    def listening_on(self, listen: str) -> WebSettings:
        """Return these settings with another address. Raises UsageError."""
        given = {
            name: value.reveal() if isinstance(value, Secret) else value for name, value in self
        }
        try:
            return WebSettings.model_validate({**given, "listen": listen})
        except ValidationError as fault:
            error = fault.errors()[0]
            said = str(error["ctx"]["error"] if "ctx" in error else error["msg"])
            raise UsageError(f"--listen: {said.removeprefix('listen: ')}") from None

    @model_validator(mode="after")
    def _check_access(self) -> WebSettings:
        if not is_loopback(self.address[0]) and not (self.token or self.user_header):
            raise ValueError(
                "listen: lets other machines in; set token:, or else user_header: and "
                "trusted_proxies:, so that not everybody sees the pages"
            )
        if self.user_header and not self.trusted_proxies:
            raise ValueError(
                "user_header: needs trusted_proxies:, since anybody else can send that header"
            )
        if self.operators and not self.user_header:
            raise ValueError("operators: needs user_header:, which says who is logged in")
        return self


def written_web(raw: Any) -> Any:
    """Return the section as settings: `web: off` is None, and no section has all defaults."""
    if raw is False or raw == "off":
        return None
    return {} if raw is None or raw is True or raw == "on" else raw
