"""One mail server: a conversation in which each phase knows what its failure means.

    connect, TLS, login, MAIL   the channel's fault: nobody is marked as failed
    RCPT, DATA, the text        this recipient's fault, or a passing one: safe to try again
    hand-off, dot, answer       2yz sent, 4yz again, 5yz failed; no answer: unknown

`smtplib` opens the connection and reads the replies; its `sendmail` is not used, because the
commit of the hand-off has to stand between the last line of the text and the dot that ends it.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from monitor.channels.retry_policy import TIMEOUTS, Timeouts
from monitor.model import DeliveryState, Outcome
from monitor.text import clean

Tls = Literal["starttls", "implicit", "none"]

# Refusals by policy (5.7.x) in a row, for different people, that mean us and not them.
POLICY_LIMIT = 3

_POLICY = re.compile(r"(?:^|\s)5\.7\.\d+")

# The text leaves in pieces of so many bytes, each within the time for one.
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Letter:
    """What goes to the server: ASCII or, with `utf8`, SMTPUTF8 (RFC 6531) addresses."""

    sender: str
    recipient: str
    content: bytes
    utf8: bool = False


@dataclass(frozen=True, slots=True)
class _Reply:
    code: int
    text: str

    @property
    def kind(self) -> int:
        """The first digit, which is all that is acted on (RFC 5321 4.2.1)."""
        return self.code // 100

    def __str__(self) -> str:
        return clean(f"{self.code} {self.text}")[:300]


class _StopError(Exception):
    """Ends an attempt before the hand-off, with its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class _Session(smtplib.SMTP):
    """An SMTP connection with a timeout of its own for connecting, with TLS from the start or not.

    Small writes leave at once (TCP_NODELAY): the dot must not wait for an acknowledgement.
    """

    def __init__(
        self, host: str, port: int, timeouts: Timeouts, tls: ssl.SSLContext | None
    ) -> None:
        self._timeouts = timeouts
        self._tls = tls
        super().__init__(host, port)
        self.command_encoding = "utf-8"

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = socket.create_connection((host, port), self._timeouts.connect)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = self._tls.wrap_socket(plain, server_hostname=host) if self._tls else plain
        wrapped.settimeout(self._timeouts.greeting)
        return wrapped

    def ask(self, command: str, arguments: str = "") -> _Reply:
        return self.answer(*self.docmd(command, arguments))

    def ask_within(self, seconds: float, command: str, arguments: str = "") -> _Reply:
        self.wait_at_most(seconds)
        return self.ask(command, arguments)

    def send_text(self, content: bytes, within: float) -> None:
        """Send all of it; `within` is for each piece, so that a slow line gets through."""
        self.wait_at_most(within)
        whole = memoryview(content)
        for start in range(0, len(whole), _BLOCK):
            self.send(whole[start : start + _BLOCK])

    def read(self) -> _Reply:
        return self.answer(*self.getreply())

    def wait_at_most(self, seconds: float) -> None:
        if self.sock is not None and self.sock.gettimeout() != seconds:
            self.sock.settimeout(seconds)

    @staticmethod
    def answer(code: int, text: bytes) -> _Reply:
        return _Reply(code, text.decode("utf-8", "replace"))


