"""The first login to a mail account: somebody consents once, and a refresh token is kept.

device flow          a code is entered on any machine (RFC 8628)
authorization code   with PKCE (RFC 7636); the browser ends at an address of its own machine,
                     where nobody listens: the address is pasted back
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from monitor.channels.email.oauth import Grant, Tokens
from monitor.channels.email.oauth_errors import TokenError, explain

REDIRECT = "http://127.0.0.1:8400/"

_GOOGLE_CONSENT = "https://accounts.google.com/o/oauth2/v2/auth"
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER = 5.0  # seconds more between two questions, where the endpoint asks for it


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """Where to enter which code, and how to ask whether that was done."""

    address: str
    user_code: str
    device_code: str = field(repr=False)
    interval: float
    seconds: float


def request_device_code(tokens: Tokens) -> DeviceCode:
    """Ask for a code that somebody enters. Raises TokenError."""
    grant = tokens.grant
    url = grant.token_url.removesuffix("/token") + "/devicecode"
    answer = tokens.ask({"scope": grant.scope}, url)
    try:
        return DeviceCode(
            str(answer["verification_uri"]),
            str(answer["user_code"]),
            str(answer["device_code"]),
            float(answer.get("interval", 5)),
            float(answer.get("expires_in", 900)),
        )
    except (KeyError, TypeError, ValueError):
        raise TokenError(grant, "answered without a code for the login") from None


def await_device_login(tokens: Tokens, code: DeviceCode, sleep: Callable[[float], None]) -> None:
    """Ask until the code is entered, and keep the refresh token. Raises TokenError."""
    waited, interval = 0.0, max(code.interval, 1.0)
    while waited < code.seconds:
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
    raise explain(tokens.grant, {"error": "expired_token"})


def consent_address(grant: Grant, verifier: str, state: str) -> str:
    """Return the address at which somebody consents. The verifier itself is not in it."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    query = {
        "client_id": grant.client_id,
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "scope": grant.scope,
        "code_challenge": challenge.rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "state": state,
        "access_type": "offline",
        "prompt": "consent",
        "login_hint": grant.mailbox,
    }
    return f"{_GOOGLE_CONSENT}?{urlencode(query)}"


def redeem_address(tokens: Tokens, pasted: str, verifier: str, state: str) -> None:
    """Turn the address where the browser ended into a refresh token. Raises TokenError."""
    grant = tokens.grant
    query = {name: values[0] for name, values in parse_qs(urlsplit(pasted.strip()).query).items()}
    if "error" in query:
        raise explain(grant, query)
    if query.get("state") != state or "code" not in query:
        problem = "was not asked: this is not the address at which the browser ended"
        raise TokenError(grant, problem, f"paste all of it; it begins with {REDIRECT}")
    form = {"code": query["code"], "code_verifier": verifier, "redirect_uri": REDIRECT}
    _keep(tokens, tokens.ask({"grant_type": "authorization_code", **form}))


def _keep(tokens: Tokens, answer: Mapping[str, Any]) -> None:
    if not answer.get("refresh_token"):
        raise TokenError(
            tokens.grant, "gave no refresh token", "check scope: (Microsoft: offline_access)"
        )
    tokens.keep(answer)
