"""Limits that keep a few clients from shutting out all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import structlog
from h11 import IDLE, SEND_BODY
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from monitor.web.access import network_of

log = structlog.get_logger()

# Seconds between two warnings about refused connections.
REPORT_INTERVAL = 60.0
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n"
    b"There are too many connections. Close some of them, and try again.\n"
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections may be open, and how long each may wait for its client.

    The head of a request is due `head_seconds` after the connection was opened or the last answer
    was complete, its body `body_seconds` after the head. While part of an answer is unread, the
    client has to read `answer_bytes` every `answer_seconds`. A process may have 1,024 open files
    by default, so that `total` leaves half of them to the store.
    """

    head_seconds: float = 15
    body_seconds: float = 30
    answer_seconds: float = 30
    answer_bytes: int = 65_536
    per_address: int = 50
    total: int = 500


class OpenConnections:
    """The open connections of one server; used on its event loop alone.

    `is_proxy` returns whether an address is that of a trusted proxy, which has the connections of
    many visitors and no limit of its own.
    """

    def __init__(self, limits: ConnectionLimits, is_proxy: Callable[[str], bool]) -> None:
        self.limits = limits
        self._is_proxy = is_proxy
        self._networks: dict[LimitedConnection, str | None] = {}
        self._refused = 0
        self._next_report = 0.0

    def admit(self, connection: LimitedConnection, peer: str) -> bool:
        """Count a new connection, or return False where its address or the server has too many.

        Too many are those that are worked on: of the others, the one that has waited longest for
        its client makes room. Where an address has too many, it is one of its own.
        """
        network = None if self._is_proxy(peer) else network_of(peer)
        own = [other for other, its in self._networks.items() if its == network]
        crowd: Iterable[LimitedConnection] = ()
        if network is not None and len(own) >= self.limits.per_address:
            crowd = own
        elif len(self._networks) >= self.limits.total:
            crowd = self._networks
        if crowd:
            waiting = [other for other in crowd if other.waits_since is not None]
            if not waiting:
                self._report(peer, connection.loop.time())
                return False
            slowest = min(waiting, key=lambda other: other.waits_since or 0)
            self.release(slowest)
            slowest.transport.abort()
        self._networks[connection] = network
        return True

    def release(self, connection: LimitedConnection) -> None:
        """Forget a connection; one that was refused was never counted."""
        self._networks.pop(connection, None)

    def _report(self, peer: str, now: float) -> None:
        self._refused += 1
        if now >= self._next_report:
            log.warning("connections refused", count=self._refused, address=peer)
            self._refused = 0
            self._next_report = now + REPORT_INTERVAL


class LimitedConnection(H11Protocol):
    """uvicorn's protocol with a deadline for whatever the client has to do next.

    uvicorn's own limit of time is for the pause between two requests: a new connection without a
    request has none, and one byte ends it. Beyond the methods of `asyncio.Protocol`, this
    class uses `on_response_complete`, `conn`, `cycle`, `flow.write_paused`, `client`, `loop` and
    `transport` of `H11Protocol`. They are the same in uvicorn 0.32 and 0.54.
    """

    open_connections: OpenConnections
    _deadline: asyncio.TimerHandle | None = None
    _awaited: tuple[str, object] = ("", None)
    _unread = 0
    # When the client's move began; None while it waits for us.
    waits_since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        if self.open_connections.admit(self, self.client[0] if self.client else ""):
            self._follow()
        else:
            self.transport.write(REFUSAL)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._set_deadline(None)
        self.open_connections.release(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._follow()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._follow()

    def _follow(self) -> None:
        """Set a new deadline when the client has to do something else; bytes alone do not."""
        move, seconds = self._client_move()
        if (move, self.cycle) == self._awaited:
            return
        self._awaited = (move, self.cycle)
        self._unread = self.transport.get_write_buffer_size()
        self.waits_since = self.loop.time() if move else None
        self._set_deadline(seconds)

    def _client_move(self) -> tuple[str, float | None]:
        """Return the client's next move and the seconds for it, "" while it waits for us."""
        limits = self.open_connections.limits
        if self.flow.write_paused or self.transport.is_closing():
            return "read", limits.answer_seconds
        if self.conn.their_state is IDLE:
            return "send a head", limits.head_seconds
        if self.conn.their_state is SEND_BODY:
            return "send a body", limits.body_seconds
        return "", None

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        """Close the connection, but let a client go on that reads its answer fast enough.

        `close` waits for a client to read all of its answer, `abort` does not.
        """
        unread = self.transport.get_write_buffer_size()
        if not unread:
            self.transport.close()
        elif self._unread - unread >= self.open_connections.limits.answer_bytes:
            self._unread = unread
            self._set_deadline(self.open_connections.limits.answer_seconds)
        else:
            self.transport.abort()


class RequestLimit:
    """ASGI middleware that answers 503 while `limit` requests are worked on.

    A request does not count while it waits for its client: to send the body, or to read.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._active >= self._limit:
            busy = PlainTextResponse("Too many requests are being answered. Try again.\n", 503)
            await busy(scope, receive, send)
            return
        more_body = True

        async def receive_uncounted() -> Message:
            nonlocal more_body
            if not more_body:  # nothing comes but the end of the connection
                return await receive()
            with self._uncounted():
                message = await receive()
            more_body = message.get("more_body", False)
            return message

        async def send_uncounted(message: Message) -> None:
            with self._uncounted():
                await send(message)

        self._active += 1
        try:
            await self._app(scope, receive_uncounted, send_uncounted)
        finally:
            self._active -= 1

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        self._active -= 1
        try:
            yield
        finally:
            self._active += 1
