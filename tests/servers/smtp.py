"""Mail servers for tests, on free loopback ports.

`inbox` is aiosmtpd: a proper server, to be held against. `ScriptedSmtp` does what it is asked, at
any phase: greeting, ehlo, starttls, auth, mail, rcpt, data, dot, rset, quit.
"""

from __future__ import annotations

import asyncio
import base64
import select
import socket
import ssl
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.handlers import Message
from aiosmtpd.smtp import SMTP

from tests.patience import PATIENCE


@contextmanager
def closed_port() -> Iterator[int]:
    """A port at which nobody listens, nor begins to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@dataclass(frozen=True)
class Received:
    sender: str
    recipient: str
    content: bytes

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.content, policy=policy.default)

    @property
    def text(self) -> str:
        """The plain text on one line."""
        return " ".join(self.message.get_body(("plain",)).get_content().split())


class Drop:
    """The connection is cut instead of an answer."""


class Kept:
    """The mail is kept, and the connection is cut instead of an answer."""


@dataclass(frozen=True)
class Hold:
    """The answer comes when the test says so."""

    until: threading.Event
    then: str


@dataclass(frozen=True)
class Patient:
    """The answer comes after `seconds`, unless the other side hangs up before."""

    seconds: float
    then: str


@dataclass(frozen=True)
class Deaf:
    """The answer comes, and what follows it is not read until the other side hangs up."""

    then: str


Action = str | Drop | Kept | Hold | Patient | Deaf
_CHALLENGE = b'{"status":"401","schemes":"bearer","scope":"https://mail.google.com/"}'
_UNSAID = "250 is what it would have said"
_DEFAULTS = {
    "greeting": "220 mx.example.org ready",
    "starttls": "220 go on",
    "auth": "235 2.7.0 welcome",
    "mail": "250 2.1.0 ok",
    "rcpt": "250 2.1.5 ok",
    "data": "354 go on",
    "dot": "250 2.0.0 queued as 4F3A",
    "rset": "250 ok",
    "quit": "221 bye",
}


@dataclass
class ScriptedSmtp:
    """`script[phase]` holds answers to give, once each; `always[phase]` one to give for ever."""

    extensions: tuple[str, ...] = ("8BITMIME",)
    tls: ssl.SSLContext | None = None
    implicit_tls: bool = False
    messages_per_connection: int | None = None
    path: str = ""  # of a socket, in place of a port
    address: tuple[str, int] = ("127.0.0.1", 0)
    accepts: Callable[[str], bool] = bool  # an access token
    always: dict[str, Action] = field(default_factory=dict)
    script: Mapping[str, deque[Action]] = field(default_factory=lambda: defaultdict(deque))
    received: list[Received] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: int = 0
    talking: set[int] = field(default_factory=set)
    saw_dot: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)
    held: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        if self.path:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(self.path)
            self._listener.listen()
        else:
            self._listener = socket.create_server(self.address)
            self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.settimeout(PATIENCE)
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self.talking.add(threading.get_ident())
        try:
            with suppress(OSError, _GoneError):
                if self.implicit_tls and self.tls:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                    self._open.append(connection)
                conversation = _Conversation(self, connection)
                try:
                    conversation.run()
                finally:
                    conversation.hang_up()
        finally:
            connection.close()
            self.talking.discard(threading.get_ident())


class _GoneError(Exception):
    """The conversation is over."""


class _Conversation:
    def __init__(self, server: ScriptedSmtp, connection: socket.socket) -> None:
        self.server = server
        self.connection = connection
        self.file = connection.makefile("rb")
        self.sender = self.recipient = ""
        self.messages = 0

    def run(self) -> None:
        if not self.answer("greeting").startswith("2"):
            return
        while True:
            line = self.file.readline()
            if not line:
                return
            text = line.decode().rstrip("\r\n")
            self.server.commands.append(text)
            verb, _, rest = text.partition(" ")
            getattr(self, f"do_{verb.lower()}", self.do_other)(rest)

    def hang_up(self) -> None:
        """End the connection under whoever has it open, TLS or not."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def say(self, text: str) -> str:
        self.connection.sendall(f"{text}\r\n".encode())
        return text

    def answer(self, phase: str) -> str:
        return self.say(self.decide(phase))

    def decide(self, phase: str) -> str:
        """Wait, cut the connection, or return what is to be said."""
        waiting = self.server.script[phase]
        action = waiting.popleft() if waiting else self.server.always.get(phase, _DEFAULTS[phase])
        match action:
            case Drop():
                raise _GoneError
            case Kept():
                return _UNSAID
            case Hold(until, then):
                self.server.held.set()
                assert until.wait(PATIENCE)
                return then
            case Patient(seconds, then):
                select.select([self.connection], [], [], seconds)
                return then
            case Deaf(then):
                self.say(then)
                self.deaf()
        return action

    def deaf(self) -> None:
        """Wait for the end of a connection without taking what comes: only its end is reported."""
        watch = select.poll()
        watch.register(self.connection, select.POLLHUP | select.POLLERR | select.POLLRDHUP)
        watch.poll(PATIENCE * 1000)
        raise _GoneError

    def do_ehlo(self, rest: str) -> None:
        lines = ["mx.example.org", *self.server.extensions]
        for line in lines[:-1]:
            self.say(f"250-{line}")
        self.say(f"250 {lines[-1]}")

    do_lhlo = do_ehlo

    def do_starttls(self, rest: str) -> None:
        if self.answer("starttls").startswith("220"):
            assert self.server.tls
            self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
            self.server._open.append(self.connection)
            self.file = self.connection.makefile("rb")

    def do_auth(self, rest: str) -> None:
        if rest == "LOGIN":
            for prompt in ("334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"):
                self.say(prompt)
                self.server.commands.append(self.file.readline().decode().strip())
        mechanism, _, login = rest.partition(" ")
        if mechanism in ("XOAUTH2", "OAUTHBEARER"):
            token = base64.b64decode(login).decode().partition("Bearer ")[2].rstrip("\1")
            if not self.server.accepts(token):
                self.say(f"334 {base64.b64encode(_CHALLENGE).decode()}")
                self.server.commands.append(self.file.readline().decode().strip())
                self.say("535 5.7.3 Authentication unsuccessful")
                return
        self.answer("auth")

    def do_mail(self, rest: str) -> None:
        limit = self.server.messages_per_connection
        if limit is not None and self.messages >= limit:
            self.say("421 4.7.0 too many messages in one connection")
            raise _GoneError
        if self.sender:
            self.say("503 5.5.1 a message is under way")
        elif self.answer("mail").startswith("2"):
            self.sender = rest.partition("<")[2].partition(">")[0]

    def do_rcpt(self, rest: str) -> None:
        self.recipient = rest.partition("<")[2].partition(">")[0]
        self.answer("rcpt")

    def do_data(self, rest: str) -> None:
        if not self.answer("data").startswith("3"):
            return
        content = b""
        while (line := self.file.readline()) != b".\r\n":
            if not line:
                self.server.hung_up.set()
                raise _GoneError
            content += line[1:] if line.startswith(b".") else line
        self.server.saw_dot.set()
        answer = self.decide("dot")
        if answer.startswith("2"):
            self.messages += 1
            self.server.received.append(Received(self.sender, self.recipient, content))
        if answer == _UNSAID:
            raise _GoneError
        self.sender = ""
        self.say(answer)

    def do_rset(self, rest: str) -> None:
        self.sender = ""
        self.answer("rset")

    def do_quit(self, rest: str) -> None:
        self.answer("quit")
        raise _GoneError

    def do_other(self, rest: str) -> None:
        self.say("502 5.5.2 not known here")


class _Keep(Message):
    def __init__(self) -> None:
        super().__init__()
        self.received: list[Any] = []

    def handle_message(self, message: Any) -> None:
        self.received.append(message)


@contextmanager
def inbox(**options: Any) -> Iterator[tuple[int, list[Any]]]:
    """A proper mail server; yields its port and the list of `email` messages it took."""
    keep = _Keep()
    loop = asyncio.new_event_loop()
    serving = loop.create_server(lambda: SMTP(keep, loop=loop, **options), "127.0.0.1", 0)
    server = loop.run_until_complete(serving)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], keep.received
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        server.close()
        loop.run_until_complete(server.wait_closed())
        loop.close()


def in_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """Start `work`; what is returned waits for its result."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(PATIENCE)
        assert done, "it never came back"
        return done[0]

    return result
