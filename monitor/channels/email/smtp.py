"""One mail server: in each phase of the conversation, a failure means something else.

    connect, TLS, login, MAIL   the channel's fault: no delivery fails
    RCPT, DATA, the text        this recipient's fault, or a passing one: safe to try again
    hand-off, dot, answer       2yz sent, 4yz again, 5yz failed; no answer: unknown

`smtplib` opens the connection and reads the replies. Its `sendmail` is not used: the hand-off has
to be committed between the last line of the text and the dot that ends it.
"""

from __future__ import annotations

import re
import smtplib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parseaddr
from queue import LifoQueue
from typing import Protocol

from monitor.channels.base import TAKEN_OVER
from monitor.channels.email.connection import (
    Account,
    NotSentError,
    Reply,
    Session,
    connect,
    describe,
)
from monitor.channels.email.oauth import Tokens
from monitor.channels.email.settings import SmtpSettings
from monitor.model import DeliveryState, Outcome, Step

# So many refusals by policy (5.7.x) in a row, for different recipients, concern us, not them.
POLICY_LIMIT = 3

# Exchange checks after the text whether the account may send as the sender.
_SENDER = re.compile(r"\b5\.2\.252\b|\b5\.7\.60\b|SendAsDenied")
_POLICY = re.compile(r"(?:^|\s)5\.7\.\d+")


@dataclass(frozen=True, slots=True)
class Letter:
    """What goes to the server: ASCII or, with `utf8`, SMTPUTF8 (RFC 6531) addresses."""

    sender: str
    recipient: str
    content: bytes
    utf8: bool = False


class MailServer(Protocol):
    """What takes letters: a server by SMTP or LMTP, or a program of this machine."""

    sender: str

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome: ...

    def check(self) -> str: ...

    def steps(self) -> tuple[Step, ...]: ...

    def close(self) -> None: ...


class Connections:
    """A mail server by several connections; each letter takes one that is free.

    The one that was used last is used first, so that a few letters keep few of them open.
    """

    def __init__(self, servers: Sequence[MailServer]) -> None:
        """`servers` are one and the same, one for each connection."""
        self.sender = servers[0].sender
        self._servers = tuple(servers)
        self._free: LifoQueue[MailServer] = LifoQueue()
        for server in reversed(servers):
            self._free.put(server)

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        server = self._free.get()
        try:
            return server.send(letter, commit_handoff)
        finally:
            self._free.put(server)

    def check(self) -> str:
        return self._servers[0].check()

    def steps(self) -> tuple[Step, ...]:
        return self._servers[0].steps()

    def close(self) -> None:
        for server in self._servers:
            server.close()


