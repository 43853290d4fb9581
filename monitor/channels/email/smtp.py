"""One mail server: in each phase of the conversation, a failure means something else.

    connect, TLS, login, MAIL   the channel's fault: no delivery fails
    RCPT, DATA, the text        this recipient's fault, or a passing one: safe to try again
    hand-off, dot, answer       2yz sent, 4yz again, 5yz failed; no answer: unknown

`smtplib` writes the commands and reads the replies. Its `sendmail` is not used: the hand-off has
to be committed between the last line of the text and the dot that ends it.
"""

from __future__ import annotations

import base64
import re
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parseaddr
from queue import LifoQueue

from monitor.channels.base import TAKEN_OVER, down
from monitor.channels.email.oauth import PERMISSION, TokenError, Tokens
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.unknown_address import says_unknown
from monitor.model import DeliveryState, Outcome, Step
from monitor.text import clean

# Refusals by policy (5.7.x) in a row, for different recipients, that concern us, not them.
POLICY_LIMIT = 3

# Exchange checks after the text whether the account may send as the sender.
_SENDER = re.compile(r"\b5\.2\.252\b|\b5\.7\.60\b|SendAsDenied")
_POLICY = re.compile(r"(?:^|\s)5\.7\.\d+")
# Bytes of a block in which the text is sent; each block has its own timeout.
_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and its envelope: ASCII or, with `utf8`, SMTPUTF8 (RFC 6531) addresses."""

    sender: str
    recipient: str
    content: bytes
    utf8: bool = False


class SmtpServer:
    """A mail server by several connections; each letter takes one that is free. Thread-safe.

    The one that was used last is used first, so that a few letters keep few of them open.
    """

    def __init__(
        self,
        settings: SmtpSettings,
        tokens: Tokens | None = None,
        *,
        idle: float = 60,
        quit_timeout: timedelta = timedelta(seconds=5),
    ) -> None:
        """`tokens` are those of an account without a password."""
        self.sender = settings.sender
        self.unknown = settings.unknown
        self._free: LifoQueue[_Connection] = LifoQueue()
        for _ in range(settings.connections):
            self._free.put(_Connection(settings, tokens, idle, quit_timeout))

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        """Send one letter to one recipient. It raises only what `commit_handoff` raises."""
        with self._connection() as connection:
            return connection.send(letter, commit_handoff)

    def check(self) -> str:
        """Take the steps on the way to sending; return the problem, or ""."""
        return next((step.problem for step in self.steps() if step.problem), "")

    def steps(self) -> tuple[Step, ...]:
        """Connect, log in and ask whether mail may be sent as the sender, up to the first failure.

        Some servers (Exchange) decide about the sender only when they have a message.
        """
        with self._connection() as connection:
            return connection.steps()

    def close(self) -> None:
        """Say goodbye, whatever the server answers. The next letter opens a new connection."""
        with ExitStack() as stack:
            for _ in range(self._free.qsize()):
                stack.enter_context(self._connection()).leave()

    @contextmanager
    def _connection(self) -> Iterator[_Connection]:
        connection = self._free.get()
        try:
            yield connection
        finally:
            self._free.put(connection)


class _Connection:
    """A connection, opened when needed, for one letter at a time.

    It is renewed every `per_connection` messages and after `idle` seconds without one. LMTP answers
    after the text for each recipient; a letter has one, so there is one reply here too.
    """

    def __init__(
        self, settings: SmtpSettings, tokens: Tokens | None, idle: float, quit_timeout: timedelta
    ) -> None:
        self.settings = settings
        self.host, port = settings.address
        self._name = self.host if self.host.startswith("/") else f"{self.host}:{port}"
        self._tokens = tokens
        self._timeouts = settings.timeouts
        self._idle = idle
        self._quit_timeout = quit_timeout
        self._session: Session | None = None
        self._begun: list[str] = []
        self._messages = 0
        self._used_at = 0.0
        self._blocked: set[str] = set()

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        try:
            session = self._begin(letter)
            self._offer(session, letter)
            return self._hand_off(session, letter, commit_handoff)
        except NotSentError as stop:
            return stop.outcome
        except BaseException:
            self._drop()
            raise

    def steps(self) -> tuple[Step, ...]:
        self._begun = []
        problem = ""
        self.leave()
        try:
            session = self._connect()
            self._begun.append("sender")
            address = parseaddr(self.settings.sender)[1]
            self._ask_for_sender(session, Letter(address, "", b""))
        except NotSentError as stop:
            problem = stop.outcome.error
        self.leave()
        *passed, last = dict.fromkeys(self._begun)
        return (*map(Step, passed), Step(last, problem))

    def leave(self) -> None:
        if self._session is not None:
            self._session.set_timeout(self._quit_timeout)
            with suppress(smtplib.SMTPException, OSError):
                self._session.quit()
        self._drop()

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    # ── the channel's part: connect, TLS, login, MAIL ───────────────────────────────

    def _begin(self, letter: Letter) -> Session:
        """Return a connection that accepted MAIL: the open one, or a new one if that is gone."""
        if self._session is not None and self._is_fresh():
            with suppress(smtplib.SMTPException, OSError):
                if self._mail(self._session, letter).kind == 2:
                    return self._session
            self._drop()
        self.leave()
        session = self._connect()
        self._messages = 0
        self._ask_for_sender(session, letter)
        return session

    def _is_fresh(self) -> bool:
        idle = time.monotonic() - self._used_at
        return self._messages < self.settings.per_connection and idle < self._idle

    def _connect(self) -> Session:
        """Open a connection that is ready for MAIL, and note each step as it begins."""
        token = self._access_token()
        settings = self.settings
        self._begun.append("connection")
        failed = "cannot be reached"
        try:
            self._session = session = Session(settings)
            session.ehlo_or_helo_if_needed()
            failed = "broke off"
            if settings.tls == "starttls":
                self._begun.append("TLS")
                self._start_tls(session)
            if not settings.username:
                return session
            self._begun.append("login")
            if self._log_in(session, settings.username, token):
                return session
        except smtplib.SMTPConnectError as error:
            reply = Reply.read(error.smtp_code, error.smtp_error)
            raise self._down(f"does not take mail now: {reply}") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._down(f"{failed}: {describe(error)}") from error
        self._drop()
        return self._connect()

    def _down(self, problem: str) -> NotSentError:
        self._drop()
        return NotSentError(down(f"the mail server {self._name} {problem}"))

    def _access_token(self) -> str:
        """Return a token, asked for before the server is, which would not wait for it."""
        if self._tokens is None:
            return ""
        self._begun.append("token endpoint")
        try:
            token = self._tokens.token()
        except TokenError as error:
            if error.code:  # the endpoint answered
                self._begun.append("token")
            problem = f"no mail can be sent to {self._name}: {error}"
            raise NotSentError(down(problem)) from error
        self._begun.append("token")
        return token

    def _start_tls(self, session: Session) -> None:
        """STARTTLS is required: without it, or with another's certificate, no mail is sent."""
        if not session.has_extn("starttls"):
            raise self._down(
                "offers no STARTTLS, and mail is not sent in the clear: set `tls: none` if it is "
                "on this machine, or `tls: implicit` for port 465"
            )
        try:
            session.starttls(context=_tls_context(self.settings))
        except ssl.SSLError as error:
            raise self._down(f"could not be trusted: {describe(error)}") from error
        session.ehlo()

    def _log_in(self, session: Session, username: str, token: str) -> bool:
        """Log in by one attempt with one mechanism, so that a wrong password locks no account.

        A refusal may come as a challenge with its reason, to which an answer has to be sent.
        Returns False if the server refuses a token that it took before: a new one is worth an
        attempt.
        """
        tokens = self._tokens
        secret = self.settings.password
        password = secret.reveal() if secret else ""
        logins: dict[str, tuple[str, ...]] = (
            {
                "XOAUTH2": (f"user={username}\1auth=Bearer {token}\1\1", ""),
                "OAUTHBEARER": (f"n,a={username},\1auth=Bearer {token}\1\1", "\1"),
            }
            if tokens
            else {"PLAIN": (f"\0{username}\0{password}",), "LOGIN": ("", username, password)}
        )
        offered = session.esmtp_features.get("auth", "").upper().split()
        mechanism = next((name for name in logins if name in offered), None)
        if mechanism is None:
            raise self._down(  # in full, as the pages quote it
                "offers no login by XOAUTH2 or OAUTHBEARER"
                if tokens
                else "offers no login by PLAIN or LOGIN"
            )
        first, *answers = map(_base64, logins[mechanism])
        patience = self._timeouts.greeting
        reply = session.ask(patience, "AUTH", f"{mechanism} {first}".rstrip())
        for answer in answers:
            reply = session.ask(patience, answer) if reply.kind == 3 else reply
        if reply.kind == 2:
            if tokens:
                tokens.accept(token)
            return True
        shown = str(reply)
        for secret_text in filter(None, (first, *answers, _base64(password), password, token)):
            shown = shown.replace(secret_text, "********")  # some servers repeat the command
        if tokens is None or reply.kind != 5:
            raise self._down(f"refused the login: {shown}")
        if tokens.refuse(token):
            return False
        cause = tokens.clock_problem or PERMISSION[tokens.settings.provider]
        raise self._down(f"refused a token that was just issued: {shown} ({cause})")

    def _ask_for_sender(self, session: Session, letter: Letter) -> None:
        try:
            reply = self._mail(session, letter)
        except (smtplib.SMTPException, OSError) as error:
            raise self._down(f"broke off at MAIL: {describe(error)}") from error
        if reply.kind != 2:
            raise self._down(f"refused the sender {letter.sender}: {reply}")

    def _mail(self, session: Session, letter: Letter) -> Reply:
        self._used_at = time.monotonic()
        if letter.utf8 and not session.has_extn("smtputf8"):
            error = f"{self.host} takes no address like {letter.recipient} (it has no SMTPUTF8)"
            raise NotSentError(Outcome(DeliveryState.FAILED, error))
        options = " SMTPUTF8 BODY=8BITMIME" if letter.utf8 else ""
        return session.ask(self._timeouts.mail, "MAIL", f"FROM:<{letter.sender}>{options}")

    # ── the recipient's part: RCPT, DATA, the text ──────────────────────────────────

    def _offer(self, session: Session, letter: Letter) -> None:
        """Send everything up to the dot that ends the letter."""
        times = self._timeouts
        try:
            reply = session.ask(times.rcpt, "RCPT", f"TO:<{letter.recipient}>")
            self._expect(2, reply, session, letter, to_recipient=True)
            self._expect(3, session.ask(times.data, "DATA"), session, letter)
            session.send_text(_double_dots(letter.content), times.block)
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            broken = f"{self.host} broke off before the mail was handed over: {describe(error)}"
            raise NotSentError(Outcome(DeliveryState.RETRY, broken)) from error

    def _expect(
        self,
        kind: int,
        reply: Reply,
        session: Session,
        letter: Letter,
        *,
        to_recipient: bool = False,
    ) -> None:
        if reply.kind != kind:
            self._reset(session, reply)
            raise NotSentError(self._read_refusal(letter, reply, to_recipient=to_recipient))

    def _reset(self, session: Session, reply: Reply) -> None:
        """Make the connection ready for the next letter, or drop it."""
        with suppress(smtplib.SMTPException, OSError):
            reset = reply.code != 421 and reply.kind in (4, 5)
            if reset and session.ask(self._timeouts.mail, "RSET").kind == 2:
                return
        self._drop()

    def _read_refusal(self, letter: Letter, reply: Reply, *, to_recipient: bool) -> Outcome:
        error = f"{self.host} refused mail for {letter.recipient}: {reply}"
        if reply.kind != 5:
            return Outcome(DeliveryState.RETRY, error)
        if _SENDER.search(reply.text):
            return down(f"{self.host} refused the sender {letter.sender}: {reply}")
        if not _POLICY.search(reply.text):
            is_unknown = says_unknown(
                reply.code, reply.text, letter.sender, letter.recipient, to_recipient=to_recipient
            )
            return Outcome(DeliveryState.FAILED, error, address_refused=is_unknown)
        self._blocked.add(letter.recipient)
        is_ours = len(self._blocked) >= POLICY_LIMIT
        if is_ours:  # the next round gets past those who refuse, to the recipients behind them
            self._blocked.clear()
        return Outcome(DeliveryState.RETRY, error, channel_down=is_ours)

    def _hand_off(
        self, session: Session, letter: Letter, commit_handoff: Callable[[], bool]
    ) -> Outcome:
        """Commit, dot, answer, with nothing in between. Without an answer it is unknown."""
        session.set_timeout(self._timeouts.final)
        if not commit_handoff():
            self._drop()
            return TAKEN_OVER
        try:
            session.send(b".\r\n")
            reply = Reply.read(*session.getreply())
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            lost = f"{self.host} did not confirm that it took the mail: {describe(error)}"
            return Outcome(DeliveryState.UNKNOWN, lost)
        self._messages += 1
        if reply.kind == 2:
            self._blocked.clear()
            return Outcome(DeliveryState.SENT, reference=str(reply))
        if reply.code == 421 or reply.kind not in (4, 5):
            self._drop()
        if reply.kind in (4, 5):
            # By LMTP it is the reply for the one recipient (RFC 2033 4.2).
            return self._read_refusal(letter, reply, to_recipient=bool(self.settings.lmtp))
        return Outcome(DeliveryState.UNKNOWN, f"{self.host} sent an unintelligible reply: {reply}")


