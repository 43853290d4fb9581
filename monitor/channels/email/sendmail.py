"""Mail handed to a program of this machine, with the interface of sendmail.

The whole message is in a file before the program starts: a death of this process cannot cut it
short, since the program reads the file to its end. So the hand-off is the start of the program,
and its exit status is the answer (sysexits.h).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from monitor.channels.base import TAKEN_OVER, down
from monitor.channels.email.settings import SmtpSettings
from monitor.channels.email.smtp import Letter
from monitor.channels.email.unknown_address import says_unknown
from monitor.model import DeliveryState, Outcome, Step
from monitor.text import clean

# Statuses that concern one message. EX_DATAERR is "the input data was incorrect in some way": msmtp
# ends with it when the server refuses the recipient, the sender or the message permanently.
_REFUSED = {65: "the message or an address was refused", 67: "the recipient is unknown"}
# Not taken, perhaps because of this recipient alone.
_LATER = {68: "a host is unknown", 69: "a service is unavailable", 75: "a temporary failure"}
# No message would be taken: the arguments, files, permissions or configuration are wrong.
_DOWN = (64, 66, 71, 72, 73, 77, 78, 126, 127)
# The program gets these variables only: ours may hold secrets.
_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ")
_SHOWN_BYTES = 300
# A refusal of the server that the program passes on: "server message: 550 5.1.1 no such user".
_SERVER_REPLY = re.compile(r"(?<![\w.])([45]\d\d)[ -]")
_NO_USER = 67
# How msmtp and others say that EX_DATAERR is about the recipient.
_OF_RECIPIENT = re.compile(r"recipient address|RCPT TO")


class Sendmail:
    """A program that takes mail; it may run for as long as a server may take to confirm one."""

    def __init__(self, settings: SmtpSettings) -> None:
        assert settings.sendmail
        self.program = settings.sendmail
        self.sender = settings.sender
        self.unknown = settings.unknown
        self._seconds = settings.timeouts.final.total_seconds()

    def send(self, letter: Letter, commit_handoff: Callable[[], bool]) -> Outcome:
        if problem := self.check():
            return down(problem)
        try:
            message = _write_file(letter.content.replace(b"\r\n", b"\n"))
            output = _write_file(b"")
        except OSError as error:
            return down(f"no file can be made for {self.program} to read: {error.strerror}")
        with message, output:
            if not commit_handoff():
                return TAKEN_OVER
            return self._run(letter, message, output)

    def check(self) -> str:
        if not self.program.is_file():
            return f"there is no program {self.program}: install it, or correct smtp.sendmail"
        if not os.access(self.program, os.X_OK):
            return f"{self.program} cannot be run: it is not executable"
        return ""

    def steps(self) -> tuple[Step, ...]:
        """Return no steps: the program takes them all."""
        return ()

    def close(self) -> None:
        """Nothing is kept open between messages."""

    def _run(self, letter: Letter, message: IO[bytes], output: IO[bytes]) -> Outcome:
        """Start the program and wait for its end.

        Its output goes to a file, since a child that works on would keep a pipe open. It has a
        session of its own: Ctrl-C does not end it, and its children are stopped with it.
        """
        try:
            process = subprocess.Popen(
                [str(self.program), "-i", "-odb", "-f", letter.sender, "--", letter.recipient],
                stdin=message,
                stdout=output,
                stderr=output,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            return down(f"{self.program} cannot be run: {error.strerror}")
        try:
            status = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            problem = f"{self.program} did not end within {self._seconds:g} s, and was stopped"
            return Outcome(DeliveryState.UNKNOWN, problem)
        return self._read_status(status, letter, _read_lines(output))

    def _read_status(self, status: int, letter: Letter, lines: Sequence[str]) -> Outcome:
        if status == 0:
            return Outcome(DeliveryState.SENT)
        reason = "; ".join(_replies(lines) or lines[-1:])[:_SHOWN_BYTES]
        more = f": {reason}" if reason else ""
        if status < 0:
            ended = f"{self.program} was ended by signal {-status}{more}"
            return Outcome(DeliveryState.UNKNOWN, ended)
        error = f"{self.program} ended with status {status}"
        if status in _DOWN:
            return down(f"{error}{more}")
        meaning = (_REFUSED | _LATER).get(status, "unclear")
        state = DeliveryState.RETRY if status in _LATER else DeliveryState.UNKNOWN
        if status in _REFUSED:
            state = DeliveryState.FAILED
        is_unknown = status in _REFUSED and _is_unknown(status, letter, lines)
        error = f"{error} ({meaning}) for {letter.recipient}{more}"
        return Outcome(state, error, address_refused=is_unknown)


def _write_file(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - `send` closes it
    file.write(content)
    file.seek(0)
    return file


def _read_lines(output: IO[bytes]) -> list[str]:
    """Return the last lines that a program wrote."""
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - 4 * _SHOWN_BYTES))
    written = output.read().decode("utf-8", "replace").splitlines()
    return [line for line in map(clean, written) if line]


def _replies(lines: Sequence[str]) -> list[str]:
    """Return the lines with the server's own reply."""
    return [line for line in lines if _SERVER_REPLY.search(line)]


def _is_unknown(status: int, letter: Letter, lines: Sequence[str]) -> bool:
    """Return whether the recipient does not exist: by the status, unless the server says more."""
    replies = _replies(lines)
    if status != _NO_USER and not any(map(_OF_RECIPIENT.search, lines)):
        return False
    if not replies:
        return status == _NO_USER
    first = _SERVER_REPLY.search(replies[0])
    assert first
    text = " ".join([replies[0][first.end() :], *replies[1:]])
    sender = letter.sender
    recipient = letter.recipient
    return says_unknown(int(first[1]), text, sender, recipient, to_recipient=True)
