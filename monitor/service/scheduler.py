"""`serve`: a tick only wakes the pipeline; due times, claims and outcomes live in the store.

On PostgreSQL any number of replicas may run, since the tables decide; while there are workers,
each step is a job of theirs (see `service/workers.py`), and a replica only queues it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog

from monitor.app import App
from monitor.commands.heartbeat import SERVICE, end_of_life, living_workers, sign_of_life
from monitor.errors import StoreBusyError, StoreError
from monitor.pipeline import flow
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.ingest import is_due
from monitor.pipeline.runtime import Runtime
from monitor.service.job_queue import Queue, open_queue
from monitor.service.outages import Outages
from monitor.service.pages import PagesProcess
from monitor.service.process import Running
from monitor.service.slack_listener import listening
from monitor.store.engine.locks import Lock, is_source_locked, service_lock

log = structlog.get_logger()

BETWEEN_CLEAN_UPS = 6 * 3600
READERS = 4
# Seconds after a start that news waits for a look at libraries, and digests at all sources.
FIRST_LOOK = 600

WATCH = "watch"
COMPOSE = "compose"
CLEAN_UP = "upkeep"
DELIVER = "deliver "


@dataclass(eq=False)
class Service(Running):
    """The running service; while another one serves the same SQLite store, it stands by."""

    with_pages: bool = True

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
        # A SQLite store may be used by one service, one on PostgreSQL by any number.
        place = service_lock(database) if database.path else nullcontext()
        with place as lock, open_queue(database) as queue, ExitStack() as stack:
            jobs = _Jobs(app.runtime, self.tick, lambda: self._look(app, lock), queue)
            stack.callback(jobs.stop)
            jobs.start()
            pages = None
            if self.with_pages and app.settings.web:
                pages = PagesProcess(app.settings, app.settings.web, self.clock)
                stack.callback(pages.end)
                pages.keep()
                self._announce_pages(app)
            if app.settings.slack and app.settings.slack.app_token:
                stack.enter_context(listening(app.settings.slack, app.runtime))
            self._announce(app)
            while not self._wake.wait(self.tick.total_seconds()):
                if pages:
                    pages.keep()
            log.info("finishing work in progress", because=self._reason())
            jobs.stop()
            with suppress(StoreError):
                end_of_life(database, SERVICE)

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


@dataclass(frozen=True, slots=True)
class _Job:
    """Work that a thread of its own does every `interval` seconds, and when it is woken.

    Of those that share `turns`, as many work at a time as these allow.
    """

    work: Callable[[], object]
    interval: float
    turns: AbstractContextManager[object] = field(default_factory=nullcontext)
    woken: threading.Event = field(default_factory=threading.Event)


class _Jobs:
    """The jobs of one configuration. They never pile up: the store knows what is due."""

    def __init__(
        self,
        runtime: Runtime,
        tick: timedelta,
        look: Callable[[], None],
        queue: Queue | None = None,
    ) -> None:
        self.runtime = runtime
        self.look = look
        self.queue = queue
        self.outages = Outages(runtime)
        self.began = time.monotonic()
        self.unread = set(runtime.sources)
        self._threads: list[threading.Thread] = []
        seconds, readers = tick.total_seconds(), threading.Semaphore(READERS)
        self._jobs = {
            WATCH: _Job(self._watch, seconds),
            COMPOSE: _Job(self._compose, seconds),
            CLEAN_UP: _Job(partial(self._do, Task(Step.CLEAN_UP)), BETWEEN_CLEAN_UPS),
            "search": _Job(partial(self._do, Task(Step.SEARCH)), seconds),
        }
        for name in runtime.reading_order:
            self._jobs[f"source {name}"] = _Job(partial(self._ingest, name), seconds, readers)
        for group in runtime.outage_groups:
            deliver = partial(self._do, Task(Step.DELIVER, group))
            self._jobs[f"{DELIVER}{group}"] = _Job(deliver, seconds)

    def start(self) -> None:
        for name, job in self._jobs.items():
            self._threads.append(threading.Thread(target=self._run, args=(name, job), name=name))
            self._threads[-1].start()

    def stop(self) -> None:
        """Claim no more work, and wait for jobs in progress."""
        self.runtime.stopping.set()
        for job in self._jobs.values():
            job.woken.set()
        for thread in self._threads:
            thread.join()

    def wake(self, name: str) -> None:
        """Run a job now rather than at its next tick; a mail need not wait for the clock."""
        self._jobs[name].woken.set()

    def _run(self, name: str, job: _Job) -> None:
        while True:
            job.woken.clear()  # before it looks whether to stop, or it would miss that
            with job.turns:
                if self.runtime.stopping.is_set():
                    return
                with self.outages.watch(name, seen_by=WATCH if name == CLEAN_UP else ""):
                    job.work()
            job.woken.wait(job.interval)

    def _watch(self) -> None:
        self.runtime.owner.keep()
        sign_of_life(self.runtime.database, SERVICE)
        self.look()

    def _do(self, task: Task, follow: Callable[[Task], object] | None = None) -> bool:
        """Do a task, or return False where there are workers, which have it now."""
        if self.queue and living_workers(self.runtime.database):
            self.queue.put(task)
            return False
        flow.do(self.runtime, task, follow or self._follow)
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
        libraries = self.runtime.guarded_libraries
        if source not in libraries and not libraries.isdisjoint(self._awaited):
            return  # changes of papers that are not in their library yet would be lost
        if is_due(self.runtime, source) and not self._do(task, following.append):
            return
        if source in self.unread and not is_source_locked(self.runtime.database, source):
            self.unread.discard(source)
        for next_task in following:
            self._follow(next_task)

    def _compose(self) -> None:
        """After downtime, digests wait until each source was read once."""
        self._do(Task(Step.MATCH if self._awaited else Step.COMPOSE))

    @property
    def _awaited(self) -> set[str]:
        """The sources that were not read since the start; after a while, none."""
        return self.unread if time.monotonic() - self.began < FIRST_LOOK else set()