def _double_dots(content: bytes) -> bytes:
    """Double the dot at the start of a line (RFC 5321 4.5.2)."""
    doubled = content.replace(b"\n.", b"\n..")
    return b"." + doubled if doubled.startswith(b".") else doubled


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


# ── commands and replies ────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    text: str

    @classmethod
    def read(cls, code: int, text: bytes | str) -> Reply:
        return cls(code, text if isinstance(text, str) else text.decode("utf-8", "replace"))

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

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings
        if settings.lmtp:
            self.ehlo_msg = "lhlo"
        super().__init__(*settings.address)
        self.command_encoding = "utf-8"

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        patience = self._settings.timeouts.connect.total_seconds()
        if host.startswith("/"):
            opened = socket.socket(socket.AF_UNIX)
            opened.settimeout(patience)
            opened.connect(host)
        else:
            opened = socket.create_connection((host, port), patience)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._settings.tls == "implicit":
                opened = _tls_context(self._settings).wrap_socket(opened, server_hostname=host)
        opened.settimeout(self._settings.timeouts.greeting.total_seconds())
        return opened

    def ask(self, timeout: timedelta, command: str, arguments: str = "") -> Reply:
        self.set_timeout(timeout)
        return Reply.read(*self.docmd(command, arguments))

    def send_text(self, content: bytes, timeout: timedelta) -> None:
        """Send all of it; the timeout is for each block, so that a slow connection gets through."""
        self.set_timeout(timeout)
        whole = memoryview(content)
        for start in range(0, len(whole), _BLOCK_BYTES):
            self.send(whole[start : start + _BLOCK_BYTES])

    def set_timeout(self, timeout: timedelta) -> None:
        seconds = timeout.total_seconds()
        if self.sock is not None and self.sock.gettimeout() != seconds:
            self.sock.settimeout(seconds)


def _tls_context(settings: SmtpSettings) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=settings.ca_file)


def describe(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(f"certificate refused, {error.verify_message}")
    return clean(str(error)) or type(error).__name__
