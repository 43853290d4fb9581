"""`serve`: what is due goes out at each reader's own time, once; it ends cleanly."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from monitor import config
from monitor.commands.heartbeat import SERVICE, vital_signs
from monitor.commands.status import status
from monitor.errors import ConfigError, StoreError
from monitor.model import DeliveryState
from monitor.pipeline.flow import Step, Task
from monitor.service.scheduler import FIRST_LOOK, FOLDER_READERS, FirstLook, Service, _Steps
from monitor.store.digests import deliveries, digests
from monitor.store.engine import processes
from monitor.store.sources import runs
from tests.house import AGENTS, BANDITS, House
from tests.patience import PATIENCE, wait
from tests.servers.smtp import Hold, ScriptedSmtp
from tests.service.serve import TICK, serving

SECOND = (AGENTS[0] + " and Apart", BANDITS[1] + " With a language agent.")


def test_a_changed_file_is_taken_up_and_a_faulty_one_is_not(house: House):
    house.add("1.txt", AGENTS)
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["topics"] = {"proteins": {"query": "proteins"}}
    with house.opened() as app, serving(house) as service:
        assert service.serving.wait(PATIENCE)
        house.config.write_text("topics: [", encoding="utf-8")
        wait(lambda: status(app.runtime).problems)
        assert "configuration has been faulty" in status(app.runtime).problems[0].text
        house.settings["topics"]["agents"] = {"query": "agents"}
        house.write()
        wait(lambda: len(list(house.folder.glob("pages/lab/*.html"))) == 1)
        wait(lambda: not status(app.runtime).problems)


def test_half_of_a_file_that_is_being_written_is_not_taken_up(house: House):
    whole = house.write().read_text("utf-8")
    service = Service(house.config, house.clock, TICK)
    service._read = config.watch(house.config)
    service._settings = config.load(house.config)
    with house.opened() as app:
        for written in ("sources: {}\n", whole, "topics: {}\n", whole):
            house.config.write_text(written, encoding="utf-8")
            service._reload(app)
        assert not service._wake.is_set()
        house.config.write_text("sources: {}\n", encoding="utf-8")
        service._reload(app)
        assert not service._wake.is_set()
        service._reload(app)
    assert service._wake.is_set()


def test_D06_five_hundred_due_in_the_same_second_are_all_sent_theirs(
    house: House, smtp: ScriptedSmtp
):
    house.by_mail(smtp.port)
    lab = house.settings["subscriptions"].pop("lab")
    for number in range(500):
        house.settings["subscriptions"][f"reader-{number}"] = {
            **lab,
            "email": [f"reader-{number}@example.org"],
        }
    house.add("1.txt", AGENTS)
    house.run()
    assert smtp.received == []
    house.clock.move(days=1)
    with serving(house):
        wait(lambda: len(smtp.received) == 500)
    assert set(Counter(mail.recipient for mail in smtp.received).values()) == {1}
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert deliveries.counts(tx) == {DeliveryState.SENT: 500}


@pytest.fixture
def at_once(house: House, smtp: ScriptedSmtp) -> House:
    """A house that mails each paper as soon as it is read; the first one waits for the service."""
    house.by_mail(smtp.port)
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["sources"]["page"]["every"] = "1m"
    house.add("1.txt", AGENTS)
    house.write()
    return house


def test_X21_a_job_that_waits_for_a_thread_is_not_missed_and_runs_once(house: House):
    """With folders that keep all threads waiting, one more is read after them."""
    page = house.settings["sources"].pop("page")
    house.settings["sources"] = {f"page-{number}": page for number in range(FOLDER_READERS + 1)}
    house.write()
    until = threading.Event()
    read = Counter[str]()

    class Jobs(_Steps):
        def _ingest(self, source: str) -> None:
            until.wait(PATIENCE)
            read[source] += 1

    with house.opened() as app:
        jobs = Jobs(app.runtime, timedelta(hours=1), lambda: None)
        jobs.start()
        until.set()
        wait(lambda: len(read) == FOLDER_READERS + 1)
        jobs.stop()
    assert set(read.values()) == {1}


def test_a_job_that_is_woken_while_it_runs_runs_once_more(at_once: House, smtp: ScriptedSmtp):
    """What is composed during a delivery does not wait for the next tick, which is an hour away."""
    until = threading.Event()
    smtp.script["dot"].append(Hold(until, "250 2.0.0 queued"))
    with at_once.opened() as app:
        jobs = _Steps(app.runtime, timedelta(hours=1), lambda: None)
        jobs.start()
        try:
            assert smtp.held.wait(PATIENCE)
            at_once.add("2.txt", SECOND)
            at_once.clock.move(hours=1)
            app.once.ingest()
            app.once.match()
            jobs._follow(Task(Step.COMPOSE_SOME, "0"))
            until.set()
            wait(lambda: len(smtp.received) == 2)
        finally:
            until.set()
            jobs.stop()


def test_a_faulty_file_at_the_start_is_refused(house: House):
    house.settings["topics"]["agents"]["query"] = "(("
    with pytest.raises(ConfigError):
        Service(house.write(), house.clock, TICK).run()


def test_K15_a_second_service_on_one_store_stands_by_says_so_and_takes_over(
    at_once: House, smtp: ScriptedSmtp
):
    with ExitStack() as stack, capture_logs() as logs:
        first = stack.enter_context(serving(at_once))
        assert first.serving.wait(PATIENCE)
        second = stack.enter_context(serving(at_once))
        wait(lambda: any(entry["event"] == "standing by" for entry in logs))
        wait(lambda: len(smtp.received) == 1)
        assert not second.serving.is_set()
        first.stop()
        assert second.serving.wait(PATIENCE)
        at_once.add("2.txt", SECOND)
        at_once.clock.move(hours=1)
        wait(lambda: len(smtp.received) == 2)
    assert len(smtp.received) == 2


@contextmanager
def in_a_hand_off(house: House, smtp: ScriptedSmtp) -> Iterator[subprocess.Popen[str]]:
    """A service that waits for the answer to a mail; it comes at the end."""
    until = threading.Event()
    smtp.script["dot"].append(Hold(until, "250 2.0.0 queued"))
    process = house.process("serve")
    try:
        assert smtp.held.wait(PATIENCE)
        yield process
    finally:
        until.set()


def test_K14_sigterm_finishes_the_hand_off_and_ends_with_0(at_once: House, smtp: ScriptedSmtp):
    with in_a_hand_off(at_once, smtp) as process:
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert at_once.states() == [DeliveryState.SENT]
    assert len(smtp.received) == 1


def _are_caught(pid: int, *numbers: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [caught] = re.findall(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return any(int(caught, 16) >> (number - 1) & 1 for number in numbers)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_X09_a_second_signal_ends_it_at_once(
    at_once: House, smtp: ScriptedSmtp, second: signal.Signals
):
    with in_a_hand_off(at_once, smtp) as process:
        process.send_signal(signal.SIGTERM)
        wait(lambda: not _are_caught(process.pid, signal.SIGTERM, signal.SIGINT))
        process.send_signal(second)
        assert process.wait(PATIENCE) == -second
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert at_once.states() == [DeliveryState.HANDING_OFF]


@pytest.mark.parametrize("how", ["deleted", "replaced", "put back"])
def test_a_service_whose_store_is_gone_sends_nothing_and_says_so(
    at_once: House, smtp: ScriptedSmtp, on_sqlite: None, how: str
):
    """Its connection would write into the deleted file: all that it recorded as sent is lost."""
    store = at_once.folder / "data" / "monitor.db"
    with capture_logs() as logs, serving(at_once):
        wait(lambda: len(smtp.received) == 1)
        away = store.rename(store.with_name("away.db"))
        if how == "replaced":
            shutil.copyfile(away, store)
        at_once.add("2.txt", SECOND)
        at_once.clock.move(hours=1)
        wait(lambda: any(entry["event"] == "store unavailable" for entry in logs))
        alive = at_once.command("doctor", "--alive")
        assert (alive.status == 1) is (how != "replaced")
        if how == "put back":
            away.rename(store)
            wait(lambda: len(smtp.received) == 2)
    assert len(smtp.received) == 1 + (how == "put back")
    lost = [entry for entry in logs if entry["event"] == "store unavailable"]
    assert len(lost) == 1
    assert "monitor.db was" in lost[0]["error"]
    if how == "deleted":
        assert not store.exists()


def test_the_store_is_looked_at_before_each_hand_off(
    house: House, smtp: ScriptedSmtp, on_sqlite: None
):
    """The message stands ready when the store is deleted: its final dot is not sent."""
    house.by_mail(smtp.port)
    house.make_due()
    store = house.folder / "data" / "monitor.db"
    until = threading.Event()
    smtp.script["data"].append(Hold(until, "354 go on"))
    with house.opened() as app, ThreadPoolExecutor(1) as thread:
        sending = thread.submit(app.once.digest)
        try:
            assert smtp.held.wait(PATIENCE)
            store.rename(store.with_name("away.db"))
            app.runtime.stopping.set()
        finally:
            until.set()
        assert isinstance(sending.exception(PATIENCE), StoreError)  # nor is the outcome recorded
    assert smtp.received == []


def test_the_service_lives_while_it_ticks(house: House):
    with serving(house) as service:
        assert service.serving.wait(PATIENCE)
        with house.opened() as app:
            wait(lambda: all(check.ok for check in vital_signs(app.runtime.database)))
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert processes.signs(tx) == {}  # it has ended as it should, and is not missed


def test_after_days_of_being_down_the_digest_waits_for_the_first_reading(house: House):
    house.run()
    house.clock.move(days=3)
    house.add("1.txt", AGENTS)
    with serving(house):
        wait(lambda: list(house.folder.glob("pages/lab/*.html")))
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert digests.count(tx, "lab") == 1
    assert house.digest().papers == 1


def test_news_waits_until_guarded_libraries_were_looked_at(house: House):
    (house.folder / "refs.jsonl").write_text(json.dumps({"title": AGENTS[0]}), encoding="utf-8")
    library = {"kind": "jsonl", "path": "refs.jsonl", "role": "library"}
    house.settings["sources"]["refs"] = library
    house.settings["subscriptions"]["lab"]["guard"] = "refs"
    house.add("1.txt", AGENTS)
    with house.opened() as app:
        jobs = _Steps(app.runtime, TICK, lambda: None)
        looked_at = ("page", set()), ("refs", {"refs"}), ("page", {"refs", "page"})
        for source, read in looked_at:
            jobs._ingest(source)
            with app.runtime.database.reading() as tx:
                assert {"page", "refs"} - jobs.first_look.awaited == read
                assert {name for name in read if runs.last_start(tx, name)} == read


def test_a_mail_server_that_keeps_us_waiting_holds_up_nothing_else(
    at_once: House, smtp: ScriptedSmtp
):
    files = {"topics": ["*"], "channels": ["pages"], "schedule": "immediately"}
    at_once.settings["subscriptions"]["files"] = files
    until = threading.Event()
    smtp.script["dot"].append(Hold(until, "250 2.0.0 ok"))
    with serving(at_once):
        try:
            assert smtp.held.wait(PATIENCE)
            at_once.add("2.txt", SECOND)
            at_once.clock.move(hours=1)
            wait(lambda: len(list(at_once.folder.glob("pages/files/*.html"))) == 2)
        finally:
            until.set()


def test_status_tells_of_a_service_that_died_and_a_slot_that_nobody_composed(house: House):
    house.run()
    assert house.problems() == ()
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, datetime.now(UTC) - timedelta(days=5))
    house.clock.move(days=2)
    found = "\n".join(house.problems())
    assert "no sign of life" in found and "digest of lab was due" in found


def test_a_changed_configuration_waits_for_new_libraries_alone():
    time = [0.0]
    look = FirstLook(lambda: time[0])
    look.begin(["page", "refs"], ["refs"])
    assert look.awaited == {"page", "refs"}
    look.end("refs")
    look.begin(["page", "refs", "slow", "thesis"], ["refs", "thesis"])
    assert look.awaited == {"page", "thesis"}
    time[0] += FIRST_LOOK
    assert look.awaited == set()
    look.begin(["page", "refs"], ["refs"])
    assert look.awaited == set()
