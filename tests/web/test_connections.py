"""Connections that say nothing, half of something, or do not listen: each over a real socket."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs
from uvicorn.server import ServerState

from monitor.web.connections import ConnectionLimits, LimitedConnection, OpenConnections
from monitor.web.listening import bound
from monitor.web.server import KEEP_ALIVE, serving
from tests.house import House
from tests.patience import wait
from tests.web.conftest import free_port, listening_on, pages

# Long for a machine that is busy, and less than uvicorn's own limit for idle connections.
CLIENT_SECONDS = KEEP_ALIVE / 2
SHORT = ConnectionLimits(head_seconds=0.2, body_seconds=0.2, answer_seconds=0.2, answer_bytes=1)
GET = b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n"


class Client:
    """Raw connections to a server from several addresses of loopback."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.stack = ExitStack()

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        connection = socket.create_connection(
            ("127.0.0.1", self.port), CLIENT_SECONDS, source_address=(source, 0)
        )
        return self.stack.enter_context(connection)

    def get(self, source: str = "127.0.0.1", request: bytes = GET) -> int:
        """Return the status of the answer on a connection of its own, 0 without an answer."""
        connection = self.connect(source)
        with suppress(ConnectionError):
            connection.sendall(request)
        status = status_of(connection)
        connection.close()
        return status


def status_of(connection: socket.socket) -> int:
    """Return the status of the next answer, 0 where the server has closed the connection."""
    start = received(connection, len("HTTP/1.1 200"))
    return int(start[-3:]) if start else 0


def received(connection: socket.socket, size: int) -> bytes:
    """Read bytes; fewer when the server closes the connection before."""
    data = bytearray()
    with suppress(ConnectionError):
        while len(data) < size and (more := connection.recv(size - len(data))):
            data += more
    return bytes(data)


def is_closed(connection: socket.socket) -> bool:
    """Read until the server closes the connection."""
    with suppress(ConnectionError):
        try:
            while connection.recv(65_536):
                pass
        except TimeoutError:
            return False
    return True


