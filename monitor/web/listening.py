"""The address of the pages: opened before what answers there is loaded."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.config import WebSettings
from monitor.errors import MonitorError

BACKLOG = 128
# Its owner and its group may connect: for this, Linux asks for the right to write.
SOCKET_MODE = 0o660
# Seconds in which a server that lives accepts a connection to its Unix socket.
PROBE_SECONDS = 1.0
_IN_USE = "another server is listening there"


@contextmanager
def bound(web: WebSettings) -> Iterator[socket.socket]:
    """Open the socket to listen on. Raises MonitorError, with what to do, where that fails."""
    path = web.socket_path
    try:
        listening = _listen_on_path(path) if path else _listen_on_port(*web.address)
    except OSError as error:
        example = "unix:/run/paper-monitor/web.sock" if path else "127.0.0.1:8081"
        raise MonitorError(
            f"pages cannot be served at {web.listen}: {error.strerror or error}",
            f"set another address with web: {{listen: {example}}}, or web: off",
        ) from error
    with listening:
        try:
            yield listening
        finally:
            if path:
                path.unlink(missing_ok=True)


def _listen_on_port(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    # Each connection inherits it. asyncio sets it only where a socket names its protocol, as those
    # accepted here do not; without it the end of each answer waits 40 ms for the client's ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _listen_on_path(path: Path) -> socket.socket:
    """Listen on a Unix socket, in place of one that a dead server left behind."""
    if not path.parent.is_dir():
        raise OSError(f"there is no folder {path.parent}")
    if _is_left_behind(path):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(SOCKET_MODE)
        listening.listen(BACKLOG)  # only now can anybody connect
    except OSError:
        listening.close()
        raise
    return listening


def _is_left_behind(path: Path) -> bool:
    """Return whether nothing listens on a socket. Raises OSError for what may not be removed."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(mode):
        raise OSError("there is a file with this name that is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except (BlockingIOError, TimeoutError) as busy:  # its queue of connections is full
            raise OSError(_IN_USE) from busy
    raise OSError(_IN_USE)
