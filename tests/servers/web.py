"""A small web server that misbehaves on request.

    with misbehaving_server() as web:
        web.answers("/feed", body=b"<rss/>", headers={"ETag": '"1"'})
        web.answers("/cut", body=b"half", length=1000)          # closes before Content-Length
        web.answers("/drip", body=b"x" * 100, piece=1)          # waits between pieces
        door.get(web.url("/feed"), allow_private=True)
        web.requests[0].headers["user-agent"]

Every answer ends its connection. Given a TLS context it speaks https. As a proxy it finds the
answer by the whole address that it was asked for.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.patience import PATIENCE, wait

PAUSE = 0.05


@dataclass(frozen=True)
class Asked:
    """A request as it came: header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        """The first value of each parameter."""
        return {k: v[0] for k, v in parse_qs(urlsplit(self.target).query).items()}


@dataclass(frozen=True)
class Answer:
    """`length` is the Content-Length given (None: the body's, -1: none); `piece` the bytes sent

    between two pauses; `hold` is waited for before anything is sent; `hang` sends nothing at all,
    `reset` breaks off instead.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    piece: int = 0
    hold: threading.Event | None = None
    hang: bool = False
    reset: bool = False


class MisbehavingServer:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Asked] = []
        self.most_at_once = self._begun = self._ended = 0
        self.arrived = threading.Condition()
        self._unanswered: set[socket.socket] = set()
        self._answers: dict[str, Answer | Callable[[Asked], Answer]] = {}
        self._tls = tls
        self._stopping = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def url(self, path: str) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}{path}"

    def answers(self, target: str, status: int = 200, **how: object) -> None:
        """Say how a path (or, to a proxy, an address) is answered from now on."""
        self._answers[target] = Answer(status, **how)  # type: ignore[arg-type]

    def decides(self, target: str, decide: Callable[[Asked], Answer]) -> None:
        """Let a function answer a path; "*" is every path that has no answer of its own."""
        self._answers[target] = decide

    def wait_for_requests(self, count: int, within: float = PATIENCE) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, within)

    def settle(self) -> None:
        """Wait until all is answered that was asked before: requests are taken in their order."""
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"GET / HTTP/1.0\r\n\r\n")
            last.recv(1)
        wait(lambda: self._ended == self._begun)

    def serve(self) -> None:
        while not self._stopping.is_set():
            with suppress(OSError):
                connection, _ = self._listener.accept()
                self._begun += 1
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        try:
            with suppress(OSError), connection:
                if self._tls:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                request = _read(connection)
                with self.arrived:
                    self.requests.append(request)
                    self._unanswered.add(connection)
                    self.most_at_once = max(self.most_at_once, len(self._unanswered))
                    self.arrived.notify_all()
                self._send(connection, self._answer_to(request))
        finally:
            self._answered(connection)
            with self.arrived:
                self._ended += 1

    def _answered(self, connection: socket.socket) -> None:
        with self.arrived:
            self._unanswered.discard(connection)

    def _answer_to(self, request: Asked) -> Answer:
        answer = self._answers.get(request.target) or self._answers.get("*", Answer(404))
        return answer if isinstance(answer, Answer) else answer(request)

    def _send(self, connection: socket.socket, answer: Answer) -> None:
        if answer.hold:
            answer.hold.wait(PATIENCE)
        if answer.hang:
            self._stopping.wait(PATIENCE)
            return
        if answer.reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        message = _head(answer) + answer.body
        piece = answer.piece or len(message)
        for start in range(0, len(message), piece):
            if start + piece >= len(message):
                self._answered(connection)  # who has the last piece may ask the next thing
            connection.sendall(message[start : start + piece])
            if answer.piece and self._stopping.wait(PAUSE):
                return
        connection.shutdown(socket.SHUT_WR)
        with suppress(OSError):  # let the client close first, so that nothing is reset
            connection.recv(1)


def _read(connection: socket.socket) -> Asked:
    with connection.makefile("rb") as received:
        first = received.readline().decode("latin-1")
        lines = iter(lambda: received.readline().decode("latin-1").strip(), "")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        body = received.read(length)
    if not first or len(body) < length:
        raise ConnectionError("the client went away")
    method, target, _ = first.split(" ", 2)
    return Asked(method, target, headers, body)


def _head(answer: Answer) -> bytes:
    headers = {"Connection": "close", **answer.headers}
    length = len(answer.body) if answer.length is None else answer.length
    if length >= 0 and answer.status != 304:
        headers["Content-Length"] = str(length)
    lines = [f"HTTP/1.1 {answer.status} Answer", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@contextmanager
def misbehaving_server(tls: ssl.SSLContext | None = None) -> Iterator[MisbehavingServer]:
    """Run a server on a free loopback port until the block ends."""
    server = MisbehavingServer(tls)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)
