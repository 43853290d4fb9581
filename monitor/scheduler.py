"""`serve`: APScheduler only wakes the pipeline; due times, claims and outcomes live in the store.

every tick   read each source whose time has come
             match, and compose what is due
             deliver what is open, each line of channels by itself
             look whether the configuration changed; beat
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from monitor import config, pipeline
from monitor.app import App, open_app
from monitor.config import Settings
from monitor.errors import ConfigError, StoreBusyError, StoreError
from monitor.model import Channel, Clock
from monitor.pipeline import InForce, again, incidents
from monitor.questions.alive import SERVICE
from monitor.store import beats, runs, sources
from monitor.store.owners import Place, service_lock

log = structlog.get_logger()

TICK = timedelta(seconds=20)
UPKEEP = timedelta(hours=6)
READERS = 4
# Seconds that digests wait for the first look at every source after a start.
FIRST_LOOK = 600

COMPOSE = "compose"
LINE = "line "


class Service:
    """The running service. `run` returns when `stop` was called or SIGTERM came.

    `serving` is set while the scheduler runs.

    Raises ConfigError at the start only: a fault that is written into the file later leaves
    the running configuration in force, and is said in the log and by `status`. Raises
    StoreBusyError where another service runs on the same store.
    """

    def __init__(self, path: Path, clock: Clock, tick: timedelta = TICK) -> None:
        self.path = path
        self.clock = clock
        self.tick = tick
        self.serving = threading.Event()
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._read = ""
        self._in_force = InForce()

    def stop(self) -> None:
        """Claim nothing more, finish the hand-off under way, and let `run` return."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        self._listen()
        self._read = config.watch(self.path)
        self._settings = config.load(self.path)
        good: Settings | None = None
        while True:
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                with open_app(self._settings, self.clock, self._in_force) as app:
                    good = self._settings
                    self._serve(app)
            except StoreError as fault:
                if good is None or self._settings is good:
                    raise
                log.error("the changed configuration cannot be used", error=str(fault))
                self._settings = good

    def _listen(self) -> None:
        """End cleanly on the first signal, at once on the second."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.stop()

    def _serve(self, app: App) -> None:
        """Run one configuration until the service stops or the file changes."""
        with service_lock(app.parts.database) as place:
            with app.parts.database.writing() as tx:
                runs.end_incident(tx, incidents.CONFIGURATION, incidents.FAULTY, self.clock.now())
            jobs = _Jobs(app, self.clock, self.tick, lambda: self._look(app, place))
            jobs.start()
            log.info(
                "serving",
                sources=len(app.parts.sources),
                topics=len(app.parts.topics),
                subscriptions=len(app.parts.subscriptions),
            )
            self.serving.set()
            self._wake.wait()
            jobs.stop()

    def _look(self, app: App, place: Place) -> None:
        """Keep our place, or stop when another service has it; take up a changed file.

        A file with a fault changes nothing, and the operator hears of it.
        """
        try:
            place.keep()
        except StoreBusyError as fault:
            log.error("another service has taken over", error=str(fault))
            self.stop()
            return
        found = config.watch(self.path)
        if found == self._read:
            return
        self._read = found
        try:
            self._settings = config.load(self.path, before=self._settings)
        except ConfigError as fault:
            log.error("configuration not taken up", faults=[f.message for f in fault.faults])
            subject, kind = incidents.CONFIGURATION, incidents.FAULTY
            with app.parts.database.writing() as tx:
                runs.open_incident(tx, subject, kind, self.clock.now(), str(fault))
        else:
            log.info("configuration changed")
            self._wake.set()


class _Jobs:
    """The jobs of one configuration. They never pile up: the store knows what is due."""

    def __init__(self, app: App, clock: Clock, tick: timedelta, look: Callable[[], None]) -> None:
        self.app = app
        self.clock = clock
        self.look = look
        self.began = time.monotonic()
        self.unread = set(app.parts.sources)
        lines = {channel.line: channel for channel in app.parts.channels.values()}
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
        self._every(tick, self._watch, "default", "watch")
        self._every(tick, self._compose, "default", COMPOSE)
        self._every(UPKEEP, self._upkeep, "default", "upkeep")
        self._every(tick, self._make_searchable, "default", "search")
        for name in app.parts.sources:
            self._every(tick, self._ingest, "readers", f"source {name}", name)
        for line, channel in lines.items():
            self._every(tick, self._deliver, "lines", f"{LINE}{line}", line, channel)

    def _every(
        self, tick: timedelta, job: Callable[..., None], executor: str, name: str, *told: object
    ) -> None:
        self.scheduler.add_job(
            job,
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

    def _soon(self, *names: str) -> None:
        """Wake jobs now rather than at their next tick; a mail need not wait for the clock."""
        for name in names:
            with suppress(JobLookupError):
                self.scheduler.modify_job(name, next_run_time=datetime.now(UTC))

    def _watch(self) -> None:
        self.app.parts.owner.keep()
        with self.app.parts.database.writing() as tx:
            beats.beat(tx, SERVICE, datetime.now(UTC))
        self.look()

    def _ingest(self, name: str) -> None:
        try:
            if self._is_due(name):
                pipeline.ingest(self.app.parts, name)
                self._soon(COMPOSE)
        except StoreBusyError as fault:
            log.info("not read now", source=name, reason=str(fault))
        finally:
            self.unread.discard(name)

    def _is_due(self, name: str) -> bool:
        watched = self.app.parts.sources[name]
        with self.app.parts.database.reading() as tx:
            last = runs.last_started(tx, name)
            known = sources.state(tx, name, watched.place)
        return again.is_due(known, last, watched.every, self.clock.now())

    def _compose(self) -> None:
        """After a time of being down, what is due waits until each source was looked at once."""
        pipeline.match(self.app.parts)
        if self.unread and time.monotonic() - self.began < FIRST_LOOK:
            return
        if pipeline.compose(self.app.parts):
            self._soon(*(job.id for job in self.scheduler.get_jobs() if job.id.startswith(LINE)))

    def _make_searchable(self) -> None:
        pipeline.make_searchable(self.app.parts)

    def _upkeep(self) -> None:
        pipeline.upkeep(self.app.parts)

    def _deliver(self, line: str, channel: Channel) -> None:
        pipeline.deliver_line(self.app.parts, line)
        channel.close()
