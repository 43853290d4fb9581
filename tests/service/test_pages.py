"""The pages of a service: a process beside it that comes back, and never stays behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import httpx
import pytest
from structlog.testing import capture_logs

from monitor.app import App
from monitor.service.pages import PagesProcess
from monitor.service.scheduler import Service
from tests.house import House
from tests.patience import PATIENCE, wait
from tests.service.serve import TICK
from tests.web.conftest import TOKEN, free_port

ALIVE = "/static/style.css"


@pytest.fixture
def port(house: House) -> int:
    port = free_port()
    house.settings["web"] = {"listen": f"127.0.0.1:{port}", "token": TOKEN}
    return port


def get(port: int, path: str = ALIVE) -> int:
    """Ask for a page, and return the status of the answer, 0 where nobody answers."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        url = f"http://127.0.0.1:{port}{path}"
        return httpx.get(url, headers=headers, timeout=PATIENCE).status_code
    except httpx.TransportError:
        return 0


@contextmanager
def beside(house: House) -> Iterator[PagesProcess]:
    with house.opened() as app:
        assert app.settings.web
        result = PagesProcess(app.settings, app.settings.web, house.clock)
        try:
            result.keep()
            yield result
        finally:
            result.end()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_pages_end_with_the_service_however_it_ends(
    house: House, port: int, ending: signal.Signals
):
    service = house.process("serve")
    try:
        wait(lambda: get(port) == 200)
        assert get(port, "/status") == 200
        service.send_signal(ending)
        # Its standard error ends when the last process that writes to it has ended.
        service.communicate(timeout=PATIENCE)
    finally:
        service.kill()
    assert service.returncode == (-ending if ending == signal.SIGKILL else 0)
    assert get(port) == 0


def test_the_pages_alone_listen_on_another_address_with_the_same_token(house: House, port: int):
    other = free_port()
    pages = house.process("web", "--listen", f"127.0.0.1:{other}")
    try:
        wait(lambda: get(other, "/status") == 200)
        assert httpx.get(f"http://127.0.0.1:{other}/status").status_code in (303, 401)
    finally:
        pages.terminate()
        pages.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("listen", ["foo", "127.0.0.1:0", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused(house: House, port: int, listen: str):
    pages = house.process("web", "--listen", listen)
    _, said = pages.communicate(timeout=PATIENCE)
    assert (pages.returncode, f"--listen: “{listen}” should be an address" in said) == (2, True)


def test_pages_that_broke_come_back_and_visitors_wait_for_them(house: House, port: int):
    """They have the settings of the service, also while the file has a fault."""
    with beside(house) as pages, capture_logs() as logs:
        wait(lambda: get(port) == 200)
        house.config.write_text("topics: [", encoding="utf-8")
        _process_of(pages).kill()
        _process_of(pages).wait(PATIENCE)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as visitor:
            visitor.sendall(f"GET {ALIVE} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            pages.keep()
            assert visitor.recv(12) == b"HTTP/1.1 200"
        pages.keep()
    assert [(one["event"], one["log_level"], one["status"]) for one in logs] == [
        ("pages ended unexpectedly", "warning", -signal.SIGKILL)
    ]
    assert get(port) == 0


def test_a_taken_address_is_a_warning_and_is_used_when_it_is_free(house: House, port: int):
    with capture_logs() as logs:
        taken = socket.create_server(("127.0.0.1", port))
        with taken, beside(house) as pages:
            pages.keep()
            taken.close()
            pages.keep()
            wait(lambda: get(port) == 200)
    [said] = logs
    assert said["event"] == "pages not served"
    assert f"127.0.0.1:{port}" in said["error"] and "web: off" in said["hint"]


def test_a_login_is_offered_once_pages_are_answered(house: House):
    """Whoever opens the address at once, as people do, would have waited for their process."""
    house.settings["web"] = {"listen": f"127.0.0.1:{free_port()}"}
    service = house.process("serve")
    events = list[str]()
    try:
        assert service.stderr
        for line in service.stderr:
            events.append(json.loads(line)["event"])
            if events[-1] == "log in to the pages":
                break
    finally:
        service.terminate()
        service.communicate(timeout=PATIENCE)
    assert "pages served" in events[:-1]


def test_no_login_is_offered_at_an_address_that_another_program_has(house: House, port: int):
    offered = list[App]()
    service = Service(house.write(), house.clock, TICK, on_pages=offered.append)
    thread = threading.Thread(target=service.run)
    with capture_logs() as logs, socket.create_server(("127.0.0.1", port)) as taken:
        thread.start()
        try:
            wait(lambda: any(one["event"] == "pages not served" for one in logs))
            assert service.serving.wait(PATIENCE)
            assert offered == []
            taken.close()
            wait(lambda: offered)
        finally:
            service.stop()
            thread.join(PATIENCE)
    assert len(offered) == 1


def _process_of(pages: PagesProcess) -> subprocess.Popen[bytes]:
    return cast("subprocess.Popen[bytes]", pages._process)
