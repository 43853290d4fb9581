"""Opening a connection to a mail server: greeting, TLS and login.

Whatever fails here is the server's or the configuration's fault, not a recipient's.
"""

from __future__ import annotations

import base64
import ipaddress
import smtplib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from monitor.channels.email.oauth import Tokens
from monitor.channels.email.oauth_errors import PERMISSION, TokenError
from monitor.channels.email.session import NotSentError, Reply, Session, describe
from monitor.channels.retry_policy import Timeouts
from monitor.model import DeliveryState, Outcome

Tls = Literal["starttls", "implicit", "none"]


@dataclass(frozen=True, slots=True)
class Account:
    """Where mail is handed in, and as whom."""

    host: str
    port: int
    tls: Tls
    username: str = field(repr=False)
    password: str = field(repr=False)
    ca_file: Path | str | None
    timeouts: Timeouts
    lmtp: bool = False
    tokens: Tokens | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.host if self.host.startswith("/") else f"{self.host}:{self.port}"

    def down_error(self, problem: str) -> NotSentError:
        error = f"the mail server {self.name} {problem}"
        return NotSentError(Outcome(DeliveryState.RETRY, error, channel_down=True))


class _TokenEndedError(Exception):
    """A token that the server took before is refused: a new one is worth an attempt."""


def connect(account: Account, begin: Callable[[str], object] = bool) -> Session:
    """Return a connection that is ready for MAIL. Raises NotSentError.

    `begin` gets the name of each step as it begins.
    """
    try:
        return _connect(account, begin)
    except _TokenEndedError:
        return _connect(account, bool)


def _connect(account: Account, begin: Callable[[str], object]) -> Session:
    token = _access_token(account, begin)
    begin("connection")
    try:
        session = _open_session(account)
    except smtplib.SMTPConnectError as error:
        text = error.smtp_error
        reply = Session.decode(error.smtp_code, text if isinstance(text, bytes) else text.encode())
        raise account.down_error(f"does not take mail now: {reply}") from error
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise account.down_error(f"cannot be reached: {describe(error)}") from error
    try:
        if account.tls == "starttls":
            begin("TLS")
            _start_tls(session, account)
        if account.username:
            begin("login")
            _log_in(session, account, token)
    except (smtplib.SMTPException, OSError, ValueError) as error:
        session.close()
        raise account.down_error(f"broke off: {describe(error)}") from error
    except BaseException:
        session.close()
        raise
    return session


def _open_session(account: Account) -> Session:
    context = _tls_context(account) if account.tls == "implicit" else None
    session = Session(account.host, account.port, account.timeouts, context, lmtp=account.lmtp)
    session.ehlo_or_helo_if_needed()
    return session


def _tls_context(account: Account) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=account.ca_file)


def _start_tls(session: Session, account: Account) -> None:
    """STARTTLS is required: without it, or with another server's certificate, no mail is sent."""
    if not session.has_extn("starttls"):
        here = " (of this machine: smtp.tls: none)" if _is_loopback(account.host) else ""
        raise account.down_error(f"offers no STARTTLS, and mail is not sent in the clear{here}")
    try:
        session.starttls(context=_tls_context(account))
    except ssl.SSLError as error:
        raise account.down_error(f"could not be trusted: {describe(error)}") from error
    session.ehlo()


def _access_token(account: Account, begin: Callable[[str], object]) -> str:
    """Return a token, asked for before the server is, which would not wait for it."""
    if account.tokens is None:
        return ""
    begin("token endpoint")
    try:
        token = account.tokens.token()
    except TokenError as error:
        if error.code:  # the endpoint answered
            begin("token")
        problem = f"no mail can be sent to {account.name}: {error}"
        raise NotSentError(Outcome(DeliveryState.RETRY, problem, channel_down=True)) from error
    begin("token")
    return token


def _log_in(session: Session, account: Account, token: str) -> None:
    """One attempt with one mechanism, so that a wrong password locks no account."""
    if account.tls == "none" and not _is_loopback(account.host):
        raise account.down_error("would get the password in the clear; set smtp.tls")
    mechanisms = session.esmtp_features.get("auth", "").upper().split()
    if account.tokens is not None:
        _log_in_by_token(session, account, account.tokens, token, mechanisms)
        return
    if "PLAIN" in mechanisms:
        reply = session.ask("AUTH", f"PLAIN {_plain_login(account)}")
    elif "LOGIN" in mechanisms:
        reply = session.ask("AUTH", "LOGIN")
        for answer in (account.username, account.password):
            reply = session.ask(_base64(answer)) if reply.kind == 3 else reply
    else:
        raise account.down_error("offers no login by PLAIN or LOGIN")
    if reply.kind != 2:
        secrets = (_plain_login(account), _base64(account.password), account.password)
        raise account.down_error(f"refused the login: {_mask(reply, secrets)}")


def _log_in_by_token(
    session: Session, account: Account, tokens: Tokens, token: str, mechanisms: Sequence[str]
) -> None:
    """A refusal may come as a challenge with its reason, to which an answer has to be sent."""
    if "XOAUTH2" in mechanisms:
        name, more = "XOAUTH2", ""
        login = f"user={account.username}\1auth=Bearer {token}\1\1"
    elif "OAUTHBEARER" in mechanisms:
        name, more = "OAUTHBEARER", "AQ=="
        login = f"n,a={account.username},\1auth=Bearer {token}\1\1"
    else:
        raise account.down_error("offers no login by XOAUTH2 or OAUTHBEARER")
    reply = session.ask("AUTH", f"{name} {_base64(login)}")
    if reply.kind == 3:
        reply = session.ask(more)
    if reply.kind == 2:
        tokens.accept(token)
        return
    shown = _mask(reply, (_base64(login), token))
    if reply.kind != 5:
        raise account.down_error(f"refused the login: {shown}")
    if tokens.refuse(token):
        raise _TokenEndedError
    cause = tokens.clock_problem or PERMISSION[tokens.grant.provider]
    raise account.down_error(f"refused a token that was just issued: {shown} ({cause})")


def _mask(reply: Reply, secrets: Sequence[str]) -> str:
    """Some servers repeat the command that they refuse."""
    text = str(reply)
    for secret in secrets:
        text = text.replace(secret, "********") if secret else text
    return text


def _plain_login(account: Account) -> str:
    return _base64(f"\0{account.username}\0{account.password}")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
