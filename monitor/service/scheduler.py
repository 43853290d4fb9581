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
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from monitor import pipeline
from monitor.app import App
from monitor.commands.heartbeat import SERVICE, end_of_life, living_workers, sign_of_life
from monitor.errors import StoreBusyError, StoreError
from monitor.model import Clock
from monitor.service import workers
from monitor.service.outages import Outages
from monitor.service.process import Running
from monitor.service.workers import Job, Queue
from monitor.store.locks import ServiceLock, service_lock

log = structlog.get_logger()

TICK = timedelta(seconds=20)
UPKEEP = timedelta(hours=6)
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

    def __init__(self, path: Path, clock: Clock, tick: timedelta = TICK) -> None:
        super().__init__(path, clock)
        self.tick = tick

    def run(self) -> None:
        """Serve, and until the place is free stand by, with nothing open: then take it over."""
        told = False
        while True:
            try:
                super().run()
                return
            except StoreBusyError as fault:
                if not told:
                    log.warning("standing by", reason=str(fault))
                told = True
            if self._stopping.wait(self.tick.total_seconds()):
                return

    def work(self, app: App) -> None:
        with _place(app) as place, workers.queue_of(app.parts.database) as queue:
            jobs = _Jobs(app, self.clock, self.tick, lambda: self._look(app, place), queue)
            jobs.start()
            self._tell(app)
            while not self._wake.wait(self.tick.total_seconds()):
                jobs.wake_postponed()
            log.info("ending what is under way", because=self._because())
            jobs.stop()
            with suppress(StoreError):
                end_of_life(app.parts.database, SERVICE)

    def _look(self, app: App, place: ServiceLock | None) -> None:
        """Keep our place, or stop when another service has it; take up a changed file."""
        try:
            if place:
                place.keep()
        except StoreBusyError as fault:
            log.error("another service has taken over", error=str(fault))
            self.stop()
            return
        self._take_up(app)


@contextmanager
def _place(app: App) -> Iterator[ServiceLock | None]:
    """A SQLite store has one writer, and one service; on PostgreSQL the tables decide."""
    if app.parts.database.path is None:
        yield None
        return
    with service_lock(app.parts.database) as place:
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
            clock, lambda outage: pipeline.note_outage(app.parts, outage.since, outage.error)
        )
        self.began = time.monotonic()
        self._noting = threading.Lock()
        self._is_lost = False
        self.unread = set(app.parts.sources)
        lines = app.parts.lines
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
        self._every(UPKEEP, self._upkeep, "default", "upkeep")
        self._every(tick, self._make_searchable, "default", "search")
        for name in app.parts.sources:
            self._every(tick, self._ingest, "readers", f"source {name}", name)
        for line in lines:
            self._every(tick, self._deliver, "lines", f"{LINE}{line}", line)

    def _every(
        self, tick: timedelta, job: Callable[..., None], executor: str, name: str, *told: object
    ) -> None:
        def watched(*told: object) -> None:
            with self.outages.watched(name, seen_by=WATCH if tick >= UPKEEP else ""):
                self._while_stored(job, *told)

        self.scheduler.add_job(
            watched,
            "interval",
            seconds=tick.total_seconds(),
            args=told,
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
        self.app.parts.stopping.set()
        self.scheduler.pause()
        for executor in self.executors.values():
            executor.shutdown(wait=True)
        self.scheduler.shutdown(wait=False)

    def wake_postponed(self) -> None:
        """Wake the jobs that a clock set back has postponed.

        APScheduler sleeps until a time of the wall clock: set back by an hour, it would sleep for
        that hour. No job is ever further ahead than its interval, unless the clock was set back.
        """
        now = datetime.now(UTC)
        for job in self.scheduler.get_jobs():
            if job.next_run_time and job.next_run_time - now > job.trigger.interval + SLACK:
                self._soon(job.id)

    def _while_stored(self, job: Callable[..., None], *what: object) -> None:
        """Do a job, but nothing while the store is gone: what it did could not be recorded.

        A file that is put back is used again; another one in its place is not, without a restart.
        """
        try:
            self.app.parts.database.check_identity()
        except StoreError as fault:
            with self._noting:
                if not self._is_lost:
                    log.error("the store is lost: nothing is read or sent", error=str(fault))
                self._is_lost = True
            return
        with self._noting:
            if self._is_lost:
                log.warning("the store is back")
            self._is_lost = False
        job(*what)

    def _soon(self, *names: str) -> None:
        """Wake jobs now rather than at their next tick; a mail need not wait for the clock."""
        for name in names:
            with suppress(JobLookupError):
                self.scheduler.modify_job(name, next_run_time=datetime.now(UTC))

    def _watch(self) -> None:
        self.app.parts.owner.keep()
        sign_of_life(self.app.parts.database, SERVICE)
        self.look()

    def _handed(self, job: Job, what: str = "") -> bool:
        """Leave a job to the workers. False where there are none: we do it ourselves."""
        if self.queue is None or not living_workers(self.app.parts.database):
            return False
        self.queue.put(job, what)
        return True

    def _ingest(self, name: str) -> None:
        parts = self.app.parts
        if not pipeline.is_due(parts, name):
            if name in self.unread and not pipeline.is_being_read(parts, name):
                self.unread.discard(name)
            return
        if self._handed(Job.INGEST, name):
            return
        try:
            pipeline.ingest(parts, name)
        except StoreBusyError as fault:
            log.info("not read now", source=name, reason=str(fault))
            return
        except BaseException:
            self.unread.discard(name)
            raise
        self.unread.discard(name)
        self._soon(COMPOSE)

    def _compose(self) -> None:
        """After a time of being down, what is due waits until each source was looked at once."""
        hold = bool(self.unread) and time.monotonic() - self.began < FIRST_LOOK
        if self._handed(Job.MATCH if hold else Job.COMPOSE):
            return
        pipeline.match(self.app.parts)
        if hold:
            return
        failed: dict[str, Exception] = {}
        if pipeline.compose(self.app.parts, patient=True, on_failure=failed.__setitem__):
            self._soon(*(job.id for job in self.scheduler.get_jobs() if job.id.startswith(LINE)))
        pipeline.raise_store_error(failed)

    def _make_searchable(self) -> None:
        if not self._handed(Job.SEARCH):
            pipeline.make_searchable(self.app.parts)

    def _upkeep(self) -> None:
        if not self._handed(Job.UPKEEP):
            pipeline.upkeep(self.app.parts)

    def _deliver(self, line: str) -> None:
        if self._handed(Job.DELIVER, line):
            return
        pipeline.deliver_line(self.app.parts, line)
        for channel in self.app.parts.lines[line]:
            channel.close()
