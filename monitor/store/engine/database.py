"""A store: its transactions, locks, checks and backups."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from monitor.errors import StoreBusyError, StoreError, ValueRefusedError
from monitor.http.addresses import mask_url
from monitor.private_files import create_file
from monitor.store.engine import schema
from monitor.store.engine.connect import (
    SQLITE_HEADER,
    connect_sqlite,
    engine,
    growth_fault,
    header_of,
    parse_url,
)
from monitor.store.engine.sql import insert_or_update

Transaction = sa.Connection
# Arbitrary, and the same in every process that shares a PostgreSQL database.
INGEST_LOCK = 0x50415045520001
MIGRATE_LOCK = 0x50415045520002
ACTIVATION_LOCK = 0x50415045520004

# A machine that vanished holds its locks until the server notices: a minute instead of two hours.
_TCP_KEEPALIVE = sa.text(
    "SELECT set_config('tcp_keepalives_idle', '30', false),"
    " set_config('tcp_keepalives_interval', '10', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
RESTORE = "stop the service and restore a backup: see docs/operations.md"
MAKE_ROOM = "free some space, or raise the limit; nothing was sent or lost"
PUT_BACK = "nothing is sent; stop the service and put the store back, or restart it to use this one"


class Database:
    """An open store: short transactions, with one writer at a time on SQLite."""

    def __init__(self, url: str, wait: float | None = None) -> None:
        """Take a database URL without connecting. Raises StoreError without a driver for it.

        `wait` limits how many seconds it waits for others, instead of 30 or longer.
        """
        self.url = parse_url(url)
        self.dialect = self.url.get_backend_name()
        self.path = Path(self.url.database or "") if self.dialect == "sqlite" else None
        self._identity: tuple[int, int] | None = None
        # On SQLite each connection counts the commits of all others: this one writes nothing.
        self._watcher: sqlite3.Connection | None = None
        self._watching = threading.Lock()
        try:
            self._writer = engine(self.url, writer=True, wait=wait)
            self._reader = self._writer
            if self.path:
                self._reader = engine(self.url, writer=False, wait=wait)
        except ModuleNotFoundError as fault:
            hint = "in a clone of the repository: pip install '.[postgres]'"
            raise StoreError(
                f"the store needs {fault.name}, which is not installed", hint
            ) from None

    def __str__(self) -> str:
        return str(self.path or mask_url(self.url.render_as_string()))

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Begin a transaction that commits at the end, and rolls back on any exception.

        Raises StoreBusyError if another writer does not finish, StoreError if writing fails.
        """
        with self.explaining(), self._writer.begin() as tx:
            self.check_identity()
            yield tx
            self.check_identity()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin a transaction that sees the store as it was at its start, and blocks no writer."""
        with self.explaining(), self._reader.connect() as tx:
            if self.dialect == "postgresql":
                tx.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            tx.begin()
            self.check_identity()
            yield tx

    def mark(self) -> str:
        """Return a mark of the contents: between two that are equal, nothing was committed.

        Marks are of this object, and of the time until it is closed.
        """
        if self.path is None:
            with self.reading() as tx:
                # The transactions that are seen: others, once one that wrote has ended.
                return str(tx.scalar(sa.text("SELECT CAST(txid_current_snapshot() AS text)")))
        self.check_identity()
        with self.explaining(), self._watching:
            if self._watcher is None:
                self._watcher = connect_sqlite(self.path)
            [(commits,)] = self._watcher.execute("PRAGMA data_version")
        return str(commits)

    def check_identity(self) -> None:
        """Raise StoreError if the file that was opened was deleted or replaced.

        Open connections would go on writing to the deleted file, and the records of what was sent
        would be lost. So every transaction checks before it begins and before it commits.
        """
        if self.path is None:
            return
        try:
            status = self.path.stat()
        except FileNotFoundError:
            gone = f"the store {self} was deleted or moved while in use"
            raise StoreError(gone, PUT_BACK) from None
        except OSError as fault:
            raise StoreError(f"the store {self} cannot be reached: {fault.strerror}") from fault
        identity = status.st_dev, status.st_ino
        if self._identity is None:
            self._identity = identity
        if identity != self._identity:
            raise StoreError(f"the store {self} was replaced while in use", PUT_BACK)

    @contextmanager
    def ingesting(self) -> Iterator[Transaction]:
        """Begin a writing transaction. No two ingests have one at the same time."""
        with self.writing() as tx:
            lock(tx, INGEST_LOCK)
            yield tx

    def session_lock(self, number: int) -> sa.Connection | None:
        """Return a PostgreSQL connection that holds an advisory lock, None if another holds it.

        The server releases the lock when the connection ends for any reason.
        """
        with self.explaining(), ExitStack() as unless_held:
            connection = unless_held.enter_context(self._writer.connect())
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(_TCP_KEEPALIVE)
            if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(number))):
                unless_held.pop_all()
                return connection
        return None

    def probe(self) -> None:
        """Raise StoreError if the store cannot be written: a full disk, a read-only file."""
        with self.writing() as tx:
            row = {"name": "probe", "at": datetime.now(UTC)}
            insert_or_update(tx, schema.heartbeat, [row])

    def check(self) -> None:
        """Read the whole file and raise StoreError if it is damaged."""
        if self.path is None:
            return
        with self.reading() as tx:
            result = tx.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if result != "ok":
            raise StoreError(f"{self.path} is damaged: {result}", RESTORE)

    def backup(self, path: Path, *, with_tokens: bool = False) -> None:
        """Write a complete, consistent copy to `path` while others read and write.

        The file appears only when it is complete, with the refresh tokens of mail accounts only if
        asked for. Raises StoreError if it cannot be written, and on PostgreSQL, which has pg_dump.
        """
        if self.path is None:
            raise StoreError("a PostgreSQL store is backed up with its own tools", "use pg_dump")
        if path.resolve() == self.path.resolve():
            raise StoreError(f"{path} is the store itself", "name another file for its backup")
        if path.is_dir():
            raise StoreError(f"{path} is a folder", f"name a file in it, as in {path}/papers.db")
        if not path.parent.is_dir():
            raise StoreError(f"there is no folder {path.parent}", "create it, or correct its name")
        if path.exists() and not (path.is_file() and header_of(path) in (b"", SQLITE_HEADER)):
            raise StoreError(f"{path} exists and is no backup", "name another file")
        partial = path.with_name(f"{path.name}.unfinished")
        try:
            partial.unlink(missing_ok=True)
            create_file(partial).close()  # VACUUM keeps the mode of an empty file
            with self.explaining(), closing(connect_sqlite(self.path)) as connection:
                connection.execute("VACUUM INTO ?", (str(partial.absolute()),))
            _remove_logins(partial, with_tokens=with_tokens)
            with partial.open("rb+") as written:
                os.fsync(written.fileno())
            partial.replace(path)
        except OSError as fault:
            raise StoreError(f"the backup {path} cannot be written: {fault}") from fault
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Close every connection. Using the store again opens new ones."""
        self._writer.dispose()
        self._reader.dispose()
        with self._watching:
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
        self._identity = None

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn an error of the database into a StoreError with a hint."""
        try:
            yield
        except sa.exc.DataError as fault:
            raise ValueRefusedError(self.explain(fault).message) from fault
        except (sa.exc.DBAPIError, sqlite3.Error) as fault:
            raise self.explain(fault) from fault
        except sa.exc.TimeoutError as fault:
            raise StoreBusyError("the store is busy: no connection became free") from fault

    def explain(self, fault: BaseException) -> StoreError:
        """Return an error of the database with a hint for the operator."""
        message = " ".join(str(getattr(fault, "orig", None) or fault).split())
        if self.path is None:
            return StoreError(f"the store {self}: {message}")
        if "unable to open" in message and not self.path.exists():
            return StoreError(f"there is no store {self}")
        may_be_full = "unable to open" in message or "disk I/O" in message
        if may_be_full and (limit := growth_fault(self.path)):
            return StoreError(f"{self} cannot grow: {limit}", MAKE_ROOM)
        for words, explanation, hint in _SQLITE_ERRORS:
            if words in message:
                kind = StoreBusyError if words == "locked" else StoreError
                return kind(f"{self} {explanation}", hint)
        return StoreError(f"{self}: {message}")


_SQLITE_ERRORS = (
    ("locked", "is held by another process", "try again, or see which process it is"),
    ("disk is full", "cannot grow: the disk is full", MAKE_ROOM),
    ("readonly", "is read-only", "its file and folder must be writable by this user"),
    ("malformed", "is damaged", RESTORE),
    ("not a database", "is not a store, or is damaged", RESTORE),
    ("unable to open", "cannot be opened", "its folder must exist and be writable by this user"),
    ("disk I/O error", "cannot be read or written: the disk reports an error", RESTORE),
)


def lock(tx: Transaction, number: int) -> None:
    """Wait until no other transaction has this lock. SQLite has one writer, and needs none."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def schema_version(database: Database) -> str | None:
    """Return the last migration of a store, None for a new one."""
    with database.reading() as tx:
        if not sa.inspect(tx).has_table("alembic_version"):
            return None
        return tx.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _remove_logins(copy: Path, *, with_tokens: bool) -> None:
    """Overwrite sessions and refresh tokens in a copy of a store; no journal keeps them either.

    A session that was ended after the backup would be open again in a store restored from it.
    """
    with closing(connect_sqlite(copy)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA secure_delete = ON")
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        emptied = {"web_session"} if with_tokens else {"web_session", "oauth_token"}
        for table in emptied & there:  # a store is backed up before it is upgraded, too
            connection.execute(f"DELETE FROM {table}")
        connection.commit()


class Rehearsal(Database):
    """A store within one transaction of another; its transactions are savepoints."""

    def __init__(self, whole: Database, transaction: Transaction) -> None:
        self.url = whole.url
        self.dialect = whole.dialect
        self.path = whole.path
        self._transaction = transaction

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._transaction.begin_nested():
            yield self._transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        yield self._transaction


@contextmanager
def rehearsing(database: Database) -> Iterator[Database]:
    """Open a store with the contents of `database`. Whatever is written is rolled back."""
    with database.writing() as transaction, transaction.begin_nested() as everything:
        yield Rehearsal(database, transaction)
        everything.rollback()


Item = TypeVar("Item")
Result = TypeVar("Result")
# Writes some items, and returns the result of each in order.
Step = Callable[[Transaction, Sequence[Item]], Sequence[Result]]

# About the time of a commit on the disk of a server.
PATIENCE_SECONDS = 0.003


class _Write(NamedTuple):
    step: Step[Any, Any]
    item: Any
    done: Future[Any]


class Together:
    """The writes of many threads to one store."""

    def __init__(
        self, database: Database, expected: int = 1, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Wait for `expected` writes, but no longer than `patience` seconds."""
        self._database = database
        self._expected = expected
        self._patience = patience
        self._turn = threading.Lock()
        self._came = threading.Condition()
        self._waiting: list[_Write] = []

    def write(self, step: Step[Item, Result], item: Item) -> Result:
        """Write an item in a transaction; return the result once it is committed.

        If the store fails, all writes of the transaction raise its error. If a step raises
        anything else, each write is tried alone, so that only the faulty one fails.
        """
        done: Future[Result] = Future()
        with self._came:
            self._waiting.append(mine := _Write(step, item, done))
            self._came.notify()
        with self._turn:
            if not done.done():
                with self._came:
                    self._came.wait_for(
                        lambda: len(self._waiting) >= self._expected, self._patience
                    )
                    writes = self._waiting
                    self._waiting = []
                self._commit(writes if mine in writes else [*writes, mine])
        return done.result()

    def _commit(self, writes: Sequence[_Write]) -> None:
        kinds: dict[Step[Any, Any], list[_Write]] = defaultdict(list)
        for write in writes:
            kinds[write.step].append(write)
        try:
            with self._database.writing() as tx:
                results = [step(tx, [write.item for write in kinds[step]]) for step in kinds]
        except Exception as fault:
            if len(writes) > 1 and not isinstance(fault, StoreError):
                for write in writes:
                    self._commit([write])
                return
            for write in writes:
                write.done.set_exception(fault)
        else:
            for of_kind, results_of_kind in zip(kinds.values(), results, strict=True):
                for write, result in zip(of_kind, results_of_kind, strict=True):
                    write.done.set_result(result)
