"""Access tokens for mail servers: asked for once a process, and renewed before they end.

    client credentials   the program itself has the permission (Microsoft 365)
    service account      the same with a signed statement in place of a secret (Google Workspace)
    refresh token        after one login, `paper-monitor mail login`, by
        device flow          a code is entered on any machine (RFC 8628)
        authorization code   with PKCE (RFC 7636); the browser ends at an address of its own
                             machine, which answers nothing: the address is pasted back

A refresh token that the endpoint replaces is kept in the store, where other processes find it.
The description that comes with an error is not shown: it may repeat what was sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from monitor.channels.email.settings import OAuthSettings
from monitor.errors import FetchError
from monitor.setting_types import Secret

if TYPE_CHECKING:
    from monitor.http.response import Response

# Seconds before its end at which a token is renewed; one of a short life after 9/10 of it.
_RENEWED_BEFORE = 300.0
_USUAL_LIFE = 3600.0
_ASSERTION_LIFE = 3600

Post: TypeAlias = "Callable[[str, Mapping[str, str]], Response]"


class RefreshTokens(Protocol):
    """Where refresh tokens are kept for all processes."""

    def load(self, account: str) -> str:
        """Return the one of an account, "" if there is none."""

    def save(self, account: str, refresh_token: str) -> None: ...


class Tokens:
    """The access token of a process, shared by its connections. Thread-safe."""

    def __init__(
        self,
        settings: OAuthSettings,
        mailbox: str,
        post: Post,
        kept: RefreshTokens,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.mailbox = mailbox
        self._post = post
        self._kept = kept
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = self._ends = 0.0
        self._accepted = ""
        self.clock_problem = ""

    @property
    def account(self) -> str:
        """The name under which a refresh token is kept; a newly configured one has another."""
        configured = _revealed(self.settings.refresh_token)
        parts = (self.settings.endpoint, self.settings.client_id, self.mailbox, configured)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

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
        answer = self._request()
        token = answer.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise TokenError(self.settings, "answered without an access token")
        life = _seconds(answer.get("expires_in"))
        now = self._monotonic()
        self._token = token
        self._ends = now + life
        self._renew_at = now + max(life * 0.9, life - _RENEWED_BEFORE)

    def _request(self) -> Mapping[str, Any]:
        settings = self.settings
        if settings.is_app_permission:
            scope = settings.requested_scope
            return self.ask({"grant_type": "client_credentials", "scope": scope})
        if settings.key_file:
            kind = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            assertion = sign_assertion(settings, self.mailbox, int(time.time()))
            return self.ask({"grant_type": kind, "assertion": assertion}, identify=False)
        return self._refresh()

    def _refresh(self) -> Mapping[str, Any]:
        """Use the refresh token; another process may have replaced it a moment ago."""
        used = self._kept.load(self.account) or _revealed(self.settings.refresh_token)
        if not used:
            advice = "run `paper-monitor mail login`"
            raise TokenError(self.settings, "has no refresh token yet", advice)
        try:
            answer = self._use(used)
        except TokenError as error:
            newer = self._kept.load(self.account)
            if error.code != "invalid_grant" or newer in ("", used):
                raise
            used = newer
            answer = self._use(newer)
        self.keep(answer, used)
        return answer

    def _use(self, refresh_token: str) -> Mapping[str, Any]:
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return self.ask({**form, "scope": self.settings.requested_scope})

    def keep(self, answer: Mapping[str, Any], used: str = "") -> None:
        """Keep the refresh token of an answer, if it is another than the one used."""
        refresh_token = answer.get("refresh_token")
        if isinstance(refresh_token, str) and refresh_token not in ("", used):
            self._kept.save(self.account, refresh_token)

    def ask(
        self, form: Mapping[str, str], url: str = "", *, identify: bool = True
    ) -> Mapping[str, Any]:
        """Post a form to the endpoint, and return its JSON. Raises TokenError."""
        settings = self.settings
        secret = _revealed(settings.client_secret)
        own = {"client_id": settings.client_id, "client_secret": secret}
        form = {**{name: value for name, value in own.items() if value and identify}, **form}
        try:
            response = self._post(url or settings.endpoint, form)
        except FetchError as error:
            raise TokenError(settings, f"cannot be used: {error}", error.hint) from error
        self.clock_problem = clock_problem(response.date, time.time())
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            problem = f"answered {response.status} without JSON"
            raise TokenError(settings, problem, "check token_url:, and whether a proxy answers")
        if response.status != 200 or "error" in answer:
            raise explain(settings, answer, self.clock_problem)
        return answer


def _seconds(life: object) -> float:
    try:
        return min(max(float(str(life)), 1.0), 86400.0)
    except ValueError:
        return _USUAL_LIFE


def _revealed(secret: Secret | None) -> str:
    return secret.reveal() if secret else ""


def sign_assertion(settings: OAuthSettings, mailbox: str, now: int) -> str:
    """Return the statement (RFC 7523) by which a service account acts for the mailbox."""
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
    except ImportError as error:
        install = "pip install 'paper-monitor[google]'"
        problem = "needs a signature, and cryptography is missing"
        raise TokenError(settings, problem, install) from error
    assert settings.key_file
    try:
        stored = json.loads(settings.key_file.read_text("utf-8"))
        key = serialization.load_pem_private_key(stored["private_key"].encode(), None)
        issuer = str(stored["client_email"])
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Without its cause, which may quote the key.
        problem = f"needs {settings.key_file}, which is not the JSON key of a service account"
        advice = "check what is in it, and that it may be read"
        raise TokenError(settings, problem, advice) from None
    claims = {
        "iss": issuer,
        "sub": mailbox,
        "scope": settings.requested_scope,
        "aud": settings.endpoint,
        "iat": now,
        "exp": now + _ASSERTION_LIFE,
    }
    parts = ({"alg": "RS256", "typ": "JWT"}, claims)
    signed = ".".join(_base64(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{_base64(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


# ── the first login ─────────────────────────────────────────────────────────────────

REDIRECT = "http://127.0.0.1:8400/"

_GOOGLE_CONSENT = "https://accounts.google.com/o/oauth2/v2/auth"
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER = 5.0  # seconds more between two questions, where the endpoint asks for it


class DeviceCode(msgspec.Struct, frozen=True):
    """The code to enter at an address (RFC 8628, 3.2); the endpoint is asked with `device_code`."""

    verification_uri: str
    user_code: str
    device_code: str
    interval: float = 5
    expires_in: float = 900


def request_device_code(tokens: Tokens) -> DeviceCode:
    """Ask for a code to enter in a browser. Raises TokenError."""
    url = tokens.settings.endpoint.removesuffix("/token") + "/devicecode"
    answer = tokens.ask({"scope": tokens.settings.requested_scope}, url)
    try:
        return msgspec.convert(answer, DeviceCode, strict=False)
    except msgspec.ValidationError:
        raise TokenError(tokens.settings, "answered without a code for the login") from None


def await_device_login(tokens: Tokens, code: DeviceCode, sleep: Callable[[float], None]) -> None:
    """Ask until the code is entered, and keep the refresh token. Raises TokenError."""
    waited = 0.0
    interval = max(code.interval, 1.0)
    while waited < code.expires_in:
        try:
            answer = tokens.ask({"grant_type": _DEVICE_GRANT, "device_code": code.device_code})
        except TokenError as error:
            if error.code not in ("authorization_pending", "slow_down"):
                raise
            interval += _SLOWER if error.code == "slow_down" else 0.0
            sleep(interval)
            waited += interval
        else:
            return _keep(tokens, answer)
    raise explain(tokens.settings, {"error": "expired_token"})


def consent_address(tokens: Tokens, verifier: str, state: str) -> str:
    """Return the address of the consent page. The verifier itself is not in it."""
    query = {
        "client_id": tokens.settings.client_id,
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "scope": tokens.settings.requested_scope,
        "code_challenge": _base64(hashlib.sha256(verifier.encode()).digest()),
        "code_challenge_method": "S256",
        "state": state,
        "access_type": "offline",
        "prompt": "consent",
        "login_hint": tokens.mailbox,
    }
    return f"{_GOOGLE_CONSENT}?{urlencode(query)}"


def redeem_address(tokens: Tokens, pasted: str, verifier: str, state: str) -> None:
    """Turn the address where the browser ended into a refresh token. Raises TokenError."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(pasted.strip()).query).items()}
    if "error" in query:
        raise explain(tokens.settings, query)
    if query.get("state") != state or "code" not in query:
        problem = "was not asked: this is not the address at which the browser ended"
        raise TokenError(tokens.settings, problem, f"paste all of it; it begins with {REDIRECT}")
    form = {"code": query["code"], "code_verifier": verifier, "redirect_uri": REDIRECT}
    _keep(tokens, tokens.ask({"grant_type": "authorization_code", **form}))


