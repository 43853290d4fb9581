"""`serve`: a tick only wakes the pipeline; due times, claims and outcomes live in the store.

every tick   read each source whose time has come
             match, and compose what is due
             deliver what is open, each outage group by itself
             look whether the configuration changed; beat

On PostgreSQL any number of replicas may run, since the tables decide; while there are workers,
each of these is a job of theirs (see `service/workers.py`), and a replica only queues it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog

from monitor.app import App
from monitor.commands.heartbeat import SERVICE, end_of_life, living_workers, sign_of_life
from monitor.errors import StoreBusyError, StoreError
from monitor.model import Clock
from monitor.pipeline import flow
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.ingest import is_due
from monitor.service.job_queue import Queue, open_queue
from monitor.service.outages import outages_of
from monitor.service.pages_process import PagesProcess
from monitor.service.process import TICK, Running
from monitor.service.slack_listener import listening
from monitor.store.engine.database import Database
from monitor.store.engine.locks import Lock, is_source_locked, service_lock

log = structlog.get_logger()

CLEAN_UP = timedelta(hours=6)
READERS = 4
# Seconds that digests wait for the first look at every source after a start.
FIRST_LOOK = 600

WATCH = "watch"
COMPOSE = "compose"
DELIVER = "deliver "


class Service(Running):
    """The running service; while another one serves the same SQLite store, it stands by."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        tick: timedelta = TICK,
        *,
        with_pages: bool = True,
        on_pages: Callable[[App], None] | None = None,
    ) -> None:
        super().__init__(path, clock, tick, on_pages)
        self.with_pages = with_pages

    def run(self) -> None:
        """Serve, and until the place is free stand by, with nothing open: then take it over."""
        is_logged = False
        while True:
            try:
                super().run()
                return
            except StoreBusyError as fault:
                if not is_logged:
                    log.warning("standing by", reason=str(fault))
                is_logged = True
            if self._stopping.wait(self.tick.total_seconds()):
                return

    def work(self, app: App) -> None:
        database = app.runtime.database
        with _lock(database) as lock, open_queue(database) as queue, ExitStack() as stack:
            jobs = _Jobs(app, self.clock, self.tick, lambda: self._look(app, lock), queue)
            jobs.run_due()
            pages = self._start_pages(app, stack)
            if app.settings.slack and app.settings.slack.app_token:
                stack.enter_context(listening(app.settings.slack, app.runtime))
            self._announce(app)
            while not self._wake.wait(self.tick.total_seconds()):
                jobs.run_due()
                if pages:
                    pages.keep()
            log.info("finishing work in progress", because=self._reason())
            jobs.stop()
            with suppress(StoreError):
                end_of_life(database, SERVICE)

    def _start_pages(self, app: App, stack: ExitStack) -> PagesProcess | None:
        """Start the process of the pages, if there shall be any, until `stack` is closed."""
        if not self.with_pages or app.settings.web is None:
            return None
        pages = PagesProcess(app.settings, app.settings.web, self.clock)
        stack.callback(pages.end)
        pages.keep()
        self._announce_pages(app)
        return pages

    def _look(self, app: App, lock: Lock | None) -> None:
        """Keep the lock, or stop when another service has it; take up a changed file."""
        try:
            if lock:
                lock.keep()
        except StoreBusyError as fault:
            log.error("another service has taken over", error=str(fault))
            self.stop()
            return
        self._reload(app)


def _lock(database: Database) -> AbstractContextManager[Lock | None]:
    """Return the lock of a SQLite store, which one service may use; PostgreSQL needs none."""
    return nullcontext() if database.path is None else service_lock(database)


@dataclass(slots=True)
class _Job:
    """A function to run every `interval` seconds on one of the threads of `pool`.

    `due_at` is a time of the monotonic clock: the wall clock may be set. `is_queued` is true until
    a run has ended, and `is_woken` asks for one more after it.
    """

    run: Callable[[], None]
    pool: ThreadPoolExecutor
    interval: float
    due_at: float = 0.0
    is_queued: bool = False
    is_woken: bool = False


