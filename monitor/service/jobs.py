"""Jobs that run at intervals and when they are asked for, on APScheduler.

The store knows what is due, so a job that runs too early does nothing, and runs never pile up. What
APScheduler 3 lacks is added here: see docs/decisions/0005-clock.md.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobExecutionEvent
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from monitor.service.pools import Pool

# The longest time for which a job may run, or wait for a thread, before it is overdue.
LIMIT = timedelta(hours=1)


class _Every(BaseTrigger):  # type: ignore[misc]  # APScheduler 3 has no types
    """Due an interval after the last run, whatever the clock was set to meanwhile.

    APScheduler's own trigger goes from one due time to the next. After a clock that was set ahead
    by years, as that of a computer without a battery is, it would count millions of them.
    """

    def __init__(self, interval: timedelta) -> None:
        self._interval = interval

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        return now if previous is None else now + self._interval


class Jobs:
    """The jobs of one configuration, each by its name, in pools of threads.

    A job never runs twice at a time. One that is woken while it runs, or waits for a thread, runs
    once more when it ends: what it was woken for may have come too late for that run.
    """

    def __init__(
        self, pools: Mapping[str, Pool], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        # It logs each run at INFO, and warns of each that a running job makes it skip.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._pools = pools
        self._stopping = threading.Event()
        self._woken: set[str] = set()
        self._names: list[str] = []
        self._monotonic = monotonic
        # When each job should have ended at the latest: since it began, or since its last end.
        self._end_by: dict[str, float] = {}
        self._limits: dict[str, timedelta] = {}
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors=dict(pools),
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        self._scheduler.add_listener(self._on_end, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)

    def add(
        self,
        name: str,
        work: Callable[[], object],
        interval: timedelta,
        pool: str,
        limit: timedelta = LIMIT,
    ) -> None:
        """Add a job that runs at the start, then after each interval.

        It is overdue when it runs for longer than `limit`, or does not begin in this time.
        """
        self._names.append(name)
        self._limits[name] = limit
        self._end_by[name] = self._after(limit)
        self._scheduler.add_job(
            partial(self._run, name, work, interval),
            _Every(interval),
            id=name,
            executor=pool,
            next_run_time=datetime.now(UTC),
        )

    def start(self) -> None:
        self._scheduler.start()

    def wake(self, name: str) -> None:
        """Run a job now, or once more as soon as it ends."""
        self._woken.add(name)
        self._run_now(name)

    def wake_all(self) -> None:
        """Run all jobs now: the clock by which they wait was set."""
        for name in self._names:
            self._run_now(name)

    def overdue(self) -> list[str]:
        """Return the jobs that have not begun or not ended in their time."""
        now = self._monotonic()
        return [name for name, end_by in self._end_by.items() if end_by < now]

    def review(self) -> None:
        """Let jobs begin that waited for one which turned out to hang."""
        for pool in self._pools.values():
            pool.review()

    def stop(self, seconds: float) -> list[str]:
        """Begin no more jobs; return those that still run after `seconds`.

        APScheduler's `shutdown` would wait for them under a lock which they need to wake others.
        """
        self._stopping.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        for pool in self._pools.values():
            pool.drop_waiting()
        until = time.monotonic() + seconds
        unfinished = [
            pool
            for pool in self._pools.values()
            if not pool.wait(max(until - time.monotonic(), 0.0))
        ]
        return [name for pool in unfinished for name in pool.running]

    def join(self) -> None:
        """Wait for the jobs that `stop` did not see to their end."""
        for pool in self._pools.values():
            pool.wait()

    def _run(self, name: str, work: Callable[[], object], interval: timedelta) -> None:
        self._woken.discard(name)  # before it looks, or what comes then would be forgotten
        limit = self._limits[name]
        self._end_by[name] = self._after(limit)
        try:
            if not self._stopping.is_set():
                work()
        finally:
            self._end_by[name] = self._after(interval + limit)

    def _after(self, span: timedelta) -> float:
        return self._monotonic() + span.total_seconds()

    def _on_end(self, event: JobExecutionEvent) -> None:
        if event.job_id in self._woken:
            self._run_now(event.job_id)

    def _run_now(self, name: str) -> None:
        with suppress(JobLookupError):  # the scheduler was stopped meanwhile
            self._scheduler.modify_job(name, next_run_time=datetime.now(UTC))
