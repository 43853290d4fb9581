"""`serve`: APScheduler only wakes the pipeline; due times, claims and outcomes live in the store.

every tick   read each source whose time has come
             match, and compose what is due
             deliver what is open, each line of channels by itself
             look whether the configuration changed; beat

On PostgreSQL any number of replicas may run, since the tables decide; while there are workers,
each of these is a job of theirs (see `service/workers.py`), and a replica only queues it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from monitor.app import App
from monitor.commands.heartbeat import SERVICE, end_of_life, living_workers, sign_of_life
from monitor.errors import StoreBusyError, StoreError
from monitor.model import Clock
from monitor.pipeline import flow
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.incidents import note_outage
from monitor.pipeline.ingest import is_being_read, is_due
from monitor.service.job_queue import Queue, open_queue
from monitor.service.outages import Outages
from monitor.service.pages_process import PagesProcess
from monitor.service.process import Running
from monitor.service.slack_listener import listening
from monitor.store.locks import ServiceLock, service_lock

log = structlog.get_logger()

TICK = timedelta(seconds=20)
CLEAN_UP = timedelta(hours=6)
# An interval that is not yet over is no clock that was set back.
SLACK = timedelta(seconds=5)
READERS = 4
# Seconds that digests wait for the first look at every source after a start.
FIRST_LOOK = 600

WATCH = "watch"
COMPOSE = "compose"
LINE = "line "


class Service(Running):
    """The running service; where another one serves the same SQLite store, it stands by."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        tick: timedelta = TICK,
        *,
        with_pages: bool = True,
        on_pages: Callable[[App], None] | None = None,
    ) -> None:
        super().__init__(path, clock, on_pages)
        self.tick = tick
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
        with _place(app) as place, open_queue(app.runtime.database) as queue, ExitStack() as stack:
            jobs = _Jobs(app, self.clock, self.tick, lambda: self._look(app, place), queue)
            jobs.start()
            pages = self._start_pages(app, stack)
            if app.settings.slack and app.settings.slack.app_token:
                stack.enter_context(listening(app.settings.slack, app.runtime))
            self._announce(app)
            while not self._wake.wait(self.tick.total_seconds()):
                jobs.wake_late_jobs()
                if pages:
                    pages.keep()
            log.info("finishing work in progress", because=self._reason())
            jobs.stop()
            with suppress(StoreError):
                end_of_life(app.runtime.database, SERVICE)

    def _start_pages(self, app: App, stack: ExitStack) -> PagesProcess | None:
        """Start the process of the pages, if there shall be any, until `stack` is closed."""
        if not self.with_pages or app.settings.web is None:
            return None
        pages = PagesProcess(app.settings, app.settings.web, self.clock)
        stack.callback(pages.end)
        pages.keep()
        self._announce_pages(app)
        return pages

    def _look(self, app: App, place: ServiceLock | None) -> None:
        """Keep our place, or stop when another service has it; take up a changed file."""
        try:
            if place:
                place.keep()
        except StoreBusyError as fault:
            log.error("another service has taken over", error=str(fault))
            self.stop()
            return
        self._reload(app)


