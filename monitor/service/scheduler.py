"""`serve`: a tick only wakes the pipeline; due times, claims and outcomes live in the store.

On PostgreSQL any number of replicas may run, since the tables decide; while there are workers,
each step is a job of theirs (see `service/workers.py`), and a replica only queues it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog

from monitor.app import App
from monitor.commands.heartbeat import (
    SERVICE,
    end_of_life,
    living_workers,
    sign_of_life,
    vital_signs,
)
from monitor.commands.ping import ping
from monitor.errors import StoreBusyError, StoreError
from monitor.http.client import SAVE_DEADLINE
from monitor.pipeline import flow
from monitor.pipeline.deliver import AT_ONCE
from monitor.pipeline.flow import Step, Task
from monitor.pipeline.ingest import is_due
from monitor.pipeline.runtime import Runtime
from monitor.service.job_queue import Queue, open_queue
from monitor.service.jobs import LIMIT, Jobs
from monitor.service.outages import Outages
from monitor.service.pages import PagesProcess
from monitor.service.pools import Pool, Share
from monitor.service.process import Running
from monitor.service.slack_listener import listening
from monitor.store.engine.locks import Lock, is_source_locked, service_lock

log = structlog.get_logger()

BETWEEN_CLEAN_UPS = timedelta(hours=6)
# How many sources on the network are read at a time, and how many folders.
READERS = 6
FOLDER_READERS = 2
# How many outage groups are sent to at a time, and beside them how many whose server hangs.
SENDERS = 8
HANGING = AT_ONCE - SENDERS
# The part of a tick after which a delivery counts as hanging, and after which the main thread looks
# again.
HANGS_AFTER = 0.25
# Seconds after which a group of deliveries lets others have its turn, if they wait.
TURN = 30
# For at most this number of seconds after a start, news waits until guarded libraries are read, and
# digests until all sources are.
FIRST_LOOK = 600
# Seconds that work in progress may take when the service stops or its configuration changes.
STOPS_WITHIN = 5.0

# A match that has papers to be looked up does not wait for this.
BETWEEN_LOOK_UPS = timedelta(minutes=1)
BETWEEN_PINGS = timedelta(minutes=5)
# The longest time for which a source may be read: after its download.
LIMIT_OF_SOURCES = SAVE_DEADLINE + LIMIT

WATCH = "watch"
COMPOSE = "compose"
CLEAN_UP = "upkeep"
LOOK_UP = "look-up"
EMBED = "embed"
SEARCH = "search"
PING = "ping"
SOURCE = "source "
DELIVER = "deliver "


@dataclass(eq=False)
class Service(Running):
    """The running service; while another one serves the same SQLite store, it stands by."""

    with_pages: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._first_look = FirstLook()
        self._unfinished: _Steps | None = None

    def run(self) -> None:
        """Serve. While another service has the store, stand by with nothing open."""
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
            look = partial(self._look, app, lock)
            steps = _Steps(app.runtime, self.tick, look, queue, self._first_look)
            stack.callback(self._stop, steps)
            steps.start()
            pages = None
            if self.with_pages and app.settings.web:
                pages = PagesProcess(app.settings, app.settings.web, self.clock)
                stack.callback(pages.end)
                pages.keep()
            if app.settings.slack and app.settings.slack.app_token:
                stack.enter_context(listening(app.settings.slack, app.runtime))
            self._announce(app)
            interval = self.tick.total_seconds() * HANGS_AFTER
            while True:
                if pages and self.on_pages and pages.wait_until_answering(self._wake, interval):
                    self._announce_pages(app)
                if self._wake.wait(interval):
                    break
                steps.keep_time()
                if pages:
                    pages.keep()
            log.info("finishing work in progress", because=self._reason())
            if pages:
                pages.ask_to_end()
            self._stop(steps)
            with suppress(StoreError):
                end_of_life(database, SERVICE)

    def _stop(self, steps: _Steps) -> None:
        """Give work in progress some seconds to end.

        Jobs that still wait for a server are left running: they claim nothing more, and their store
        stays open until they end. If the process ends first, the result is that of a kill.
        """
        if steps.runtime.stopping.is_set():
            return
        unfinished = steps.stop()
        if unfinished:
            log.warning("work not finished", jobs=unfinished)
        self._unfinished = steps if unfinished else None

    def _leave(self, opened: ExitStack) -> None:
        if steps := self._unfinished:
            self._unfinished = None

            def close_later() -> None:
                steps.join()
                opened.close()

            threading.Thread(target=close_later, name="unfinished", daemon=True).start()
        else:
            opened.close()

    def _look(self, app: App, lock: Lock | None) -> None:
        """Keep the lock, or stop when another service has it; load a changed configuration."""
        try:
            if lock:
                lock.keep()
        except StoreBusyError as fault:
            log.error("another service has taken over", error=str(fault))
            self.stop()
            return
        self._reload(app)


@dataclass(eq=False)
class FirstLook:
    """Which sources have not been read since the service started, and until when they are awaited.

    A changed configuration does not start this again, so that no mail waits for a slow new source.
    But news waits for a new guarded library: changes of its papers would be lost.
    """

    monotonic: Callable[[], float] = time.monotonic
    _until: dict[str, float] = field(default_factory=dict)
    _seen: frozenset[str] = frozenset()

    def begin(self, sources: Collection[str], libraries: Collection[str]) -> None:
        """Wait for the sources of a configuration; of a later one, for new guarded `libraries`."""
        new = sources if not self._seen else set(libraries) - self._seen
        until = self.monotonic() + FIRST_LOOK
        self._until = {
            name: self._until.get(name, until)
            for name in sources
            if name in new or name in self._until
        }
        self._seen |= set(sources)

    def end(self, source: str) -> None:
        self._until.pop(source, None)

    @property
    def awaited(self) -> set[str]:
        now = self.monotonic()
        return {name for name, until in self._until.items() if now < until}


class _Steps:
    """The steps of the flow as the jobs of one configuration.

    Each kind of work has its own pool of threads, of a size that does not depend on the number of
    sources: watching, sources on the network, folders, deliveries, and work on the store.
    """

    def __init__(
        self,
        runtime: Runtime,
        tick: timedelta,
        look: Callable[[], None],
        queue: Queue | None = None,
        first_look: FirstLook | None = None,
    ) -> None:
        self.runtime = runtime
        self.look = look
        self.queue = queue
        self.outages = Outages(runtime)
        self.first_look = first_look or FirstLook()
        self.first_look.begin(runtime.sources, runtime.guarded_libraries)
        self._tick = tick
        self._ahead = runtime.ahead()
        self._is_watching = False
        hangs_after = tick.total_seconds() * HANGS_AFTER
        hosts = {f"{SOURCE}{name}": entry.host for name, entry in runtime.sources.items()}
        self.jobs = Jobs(
            {
                WATCH: Pool(WATCH, Share(1)),
                "store": Pool("store", Share(3)),
                "folders": Pool("folders", Share(FOLDER_READERS)),
                "sources": Pool("sources", Share(READERS, group_of=hosts.get)),
                **({LOOK_UP: Pool(LOOK_UP, Share(1))} if runtime.services else {}),
                **({EMBED: Pool(EMBED, Share(1))} if runtime.embeddings else {}),
                "deliveries": Pool("deliveries", Share(SENDERS, HANGING, hangs_after)),
            }
        )
        add = self._add
        do = self._do
        add(WATCH, self.watch, tick, WATCH)
        add(COMPOSE, self._compose, tick, "store")
        add(CLEAN_UP, partial(do, Task(Step.CLEAN_UP)), BETWEEN_CLEAN_UPS, "store")
        add(SEARCH, partial(do, Task(Step.SEARCH)), tick, "store")
        if runtime.services:
            add(LOOK_UP, partial(do, Task(Step.LOOK_UP)), max(tick, BETWEEN_LOOK_UPS), LOOK_UP)
        if runtime.embeddings:
            add(EMBED, partial(do, Task(Step.EMBED)), max(tick, BETWEEN_LOOK_UPS), EMBED)
        if runtime.settings.ping_url:
            add(PING, self.ping, BETWEEN_PINGS, "store")
        for name in runtime.reading_order:
            pool = "folders" if runtime.sources[name].is_folder else "sources"
            add(f"{SOURCE}{name}", partial(self._ingest, name), tick, pool)
        for group in runtime.outage_groups:
            add(f"{DELIVER}{group}", partial(do, Task(Step.DELIVER, group)), tick, "deliveries")

    def _add(self, name: str, work: Callable[[], object], interval: timedelta, pool: str) -> None:
        # Clean-up runs rarely: the job that watches notices when the store is back.
        seen_by = WATCH if name == CLEAN_UP else ""

        def run() -> None:
            with self.outages.watch(name, seen_by):
                work()

        limit = LIMIT_OF_SOURCES if name.startswith(SOURCE) else LIMIT
        self.jobs.add(name, run, interval, pool, limit)

    def start(self) -> None:
        self.jobs.start()

    def keep_time(self) -> None:
        """Run all jobs if the clock was set: they wait by it, the caller by a monotonic one."""
        self.jobs.review()
        ahead = self.runtime.ahead()
        if abs(ahead - self._ahead) > self._tick:
            log.warning("clock set", seconds=round((ahead - self._ahead).total_seconds()))
            self._ahead = ahead
            self.jobs.wake_all()

    def stop(self, seconds: float = STOPS_WITHIN) -> list[str]:
        """Claim no more work; return the jobs that still run after `seconds`."""
        self.runtime.stopping.set()
        return self.jobs.stop(seconds)

    def join(self) -> None:
        self.jobs.join()

    def watch(self) -> None:
        self.runtime.owner.keep()
        sign_of_life(self.runtime.database, SERVICE)
        if not self._is_watching:
            self._is_watching = True
            self.jobs.wake(PING)
        self.look()

    def ping(self) -> None:
        """Request the dead-man's switch, unless a job is overdue or nothing was watched yet."""
        if not self._is_watching:
            return
        try:
            is_up = all(check.ok for check in vital_signs(self.runtime.database))
        except StoreError as fault:
            log.warning("no vital signs", error=str(fault))
            is_up = False
        overdue = self.jobs.overdue()
        if overdue and is_up:
            log.warning("jobs overdue", jobs=overdue)
            return
        ping(self.runtime.settings.ping_url, is_up=is_up)

    def _do(self, task: Task, follow: Callable[[Task], object] | None = None) -> bool:
        """Do a task and return True, or where there are workers, queue it and return False."""
        if self.queue and living_workers(self.runtime.database):
            self.queue.put(task)
            return False
        flow.do(self.runtime, task, follow or self._follow, seconds=TURN)
        return True

    def _follow(self, task: Task) -> None:
        """Do what follows a task: now, or by waking the job that does it."""
        match task.step:
            case Step.MATCH | Step.COMPOSE:
                self.jobs.wake(COMPOSE)
            case Step.LOOK_UP:
                self.jobs.wake(LOOK_UP)
            case Step.EMBED:
                self.jobs.wake(EMBED)
            case Step.DELIVER:
                self.jobs.wake(f"{DELIVER}{task.target}")
            case _:
                flow.do(self.runtime, task, self._follow)

    def _ingest(self, source: str) -> None:
        task = Task(Step.INGEST, source)
        following = list[Task]()
        libraries = self.runtime.guarded_libraries
        awaited = self.first_look.awaited
        if source not in libraries and not libraries.isdisjoint(awaited):
            return  # changes of papers that are not in their library yet would be lost
        due = is_due(self.runtime, source)
        if due and not self._do(task, following.append):
            return
        # Otherwise its host was busy, or another process was reading it.
        looked_at = following or not due
        if source in awaited and looked_at and not is_source_locked(self.runtime.database, source):
            self.first_look.end(source)
        for next_task in following:
            self._follow(next_task)

    def _compose(self) -> None:
        """After a start, digests wait until each source was read once; papers are matched."""
        self._do(Task(Step.MATCH if self.first_look.awaited else Step.COMPOSE))