def _keep(tokens: Tokens, answer: Mapping[str, Any]) -> None:
    if not answer.get("refresh_token"):
        raise TokenError(
            tokens.settings, "gave no refresh token", "check scope: (Microsoft: offline_access)"
        )
    tokens.keep(answer)


# ── errors, and what to do about them ───────────────────────────────────────────────

CLOCK_TOLERANCE = 300.0  # seconds

_LOGIN = "run `paper-monitor mail login` again"
_CODE = re.compile(r"AADSTS(\d{4,8})\b")
_ERROR = re.compile(r"[a-z_]{1,40}")

_ADVICE = {
    "invalid_grant": f"the refresh token has ended or the consent was revoked: {_LOGIN}",
    "invalid_client": "client_id: or client_secret: is wrong, or the secret has expired",
    "unauthorized_client": "the client may not ask for this: check its permissions and consent",
    "access_denied": "the login was declined",
    "expired_token": f"the code was not entered in time: {_LOGIN}",
    "invalid_scope": "check scope:, and the permissions of the client",
    "invalid_request": "check client_id: and, if the client has one, client_secret:",
    "interaction_required": f"somebody has to log in: {_LOGIN}",
}
_SERVICE_ACCOUNT_ADVICE = {
    "invalid_grant": "check that username: is a mailbox of the domain, and the clock",
    "unauthorized_client": (
        "allow the service account's client ID the scope https://mail.google.com/ under "
        "domain-wide delegation"
    ),
}
# Why a mail server refuses a token that was issued a moment ago.
PERMISSION = {
    "microsoft": (
        "the application needs SMTP.SendAsApp (or the user SMTP.Send) and access to the mailbox, "
        "and the mailbox authenticated SMTP"
    ),
    "google": "the token has no permission for https://mail.google.com/, or for this mailbox",
    "other": "check scope:, and whether username: is the mailbox",
}


