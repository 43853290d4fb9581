"""What token endpoints answer in place of a token, and what to do about it. Pure.

A description that comes with an error is not shown: it may repeat what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

CLOCK_TOLERANCE = 300.0  # seconds

_LOGIN = "run `paper-monitor mail login` again"
_NEW_SECRET = "create a new client secret, and set client_secret: to its value, not its id"
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
_AADSTS = {
    "7000215": _NEW_SECRET,
    "7000222": f"the client secret has expired: {_NEW_SECRET}",
    "7000218": "allow public client flows for the application, or set client_secret:",
    "700016": "there is no such client_id: in this tenant:",
    "90002": "there is no such tenant:",
    "900023": "there is no such tenant:",
    "65001": "an administrator has to consent to the permission",
    "65004": "the login was declined",
    "50173": f"the consent was revoked, as by a new password: {_LOGIN}",
    "70008": f"the refresh token has ended: {_LOGIN}",
    "700082": f"the refresh token was not used for too long: {_LOGIN}",
    "50057": "the account is disabled",
    "50076": f"another factor is required: {_LOGIN}",
    "50079": f"another factor is required: {_LOGIN}",
    "53003": "a rule of Conditional Access forbids it: ask your administrator",
    "500011": "check scope:",
    "70011": "check scope:",
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


class Endpoint(Protocol):
    """What an error says of a grant (`monitor.channels.email.oauth.Grant`)."""

    @property
    def token_url(self) -> str: ...

    @property
    def needs_login(self) -> bool: ...

    @property
    def own_permission(self) -> bool: ...


class TokenError(Exception):
    """No access token was given; `code` is the error of RFC 6749, "" for what is none."""

    def __init__(self, grant: Endpoint, problem: str, advice: str = "", code: str = "") -> None:
        host = urlsplit(grant.token_url).hostname
        super().__init__(f"the token endpoint {host} {problem}" + (f": {advice}" if advice else ""))
        self.code = code


def explain(grant: Endpoint, answer: Mapping[str, Any], clock: str = "") -> TokenError:
    """Return the error that an answer means, with what to do."""
    found = _CODE.search(str(answer.get("error_description", "")))
    number = found[1] if found else ""
    error = str(answer.get("error", ""))
    error = error if _ERROR.fullmatch(error) else "unknown error"
    of_accounts = {} if grant.needs_login or grant.own_permission else _SERVICE_ACCOUNT_ADVICE
    advice = _AADSTS.get(number) or of_accounts.get(error) or _ADVICE.get(error, "")
    if number and number not in _AADSTS:
        page = f"see https://login.microsoftonline.com/error?code={number}"
        advice = f"{advice}; {page}" if advice else page
    if clock:
        advice = clock
    shown = f"{error}, AADSTS{number}" if number else error
    return TokenError(grant, f"refused ({shown})", advice, error)


def clock_problem(date: str, now: float) -> str:
    """Say by how much this machine's clock is wrong, "" if the server's shows nearly the same."""
    try:
        ahead = now - parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError):
        return ""
    if abs(ahead) <= CLOCK_TOLERANCE:
        return ""
    way = "ahead" if ahead > 0 else "behind"
    return (
        f"the clock of this machine is {abs(ahead) / 60:.0f} minutes {way}, which is the likely "
        "cause: correct it, and keep it synchronised (NTP)"
    )
