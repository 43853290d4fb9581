"""Many machines: replicas of `serve` ask, workers do, and the tables decide."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from monitor.app import App
from monitor.commands.heartbeat import SERVICE, WORKER, living_workers, sign_of_life, vital_signs
from monitor.pipeline import flow
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.ingest import ingest
from monitor.pipeline.match import sync_subscriptions
from monitor.service import workers
from monitor.service.job_queue import Queue, open_queue, prepare
from monitor.service.workers import BATCH_SIZE
from monitor.store.engine.opening import open_store
from tests.fleet import TICK, Fleet, fleet, paper
from tests.house import AGENTS, BANDITS, House
from tests.month import month
from tests.patience import PATIENCE, at_once, wait
from tests.servers import postgres
from tests.servers.smtp import Hold, ScriptedSmtp

pytest.importorskip("procrastinate", reason="WORKERS ARE NOT TESTED: no procrastinate")

from procrastinate import PsycopgConnector

SUBSCRIBERS = 12


@pytest.fixture
def lab(house: House, smtp: ScriptedSmtp, postgres_url: str) -> Iterator[Fleet]:
    with readers(house, smtp, postgres_url, unknown="hold") as made:
        yield made


def readers(
    house: House, smtp: ScriptedSmtp, store: str, **mail: Any
) -> AbstractContextManager[Fleet]:
    """Readers of everything by mail, a digest each morning."""
    house.by_mail(smtp.port, **mail)
    found = house.settings["subscriptions"].pop("lab")
    for number in range(SUBSCRIBERS):
        house.settings["subscriptions"][f"s{number}"] = {**found, "email": [address(number)]}
    house.settings["topics"]["all"] = {"query": "agents OR bandits"}
    house.settings["sources"]["page"]["every"] = "1m"
    house.add("1.txt", AGENTS, BANDITS)
    return fleet(house, store)


def address(number: int) -> str:
    return f"s{number}@example.org"


def enrolled(lab: Fleet) -> None:
    """All are subscribed, and what is there is read, before the first slot."""
    with lab.house.opened() as app:
        app.once.ingest()
        app.once.match()


def subscribed(lab: Fleet) -> None:
    """All are subscribed before the first slot, and nothing is read."""
    with lab.house.opened() as app:
        sync_subscriptions(app.runtime)


def got(smtp: ScriptedSmtp) -> Counter[str]:
    return Counter(mail.recipient for mail in smtp.received)


def everybody(times: int) -> dict[str, int]:
    return {address(number): times for number in range(SUBSCRIBERS)}


def queued(lab: Fleet) -> int:
    return int(lab.ask("SELECT count(*) FROM procrastinate_jobs")[0][0])


def test_replicas_ask_and_workers_do_it_once_while_there_are_some(lab: Fleet, smtp: ScriptedSmtp):
    enrolled(lab)
    at_work = [lab.start("worker") for _ in range(3)]
    wait(lambda: alive(lab) == len(at_work))
    lab.start_all("serve", "serve")
    for day in (1, 2, 3, 4):
        if day == 4:
            assert '"event": "delivery"' not in lab.logged("serve")
            assert {lab.end(worker) for worker in at_work} == {0}
        lab.house.add(f"{day}-more.txt", paper(day))
        lab.move(minutes=2)
        wait(lambda papers=2 + day: lab.has_read(papers))
        lab.move(days=1)
        wait(lambda days=day: sum(got(smtp).values()) >= SUBSCRIBERS * days)
    assert set(lab.stop()) == {0}
    assert got(smtp) == everybody(4)
    assert '"event": "delivery"' in lab.logged("worker")
    assert '"event": "delivery"' in lab.logged("serve")
    assert "Traceback" not in lab.logged("worker") + lab.logged("serve")


def alive(lab: Fleet) -> int:
    with closing(open_store(lab.store)) as store:
        return living_workers(store)


@contextmanager
def at_the_queue(lab: Fleet) -> Iterator[tuple[App, Queue]]:
    with lab.house.opened() as app, open_queue(app.runtime.database) as queue:
        assert queue
        yield app, queue


def rows(lab: Fleet) -> list[int]:
    tables = ("paper", "change", "match", "digest", "delivery", "unsearched", "run")
    return [int(lab.ask(f"SELECT count(*) FROM {table}")[0][0]) for table in tables]


ORDER = [
    Task(Step.INGEST, "page"),
    Task(Step.MATCH),
    Task(Step.COMPOSE),
    Task(Step.COMPOSE_SOME, "0"),
    Task(Step.DELIVER, "smtp"),
    Task(Step.SEARCH),
    Task(Step.CLEAN_UP),
]


def test_a_job_that_runs_twice_does_nothing_the_second_time(lab: Fleet, smtp: ScriptedSmtp):
    subscribed(lab)
    lab.move(days=1)
    with at_the_queue(lab) as (app, queue):
        for task in ORDER:
            flow.do(app.runtime, task, queue.put, BATCH_SIZE)
            once = rows(lab)
            for _ in range(2):
                flow.do(app.runtime, task, queue.put, BATCH_SIZE)
            assert rows(lab) == once, task
    assert got(smtp) == everybody(1)


def test_what_a_configuration_does_not_have_is_nothing_to_do(lab: Fleet):
    with at_the_queue(lab) as (app, queue):
        for step, of in ((Step.INGEST, "gone"), (Step.COMPOSE_SOME, "9"), (Step.DELIVER, "gone")):
            flow.do(app.runtime, Task(step, of), queue.put, BATCH_SIZE)


def test_a_job_that_waits_is_not_asked_for_again(lab: Fleet):
    with at_the_queue(lab) as (_, queue):
        for _ in range(3):
            queue.put(Task(Step.DELIVER, "smtp"))
            queue.put(Task(Step.INGEST, "page"))
    assert queued(lab) == 2


# Where a job comes to a stop: the first table that it writes to.
STOPS = {
    Step.INGEST: "run",
    Step.MATCH: "match",
    Step.COMPOSE_SOME: "digest",
    Step.DELIVER: "delivery",
    Step.SEARCH: "unsearched",
}


@pytest.mark.parametrize("step", STOPS)
def test_a_worker_killed_in_the_middle_of_a_job_leaves_it_to_another(
    lab: Fleet, smtp: ScriptedSmtp, step: Step
):
    """The doomed one begins when the table is locked: it cannot be done before."""
    subscribed(lab)
    lab.move(days=1)
    with at_the_queue(lab) as (app, queue):
        for task in ORDER:
            if task.step is step:
                queue.put(task)
                break
            flow.do(app.runtime, task, queue.put, BATCH_SIZE)
    with lab.locked(STOPS[step]):
        doomed = lab.start("worker")
        wait(lab.is_blocked)
        lab.kill(doomed)
    lab.start("worker")
    replica = lab.start("serve")
    wait(lambda: sum(got(smtp).values()) >= SUBSCRIBERS)
    lab.end(replica)  # the search waits until nothing else is asked for
    with at_the_queue(lab) as (_, queue):
        queue.put(Task(Step.SEARCH))
    wait(lambda: lab.ask("SELECT count(*) FROM unsearched") == [(0,)])
    assert set(lab.stop()) == {0}
    assert got(smtp) == everybody(1)


def at_the_answer(
    lab: Fleet, smtp: ScriptedSmtp, until: threading.Event
) -> subprocess.Popen[bytes]:
    """Return a worker that waits, until the event, for the answer to its first mail."""
    enrolled(lab)
    smtp.script["dot"].append(Hold(until, "250 2.0.0 ok"))
    worker = lab.start("worker")
    wait(lambda: alive(lab) == 1)
    lab.start("serve")
    lab.move(days=1)
    assert smtp.held.wait(PATIENCE)
    return worker


def test_a_worker_killed_after_the_last_byte_leaves_one_unknown(lab: Fleet, smtp: ScriptedSmtp):
    until = threading.Event()
    lab.kill(at_the_answer(lab, smtp, until))
    until.set()
    lab.start("worker")
    states = "SELECT state, count(*) FROM delivery GROUP BY state ORDER BY state"
    wait(lambda: lab.ask(states) == [("sent", SUBSCRIBERS - 1), ("unknown", 1)])
    assert set(lab.stop()) == {0}
    assert sum(got(smtp).values()) in (SUBSCRIBERS - 1, SUBSCRIBERS)
    assert max(got(smtp).values()) == 1


def test_the_jobs_of_a_dead_worker_are_taken_up_again(lab: Fleet):
    """Nothing asks anew here: without replicas, only what the dead one was at is left."""
    subscribed(lab)
    doomed = lab.start("worker")
    wait(lambda: alive(lab) == 1)
    with lab.locked("match"):
        with at_the_queue(lab) as (app, queue):
            ingest(app.runtime, "page")
            queue.put(Task(Step.MATCH))
        wait(lab.is_blocked)
        lab.kill(doomed)
    lab.ask("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    assert queued(lab) == 1
    lab.start("worker")
    wait(lambda: queued(lab) == 0)
    assert set(lab.stop()) == {0}
    assert "worker died during a job" in lab.logged("worker")


def test_K14_a_worker_finishes_the_hand_off_and_ends_with_0(lab: Fleet, smtp: ScriptedSmtp):
    """`serve` goes on with the rest as soon as there is no worker: only the worker's is judged."""
    until = threading.Event()
    ending = at_the_answer(lab, smtp, until)
    [(handed, owner)] = lab.ask("SELECT id, owner FROM delivery WHERE state = 'handing_off'")
    ending.send_signal(signal.SIGTERM)
    wait(lambda: "finishing work in progress" in lab.logged("worker"))
    until.set()
    assert ending.wait(PATIENCE) == 0
    assert lab.ask(f"SELECT state FROM delivery WHERE id = {handed}") == [("sent",)]
    assert lab.ask(f"SELECT id FROM delivery WHERE owner = '{owner}'") == []
    assert lab.logged("worker").count('"event": "delivery"') == 1
    assert alive(lab) == 0
    states = "SELECT state, count(*) FROM delivery GROUP BY state"
    wait(lambda: lab.ask(states) == [("sent", SUBSCRIBERS)])
    assert got(smtp) == everybody(1)