def sends_until_closed(connection: socket.socket, data: bytes) -> bool:
    """Send byte after byte until the server closes the connection."""
    deadline = time.monotonic() + CLIENT_SECONDS
    connection.settimeout(0.02)
    for byte in data:
        if time.monotonic() > deadline:
            return False
        try:
            connection.sendall(bytes([byte]))
            if not connection.recv(65_536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@contextmanager
def served(
    application: ASGIApp, limits: ConnectionLimits, max_active_requests: int = 100
) -> Iterator[Client]:
    web = listening_on(f"127.0.0.1:{free_port()}")
    client = Client(web.address[1])
    with (
        bound(web) as listening,
        serving(application, listening, lambda _: False, limits, max_active_requests),
        client.stack,
    ):
        yield client


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer after reading the body, as a form does."""
    await Request(scope, receive).body()
    await PlainTextResponse("ok")(scope, receive, send)


class Work:
    """Works on each request until `may_end` is set, or on those for `path` alone."""

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Event()

    def wait_until_begun(self) -> None:
        assert self.begun.acquire(timeout=CLIENT_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.release()
        if scope["path"].startswith(self.path):
            await asyncio.to_thread(self.may_end.wait, CLIENT_SECONDS)
        await page(scope, receive, send)


@pytest.mark.parametrize("begun", [b"", GET[:-2], POST], ids=["nothing", "head", "body"])
@pytest.mark.parametrize("rest", [b"", b"x" * 60_000], ids=["silence", "drops"])
def test_a_request_that_does_not_come_is_not_waited_for(begun: bytes, rest: bytes) -> None:
    """Bytes one at a time do not move a deadline."""
    with served(page, SHORT) as client:
        connection = client.connect()
        connection.sendall(begun)
        assert sends_until_closed(connection, rest) if rest else is_closed(connection)


def test_a_body_that_is_not_read_has_the_same_deadline() -> None:
    with served(PlainTextResponse("no", 413), SHORT) as client:
        connection = client.connect()
        connection.sendall(POST)
        assert status_of(connection) == 413
        assert sends_until_closed(connection, b"x" * 60_000)


def test_a_connection_is_used_again_and_closed_when_it_is_idle() -> None:
    with served(page, SHORT) as client:
        connection = HTTPConnection("127.0.0.1", client.port, CLIENT_SECONDS)
        for _ in range(3):
            connection.request("GET", "/")
            used = connection.sock
            assert connection.getresponse().read() == b"ok"
        assert connection.sock is used and is_closed(used)


def test_a_request_that_is_worked_on_has_no_deadline() -> None:
    work = Work()
    with served(work, SHORT) as client:
        working = client.connect()
        working.sendall(GET)
        for _ in range(3):
            assert is_closed(client.connect())
        work.may_end.set()
        assert status_of(working) == 200


async def streamed(scope: Scope, receive: Receive, send: Send) -> None:
    await StreamingResponse(bytes(1 << 20) for _ in range(64))(scope, receive, send)


WHOLE = Response(bytes(64 << 20))


@pytest.mark.parametrize("large", [streamed, WHOLE], ids=["streamed", "whole"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_does_not_read_its_answer_is_cut_off(large: ASGIApp, version: str) -> None:
    request = GET.replace(b"1.1", version.encode())
    with served(large, ConnectionLimits(0.2, 0.2, 0.2, 1 << 20, per_address=1)) as client:
        connection = client.connect()
        connection.sendall(request)
        assert status_of(connection) == 200
        # There is room for a second connection of this address after the end of the first.
        wait(lambda: client.get(request=request) == 200, CLIENT_SECONDS)


def test_a_client_that_reads_slowly_gets_all_of_its_answer() -> None:
    limits = ConnectionLimits(head_seconds=0.2, answer_seconds=1.5, answer_bytes=1 << 20)
    with served(WHOLE, limits) as client:
        connection = client.connect()
        connection.sendall(GET)
        assert status_of(connection) == 200
        for _ in range(16):
            assert is_closed(client.connect())  # after 0.2 seconds
            assert len(received(connection, 4 << 20)) == 4 << 20


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test sets ahead."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    async def pass_time(self, seconds: float) -> None:
        """Let what waited for this time happen."""
        self.ahead += seconds
        for _ in range(5):
            await asyncio.sleep(0)


MINUTE = 60.0
ENOUGH = 16 << 20


async def read_in_turns(*sizes: int) -> int:
    """Read parts of an answer of 64 MB, a minute apart, then the rest; return the bytes of it."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)

    class Connection(LimitedConnection):
        limits = ConnectionLimits(answer_seconds=MINUTE, answer_bytes=ENOUGH)
        open_connections = OpenConnections(limits, lambda _: False)

    config = uvicorn.Config(WHOLE, http=Connection, lifespan="off", log_config=None, ws="none")
    config.load()
    state = ServerState()
    server = await loop.create_server(lambda: Connection(config, state, {}), "127.0.0.1", 0)
    total = 0
    with socket.socket() as client, suppress(ConnectionError):
        client.setblocking(False)
        # Without room of its own that grows, what is not read waits in the server.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        await loop.sock_sendall(client, GET)
        for size in sizes:
            end = total + size
            while total < end:
                read = len(await loop.sock_recv(client, min(end - total, 1 << 16)))
                assert read, "it was cut off too soon"
                total += read
            await loop.pass_time(MINUTE)
        while more := await loop.sock_recv(client, 1 << 16):
            total += len(more)
    server.close()
    return total


def test_a_client_that_reads_too_slowly_is_cut_off() -> None:
    def read(*sizes: int) -> int:
        with asyncio.Runner(loop_factory=Loop) as runner:
            return runner.run(read_in_turns(*sizes))

    # Beside the bytes that are read, the kernel may take some megabytes.
    fast = ENOUGH + (8 << 20)
    slow = 1 << 20
    assert read(slow) < 16 << 20
    assert read(fast, slow) < 48 << 20
    assert read(fast, fast) > 64 << 20


@pytest.mark.parametrize("limits", [ConnectionLimits(per_address=1), ConnectionLimits(total=1)])
def test_a_client_that_a_request_leaves_no_room_is_answered_and_logged_once_a_minute(
    limits: ConnectionLimits,
) -> None:
    work = Work()
    with capture_logs() as logs, served(work, limits) as client:
        working = client.connect()
        working.sendall(GET)
        work.wait_until_begun()
        refused = [client.connect() for _ in range(5)]
        assert {status_of(connection) for connection in refused} == {503}
        assert all(is_closed(connection) for connection in refused)
        work.may_end.set()
        assert [status_of(working), client.get()] == [200, 200]
    warnings = [(line["log_level"], line["address"], line["count"]) for line in logs]
    assert warnings == [("warning", "127.0.0.1", 1)]


def test_too_many_connections_cost_the_one_that_has_been_idle_longest() -> None:
    with served(page, ConnectionLimits(total=3)) as client:
        first, second, third = (client.connect(f"127.0.0.{number}") for number in (2, 3, 4))
        for connection in (second, third, first):
            connection.sendall(GET)
            assert status_of(connection) == 200
        assert client.get("127.0.0.5") == 200
        assert is_closed(second)
        for connection in (third, first):
            assert connection.recv(1_000).endswith(b"ok")
            connection.sendall(GET)
            assert status_of(connection) == 200


def test_too_many_connections_cost_the_one_with_the_slowest_body() -> None:
    work = Work("/work")
    with served(work, ConnectionLimits(total=3)) as client:
        slow = [client.connect(f"127.0.0.{number}") for number in (2, 3, 4)]
        for connection in slow:
            connection.sendall(POST)
            work.wait_until_begun()
        assert client.get("127.0.0.5") == 200
        assert is_closed(slow[0])
        slow[1].sendall(b"x" * 60_000)
        assert status_of(slow[1]) == 200


def test_requests_that_wait_for_their_client_do_not_count_as_active() -> None:
    work = Work("/work")
    with served(work, ConnectionLimits(), max_active_requests=2) as client:
        for _ in range(10):
            client.connect().sendall(POST)
            work.wait_until_begun()
        assert client.get() == 200
        working = [client.connect() for _ in range(2)]
        for connection in working:
            connection.sendall(GET.replace(b"/static/style.css", b"/work"))
            work.wait_until_begun()
        assert client.get() == 503
        work.may_end.set()
        assert [status_of(connection) for connection in working] == [200, 200]
        wait(lambda: client.get() == 200, CLIENT_SECONDS)


def test_proxies_of_the_configuration_have_no_limit_and_others_have_one(house: House) -> None:
    limit = ConnectionLimits().per_address
    with pages(house, trusted_proxies=["127.0.0.2"]) as (_, http):
        client = Client(http.base_url.port or 0)
        with client.stack:
            of_proxy, of_other = (
                [client.connect(source) for _ in range(limit + 1)]
                for source in ("127.0.0.2", "127.0.0.3")
            )
            assert is_closed(of_other[0])
            of_proxy[0].sendall(GET)
            assert status_of(of_proxy[0])


def test_the_end_of_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    """Otherwise each page on a connection that is used again takes 40 ms longer."""
    web = listening_on(f"127.0.0.1:{free_port()}")
    with bound(web) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
