"""Many machines: the same pipeline, its steps handed out as jobs of a queue in PostgreSQL.

serve, on any number of machines    asks, at every tick, for each step whose time may have come
worker, on any number of machines   does what is asked for, by calling the pipeline

The queue (Procrastinate, on the store's own database) only wakes. What is to be done stands in
the tables, and their unique keys and claims decide: a job that runs twice does nothing the second
time, one that is lost is asked for again at the next tick, and a job that waits is not asked for
a second time (its queueing lock).

    ingest SOURCE     if its time has come
    match             what came in meets the topics
    compose           match, then a job for each chunk of subscriptions
    compose-some N    what is due of the chunk, then a job for each line of channels
    deliver LINE      a chunk of what is open on it; while more waits, a job for another worker
    search, upkeep    when nothing else waits

This module is the only home of Procrastinate.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from monitor import pipeline
from monitor.app import App
from monitor.commands.heartbeat import WORKER, end_of_life, sign_of_life
from monitor.errors import StoreBusyError, StoreError, UsageError
from monitor.model import Clock
from monitor.pipeline import Runtime
from monitor.service.outages import Outages
from monitor.service.process import Running
from monitor.store.database import Database, Transaction, lock

if TYPE_CHECKING:
    import procrastinate

log = structlog.get_logger()

TICK = timedelta(seconds=20)
# Documents that one worker reads at a time: reading is mostly waiting.
READERS = 4
# How many subscriptions one job composes, and how many deliveries one job sends.
COMPOSED = 500
SENT = 500
# Seconds without a sign of life after which a worker's jobs are another's. Locks and claims are
# free at once, and what the job would have done is asked for again at the next tick anyway.
DEAD_AFTER = 60
# Seconds between looks at a queue that is empty, and at one whose server has gone.
POLL = 1
AGAIN = 2
QUEUE_LOCK = 0x50415045520003

READING, THINKING = "read", "think"
WANTS_EXTRA = "in a clone of the repository: pip install '.[scale]'"
# The job by which a worker notices that the queue's server is gone.
QUEUE = "queue"


class Job(StrEnum):
    """What a worker can be asked for."""

    INGEST = "ingest"
    MATCH = "match"
    COMPOSE = "compose"
    COMPOSE_SOME = "compose-some"
    DELIVER = "deliver"
    SEARCH = "search"
    UPKEEP = "upkeep"


# Of what waits in a worker for its one thread of thought, what readers wait for comes first.
_PRIORITY = {Job.COMPOSE_SOME: 3, Job.COMPOSE: 2, Job.MATCH: 1, Job.UPKEEP: -1, Job.SEARCH: -2}


# ── asking for work ─────────────────────────────────────────────────────────────────


class Queue:
    """The queue, to ask for jobs. Make one with `queue_of`."""

    def __init__(self, app: procrastinate.App) -> None:
        self._app = app

    def put(self, job: Job, what: str = "") -> None:
        """Ask for a job, unless the same one waits already. Raises StoreError."""
        from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

        wanted = self._app.configure_task(
            job,
            queue=_queue(job, what),
            queueing_lock=f"{job} {what}",
            priority=_PRIORITY.get(job, 0),
        )
        try:
            wanted.defer(what=what)
        except AlreadyEnqueued:
            return
        except ConnectorException as fault:
            said = " ".join(f"{job} {what}: {fault}".split())
            raise StoreError(f"the queue did not take the job {said}") from fault


@contextmanager
def queue_of(database: Database) -> Iterator[Queue | None]:
    """Open the queue of a store; None where it cannot have one: on SQLite, without the extra."""
    if database.path is not None or find_spec("procrastinate") is None:
        yield None
        return
    import procrastinate

    prepare(database)
    connector = procrastinate.SyncPsycopgConnector(
        conninfo=_address(database), min_size=1, max_size=2
    )
    app = procrastinate.App(connector=connector)
    with app.open():
        yield Queue(app)


def prepare(database: Database) -> list[str]:
    """Make the queue's tables, or bring them up to date; return the steps that were done.

    Procrastinate's migrations are noted by name in `procrastinate_applied`, each in the
    transaction that runs it. One process at a time does this, and done again it does nothing.
    """
    from procrastinate.schema import SchemaManager

    folder = Path(SchemaManager.get_migrations_path())
    known = sorted(step.name for step in folder.glob("*.sql"))
    done = []
    while step := _next_step(database, folder, known, SchemaManager.get_schema):
        done.append(step)
    return done


def _next_step(
    database: Database, folder: Path, known: Sequence[str], whole: Callable[[], str]
) -> str:
    with database.writing() as tx:
        lock(tx, QUEUE_LOCK)
        _run(tx, "CREATE TABLE IF NOT EXISTS procrastinate_applied (name text PRIMARY KEY)")
        applied = {row.name for row in _run(tx, "SELECT name FROM procrastinate_applied")}
        missing = [name for name in known if name not in applied]
        if not missing:
            return ""
        if applied:
            step, now_applied = missing[0], missing[:1]
            _run(tx, (folder / step).read_text(encoding="utf-8"))
        else:
            step, now_applied = "schema", missing
            _run(tx, whole())
        names = ", ".join(f"('{name}')" for name in now_applied)
        _run(tx, f"INSERT INTO procrastinate_applied VALUES {names}")
    log.info("queue brought up to date", step=step)
    return step


def _run(tx: Transaction, statements: str) -> Any:
    """Run a script as it is: with parameters, even none, the driver takes one statement only."""
    return tx.exec_driver_sql(statements, execution_options={"no_parameters": True})


def _address(database: Database) -> str:
    return database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _queue(job: Job, what: str) -> str:
    """Return the queue of a job. A name is also a channel of PostgreSQL, of 63 bytes at most."""
    if job is Job.DELIVER:
        return f"send-{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    return READING if job is Job.INGEST else THINKING


# ── doing it ────────────────────────────────────────────────────────────────────────


def do(parts: Runtime, queue: Queue, job: Job, what: str) -> None:
    """Do a job, and ask for what follows from it.

    A job of a source, chunk or line that this configuration does not have is nothing to do.
    """
    match job:
        case Job.INGEST if what in parts.sources:
            _ingest(parts, queue, what)
        case Job.MATCH:
            pipeline.match(parts)
        case Job.COMPOSE:
            pipeline.match(parts)
            for number in range(0, len(parts.subscriptions), COMPOSED):
                queue.put(Job.COMPOSE_SOME, str(number // COMPOSED))
        case Job.COMPOSE_SOME:
            _compose(parts, queue, int(what))
        case Job.DELIVER:
            _deliver(parts, queue, what)
        case Job.SEARCH:
            pipeline.make_searchable(parts)
        case Job.UPKEEP:
            pipeline.upkeep(parts)
        case _:
            pass


def _ingest(parts: Runtime, queue: Queue, name: str) -> None:
    if not pipeline.is_due(parts, name):
        return
    try:
        pipeline.ingest(parts, name)
    except StoreBusyError as fault:
        log.info("not read now", source=name, reason=str(fault))
    else:
        queue.put(Job.MATCH)


def _compose(parts: Runtime, queue: Queue, chunk: int) -> None:
    some = parts.subscriptions[chunk * COMPOSED : (chunk + 1) * COMPOSED]
    failed: dict[str, Exception] = {}
    names = [told.name for told in some]
    if some and pipeline.compose(parts, names, patient=True, on_failure=failed.__setitem__):
        for line in parts.lines:
            queue.put(Job.DELIVER, line)
    pipeline.raise_store_error(failed)


def _deliver(parts: Runtime, queue: Queue, line: str) -> None:
    """Send a chunk. While more than that waits, another worker is asked to help."""
    if pipeline.are_open(parts, line, SENT):
        queue.put(Job.DELIVER, line)
    attempted = pipeline.deliver_line(parts, line, most=SENT)
    if len(attempted) < SENT:
        for channel in parts.lines.get(line, ()):
            channel.close()
    else:
        queue.put(Job.DELIVER, line)


# ── the process ─────────────────────────────────────────────────────────────────────


class Worker(Running):
    """One of many that do what the replicas of `serve` ask for.

    Raises UsageError where the store is SQLite, StoreError where Procrastinate is missing.
    """

    def __init__(self, path: Path, clock: Clock, tick: timedelta = TICK) -> None:
        super().__init__(path, clock)
        self.tick = tick

    def work(self, app: App) -> None:
        database = app.parts.database
        if database.path is not None:
            raise UsageError(
                "workers share a store on PostgreSQL, and this one is a file of one machine",
                "store: postgresql+psycopg://..., or `paper-monitor serve`, which needs no workers",
            )
        if find_spec("procrastinate") is None:
            raise StoreError("workers need procrastinate, which is not installed", WANTS_EXTRA)
        self._outages = Outages(
            self.clock, lambda outage: pipeline.note_outage(app.parts, outage.since, outage.error)
        )
        with queue_of(database) as queue:
            assert queue is not None
            self._tell(app)
            try:
                asyncio.run(self._until_woken(app, queue))
            finally:
                with suppress(StoreError):
                    end_of_life(database, WORKER)

    async def _until_woken(self, app: App, queue: Queue) -> None:
        """Work until told to stop, and begin again whenever the server was gone."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(READERS + len(app.parts.lines) + 4, "job") as threads:
            loop.set_default_executor(threads)
            woken = loop.create_task(asyncio.to_thread(self._wake.wait))
            while not woken.done():
                try:
                    await self._connected(app, queue, woken)
                except Exception as fault:
                    self._outages.failed(QUEUE, StoreError(f"the queue cannot be reached: {fault}"))
                await asyncio.wait([woken], timeout=AGAIN)

    async def _connected(self, app: App, queue: Queue, woken: asyncio.Task[bool]) -> None:
        """Take jobs until told to stop or the connection is lost; then end those under way."""
        import procrastinate

        queues = {READING: READERS, THINKING: 1}
        queues |= {_queue(Job.DELIVER, line): 1 for line in app.parts.lines}
        connector = procrastinate.PsycopgConnector(
            conninfo=_address(app.parts.database), min_size=1, max_size=2, timeout=10
        )

        jobs = _app(connector, lambda job, what: self._do(app, queue, job, what))
        async with jobs.open_async():
            at_work = [
                asyncio.create_task(
                    jobs.run_worker_async(
                        queues=[name],
                        concurrency=at_once,
                        name=name,
                        install_signal_handlers=False,
                        delete_jobs="always",
                        stalled_worker_timeout=DEAD_AFTER,
                        # Listening would take a connection for each queue of each machine.
                        listen_notify=False,
                        fetch_job_polling_interval=min(POLL, self.tick.total_seconds()),
                    )
                )
                for name, at_once in queues.items()
            ]
            at_work.append(asyncio.create_task(self._watch(app, jobs)))
            await asyncio.wait([woken, *at_work], return_when=asyncio.FIRST_COMPLETED)
            if woken.done():
                app.parts.stopping.set()
                log.info("ending what is under way", because=self._because())
            for fault in await _ended(at_work):
                self._outages.failed(QUEUE, StoreError(str(fault)))

    def _do(self, app: App, queue: Queue, job: Job, what: str) -> None:
        """Do a job. The same one may not come for hours, so the watch says when a store is back."""
        with self._outages.watched(f"{job} {what}", seen_by=QUEUE):
            do(app.parts, queue, job, what)

    async def _watch(self, app: App, jobs: procrastinate.App) -> None:
        while True:
            await asyncio.to_thread(self._look, app)
            await _revive(jobs)
            self._outages.worked(QUEUE)
            await asyncio.sleep(self.tick.total_seconds())

    def _look(self, app: App) -> None:
        app.parts.owner.keep()
        sign_of_life(app.parts.database, WORKER)
        self._take_up(app)


def _app(connector: Any, work: Callable[[Job, str], None]) -> procrastinate.App:
    """Return an app that knows each job."""
    import procrastinate

    app = procrastinate.App(connector=connector)

    def task(job: Job) -> None:
        def run(what: str) -> None:
            work(job, what)

        app.task(name=job)(run)

    for job in Job:
        task(job)
    return app


async def _ended(at_work: Sequence[asyncio.Task[None]]) -> list[Exception]:
    """Take no more jobs, wait for those under way, and return what the queue was lost by."""
    for task in at_work:
        task.cancel()
    results = await asyncio.gather(*at_work, return_exceptions=True)
    return [result for result in results if isinstance(result, Exception)]


async def _revive(jobs: procrastinate.App) -> None:
    """Let others do what dead workers were at; what is asked for again already is let go."""
    from procrastinate.exceptions import ConnectorException, UniqueViolation
    from procrastinate.jobs import Status

    manager = jobs.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=DEAD_AFTER):
        with suppress(ConnectorException):  # another worker saw to it
            try:
                await manager.retry_job(job)
            except UniqueViolation:
                await manager.finish_job(job, Status.FAILED, delete_job=True)
            log.warning("a worker died at a job", job=job.task_name, what=job.task_kwargs["what"])
