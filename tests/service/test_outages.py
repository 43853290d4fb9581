"""An outage is a line when it begins and a line when it ends, whatever fails meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from monitor.app import App, load_settings
from monitor.errors import MonitorError, StoreBusyError, StoreError
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline.incidents import note_outage
from monitor.pipeline.runtime import Runtime
from monitor.service.outages import Outages
from monitor.service.process import Running
from monitor.store.digests import incidents
from monitor.store.engine.database import Database
from tests.house import AGENTS, House
from tests.patience import PATIENCE, wait
from tests.servers.smtp import ScriptedSmtp
from tests.service.serve import serving

BEGUN = ("store unavailable", "warning")
ENDED = ("store available again", "warning")


QUIET = ("debug", "info")


def loud(logs: list[Any]) -> list[tuple[str, str]]:
    return [(one["event"], one["log_level"]) for one in logs if one["log_level"] not in QUIET]


@pytest.fixture
def runtime(house: House) -> Iterator[Runtime]:
    with house.opened() as app:
        yield app.runtime


@pytest.fixture
def outages(runtime: Runtime) -> Outages:
    return Outages(runtime)


def test_a_store_that_is_down_is_one_outage_of_all_jobs(
    house: House, runtime: Runtime, outages: Outages
):
    began = house.clock.at
    with capture_logs() as logs:
        for _ in range(50):
            for job in ("watch", "compose", "line smtp"):
                outages.record_failure(job, StoreError("the server is gone"))
        house.clock.move(seconds=45)
        outages.record_success("watch")
        outages.record_success("line smtp")
        outages.record_failure("compose", StoreBusyError("the store is busy"))
        assert len(loud(logs)) == 1
        outages.record_success("compose")
    assert loud(logs) == [BEGUN, ENDED]
    assert (logs[1]["failures"], logs[1]["error"]) == (151, "the server is gone")
    with runtime.database.reading() as tx:
        [told] = incidents.unnotified(tx)
    assert (told.subject, told.since) == (Subject(SubjectKind.STORE), began)


def test_a_job_that_comes_seldom_does_not_keep_an_outage_open(outages: Outages):
    with capture_logs() as logs:
        with outages.watch("upkeep", seen_by="watch"):
            raise StoreError("the server is gone")
        with outages.watch("watch"):
            pass
    assert loud(logs) == [BEGUN, ENDED]


def test_a_job_of_the_outage_that_fails_after_its_end_begins_no_other(outages: Outages):
    with capture_logs() as logs:
        with outages.watch("compose"):  # began before the outage, and fails after it
            outages.record_failure("watch", StoreError("the server is gone"))
            outages.record_success("watch")
            raise StoreError("the connection is lost")
        with outages.watch("compose"):
            raise StoreError("the server is gone again")
    over = ("job failed in the outage that is over", "info")
    assert [(line["event"], line["log_level"]) for line in logs] == [BEGUN, ENDED, over, BEGUN]


def test_what_nobody_foresaw_has_a_traceback_once_and_what_was_has_none(outages: Outages):
    with capture_logs() as logs:
        for fault in (ValueError("a fault of ours"), MonitorError("foreseen")):
            for _ in range(3):
                with outages.watch("compose"):
                    raise fault
        for _ in range(3):
            with outages.watch("compose"):
                pass
    traced = [(line["event"], line.get("exc_info")) for line in logs]
    assert traced[:2] == [("job failed", True), ("job failed", False)]
    assert traced[2:] == [("job works again", None)] * 2


def test_a_service_whose_store_refuses_logs_two_lines_and_tells_the_operator_once(
    house: House, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
):
    house.by_mail(smtp.port)
    house.settings["operator"] = {"email": "ops@example.org"}
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.add("1.txt", AGENTS)
    refuses = threading.Event()
    refused = Counter[str]()
    begin = Database.writing

    def writing(self: Database) -> Any:
        if refuses.is_set():
            refused["writes"] += 1
            raise StoreError("monitor.db cannot grow: the disk is full")
        return begin(self)

    monkeypatch.setattr(Database, "writing", writing)
    with capture_logs() as logs, serving(house):
        wait(lambda: any(one["event"] == "delivery" for one in logs))  # its outcome is stored
        refuses.set()
        wait(lambda: refused["writes"] > 50)
        house.clock.move(minutes=5)
        refuses.clear()
        wait(lambda: len(smtp.received) == 2)
    assert loud(logs) == [BEGUN, ENDED]
    assert b"Subject: The store was unavailable" in smtp.received[1].content
    assert smtp.received[1].recipient == "ops@example.org"


def test_a_store_that_was_away_for_a_moment_is_nothing_for_the_operator(house: House):
    with house.opened() as app:
        note_outage(app.runtime, house.clock.at - timedelta(seconds=5), "gone")
        note_outage(app.runtime, house.clock.at - timedelta(minutes=5), "gone")
        note_outage(app.runtime, house.clock.at - timedelta(minutes=4), "gone")
        with app.runtime.database.reading() as tx:
            assert [one.subject for one in incidents.unnotified(tx)] == [Subject(SubjectKind.STORE)]


def test_a_shutdown_and_a_changed_configuration_can_be_distinguished(house: House):
    with capture_logs() as logs, serving(house) as service:
        assert service.serving.wait(PATIENCE)
        house.settings["topics"]["bandits"] = {"query": "bandits"}
        house.write()
        wait(lambda: [one["event"] for one in logs].count("serving") == 2)
    result = [one for one in logs if one["event"] in ("finishing work in progress", "stopped")]
    assert [one.get("because") for one in result] == ["changed configuration", "shutdown", None]


@pytest.mark.parametrize("was_in_use", [True, False])
def test_only_a_change_that_never_worked_is_taken_back(house: House, was_in_use: bool):
    class Failing(Running):
        attempts = 0

        def work(self, app: App) -> None:
            self.attempts += 1
            if self.attempts == 1 or was_in_use:
                self._serve(app)
            if self.attempts > 1:
                raise StoreError("the store is gone")
            self._settings = load_settings(self.path)

    failing = Failing(house.write(), house.clock)
    with pytest.raises(StoreError):
        failing.run()
    assert failing.attempts == (2 if was_in_use else 3)


def test_a_command_does_not_log_what_it_shows(house: House, tmp_path: Path):
    house.settings["sources"]["gone"] = {"kind": "feed", "path": "nowhere/*.xml"}
    said = house.command("ingest")
    assert said.status == 1
    assert "source read" not in said.err
    assert said.err.count("there is no folder") == 1
