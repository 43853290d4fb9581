"""Jobs: woken at any moment they run once more; nobody's slowness takes more than its share."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from monitor.service.jobs import Jobs, _Every
from monitor.service.pools import Pool, Share
from tests.patience import PATIENCE, wait

SELDOM = timedelta(hours=1)
OFTEN = timedelta(milliseconds=20)


class Work:
    """Jobs of a test, which run until they are let go, and count their runs by name."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self._until: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def held(self, name: str) -> Callable[[], None]:
        """Return a job that runs until `let_go`."""
        until = self._until[name] = threading.Event()

        def run() -> None:
            with self._lock:
                self.runs[name] += 1
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
            assert until.wait(PATIENCE)
            with self._lock:
                self.at_once -= 1

        return run

    def brief(self, name: str) -> Callable[[], None]:
        work = self.held(name)
        self.let_go(name)
        return work

    def let_go(self, *names: str) -> None:
        for name in names or self._until:
            self._until[name].set()

    @property
    def running(self) -> int:
        return self.at_once


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.let_go()


@contextmanager
def started(
    pool: Pool, interval: timedelta = SELDOM, **jobs: Callable[[], object]
) -> Iterator[Jobs]:
    result = Jobs({"pool": pool})
    for name, run in jobs.items():
        result.add(name, run, interval, "pool")
    result.start()
    try:
        yield result
    finally:
        result.stop(0)


def test_a_job_that_is_woken_while_it_runs_runs_once_more(work: Work):
    with started(Pool("pool", Share(1)), one=work.held("one")) as jobs:
        wait(lambda: work.running)
        for _ in range(3):
            jobs.wake("one")
        work.let_go()
        wait(lambda: work.runs["one"] == 2 and not work.running)
        assert jobs.stop(PATIENCE) == []
    assert work.runs == {"one": 2}


def test_a_job_that_is_woken_while_it_waits_for_a_thread_runs_once(work: Work):
    pool = Pool("pool", Share(1))
    with started(pool, first=work.held("first"), second=work.brief("second")) as jobs:
        wait(lambda: work.running)
        jobs.wake("second")
        work.let_go()
        wait(lambda: work.runs["second"])
        assert jobs.stop(PATIENCE) == []
    assert work.runs["first"] == 1
    assert work.runs["second"] in (1, 2), "twice if the wake came to the scheduler after the run"


def test_a_job_that_is_woken_at_the_moment_of_its_end_runs_again(work: Work):
    """What it does last is to wake itself: APScheduler still counts it as running."""
    runs = Counter[str]()
    woken = list[Jobs]()

    def last_words() -> None:
        runs["one"] += 1
        if woken and runs["one"] < 50:
            woken[0].wake("one")

    with started(Pool("pool", Share(1)), one=last_words) as jobs:
        woken.append(jobs)
        jobs.wake("one")
        wait(lambda: runs["one"] == 50)


def test_a_job_that_is_woken_and_then_fails_runs_again(work: Work):
    held = work.held("one")

    def fail() -> None:
        held()
        raise RuntimeError("on purpose")

    with started(Pool("pool", Share(1)), one=fail) as jobs:
        wait(lambda: work.running)
        jobs.wake("one")
        work.let_go()
        wait(lambda: work.runs["one"] == 2)


