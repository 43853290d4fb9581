"""The threads in which the jobs of one kind run: shared fairly, and replaced where they hang.

The pools of `concurrent.futures` cannot

- let a job wait because its host has its share, while later jobs begin,
- give the place of a job that hangs to another one,
- let a process end while a thread waits for a server.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Share:
    """How many jobs run at a time.

    At most `at_once` run, not counting those that hang: that have run for `hangs_after` seconds.
    With those, at most `hanging` more. Jobs of one group have at most half of the places together,
    and so have jobs that hang or did so the last time. `group_of` returns the group of a job by its
    name, None for none.
    """

    at_once: int
    hanging: int = 0
    hangs_after: float = float("inf")
    group_of: Callable[[str], Hashable] = lambda _: None

    @property
    def places(self) -> int:
        return self.at_once + self.hanging

    @property
    def half(self) -> int:
        return self.places // 2


class Pool(BaseExecutor):  # type: ignore[misc]  # APScheduler 3 has no types
    """Runs the jobs of a scheduler in the order in which they were due, as far as `share` allows.

    Its threads end when no job waits. A process may end while they still run.
    """

    def __init__(self, name: str, share: Share, monotonic: Callable[[], float] = time.monotonic):
        super().__init__()
        self._name = name
        self._share = share
        self._monotonic = monotonic
        self._waiting: dict[str, tuple[Job, list[datetime]]] = {}
        self._began: dict[str, float] = {}  # of the jobs that run
        self._slow: set[str] = set()  # jobs that hang, or did so the last time
        self._threads = 0
        self._lacks_thread = False
        self._changed = threading.Condition()

    @property
    def running(self) -> list[str]:
        with self._changed:
            return list(self._began)

    def review(self) -> None:
        """Begin jobs that may run because others now hang.

        No event reports this, so it has to be called again and again.
        """
        with self._changed:
            self._start_thread_if_needed()

    def drop_waiting(self) -> None:
        """Forget the jobs that have not begun."""
        with self._changed:
            self._waiting.clear()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no job runs, at most for `seconds`; return whether none does."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._began, seconds)

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        with self._changed:
            self._waiting[job.id] = job, run_times
            self._start_thread_if_needed()

    def _start_thread_if_needed(self) -> None:
        """Start a thread where a job may begin, unless one is about to take a job."""
        if self._threads > len(self._began) or not self._next():
            return
        try:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        except RuntimeError as fault:  # a limit of the system; `review` tries again
            if not self._lacks_thread:
                log.warning("no thread started", pool=self._name, error=str(fault))
            self._lacks_thread = True
        else:
            self._threads += 1
            self._lacks_thread = False

    def _work(self) -> None:
        """Run one job after another, until none may begin."""
        while entry := self._take():
            job, run_times = entry
            events: list[Any] = []
            try:
                events = run_job(job, job._jobstore_alias, run_times, self._logger.name)
            finally:
                self._end(job.id)
                self._run_job_success(job.id, events)

    def _take(self) -> tuple[Job, list[datetime]] | None:
        with self._changed:
            name = self._next()
            if name is None:
                self._threads -= 1
                return None
            self._began[name] = self._monotonic()
            entry = self._waiting.pop(name)
            self._start_thread_if_needed()
            return entry

    def _end(self, name: str) -> None:
        with self._changed:
            self._slow.discard(name)
            if self._hangs(self._began.pop(name)):
                self._slow.add(name)
            self._changed.notify_all()

    def _next(self) -> str | None:
        """Return the first of the jobs that wait and may begin."""
        share = self._share
        running = self._began.keys()
        hanging = {name for name, began in self._began.items() if self._hangs(began)}
        if len(running) - len(hanging) >= share.at_once or len(running) >= share.places:
            return None
        of_group = Counter(map(share.group_of, running))
        for name in self._waiting:
            if name in self._slow and len(hanging | (self._slow & running)) >= share.half:
                continue
            group = share.group_of(name)
            if group is None or of_group[group] < share.half:
                return name
        return None

    def _hangs(self, began: float) -> bool:
        return self._monotonic() - began >= self._share.hangs_after