class SmtpServer:
    """A mail server with one connection, opened when needed and shared by all threads.

    The connection is renewed every `per_connection` messages and after `idle` seconds without
    one. LMTP answers after the text for each recipient; a letter has one, so there is one reply
    here too.
    """

    def __init__(
        self,
        settings: SmtpSettings,
        tokens: Tokens | None = None,
        *,
        idle: float = 60,
        quit_timeout: timedelta = timedelta(seconds=5),
    ) -> None:
        self.host = settings.address[0]
        self.sender = settings.sender
        self._account = Account(settings, tokens)
        self._timeouts = settings.timeouts
        self._per_connection = settings.per_connection
        self._idle = idle
        self._quit_timeout = quit_timeout
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._messages = 0
        self._used_at = 0.0
        self._blocked: set[str] = set()

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        """Send one letter to one recipient. It raises only what `commit_handoff` raises."""
        with self._lock:
            try:
                session = self._begin(letter)
                self._offer(session, letter)
                return self._hand_off(session, letter, commit_handoff)
            except NotSentError as stop:
                return stop.outcome
            except BaseException:
                self._drop()
                raise

    def check(self) -> str:
        """Connect and log in, sending nothing; return the problem, or ""."""
        with self._lock:
            self._leave()
            try:
                self._session = connect(self._account)
            except NotSentError as stop:
                return stop.outcome.error
            self._leave()
            return ""

    def steps(self) -> tuple[Step, ...]:
        """Connect, log in and ask whether mail may be sent as the sender, up to the first failure.

        Some servers (Exchange) decide about the sender only when they have a message.
        """
        begun: list[str] = []
        problem = ""
        with self._lock:
            self._leave()
            try:
                self._session = connect(self._account, begun.append)
                begun.append("sender")
                self._ask_for_sender(self._session)
            except NotSentError as stop:
                problem = stop.outcome.error
            self._leave()
        last = len(begun) - 1
        return tuple(Step(name, problem if at == last else "") for at, name in enumerate(begun))

    def _ask_for_sender(self, session: Session) -> None:
        address = parseaddr(self.sender)[1]
        try:
            reply = session.ask("MAIL", f"FROM:<{address}>")
        except (smtplib.SMTPException, OSError) as error:
            raise self._down_error(f"broke off at MAIL: {describe(error)}") from error
        if reply.kind != 2:
            raise self._down_error(f"refused the sender {address}: {reply}")

    def close(self) -> None:
        """Say goodbye, whatever the server answers. The next letter opens a new connection."""
        with self._lock:
            self._leave()

    # ── the channel's part: connect, TLS, login, MAIL ───────────────────────────────

    def _begin(self, letter: Letter) -> Session:
        """Return a connection that accepted MAIL: the open one, or a new one if that is gone."""
        if self._session is not None and self._is_fresh():
            with suppress(smtplib.SMTPException, OSError):
                if self._mail(self._session, letter).kind == 2:
                    return self._session
            self._drop()
        self._leave()
        self._session = session = connect(self._account)
        self._messages = 0
        try:
            reply = self._mail(session, letter)
        except (smtplib.SMTPException, OSError) as error:
            raise self._down_error(f"broke off at MAIL: {describe(error)}") from error
        if reply.kind != 2:
            raise self._down_error(f"refused the sender {letter.sender}: {reply}")
        return session

    def _mail(self, session: Session, letter: Letter) -> Reply:
        self._used_at = time.monotonic()
        if letter.utf8 and not session.has_extn("smtputf8"):
            error = f"{self.host} takes no address like {letter.recipient} (it has no SMTPUTF8)"
            raise NotSentError(Outcome(DeliveryState.FAILED, error))
        options = " SMTPUTF8 BODY=8BITMIME" if letter.utf8 else ""
        return session.ask_within(self._timeouts.mail, "MAIL", f"FROM:<{letter.sender}>{options}")

    def _is_fresh(self) -> bool:
        idle = time.monotonic() - self._used_at
        return self._messages < self._per_connection and idle < self._idle

    def _down_error(self, problem: str) -> NotSentError:
        self._drop()
        return self._account.down_error(problem)

    # ── the recipient's part: RCPT, DATA, the text ──────────────────────────────────

    def _offer(self, session: Session, letter: Letter) -> None:
        """Send everything up to the dot that ends the letter."""
        times = self._timeouts
        try:
            reply = session.ask_within(times.rcpt, "RCPT", f"TO:<{letter.recipient}>")
            self._expect(2, reply, session, letter)
            self._expect(3, session.ask_within(times.data, "DATA"), session, letter)
            session.send_text(_double_dots(letter.content), times.block)
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            broken = f"{self.host} broke off before the mail was handed over: {describe(error)}"
            raise NotSentError(Outcome(DeliveryState.RETRY, broken)) from error

    def _expect(self, kind: int, reply: Reply, session: Session, letter: Letter) -> None:
        if reply.kind == kind:
            return
        self._reset(session, reply)
        raise NotSentError(self._read_refusal(letter, reply))

    def _reset(self, session: Session, reply: Reply) -> None:
        """Make the connection ready for the next letter, or drop it."""
        with suppress(smtplib.SMTPException, OSError):
            reset = reply.code != 421 and reply.kind in (4, 5)
            if reset and session.ask_within(self._timeouts.mail, "RSET").kind == 2:
                return
        self._drop()

    def _read_refusal(self, letter: Letter, reply: Reply) -> Outcome:
        error = f"{self.host} refused mail for {letter.recipient}: {reply}"
        if reply.kind != 5:
            return Outcome(DeliveryState.RETRY, error)
        if _SENDER.search(reply.text):
            refused = f"{self.host} refused the sender {letter.sender}: {reply}"
            return Outcome(DeliveryState.RETRY, refused, channel_down=True)
        if not _POLICY.search(reply.text):
            return Outcome(DeliveryState.FAILED, error)
        return Outcome(
            DeliveryState.RETRY, error, channel_down=self._count_policy_refusal(letter.recipient)
        )

    def _count_policy_refusal(self, recipient: str) -> bool:
        """Return whether enough servers refused by policy that the cause must be ours.

        The count then starts again, so that the next round gets past those who refuse and
        reaches the recipients behind them.
        """
        self._blocked.add(recipient)
        if len(self._blocked) < POLICY_LIMIT:
            return False
        self._blocked.clear()
        return True

    # ── the hand-off ────────────────────────────────────────────────────────────────

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
            reply = session.read_reply()
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            lost = f"{self.host} accepted the mail but did not confirm it: {describe(error)}"
            return Outcome(DeliveryState.UNKNOWN, lost)
        return self._finish(session, letter, reply)

    def _finish(self, session: Session, letter: Letter, reply: Reply) -> Outcome:
        self._messages += 1
        if reply.kind == 2:
            self._blocked.clear()
            return Outcome(DeliveryState.SENT, reference=str(reply))
        if reply.code == 421 or reply.kind not in (4, 5):
            self._drop()
        if reply.kind in (4, 5):
            return self._read_refusal(letter, reply)
        return Outcome(DeliveryState.UNKNOWN, f"{self.host} sent an unintelligible reply: {reply}")

    def _leave(self) -> None:
        if self._session is not None:
            self._session.set_timeout(self._quit_timeout)
            with suppress(smtplib.SMTPException, OSError):
                self._session.quit()
        self._drop()

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None


def _double_dots(content: bytes) -> bytes:
    """Double the dot at the start of a line (RFC 5321 4.5.2)."""
    doubled = content.replace(b"\n.", b"\n..")
    return b"." + doubled if doubled.startswith(b".") else doubled