class TokenError(Exception):
    """No access token was issued; `code` is the error code of RFC 6749, "" without one."""

    def __init__(
        self, settings: OAuthSettings, problem: str, advice: str = "", code: str = ""
    ) -> None:
        host = urlsplit(settings.endpoint).hostname
        super().__init__(f"the token endpoint {host} {problem}" + (f": {advice}" if advice else ""))
        self.code = code


def explain(settings: OAuthSettings, answer: Mapping[str, Any], clock: str = "") -> TokenError:
    """Return the error that an answer means, with what to do."""
    match = _CODE.search(str(answer.get("error_description", "")))
    error = str(answer.get("error", ""))
    error = shown = error if _ERROR.fullmatch(error) else "unknown error"
    of_accounts = _SERVICE_ACCOUNT_ADVICE if settings.key_file else {}
    advice = [clock or of_accounts.get(error) or _ADVICE.get(error, "")]
    if match:
        shown = f"{error}, AADSTS{match[1]}"
        advice.append(f"see https://login.microsoftonline.com/error?code={match[1]}")
    return TokenError(settings, f"refused ({shown})", "; ".join(filter(None, advice)), error)


def clock_problem(date: str, now: float) -> str:
    """Say by how much this machine's clock is wrong, "" if the server's shows nearly the same."""
    try:
        ahead = now - parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError):
        return ""
    if abs(ahead) <= CLOCK_TOLERANCE:
        return ""
    direction = "ahead" if ahead > 0 else "behind"
    return (
        f"the clock of this machine is {abs(ahead) / 60:.0f} minutes {direction}, which is the "
        "likely cause: correct it, and keep it synchronised (NTP)"
    )
