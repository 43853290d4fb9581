"""The queue of jobs for workers: Procrastinate, on the store's own PostgreSQL database.

It only wakes workers: tables, unique keys and claims decide what to do. A job that runs twice
does nothing the second time, a lost job is queued again at the next tick, and a job that already
waits is not queued twice (its queueing lock).

Procrastinate is an extra: functions import it, so that this module can be imported without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from monitor.errors import StoreError
from monitor.pipeline.flow import Step, Task
from monitor.store.engine.database import Database, Transaction, lock

if TYPE_CHECKING:
    import procrastinate

log = structlog.get_logger()

QUEUE_LOCK = 0x50415045520003
READ_QUEUE = "read"
CPU_QUEUE = "think"
# The CPU queue has one thread: digests run before maintenance.
_PRIORITY = {
    Step.COMPOSE_SOME: 3,
    Step.COMPOSE: 2,
    Step.MATCH: 1,
    Step.CLEAN_UP: -1,
    Step.SEARCH: -2,
}


class Queue:
    """The queue, to ask for jobs. Make one with `open_queue`."""

    def __init__(self, app: procrastinate.App) -> None:
        self._app = app

    def put(self, task: Task) -> None:
        """Ask for a task, unless the same one waits already. Raises StoreError."""
        from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

        configured = self._app.configure_task(
            task.step,
            queue=queue_name(task),
            queueing_lock=f"{task.step} {task.target}",
            priority=_PRIORITY.get(task.step, 0),
        )
        try:
            configured.defer(what=task.target)
        except AlreadyEnqueued:
            return
        except ConnectorException as fault:
            job = " ".join(f"{task.step} {task.target}: {fault}".split())
            raise StoreError(f"the queue did not accept the job {job}") from fault


@contextmanager
def open_queue(database: Database) -> Iterator[Queue | None]:
    """Open the queue of a store; None where it cannot have one: on SQLite, without the extra."""
    if database.path is not None or find_spec("procrastinate") is None:
        yield None
        return
    import procrastinate

    prepare(database)
    connector = procrastinate.SyncPsycopgConnector(
        conninfo=address_of(database), min_size=1, max_size=2
    )
    app = procrastinate.App(connector=connector)
    with app.open():
        yield Queue(app)


def prepare(database: Database) -> None:
    """Make the queue's tables, or bring them up to date.

    Procrastinate's migrations are noted by name in `procrastinate_applied`, each in the
    transaction that runs it. One process at a time does this, and done again it does nothing.
    """
    from procrastinate.schema import SchemaManager

    folder = Path(SchemaManager.get_migrations_path())
    steps = sorted(step.name for step in folder.glob("*.sql"))
    while True:
        with database.writing() as tx:
            lock(tx, QUEUE_LOCK)
            _run(tx, "CREATE TABLE IF NOT EXISTS procrastinate_applied (name text PRIMARY KEY)")
            applied = {row.name for row in _run(tx, "SELECT name FROM procrastinate_applied")}
            missing = [name for name in steps if name not in applied]
            if not missing:
                return
            step, now_applied = (missing[0], missing[:1]) if applied else ("schema", missing)
            _run(tx, (folder / step).read_text("utf-8") if applied else SchemaManager.get_schema())
            names = ", ".join(f"('{name}')" for name in now_applied)
            _run(tx, f"INSERT INTO procrastinate_applied VALUES {names}")
        log.info("queue brought up to date", step=step)


def _run(tx: Transaction, statements: str) -> Any:
    """Run a script as it is: with parameters, even none, the driver takes one statement only."""
    return tx.exec_driver_sql(statements, execution_options={"no_parameters": True})


def address_of(database: Database) -> str:
    return database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def queue_name(task: Task) -> str:
    """Return the queue of a task. A name is also a channel of PostgreSQL, of 63 bytes at most."""
    if task.step is Step.DELIVER:
        return f"send-{hashlib.sha256(task.target.encode()).hexdigest()[:16]}"
    # They mostly wait for servers.
    waits = task.step in (Step.INGEST, Step.LOOK_UP, Step.EMBED)
    return READ_QUEUE if waits else CPU_QUEUE