def test_an_interval_that_passes_while_a_job_runs_asks_for_nothing(
    work: Work, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    others = {f"other-{number}": work.brief(f"other-{number}") for number in range(3)}
    with started(Pool("pool", Share(2)), OFTEN, one=work.held("one"), **others) as jobs:
        wait(lambda: work.runs["one"] and work.runs["other-0"] > 5)
        assert work.runs["one"] == 1
        assert "one" in jobs.stop(0)
    assert caplog.records == []


def test_after_years_on_a_clock_that_is_set_a_job_is_due_once():
    """APScheduler's own trigger counts 88 million runs of a clock that began in 1970."""
    trigger = _Every(timedelta(seconds=20))
    now = datetime.now(UTC)
    assert trigger.get_next_fire_time(None, now) == now
    long_ago = datetime(1970, 1, 1, tzinfo=UTC)
    assert trigger.get_next_fire_time(long_ago, now) == now + timedelta(seconds=20)


def test_a_job_that_is_found_an_hour_late_runs_as_after_a_machine_that_slept(work: Work):
    with started(Pool("pool", Share(1)), late=work.brief("late")) as jobs:
        wait(lambda: work.runs["late"] == 1)

        def ran_again() -> bool:
            # A job that has not quite ended is skipped: it is found late once more.
            late = datetime.now(UTC) - timedelta(hours=1)
            jobs._scheduler.modify_job("late", next_run_time=late)
            return work.runs["late"] >= 2

        wait(ran_again)


def test_stopping_waits_for_nobody_who_hangs_and_begins_nothing(work: Work):
    pool = Pool("pool", Share(1))
    with started(pool, first=work.held("first"), second=work.brief("second")) as jobs:
        wait(lambda: work.running)
        [thread] = [thread for thread in threading.enumerate() if thread.name == "pool"]
        assert thread.daemon  # or Python would wait for it at its end
        assert jobs.stop(0) == ["first"]
        jobs.wake("second")
        work.let_go()
        jobs.join()
        thread.join(PATIENCE)
    assert work.runs == {"first": 1}


def test_a_job_whose_turn_comes_while_jobs_are_stopped_does_nothing(work: Work):
    class EndsMeanwhile(Pool):
        """The job that runs ends, and the next one is taken, before those that wait are dropped."""

        def drop_waiting(self) -> None:
            work.let_go("first")
            wait(lambda: not any(thread.name == "pool" for thread in threading.enumerate()))
            super().drop_waiting()

    pool = EndsMeanwhile("pool", Share(1))
    with started(pool, first=work.held("first"), second=work.brief("second")) as jobs:
        wait(lambda: work.running and "second" in pool._waiting)
        assert jobs.stop(0) == []
    assert work.runs == {"first": 1}


def test_threads_are_as_many_as_jobs_run_at_once_and_end_with_them(work: Work):
    many = {f"job-{number}": work.held(f"job-{number}") for number in range(500)}
    with started(Pool("pool", Share(6)), **many):
        wait(lambda: work.running == 6)
        assert sum(thread.name == "pool" for thread in threading.enumerate()) == 6
        work.let_go()
        wait(lambda: len(work.runs) == 500 and not work.running)
        assert work.most_at_once == 6
        wait(lambda: not any(thread.name == "pool" for thread in threading.enumerate()))


def test_one_group_has_half_of_the_places_and_those_after_it_are_not_held_up(work: Work):
    slow = {f"slow-{number}": work.held(f"slow-{number}") for number in range(60)}
    other = {f"other-{number}": work.brief(f"other-{number}") for number in range(10)}
    group_of = dict.fromkeys(slow, "slow.example").get
    with started(Pool("pool", Share(6, group_of=group_of)), **slow, **other):
        wait(lambda: all(work.runs[name] == 1 for name in other))
        assert work.running == 3
        work.let_go()
        wait(lambda: len(work.runs) == 70)


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_jobs_that_hang_give_their_places_to_others(work: Work):
    """Of forty, the first twenty hang; the others run as soon as that is known."""
    time = Time()
    hang = {f"hang-{number}": work.held(f"hang-{number}") for number in range(20)}
    other = {f"other-{number}": work.brief(f"other-{number}") for number in range(20)}
    with started(Pool("pool", Share(8, 32, hangs_after=5), time), **hang, **other) as jobs:
        for running in (8, 16, 20):
            wait(lambda running=running: work.running == running)
            jobs.review()
            time.now += 5
            jobs.review()
        wait(lambda: all(work.runs[name] == 1 for name in other))
        assert work.running == 20


def test_jobs_that_hung_the_last_time_have_half_of_the_places(work: Work):
    time = Time()
    hang = {f"hang-{number}": work.held(f"hang-{number}") for number in range(6)}
    pool = Pool("pool", Share(2, 6, hangs_after=5), time)
    with started(pool, **hang, other=work.brief("other")) as jobs:
        for running in (2, 4, 6):
            wait(lambda running=running: work.running == running)
            time.now += 5
            jobs.review()
        work.let_go()
        wait(lambda: not work.running and work.runs["other"] == 1)
        for name in hang:
            work._until[name].clear()
        for name in hang:
            jobs.wake(name)
        for running in (2, 4, 4):
            wait(lambda running=running: work.running == running)
            time.now += 5
            jobs.review()
        jobs.wake("other")
        wait(lambda: work.runs["other"] == 2)
        assert work.running == 4


def test_where_no_thread_can_be_started_it_is_tried_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = Pool("pool", Share(2))
    with capture_logs() as logs, started(pool, one=work.held("one")) as jobs:
        wait(lambda: work.running)
        with monkeypatch.context() as limited:
            limited.setattr(threading.Thread, "start", refuse)
            jobs.add("two", work.brief("two"), SELDOM, "pool")
            wait(lambda: logs)
            jobs.review()
        assert not work.runs["two"]
        jobs.review()
        wait(lambda: work.runs["two"] == 1)
    assert [entry["event"] for entry in logs] == ["no thread started"]
