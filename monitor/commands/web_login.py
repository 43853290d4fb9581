"""Logging in to the pages as the operator, by the token of the configuration or a one-time address.

Times are those of the real clock, whatever `--now` says.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from urllib.parse import quote

from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.signing import KeyRing
from monitor.store import secrets as stored_secrets
from monitor.store.engine.database import Database

SESSION_LASTS = timedelta(days=30)
ADDRESS_LASTS = timedelta(minutes=15)

_PURPOSE = "login"
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Logins:
    """The logins of one installation; `token` is that of the configuration, "" without one."""

    database: Database
    token: str = field(default="", repr=False)

    def begin(self, token: str) -> str | None:
        """Begin a session for a token; return the value of its cookie, None for a wrong token.

        The token of the configuration may be given again, that of a one-time address may not.
        """
        now = datetime.now(UTC)
        granted = self._grant(token, now)
        if granted is None:
            return None
        login, granted_by = granted
        cookie = secrets.token_urlsafe(_BYTES)
        with self.database.writing() as tx:
            began = stored_secrets.begin_session(
                tx, _hash(cookie), login, granted_by, now, now + SESSION_LASTS
            )
        return cookie if began else None

    def look_up(self, cookie: str) -> bool | None:
        """Return whether the session of a cookie is still open; None for one that is guessed."""
        with self.database.reading() as tx:
            session = stored_secrets.find_session(tx, _hash(cookie))
        if session is None:
            return None
        granted_by, until = session
        keys = (self.token, stored_secrets.load_login_key(self.database))
        granters = {_ring(key).current for key in keys if key}
        return until > datetime.now(UTC) and granted_by in granters

    def end(self, cookie: str) -> None:
        """End the session of a cookie, wherever that cookie may still be kept."""
        with self.database.writing() as tx:
            stored_secrets.end_session(tx, _hash(cookie), datetime.now(UTC))

    def _grant(self, token: str, now: datetime) -> tuple[str, str] | None:
        """Return the name of a login, different for each, and of the secret behind it."""
        if self.token and compare_digest(token.encode(), self.token.encode()):
            return secrets.token_hex(_BYTES), _ring(self.token).current
        key = stored_secrets.load_login_key(self.database)
        names = _ring(key).read(_PURPOSE, token) if key else None
        if not names or len(names) != 2 or now.timestamp() > float(names[1]):
            return None
        return names[0], _ring(key).current


def login_address(runtime: Runtime) -> str:
    """Return an address that logs the operator in, once and for 15 minutes. Raises UsageError."""
    settings = runtime.settings
    web = runtime.settings.web
    if web is None:
        raise UsageError("the pages are off", "remove `web: off` from the configuration")
    if web.user_header and not web.token:
        raise UsageError(
            "the proxy in front of the pages logs people in", f"open {settings.public_url}"
        )
    until = datetime.now(UTC) + ADDRESS_LASTS
    key = stored_secrets.make_login_key(runtime.database, runtime.clock)
    token = _ring(key).sign(_PURPOSE, secrets.token_urlsafe(12), str(int(until.timestamp())))
    return f"{settings.public_url or web.local_url}/login?token={quote(token)}"


def _ring(key: str) -> KeyRing:
    return KeyRing((key,))


def _hash(cookie: str) -> str:
    return sha256(cookie.encode()).hexdigest()
