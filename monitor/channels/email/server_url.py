"""A mail server in one word, as `init` takes it: the settings of `smtp` that it stands for."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from monitor.setting_types import is_loopback

_EXAMPLES = "smtp.example.org, ada@smtp.example.org, smtps://ada@smtp.example.org, smtp://localhost"
_IMPLICIT_PORT = 465


def read_server_url(server: str) -> dict[str, str]:
    """Return `host`, and those of `tls`, `port` and `username` that are not the defaults.

    smtp.example.org               STARTTLS, port 587
    ada@smtp.example.org           with a login
    smtps://ada@smtp.example.org   TLS from the beginning, port 465; as smtp.example.org:465
    smtp://localhost:2525          this machine, unencrypted; port 25 without one

    Raises ValueError, which never has a password.
    """
    scheme, has_scheme, rest = server.partition("://")
    scheme, rest = (scheme.lower(), rest) if has_scheme else ("smtp", server)
    try:
        parts = urlsplit(f"//{rest.removesuffix('/')}")
        port = parts.port
        password = parts.password
        is_server = bool(parts.hostname) and parts.netloc == rest.removesuffix("/")
    except ValueError:
        port = None
        password = rest.rpartition("@")[0].partition(":")[2]
        is_server = False
    if password:
        raise ValueError(
            "a password does not belong on the command line, where others on this machine can read "
            "it; leave it out: it comes from the environment variable SMTP_PASSWORD"
        )
    is_server = is_server and port != 0 and not re.search(r"\s", server)
    if not is_server or scheme not in ("smtp", "smtps"):
        raise ValueError(f"this is not a mail server; write one as in {_EXAMPLES}")
    settings = {"host": str(parts.hostname)}
    is_implicit = scheme == "smtps" or port == _IMPLICIT_PORT
    if is_implicit:
        settings["tls"] = "implicit"
    elif is_loopback(parts.hostname):
        settings["tls"] = "none"
    if port:
        settings["port"] = str(port)
    if parts.username:
        settings["username"] = unquote(parts.username)
    return settings