class _Jobs:
    """The jobs of one configuration. They never pile up: the store knows what is due."""

    def __init__(
        self,
        app: App,
        clock: Clock,
        tick: timedelta,
        look: Callable[[], None],
        queue: Queue | None = None,
    ) -> None:
        self.runtime = app.runtime
        self.look = look
        self.queue = queue
        self.outages = outages_of(app.runtime, clock)
        self.began = time.monotonic()
        self._store_error = ""
        self._lock = threading.Lock()
        self.unread = set(app.runtime.sources)
        groups = app.runtime.outage_groups
        main = ThreadPoolExecutor(3, "job")
        readers = ThreadPoolExecutor(READERS, "reader")
        senders = ThreadPoolExecutor(max(1, len(groups)), "sender")
        self._pools = (main, readers, senders)
        seconds = tick.total_seconds()
        self._jobs = {
            WATCH: _Job(self._watch, main, seconds),
            COMPOSE: _Job(self._compose, main, seconds),
            "upkeep": _Job(self._task(Step.CLEAN_UP), main, CLEAN_UP.total_seconds()),
            "search": _Job(self._task(Step.SEARCH), main, seconds),
        }
        for name in app.runtime.sources:
            self._jobs[f"source {name}"] = _Job(partial(self._ingest, name), readers, seconds)
        for group in groups:
            deliver = self._task(Step.DELIVER, group)
            self._jobs[f"{DELIVER}{group}"] = _Job(deliver, senders, seconds)

    def _task(self, step: Step, of: str = "") -> Callable[[], None]:
        return partial(self._do, Task(step, of))

    def run_due(self) -> None:
        """Start the jobs whose interval is over, but none that still runs."""
        now = time.monotonic()
        for name, job in self._jobs.items():
            if now >= job.due_at:
                job.due_at = now + job.interval
                with self._lock:
                    self._queue(name, job)

    def stop(self) -> None:
        """Claim no more work, and wait for jobs in progress."""
        with self._lock:
            self.runtime.stopping.set()
        for pool in self._pools:
            pool.shutdown(wait=True)

    def wake(self, name: str) -> None:
        """Run a job now rather than at its next tick; a mail need not wait for the clock."""
        job = self._jobs.get(name)
        if job is not None:
            with self._lock:
                job.is_woken = True
                self._queue(name, job)

    def _queue(self, name: str, job: _Job) -> None:
        if not job.is_queued and not self.runtime.stopping.is_set():
            job.is_queued = True
            job.pool.submit(self._run, name, job)

    def _run(self, name: str, job: _Job) -> None:
        """Run a job, and once more where it was woken while it ran."""
        is_rare = job.interval >= CLEAN_UP.total_seconds()
        while True:
            with self._lock:
                job.is_woken = False
            if not self.runtime.stopping.is_set():
                with self.outages.watch(name, seen_by=WATCH if is_rare else ""):
                    if self._is_store_there():
                        job.run()
            with self._lock:
                if not job.is_woken:
                    job.is_queued = False
                    return

    def _is_store_there(self) -> bool:
        """Return whether the store is there: without it no outcome can be recorded.

        A file that is put back is used again; another one in its place is not, without a restart.
        """
        error = ""
        try:
            self.runtime.database.check_identity()
        except StoreError as fault:
            error = str(fault)
        with self._lock:
            before, self._store_error = self._store_error, error
        if error and not before:
            log.error("store file missing: nothing is read or sent", error=error)
        elif before and not error:
            log.warning("store file restored")
        return not error

    def _watch(self) -> None:
        self.runtime.owner.keep()
        sign_of_life(self.runtime.database, SERVICE)
        self.look()

    def _do(self, task: Task) -> None:
        """Do a task, or leave it to the workers where there are any."""
        if not self._hand_to_workers(task):
            flow.do(self.runtime, task, self._follow)

    def _hand_to_workers(self, task: Task) -> bool:
        if self.queue is None or not living_workers(self.runtime.database):
            return False
        self.queue.put(task)
        return True

    def _follow(self, task: Task) -> None:
        """Do what follows a task: now, or by waking the job that does it."""
        match task.step:
            case Step.MATCH:
                self.wake(COMPOSE)
            case Step.DELIVER:
                self.wake(f"{DELIVER}{task.target}")
            case _:
                flow.do(self.runtime, task, self._follow)

    def _ingest(self, source: str) -> None:
        task, following = Task(Step.INGEST, source), list[Task]()
        if is_due(self.runtime, source):
            if self._hand_to_workers(task):
                return
            try:
                flow.do(self.runtime, task, following.append)
            except Exception:
                self.unread.discard(source)
                raise
        if source in self.unread and not is_source_locked(self.runtime.database, source):
            self.unread.discard(source)
        for next_task in following:
            self._follow(next_task)

    def _compose(self) -> None:
        """After downtime, digests wait until each source was read once."""
        hold = bool(self.unread) and time.monotonic() - self.began < FIRST_LOOK
        self._do(Task(Step.MATCH if hold else Step.COMPOSE))
