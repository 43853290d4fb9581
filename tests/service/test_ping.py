"""The dead-man's switch: requested while all is well, and never in the way."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from monitor.commands.ping import ping
from monitor.service.jobs import Jobs
from monitor.service.pools import Pool, Share
from monitor.service.scheduler import _Steps
from monitor.setting_types import Secret
from monitor.store.engine import processes
from tests.house import House
from tests.patience import PATIENCE, wait
from tests.servers.web import MisbehavingServer
from tests.service.serve import TICK, serving

PATH = "/push/a-secret-key"


def requests(server: MisbehavingServer) -> list[str]:
    return [f"{asked.method} {asked.target}" for asked in server.requests]


@pytest.mark.parametrize(
    ("path", "up", "down"),
    [
        (PATH, PATH, f"{PATH}/fail"),
        (f"{PATH}/?rid=1", f"{PATH}/?rid=1", f"{PATH}/fail?rid=1"),
        (f"{PATH}?status={{status}}", f"{PATH}?status=up", f"{PATH}?status=down"),
    ],
)
def test_each_state_has_its_address(web: MisbehavingServer, path: str, up: str, down: str) -> None:
    web.answers("*", 200)
    for is_up in (True, False):
        ping(Secret(web.url(path)), is_up=is_up)
    assert requests(web) == [f"GET {up}", f"GET {down}"]


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_refusal_is_logged_without_the_address_and_not_followed(
    web: MisbehavingServer, status: int
) -> None:
    web.answers(PATH, status, headers={"Location": web.url("/elsewhere")})
    with capture_logs() as logs:
        ping(Secret(web.url(PATH)), is_up=True)
    [line] = logs
    assert (line["event"], line["log_level"]) == ("ping failed", "warning")
    assert str(status) in line["error"] and "a-secret-key" not in str(line)
    assert requests(web) == [f"GET {PATH}"]


def test_a_server_that_cannot_be_reached_stops_nothing(web: MisbehavingServer) -> None:
    web.stop()
    with capture_logs() as logs:
        ping(Secret(web.url(PATH)), is_up=True)
    assert [line["event"] for line in logs] == ["ping failed"]


def test_the_service_requests_it(house: House, web: MisbehavingServer) -> None:
    web.answers("*", 200)
    house.settings["ping_url"] = web.url(PATH)
    with serving(house):
        web.wait_for_requests(1)
    assert requests(web) == [f"GET {PATH}"]


def test_it_is_requested_while_all_is_well_and_not_while_a_job_is_overdue(
    house: House, web: MisbehavingServer
) -> None:
    web.answers("*", 200)
    house.settings["ping_url"] = web.url(PATH)
    with house.opened() as app:
        steps = _Steps(app.runtime, TICK, lambda: None)
        steps.ping()  # it has just begun, and there is no sign of life yet
        steps.watch()
        steps.ping()
        with app.runtime.database.writing() as tx:
            for name in processes.signs(tx):
                processes.beat(tx, name, datetime.now(UTC) - timedelta(hours=1))
        steps.ping()
        steps.watch()
        steps.jobs.add("late", lambda: None, TICK, "store", limit=timedelta())
        with capture_logs() as logs:
            steps.ping()
    assert requests(web) == [f"GET {PATH}", f"GET {PATH}/fail"]
    assert [line["jobs"] for line in logs if line["event"] == "jobs overdue"] == [["late"]]


def test_a_job_that_hangs_or_never_begins_is_overdue() -> None:
    now = [0.0]
    held = threading.Event()
    begun = threading.Event()

    def hang() -> None:
        begun.set()
        assert held.wait(PATIENCE)

    jobs = Jobs({"one": Pool("one", Share(1))}, monotonic=lambda: now[0])
    minute = timedelta(minutes=1)
    jobs.add("hangs", hang, minute, "one", limit=timedelta(hours=1))
    jobs.add("waits", lambda: None, minute, "one", limit=timedelta(hours=2))
    jobs.start()
    try:
        assert begun.wait(PATIENCE)
        assert jobs.overdue() == []
        now[0] = 3_601
        assert jobs.overdue() == ["hangs"]
        now[0] = 7_201
        assert jobs.overdue() == ["hangs", "waits"]
        held.set()
        wait(lambda: jobs.overdue() == [])
    finally:
        held.set()
        jobs.stop(PATIENCE)
