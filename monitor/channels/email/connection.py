"""A connection to a mail server: greeting, TLS and login, commands and replies.

Whatever fails before MAIL is the server's or the configuration's fault, not a recipient's.
"""

from __future__ import annotations

import base64
import smtplib
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from monitor.channels.email.oauth import PERMISSION, TokenError, Tokens
from monitor.channels.email.settings import SmtpSettings
from monitor.model import DeliveryState, Outcome
from monitor.setting_types import is_loopback
from monitor.text import clean

# Bytes of a block in which the text is sent; each block has its own timeout.
_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    text: str

    @property
    def kind(self) -> int:
        """The first digit, which is all that is acted on (RFC 5321 4.2.1)."""
        return self.code // 100

    def __str__(self) -> str:
        return clean(f"{self.code} {self.text}")[:300]


class NotSentError(Exception):
    """Ends an attempt before the hand-off, with its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class Session(smtplib.SMTP):
    """An SMTP connection with its own timeout for connecting, and TLS from the start or not.

    By LMTP it greets as RFC 2033 wants, and a host that begins with / is the path of a socket.
    Small writes leave at once (TCP_NODELAY): the dot must not wait for an acknowledgement.
    """

    def __init__(self, settings: SmtpSettings, tls: ssl.SSLContext | None) -> None:
        self._timeouts = settings.timeouts
        self._tls = tls
        if settings.lmtp:
            self.ehlo_msg = "lhlo"
        super().__init__(*settings.address)
        self.command_encoding = "utf-8"

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        if host.startswith("/"):
            return self._local_socket(host)
        plain = socket.create_connection((host, port), self._timeouts.connect.total_seconds())
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = self._tls.wrap_socket(plain, server_hostname=host) if self._tls else plain
        wrapped.settimeout(self._timeouts.greeting.total_seconds())
        return wrapped

    def _local_socket(self, path: str) -> socket.socket:
        local = socket.socket(socket.AF_UNIX)
        local.settimeout(self._timeouts.connect.total_seconds())
        try:
            local.connect(path)
        except OSError:
            local.close()
            raise
        local.settimeout(self._timeouts.greeting.total_seconds())
        return local

    def ask(self, command: str, arguments: str = "") -> Reply:
        return self.decode(*self.docmd(command, arguments))

    def ask_within(self, timeout: timedelta, command: str, arguments: str = "") -> Reply:
        self.set_timeout(timeout)
        return self.ask(command, arguments)

    def send_text(self, content: bytes, timeout: timedelta) -> None:
        """Send all of it; the timeout is for each block, so that a slow connection gets through."""
        self.set_timeout(timeout)
        whole = memoryview(content)
        for start in range(0, len(whole), _BLOCK_BYTES):
            self.send(whole[start : start + _BLOCK_BYTES])

    def read_reply(self) -> Reply:
        return self.decode(*self.getreply())

    def set_timeout(self, timeout: timedelta) -> None:
        seconds = timeout.total_seconds()
        if self.sock is not None and self.sock.gettimeout() != seconds:
            self.sock.settimeout(seconds)

    @staticmethod
    def decode(code: int, text: bytes) -> Reply:
        return Reply(code, text.decode("utf-8", "replace"))


def describe(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(f"certificate refused, {error.verify_message}")
    return clean(str(error)) or type(error).__name__


# ── opening one ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Account:
    """Where mail is handed in, and as whom; `tokens` are those of an account without a password."""

    settings: SmtpSettings
    tokens: Tokens | None = None

    @property
    def name(self) -> str:
        host, port = self.settings.address
        return host if host.startswith("/") else f"{host}:{port}"

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
        if account.settings.tls == "starttls":
            begin("TLS")
            _start_tls(session, account)
        if account.settings.username:
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
    context = _tls_context(account) if account.settings.tls == "implicit" else None
    session = Session(account.settings, context)
    session.ehlo_or_helo_if_needed()
    return session


def _tls_context(account: Account) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=account.settings.ca_file)


def _start_tls(session: Session, account: Account) -> None:
    """STARTTLS is required: without it, or with another server's certificate, no mail is sent."""
    if not session.has_extn("starttls"):
        is_local = is_loopback(account.settings.address[0])
        here = " (of this machine: smtp.tls: none)" if is_local else ""
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
    mechanisms = session.esmtp_features.get("auth", "").upper().split()
    if account.tokens is not None:
        _log_in_by_token(session, account, account.tokens, token, mechanisms)
        return
    username, secret = account.settings.username or "", account.settings.password
    password = secret.reveal() if secret else ""
    plain = _base64(f"\0{username}\0{password}")
    if "PLAIN" in mechanisms:
        reply = session.ask("AUTH", f"PLAIN {plain}")
    elif "LOGIN" in mechanisms:
        reply = session.ask("AUTH", "LOGIN")
        for answer in (username, password):
            reply = session.ask(_base64(answer)) if reply.kind == 3 else reply
    else:
        raise account.down_error("offers no login by PLAIN or LOGIN")
    if reply.kind != 2:
        secrets = (plain, _base64(password), password)
        raise account.down_error(f"refused the login: {_mask(reply, secrets)}")


def _log_in_by_token(
    session: Session, account: Account, tokens: Tokens, token: str, mechanisms: Sequence[str]
) -> None:
    """A refusal may come as a challenge with its reason, to which an answer has to be sent."""
    if "XOAUTH2" in mechanisms:
        name, more = "XOAUTH2", ""
        login = f"user={account.settings.username}\1auth=Bearer {token}\1\1"
    elif "OAUTHBEARER" in mechanisms:
        name, more = "OAUTHBEARER", "AQ=="
        login = f"n,a={account.settings.username},\1auth=Bearer {token}\1\1"
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
    cause = tokens.clock_problem or PERMISSION[tokens.settings.provider]
    raise account.down_error(f"refused a token that was just issued: {shown} ({cause})")


def _mask(reply: Reply, secrets: Sequence[str]) -> str:
    """Some servers repeat the command that they refuse."""
    text = str(reply)
    for secret in secrets:
        text = text.replace(secret, "********") if secret else text
    return text


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
