"""Access tokens for mail servers: asked for once a process, and renewed before they end.

    client credentials   the program itself has the permission (Microsoft 365)
    service account      the same with a signed statement in place of a secret (Google Workspace)
    refresh token        somebody logged in once: `paper-monitor mail login`

A refresh token that the endpoint replaces is kept in the store, where other processes find it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from monitor.channels.email.oauth_errors import TokenError, clock_problem, explain
from monitor.errors import FetchError

if TYPE_CHECKING:
    from monitor.http.response import Response

# A token is renewed so many seconds before its end, or at the end of 9/10 of a short life.
_RENEWED_BEFORE = 300.0
_USUAL_LIFE = 3600.0
_ASSERTION_LIFE = 3600

Post: TypeAlias = "Callable[[str, Mapping[str, str]], Response]"


@dataclass(frozen=True, slots=True)
class Grant:
    """Where access tokens are asked for, and with what. `mailbox` is whose mail is sent."""

    provider: str
    token_url: str
    client_id: str
    scope: str
    mailbox: str
    client_secret: str = field(default="", repr=False)
    refresh_token: str = field(default="", repr=False)
    key_file: Path | None = None
    own_permission: bool = False  # client credentials: nobody logs in

    @property
    def account(self) -> str:
        """The name under which a refresh token is kept; a newly configured one has another."""
        parts = (self.token_url, self.client_id, self.mailbox, self.refresh_token)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    @property
    def needs_login(self) -> bool:
        return not (self.own_permission or self.key_file)


class RefreshTokens(Protocol):
    """Where refresh tokens are kept for all processes."""

    def load(self, account: str) -> str:
        """Return the one of an account, "" if there is none."""

    def save(self, account: str, refresh_token: str) -> None: ...


class Tokens:
    """The access token of a process, shared by its connections. Thread-safe."""

    def __init__(
        self,
        grant: Grant,
        post: Post,
        kept: RefreshTokens,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.grant = grant
        self._post = post
        self._kept = kept
        self._monotonic = monotonic
        self._wall = wall
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = self._ends = 0.0
        self._accepted = ""
        self.clock_problem = ""

    def token(self) -> str:
        """Return a token that is valid for a while. Raises TokenError."""
        with self._lock:
            now = self._monotonic()
            if not self._token or now >= self._renew_at:
                try:
                    self._renew()
                except TokenError:
                    if not self._token or now >= self._ends:
                        raise
            return self._token

    def accept(self, token: str) -> None:
        """Note that the mail server took a token."""
        self._accepted = token

    def refuse(self, token: str) -> bool:
        """Forget a token that the mail server refused; return whether it took it before.

        Then it has ended early, and a new one is worth an attempt. A token that never worked lacks
        a permission, and so will the next one.
        """
        with self._lock:
            if self._token == token:
                self._token = ""
            return self._accepted == token

    def _renew(self) -> None:
        answer = self._grant_answer()
        token = answer.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise TokenError(self.grant, "answered without an access token")
        life = _seconds(answer.get("expires_in"))
        now = self._monotonic()
        self._token = token
        self._ends = now + life
        self._renew_at = now + max(life * 0.9, life - _RENEWED_BEFORE)

    def _grant_answer(self) -> Mapping[str, Any]:
        grant = self.grant
        if grant.own_permission:
            return self.ask({"grant_type": "client_credentials", "scope": grant.scope})
        if grant.key_file:
            kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            assertion = sign_assertion(grant, int(self._wall()))
            return self.ask({"grant_type": kind, "assertion": assertion}, identify=False)
        return self._refresh()

    def _refresh(self) -> Mapping[str, Any]:
        """Use the refresh token; another process may have replaced it a moment ago."""
        used = self._kept.load(self.grant.account) or self.grant.refresh_token
        if not used:
            raise TokenError(
                self.grant, "has no refresh token yet", "run `paper-monitor mail login`"
            )
        try:
            answer = self._use(used)
        except TokenError as error:
            newer = self._kept.load(self.grant.account)
            if error.code != "invalid_grant" or newer in ("", used):
                raise
            used, answer = newer, self._use(newer)
        self.keep(answer, used)
        return answer

    def _use(self, refresh_token: str) -> Mapping[str, Any]:
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return self.ask({**form, "scope": self.grant.scope})

    def keep(self, answer: Mapping[str, Any], used: str = "") -> None:
        """Keep the refresh token of an answer, if it is another than the one used."""
        given = answer.get("refresh_token")
        if isinstance(given, str) and given not in ("", used):
            self._kept.save(self.grant.account, given)

    def ask(
        self, form: Mapping[str, str], url: str = "", *, identify: bool = True
    ) -> Mapping[str, Any]:
        """Post a form to the endpoint, and return its JSON. Raises TokenError."""
        grant = self.grant
        own = {"client_id": grant.client_id, "client_secret": grant.client_secret}
        form = {**{name: value for name, value in own.items() if value and identify}, **form}
        try:
            response = self._post(url or grant.token_url, form)
        except FetchError as error:
            raise TokenError(grant, f"cannot be used: {error}", error.hint) from error
        self.clock_problem = clock_problem(response.date, self._wall())
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            problem = f"answered {response.status} without JSON"
            raise TokenError(grant, problem, "check token_url:, and whether a proxy answers")
        if response.status != 200 or "error" in answer:
            raise explain(grant, answer, self.clock_problem)
        return answer


def _seconds(life: object) -> float:
    try:
        return min(max(float(str(life)), 1.0), 86400.0)
    except ValueError:
        return _USUAL_LIFE


def sign_assertion(grant: Grant, now: int) -> str:
    """Return the statement (RFC 7523) by which a service account acts for the mailbox."""
    try:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        install = "pip install 'paper-monitor[google]'"
        raise TokenError(
            grant, "needs a signature, and cryptography is missing", install
        ) from error
    assert grant.key_file
    try:
        stored = json.loads(grant.key_file.read_text("utf-8"))
        key = load_pem_private_key(stored["private_key"].encode(), None)
        issuer = str(stored["client_email"])
        if not isinstance(key, RSAPrivateKey):
            raise ValueError
    except OSError as error:
        problem = f"needs {grant.key_file}, which cannot be read: {error.strerror}"
        raise TokenError(grant, problem) from error
    except (ValueError, KeyError, TypeError, AttributeError):
        # Without its cause, which may quote the key.
        problem = f"needs {grant.key_file}, which is not the JSON key of a service account"
        raise TokenError(grant, problem) from None
    claims = {"iss": issuer, "sub": grant.mailbox, "scope": grant.scope, "aud": grant.token_url}
    header = {"alg": "RS256", "typ": "JWT"}
    times = {"iat": now, "exp": now + _ASSERTION_LIFE}
    signed = f"{_encode(header)}.{_encode({**claims, **times})}"
    signature = key.sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _encode(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
