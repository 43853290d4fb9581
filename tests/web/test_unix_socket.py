"""Pages on a Unix socket: who may connect, and which files are replaced and removed."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.responses import PlainTextResponse

from monitor.errors import MonitorError
from monitor.web.listening import bound
from monitor.web.server import serving
from tests.patience import PATIENCE
from tests.web.conftest import listening_on


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "web.sock"


def ask(path: Path) -> int:
    """Ask for a page as a proxy does; return the status, 0 without an answer."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=PATIENCE) as client:
        try:
            return client.get("http://papers.example.org/static/style.css").status_code
        except httpx.TransportError:
            return 0


@contextmanager
def listening_at(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        yield listening


def leave_behind(path: Path) -> None:
    """Leave the file of a socket, as a server does that is killed."""
    with listening_at(path):
        pass
    assert path.is_socket()


def refusal(path: Path) -> str:
    with pytest.raises(MonitorError) as caught, bound(listening_on(f"unix:{path}")):
        pass
    assert "web: off" in caught.value.hint
    prefix = f"pages cannot be served at unix:{path}: "
    assert caught.value.message.startswith(prefix)
    return caught.value.message.removeprefix(prefix)


def test_the_owner_and_the_group_may_connect_until_the_end(path: Path) -> None:
    before = os.umask(0)
    try:
        with bound(listening_on(f"unix:{path}")):
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        os.umask(before)
    assert not path.exists()


def test_a_socket_of_a_dead_server_is_replaced(path: Path) -> None:
    leave_behind(path)
    with (
        bound(listening_on(f"unix:{path}")) as listening,
        serving(PlainTextResponse("ok"), listening, bool),
    ):
        assert ask(path) == 200
    assert not path.exists()


def test_a_socket_of_a_living_server_is_an_error(path: Path) -> None:
    with listening_at(path) as other:
        assert refusal(path) == "another server is listening there"
        # The probe waits to be accepted, and after it whatever comes next.
        other.accept()[0].close()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_server_with_a_full_queue_lives(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as waiting:
        listening.bind(str(path))
        listening.listen(0)
        waiting.connect(str(path))
        assert refusal(path) == "another server is listening there"


def test_nothing_but_a_socket_is_replaced_and_no_folder_made(path: Path, tmp_path: Path) -> None:
    assert refusal(tmp_path / "run" / "web.sock") == f"there is no folder {tmp_path / 'run'}"
    said = "there is a file with this name that is not a socket"
    path.write_text("mine")
    assert refusal(path) == said
    assert path.read_text() == "mine"
    path.unlink()
    path.mkdir()
    assert refusal(path) == said
    path.rmdir()
    leave_behind(tmp_path / "other.sock")
    path.symlink_to("other.sock")
    assert refusal(path) == said
    assert path.is_symlink() and (tmp_path / "other.sock").is_socket()
