"""Many machines: the steps of the flow are jobs of a queue in PostgreSQL.

Each `serve` queues, at every tick, the steps that may be due; each `worker` runs queued steps, and
queues those that follow (see `pipeline/flow.py`). Large ones are cut into jobs of `BATCH_SIZE`.
Procrastinate is imported where jobs are taken: see `job_queue.py`.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import structlog

from monitor.app import App
from monitor.commands.heartbeat import WORKER, end_of_life, sign_of_life
from monitor.errors import StoreError, UsageError
from monitor.pipeline import flow
from monitor.pipeline.flow import Step, Task
from monitor.service.job_queue import (
    CPU_QUEUE,
    READ_QUEUE,
    Queue,
    address_of,
    open_queue,
    queue_name,
)
from monitor.service.outages import Outages
from monitor.service.process import Running

if TYPE_CHECKING:
    import procrastinate

log = structlog.get_logger()

# Documents that one worker reads at a time: reading is mostly waiting.
READERS = 4
# How many subscriptions one job composes, and how many deliveries one job sends.
BATCH_SIZE = 500
# Seconds without a sign of life after which a worker's jobs are another's. Locks and claims are
# free at once, and the work is queued again at the next tick anyway.
DEAD_AFTER = 60
# Seconds between looks at a queue that is empty, and at one whose server has gone.
POLL = 1
RECONNECT_AFTER = 2
WANTS_EXTRA = "in a clone of the repository: pip install '.[scale]'"
# The job that fails while the queue's server is unreachable.
QUEUE = "queue"


class Worker(Running):
    """One of many processes that run the jobs queued by replicas of `serve`.

    Raises UsageError where the store is SQLite, StoreError where Procrastinate is missing.
    """

    def work(self, app: App) -> None:
        database = app.runtime.database
        if database.path is not None:
            raise UsageError(
                "workers share a store on PostgreSQL, and this one is a file of one machine",
                "store: postgresql+psycopg://..., or `paper-monitor serve`, which needs no workers",
            )
        if find_spec("procrastinate") is None:
            raise StoreError("workers need procrastinate, which is not installed", WANTS_EXTRA)
        self._outages = Outages(app.runtime)
        with open_queue(database) as queue:
            assert queue is not None
            self._announce(app)
            try:
                asyncio.run(self._until_woken(app, queue))
            finally:
                with suppress(StoreError):
                    end_of_life(database, WORKER)

    async def _until_woken(self, app: App, queue: Queue) -> None:
        """Work until asked to stop, and begin again whenever the server was gone."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_note_lost_job)
        with ThreadPoolExecutor(READERS + len(app.runtime.outage_groups) + 4, "job") as threads:
            loop.set_default_executor(threads)
            woken = loop.create_task(asyncio.to_thread(self._wake.wait))
            while not woken.done():
                try:
                    await self._take_jobs(app, queue, woken)
                except Exception as fault:
                    self._outages.record_failure(
                        QUEUE, StoreError(f"the queue cannot be reached: {fault}")
                    )
                await asyncio.wait([woken], timeout=RECONNECT_AFTER)

    async def _take_jobs(self, app: App, queue: Queue, woken: asyncio.Task[bool]) -> None:
        """Take jobs until asked to stop or the connection is lost; then end those under way."""
        import procrastinate
        from procrastinate.worker import Worker as Taker

        connector = procrastinate.PsycopgConnector(
            conninfo=address_of(app.runtime.database), min_size=1, max_size=2, timeout=10
        )
        jobs = procrastinate.App(connector=connector)
        for step in Step:
            jobs.task(name=step)(partial(self._do, app, queue, step))
        queues = {READ_QUEUE: READERS, CPU_QUEUE: 1}
        queues |= {queue_name(Task(Step.DELIVER, group)): 1 for group in app.runtime.outage_groups}
        takers: list[Any] = [
            Taker(
                jobs,
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
            for name, at_once in queues.items()
        ]
        ended = asyncio.Event()
        async with jobs.open_async():
            at_work = [asyncio.create_task(taker.run()) for taker in takers]
            at_work.append(asyncio.create_task(self._watch(app, jobs, ended)))
            await asyncio.wait([woken, *at_work], return_when=asyncio.FIRST_COMPLETED)
            if woken.done():
                app.runtime.stopping.set()
                log.info("finishing work in progress", because=self._reason())
            # They are asked to end, not cancelled: on Python 3.11, `asyncio.wait_for`, by which
            # the connections are awaited, may swallow a cancellation, and work would go on.
            ended.set()
            for taker in takers:
                taker.stop()
            for fault in await asyncio.gather(*at_work, return_exceptions=True):
                if isinstance(fault, Exception):
                    self._outages.record_failure(QUEUE, StoreError(str(fault)))

    def _do(self, app: App, queue: Queue, step: Step, what: str) -> None:
        """Do a job. The same one may not come for hours: the watch notes when a store is back."""
        with self._outages.watch(f"{step} {what}", seen_by=QUEUE):
            flow.do(app.runtime, Task(step, what), queue.put, BATCH_SIZE)

    async def _watch(self, app: App, jobs: procrastinate.App, ended: asyncio.Event) -> None:
        while not ended.is_set():
            await asyncio.to_thread(self._look, app)
            await _revive(jobs)
            self._outages.record_success(QUEUE)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), self.tick.total_seconds())

    def _look(self, app: App) -> None:
        app.runtime.owner.keep()
        sign_of_life(app.runtime.database, WORKER)
        self._reload(app)


def _note_lost_job(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A job whose end the queue's server did not learn of is begun again: see `_revive`.

    Procrastinate awaits its task no more, and asyncio would log that as an error at any time.
    """
    from procrastinate.exceptions import ConnectorException

    if isinstance(context.get("exception"), ConnectorException):
        log.info("job not ended in the queue", error=str(context["exception"]).strip())
    else:
        loop.default_exception_handler(context)


async def _revive(jobs: procrastinate.App) -> None:
    """Requeue the jobs of dead workers, and drop those that are queued again already."""
    from procrastinate.exceptions import ConnectorException, UniqueViolation
    from procrastinate.jobs import Status

    manager = jobs.job_manager
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=DEAD_AFTER):
        with suppress(ConnectorException):  # another worker saw to it
            try:
                await manager.retry_job(job)
            except UniqueViolation:
                await manager.finish_job(job, Status.FAILED, delete_job=True)
            log.warning("worker died during a job", job=job.task_name, what=job.task_kwargs["what"])
