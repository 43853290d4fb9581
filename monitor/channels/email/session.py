"""An SMTP connection: commands and replies, and how long each phase may take."""

from __future__ import annotations

import smtplib
import socket
import ssl
from dataclasses import dataclass

from monitor.channels.retry_policy import Timeouts
from monitor.model import Outcome
from monitor.text import clean

# The text is sent in blocks of so many bytes, each with a timeout of its own.
_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Letter:
    """What goes to the server: ASCII or, with `utf8`, SMTPUTF8 (RFC 6531) addresses."""

    sender: str
    recipient: str
    content: bytes
    utf8: bool = False


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

    With `lmtp` it greets as RFC 2033 wants, and a `host` that begins with / is a socket's path.
    Small writes leave at once (TCP_NODELAY): the dot must not wait for an acknowledgement.
    """

    def __init__(
        self,
        host: str,
        port: int,
        timeouts: Timeouts,
        tls: ssl.SSLContext | None,
        *,
        lmtp: bool = False,
    ) -> None:
        self._timeouts = timeouts
        self._tls = tls
        if lmtp:
            self.ehlo_msg = "lhlo"
        super().__init__(host, port)
        self.command_encoding = "utf-8"

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        if host.startswith("/"):
            return self._local_socket(host)
        plain = socket.create_connection((host, port), self._timeouts.connect)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = self._tls.wrap_socket(plain, server_hostname=host) if self._tls else plain
        wrapped.settimeout(self._timeouts.greeting)
        return wrapped

    def _local_socket(self, path: str) -> socket.socket:
        local = socket.socket(socket.AF_UNIX)
        local.settimeout(self._timeouts.connect)
        try:
            local.connect(path)
        except OSError:
            local.close()
            raise
        local.settimeout(self._timeouts.greeting)
        return local

    def ask(self, command: str, arguments: str = "") -> Reply:
        return self.decode(*self.docmd(command, arguments))

    def ask_within(self, seconds: float, command: str, arguments: str = "") -> Reply:
        self.set_timeout(seconds)
        return self.ask(command, arguments)

    def send_text(self, content: bytes, seconds: float) -> None:
        """Send all of it; `seconds` is for each block, so that a slow line gets through."""
        self.set_timeout(seconds)
        whole = memoryview(content)
        for start in range(0, len(whole), _BLOCK_BYTES):
            self.send(whole[start : start + _BLOCK_BYTES])

    def read_reply(self) -> Reply:
        return self.decode(*self.getreply())

    def set_timeout(self, seconds: float) -> None:
        if self.sock is not None and self.sock.gettimeout() != seconds:
            self.sock.settimeout(seconds)

    @staticmethod
    def decode(code: int, text: bytes) -> Reply:
        return Reply(code, text.decode("utf-8", "replace"))


def describe(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(f"certificate refused, {error.verify_message}")
    return clean(str(error)) or type(error).__name__
