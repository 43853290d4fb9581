"""`serve`: APScheduler only wakes the pipeline; due times, claims and outcomes live in the store.

every tick   read each source whose time has come
             match, compose what is due, deliver what is open
             look whether the configuration changed; beat
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from monitor import config, pipeline
from monitor.app import App, open_app
from monitor.config import Settings
from monitor.errors import ConfigError, StoreError
from monitor.model import Clock
from monitor.questions import SERVICE
from monitor.store import beats, runs
from monitor.store.owners import service_lock

log = structlog.get_logger()

TICK = timedelta(seconds=20)
READERS = 4


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
                with open_app(self._settings, self.clock) as app:
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
        with service_lock(app.parts.database):
            scheduler = self._scheduler(app)
            scheduler.start()
            log.info(
                "serving",
                sources=len(app.parts.sources),
                topics=len(app.parts.topics),
                subscriptions=len(app.parts.subscriptions),
            )
            self.serving.set()
            self._wake.wait()
            app.parts.stopping.set()
            scheduler.shutdown(wait=True)

    def _scheduler(self, app: App) -> BackgroundScheduler:
        """Jobs never pile up and are never missed: the store knows what is due."""
        scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(3), "readers": ThreadPoolExecutor(READERS)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        jobs: list[tuple[Callable[..., None], tuple[object, ...], str]] = [
            (self._ingest, (app, name), "readers") for name in app.parts.sources
        ]
        jobs += [(self._send, (app,), "default"), (self._watch, (app,), "default")]
        for job, arguments, executor in jobs:
            scheduler.add_job(
                job,
                "interval",
                seconds=self.tick.total_seconds(),
                args=arguments,
                executor=executor,
                next_run_time=datetime.now(UTC),
            )
        return scheduler

    def _ingest(self, app: App, name: str) -> None:
        with app.parts.database.reading() as tx:
            last = runs.last_started(tx, name)
        if last is None or last + app.settings.sources[name].every <= self.clock.now():
            pipeline.ingest(app.parts, name)

    def _send(self, app: App) -> None:
        pipeline.match(app.parts)
        pipeline.compose(app.parts)
        pipeline.deliver(app.parts)
        for channel in app.parts.channels.values():
            channel.close()

    def _watch(self, app: App) -> None:
        """Take up a changed file; a faulty one changes nothing, and the operator hears of it."""
        app.parts.owner.keep()
        with app.parts.database.writing() as tx:
            beats.beat(tx, SERVICE, datetime.now(UTC))
        found = config.watch(self.path)
        if found == self._read:
            return
        self._read = found
        try:
            self._settings = config.load(self.path)
        except ConfigError as fault:
            log.error("configuration not taken up", faults=[f.message for f in fault.faults])
            with app.parts.database.writing() as tx:
                runs.open_incident(tx, "configuration", "faulty", self.clock.now(), str(fault))
        else:
            with app.parts.database.writing() as tx:
                runs.end_incident(tx, "configuration", "faulty", self.clock.now())
            log.info("configuration changed")
            self._wake.set()