@contextmanager
def _place(app: App) -> Iterator[ServiceLock | None]:
    """A SQLite store has one writer, and one service; on PostgreSQL the tables decide."""
    if app.runtime.database.path is None:
        yield None
        return
    with service_lock(app.runtime.database) as place:
        yield place


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
        self.app = app
        self.clock = clock
        self.look = look
        self.queue = queue
        self.outages = Outages(
            clock, lambda outage: note_outage(app.runtime, outage.since, outage.error)
        )
        self.began = time.monotonic()
        self._noting = threading.Lock()
        self._is_missing = False
        self._woken: set[str] = set()
        self.unread = set(app.runtime.sources)
        lines = app.runtime.lines
        self.executors = {
            "default": ThreadPoolExecutor(3),
            "readers": ThreadPoolExecutor(READERS),
            "lines": ThreadPoolExecutor(max(1, len(lines))),
        }
        self.scheduler = BackgroundScheduler(
            timezone=UTC,
            executors=self.executors,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._every(tick, self._watch, "default", WATCH)
        self._every(tick, self._compose, "default", COMPOSE)
        self._every(CLEAN_UP, self._do, "default", "upkeep", Task(Step.CLEAN_UP))
        self._every(tick, self._do, "default", "search", Task(Step.SEARCH))
        for name in app.runtime.sources:
            self._every(tick, self._ingest, "readers", f"source {name}", name)
        for line in lines:
            self._every(tick, self._do, "lines", f"{LINE}{line}", Task(Step.DELIVER, line))

    def _every(
        self,
        tick: timedelta,
        job: Callable[..., None],
        executor: str,
        name: str,
        *arguments: object,
    ) -> None:
        def run(*arguments: object) -> None:
            self._woken.add(name)
            # APScheduler skips a job that is woken while it runs, so it runs once more here.
            while name in self._woken and not self.app.runtime.stopping.is_set():
                self._woken.discard(name)
                with self.outages.watch(name, seen_by=WATCH if tick >= CLEAN_UP else ""):
                    self._run_if_store_exists(job, *arguments)

        self.scheduler.add_job(
            run,
            "interval",
            seconds=tick.total_seconds(),
            args=arguments,
            id=name,
            executor=executor,
            next_run_time=datetime.now(UTC),
        )

    def start(self) -> None:
        self.scheduler.start()

    def stop(self) -> None:
        """Claim nothing more, and wait for what is under way.

        Not in `scheduler.shutdown`, which holds the lock that a job needs to wake another.
        """
        self.app.runtime.stopping.set()
        self.scheduler.pause()
        for executor in self.executors.values():
            executor.shutdown(wait=True)
        self.scheduler.shutdown(wait=False)

    def wake_late_jobs(self) -> None:
        """Wake the jobs that a clock set back has postponed.

        APScheduler sleeps until a time of the wall clock: set back by an hour, it would sleep for
        that hour. No job is ever further ahead than its interval, unless the clock was set back.
        """
        now = datetime.now(UTC)
        for job in self.scheduler.get_jobs():
            if job.next_run_time and job.next_run_time - now > job.trigger.interval + SLACK:
                self._wake(job.id)

    def _run_if_store_exists(self, job: Callable[..., None], *what: object) -> None:
        """Do a job, but nothing while the store is gone: what it did could not be recorded.

        A file that is put back is used again; another one in its place is not, without a restart.
        """
        try:
            self.app.runtime.database.check_identity()
        except StoreError as fault:
            with self._noting:
                if not self._is_missing:
                    log.error("store file missing: nothing is read or sent", error=str(fault))
                self._is_missing = True
            return
        with self._noting:
            if self._is_missing:
                log.warning("store file restored")
            self._is_missing = False
        job(*what)

    def _wake(self, job: str) -> None:
        """Run a job now rather than at its next tick; a mail need not wait for the clock."""
        self._woken.add(job)
        with suppress(JobLookupError):
            self.scheduler.modify_job(job, next_run_time=datetime.now(UTC))

    def _watch(self) -> None:
        self.app.runtime.owner.keep()
        sign_of_life(self.app.runtime.database, SERVICE)
        self.look()

    def _do(self, task: Task) -> None:
        """Do a task, or leave it to the workers where there are any."""
        if not self._hand_to_workers(task):
            flow.do(self.app.runtime, task, self._follow)

    def _hand_to_workers(self, task: Task) -> bool:
        if self.queue is None or not living_workers(self.app.runtime.database):
            return False
        self.queue.put(task)
        return True

    def _follow(self, task: Task) -> None:
        """Do what follows a task: now, or by waking the job that does it."""
        match task.step:
            case Step.MATCH:
                self._wake(COMPOSE)
            case Step.DELIVER:
                self._wake(f"{LINE}{task.of}")
            case _:
                flow.do(self.app.runtime, task, self._follow)

    def _ingest(self, source: str) -> None:
        runtime, task = self.app.runtime, Task(Step.INGEST, source)
        following: list[Task] = []
        due = is_due(runtime, source)
        if due and self._hand_to_workers(task):
            return
        try:
            if due:
                flow.do(runtime, task, following.append)
        except BaseException:
            self.unread.discard(source)
            raise
        if source in self.unread and not is_being_read(runtime, source):
            self.unread.discard(source)
        for one in following:
            self._follow(one)

    def _compose(self) -> None:
        """After a time of being down, what is due waits until each source was looked at once."""
        hold = bool(self.unread) and time.monotonic() - self.began < FIRST_LOOK
        self._do(Task(Step.MATCH if hold else Step.COMPOSE))
