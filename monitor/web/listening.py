"""The address of the pages: opened before what answers there is loaded."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from monitor.config import WebSettings
from monitor.errors import MonitorError

BACKLOG = 128


@contextmanager
def bound(web: WebSettings) -> Iterator[socket.socket]:
    """Open the socket to listen on. Raises MonitorError, with what to do, where that fails."""
    host, port = web.address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise MonitorError(
            f"pages cannot be served at {web.listen}: {error.strerror or error}",
            "set another address with web: {listen: 127.0.0.1:8081}, or web: off",
        ) from error
    # Each connection inherits it. asyncio sets it only where a socket names its protocol, as those
    # accepted here do not; without it the end of each answer waits 40 ms for the client's ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listening:
        yield listening