class SmtpServer:
    """A mail server with one connection to it, opened when needed, shared by all who send.

    `tls` is "starttls" (required, never done without), "implicit" or "none". The connection is
    renewed every `per_connection` messages and after `idle` seconds without one. `sender` is
    the From of all mail, such as "Papers <papers@example.org>".
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tls: Tls = "starttls",
        username: str = "",
        password: str = "",
        sender: str,
        ca_file: Path | str | None = None,
        timeouts: Timeouts = TIMEOUTS,
        per_connection: int = 50,
        idle: float = 60,
    ) -> None:
        self.host = host
        self.port = port
        self.sender = sender
        self._tls = tls
        self._username = username
        self._password = password
        self._ca_file = ca_file
        self._timeouts = timeouts
        self._per_connection = per_connection
        self._idle = idle
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._messages = 0
        self._used_at = 0.0
        self._blocked: set[str] = set()

    def __repr__(self) -> str:
        return f"SmtpServer({self.host!r}, {self.port!r})"

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        """Send one letter to one recipient. Only what `handing_off` raises is raised."""
        with self._lock:
            try:
                session = self._begin(letter)
                self._offer(session, letter)
                return self._hand_off(session, letter, commit_handoff)
            except _StopError as stop:
                return stop.outcome
            except BaseException:
                self._drop()
                raise

    def check(self) -> str:
        """Connect and log in, sending nothing; return what is wrong, or ""."""
        with self._lock:
            self._leave()
            try:
                self._session = self._connect()
            except _StopError as stop:
                return stop.outcome.error
            self._leave()
            return ""

    def close(self) -> None:
        """Say goodbye; the next letter opens a new connection. What the server says is nothing."""
        with self._lock:
            self._leave()

    # ── the channel's part: connect, TLS, login, MAIL ───────────────────────────────

    def _begin(self, letter: Letter) -> _Session:
        """Return a connection that took MAIL: the one we have or, if that is gone, a new one."""
        if self._session is not None and self._is_fresh():
            with suppress(smtplib.SMTPException, OSError):
                if self._mail(self._session, letter).kind == 2:
                    return self._session
            self._drop()
        self._leave()
        self._session = session = self._connect()
        try:
            reply = self._mail(session, letter)
        except (smtplib.SMTPException, OSError) as error:
            raise self._down(f"broke off at MAIL: {_in_words(error)}") from error
        if reply.kind != 2:
            raise self._down(f"refused the sender {letter.sender}: {reply}")
        return session

    def _mail(self, session: _Session, letter: Letter) -> _Reply:
        self._used_at = time.monotonic()
        if letter.utf8 and not session.has_extn("smtputf8"):
            error = f"{self.host} takes no address like {letter.recipient} (it has no SMTPUTF8)"
            raise _StopError(Outcome(DeliveryState.FAILED, error))
        options = " SMTPUTF8 BODY=8BITMIME" if letter.utf8 else ""
        return session.ask_within(self._timeouts.mail, "MAIL", f"FROM:<{letter.sender}>{options}")

    def _is_fresh(self) -> bool:
        idle = time.monotonic() - self._used_at
        return self._messages < self._per_connection and idle < self._idle

    def _connect(self) -> _Session:
        try:
            session = self._greeted()
        except smtplib.SMTPConnectError as error:
            reply = _Session.answer(error.smtp_code, _bytes(error.smtp_error))
            raise self._down(f"does not take mail now: {reply}") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._down(f"cannot be reached: {_in_words(error)}") from error
        self._session, self._messages = session, 0
        try:
            self._secure(session)
            self._log_in(session)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._down(f"broke off: {_in_words(error)}") from error
        return session

    def _greeted(self) -> _Session:
        context = self._context() if self._tls == "implicit" else None
        session = _Session(self.host, self.port, self._timeouts, context)
        session.ehlo_or_helo_if_needed()
        return session

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._ca_file)

    def _secure(self, session: _Session) -> None:
        """STARTTLS, required: without it, or with a certificate that is not theirs, no mail."""
        if self._tls != "starttls":
            return
        if not session.has_extn("starttls"):
            here = " (of this machine: smtp.tls: none)" if _is_loopback(self.host) else ""
            raise self._down(f"offers no STARTTLS, and mail is not sent in the clear{here}")
        try:
            session.starttls(context=self._context())
        except ssl.SSLError as error:
            raise self._down(f"could not be trusted: {_in_words(error)}") from error
        session.ehlo()

    def _log_in(self, session: _Session) -> None:
        """One attempt with one mechanism, so that a wrong password locks no account."""
        if not self._username:
            return
        if self._tls == "none" and not _is_loopback(self.host):
            raise self._down("would get the password in the clear; set smtp.tls")
        offered = session.esmtp_features.get("auth", "").upper().split()
        secret = f"\0{self._username}\0{self._password}"
        if "PLAIN" in offered:
            reply = session.ask("AUTH", f"PLAIN {_base64(secret)}")
        elif "LOGIN" in offered:
            reply = session.ask("AUTH", "LOGIN")
            for answer in (self._username, self._password):
                reply = session.ask(_base64(answer)) if reply.kind == 3 else reply
        else:
            raise self._down("offers no login by PLAIN or LOGIN")
        if reply.kind != 2:
            raise self._down(f"refused the login: {self._without_secrets(reply)}")

    def _without_secrets(self, reply: _Reply) -> str:
        """Some servers repeat the command that they refuse."""
        text = str(reply)
        plain = _base64(f"\0{self._username}\0{self._password}")
        for secret in (plain, _base64(self._password), self._password):
            text = text.replace(secret, "********") if secret else text
        return text

    def _down(self, what: str) -> _StopError:
        self._drop()
        error = f"the mail server {self.host}:{self.port} {what}"
        return _StopError(Outcome(DeliveryState.RETRY, error, channel_down=True))

    # ── the recipient's part: RCPT, DATA, the text ──────────────────────────────────

    def _offer(self, session: _Session, letter: Letter) -> None:
        """Bring the letter to where only the dot is missing."""
        times = self._timeouts
        try:
            reply = session.ask_within(times.rcpt, "RCPT", f"TO:<{letter.recipient}>")
            self._expect(2, reply, session, letter)
            self._expect(3, session.ask_within(times.data, "DATA"), session, letter)
            session.send_text(_dots_doubled(letter.content), times.block)
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            broken = f"{self.host} broke off before the mail was handed over: {_in_words(error)}"
            raise _StopError(Outcome(DeliveryState.RETRY, broken)) from error

    def _expect(self, kind: int, reply: _Reply, session: _Session, letter: Letter) -> None:
        if reply.kind == kind:
            return
        self._forget(session, reply)
        raise _StopError(self._refused(letter, reply))

    def _forget(self, session: _Session, reply: _Reply) -> None:
        """Make the connection ready for the next letter, or drop it."""
        with suppress(smtplib.SMTPException, OSError):
            reset = reply.code != 421 and reply.kind in (4, 5)
            if reset and session.ask_within(self._timeouts.mail, "RSET").kind == 2:
                return
        self._drop()

    def _refused(self, letter: Letter, reply: _Reply) -> Outcome:
        error = f"{self.host} refused mail for {letter.recipient}: {reply}"
        if reply.kind != 5:
            return Outcome(DeliveryState.RETRY, error)
        if not _POLICY.search(reply.text):
            return Outcome(DeliveryState.FAILED, error)
        return Outcome(DeliveryState.RETRY, error, channel_down=self._is_blocked(letter.recipient))

    def _is_blocked(self, recipient: str) -> bool:
        """Say whether policy refusals mean us. The count starts anew then, so that the next
        round goes past those who refuse and reaches the people behind them."""
        self._blocked.add(recipient)
        if len(self._blocked) < POLICY_LIMIT:
            return False
        self._blocked.clear()
        return True

    # ── the hand-off ────────────────────────────────────────────────────────────────

    def _hand_off(
        self, session: _Session, letter: Letter, commit_handoff: Callable[[], bool]
    ) -> Outcome:
        """Commit, dot, answer, with nothing in between; without an answer nobody knows."""
        session.wait_at_most(self._timeouts.final)
        if not commit_handoff():
            self._drop()
            return Outcome(
                DeliveryState.RETRY, "not sent: another process has taken this delivery over"
            )
        try:
            session.send(b".\r\n")
            reply = session.read()
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            lost = f"{self.host} accepted the mail but did not confirm it: {_in_words(error)}"
            return Outcome(DeliveryState.UNKNOWN, lost)
        return self._answered(session, letter, reply)

    def _answered(self, session: _Session, letter: Letter, reply: _Reply) -> Outcome:
        self._messages += 1
        if reply.kind == 2:
            self._blocked.clear()
            return Outcome(DeliveryState.SENT, reference=str(reply))
        if reply.code == 421 or reply.kind not in (4, 5):
            self._drop()
        if reply.kind in (4, 5):
            return self._refused(letter, reply)
        return Outcome(DeliveryState.UNKNOWN, f"{self.host} sent an unintelligible reply: {reply}")

    def _leave(self) -> None:
        if self._session is not None:
            self._session.wait_at_most(self._timeouts.quit)
            with suppress(smtplib.SMTPException, OSError):
                self._session.quit()
        self._drop()

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None


def _dots_doubled(content: bytes) -> bytes:
    """Double the dot at the start of a line (RFC 5321 4.5.2)."""
    doubled = content.replace(b"\n.", b"\n..")
    return b"." + doubled if doubled.startswith(b".") else doubled


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _in_words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(f"certificate refused, {error.verify_message}")
    return clean(str(error)) or type(error).__name__


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