class Deaf(PsycopgConnector):
    """Loses each cancellation, as `asyncio.wait_for` may until Python 3.12, and goes on."""

    asked = threading.Event()
    free = threading.Event()

    async def execute_query_all_async(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        waiting = asyncio.create_task(asyncio.to_thread(self.free.wait, PATIENCE))
        self.asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(waiting)
        await waiting
        return await super().execute_query_all_async(query, **arguments)


def test_a_worker_ends_though_a_cancellation_is_lost(lab: Fleet, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("procrastinate.PsycopgConnector", Deaf)
    subscribed(lab)
    worker = workers.Worker(lab.house.config, lab.house.clock, timedelta(seconds=TICK))
    running = threading.Thread(target=worker.run, daemon=True)
    running.start()
    assert Deaf.asked.wait(PATIENCE)
    worker.stop()
    Deaf.free.set()
    running.join(30)
    assert not running.is_alive()


@contextmanager
def on_own_server(server: str, folder: Path, smtp: ScriptedSmtp) -> Iterator[Fleet]:
    postgres.execute(server, "CREATE DATABASE lab")
    with readers(House(folder), smtp, f"{server}/lab", unknown="hold") as lab:
        enrolled(lab)
        yield lab


def test_a_database_that_restarts_in_the_middle_loses_and_repeats_nothing(
    tmp_path: Path, smtp: ScriptedSmtp
):
    """Mails are held after their last byte, the server drops every connection, and all go on."""
    until = threading.Event()
    smtp.script["dot"].append(Hold(until, "250 2.0.0 ok"))
    count = "SELECT count(*) FROM delivery WHERE state IN"
    with postgres.server() as server, on_own_server(server, tmp_path, smtp) as lab:
        lab.start_all("worker", "worker", "serve", "serve")
        wait(lambda: alive(lab) == 2)
        lab.move(days=1)
        assert smtp.held.wait(PATIENCE)
        postgres.restart(lab.store)
        until.set()
        wait(lambda: lab.ask(f"{count} ('sent', 'unknown', 'retry')") == [(SUBSCRIBERS,)])
        # A hand-off that could not be recorded was not made; it is retried within an hour.
        lab.move(hours=2)
        wait(lambda: len(got(smtp)) == SUBSCRIBERS)
        wait(lambda: lab.ask(f"{count} ('sent', 'unknown')") == [(SUBSCRIBERS,)])
        lab.move(days=1)
        lab.house.add("2.txt", paper(2))
        wait(lambda: lab.has_read(3))
        lab.move(days=1)
        wait(lambda: sum(got(smtp).values()) >= 2 * SUBSCRIBERS)
        assert set(lab.stop()) == {0}
    assert got(smtp) == everybody(2)


def test_a_database_that_is_down_for_a_while_is_two_lines_in_each_log(
    tmp_path: Path, smtp: ScriptedSmtp
):
    kinds = ("worker", "serve")
    with postgres.server() as server, on_own_server(server, tmp_path, smtp) as lab:
        lab.start_all(*kinds)
        wait(lambda: alive(lab) == 1)
        with postgres.stopped(server):
            wait(lambda: all("store unavailable" in lab.logged(kind) for kind in kinds))
            threading.Event().wait(8 * TICK)
        wait(lambda: all("available again" in lab.logged(kind) for kind in kinds))
        lab.move(days=1)
        wait(lambda: sum(got(smtp).values()) >= SUBSCRIBERS)
        assert set(lab.stop()) == {0}
    for kind in kinds:
        lines = [json.loads(line) for line in lab.logged(kind).splitlines()]
        loud = [line["event"] for line in lines if line["level"] != "info"]
        # A job that was under way when the server stopped is taken over, and that is logged.
        outage = [event for event in loud if event != "worker died during a job"]
        assert outage == ["store unavailable", "store available again"], kind


def steps(log: Sequence[EventDict]) -> list[str]:
    return [entry["step"] for entry in log if entry["event"] == "queue brought up to date"]


def test_the_queue_is_made_once_however_many_begin(postgres_url: str):
    def begin() -> None:
        with closing(open_store(postgres_url)) as store:
            prepare(store)

    with capture_logs() as log:
        at_once(*[begin] * 4)
    assert steps(log) == ["schema"]


def test_a_queue_of_an_older_version_takes_the_steps_that_it_lacks(postgres_url: str):
    step = "03.04.00_50_post_add_retry_failed_job_procedure.sql"
    with closing(open_store(postgres_url)) as store:
        prepare(store)
        with store.writing() as tx:
            tx.exec_driver_sql("DELETE FROM procrastinate_applied WHERE name = %s", (step,))
        with capture_logs() as log:
            prepare(store)
            prepare(store)
    assert steps(log) == [step]


def test_a_store_of_one_machine_has_no_workers(house: House):
    said = house.command("worker")
    assert said.status == 2
    assert "postgresql+psycopg://" in said.err
    assert "paper-monitor serve" in said.err


def test_without_the_extra_it_says_what_to_install(
    lab: Fleet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    worker = workers.Worker(lab.house.config, lab.house.clock)
    with pytest.raises(Exception, match=r"'\.\[scale\]'"):
        worker.run()


def test_a_worker_lives_while_it_ticks(lab: Fleet):
    with lab.house.opened() as app:
        store = app.runtime.database
        assert [check.ok for check in vital_signs(store)] == [True, False]
        sign_of_life(store, WORKER)
        assert [(check.name, check.ok) for check in vital_signs(store)][1:] == [("worker", True)]
        sign_of_life(store, SERVICE)
        assert [check.name for check in vital_signs(store)][1:] == ["serve", "worker"]
        assert living_workers(store) == 1


def test_two_days_with_processes_killed_at_random_tell_each_reader_once(
    tmp_path: Path, postgres_url: str
):
    result = month(tmp_path, postgres_url, days=2, seed=3)
    assert result.kills.total() >= 6
    assert (result.lost, result.repeated, result.unannounced) == (set(), set(), 0)
    assert set(result.arrived) == result.due
