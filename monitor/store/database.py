"""Opening the store, and the transactions that everything else is done in."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from monitor.errors import StoreBusyError, StoreError
from monitor.store import schema
from monitor.store.columns import insert_or_update, read_json

Transaction = sa.Connection

BUSY_MS = 30_000
SQLITE_HEADER = b"SQLite format 3\0"
# A bigger file is checked whole only when asked to: its start is always looked at.
CHECKED_WHOLE_BYTES = 32 * 1024 * 1024
# Arbitrary, and the same in every process that shares a PostgreSQL database.
INGEST_LOCK = 0x50415045520001
MIGRATE_LOCK = 0x50415045520002

# A machine that vanished holds its locks until the server notices: in a minute, not in two hours.
_NOTICED_SOON = sa.text(
    "SELECT set_config('tcp_keepalives_idle', '30', false),"
    " set_config('tcp_keepalives_interval', '10', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)

# What the server is set to beyond that (to wait for its standbys) stays as it is.
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)

RESTORE = "stop the service and restore a backup: docs/operations.md tells how"
RESTORE_AGAIN = "wait for it; where it was cut short, run `paper-monitor restore` again"


class Database:
    """A store that is open: short transactions, one writer on SQLite, readers beside it."""

    def __init__(self, url: str) -> None:
        """Take a database URL without connecting. Raises StoreError for one that is no store's."""
        self.url = _parsed(url)
        self.dialect = self.url.get_backend_name()
        self.path = Path(self.url.database or "") if self.dialect == "sqlite" else None
        try:
            self._writer = engine(self.url, writer=True)
            self._reader = engine(self.url, writer=False) if self.path else self._writer
        except ModuleNotFoundError as fault:
            hint = "pip install 'paper-monitor[postgres]'"
            raise StoreError(
                f"the store needs {fault.name}, which is not installed", hint
            ) from None

    def __str__(self) -> str:
        return str(self.path or self.url.render_as_string())

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Give a transaction that commits at the end, and rolls back when anything is raised.

        Raises StoreBusyError when another writer does not finish, StoreError when the store
        refuses to record.
        """
        with self._told(), self._writer.begin() as tx:
            yield tx

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that sees the store as it was when it began, and blocks nobody."""
        with self._told(), self._reader.connect() as tx:
            if self.dialect == "postgresql":
                tx.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            tx.begin()
            yield tx

    @contextmanager
    def ingesting(self) -> Iterator[Transaction]:
        """Give a writing transaction that no other ingest has at the same time."""
        with self.writing() as tx:
            lock(tx, INGEST_LOCK)
            yield tx

    def session_lock(self, number: int) -> sa.Connection | None:
        """Return a PostgreSQL connection that holds an advisory lock, None where another does.

        The server lets go of it when the connection ends, however it does.
        """
        with self._told():
            connection = self._writer.connect().execution_options(isolation_level="AUTOCOMMIT")
            try:
                connection.execute(_NOTICED_SOON)
                if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(number))):
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()
            return None

    def probe(self) -> None:
        """Raise StoreError when the store would not record: a full disk, a read-only file."""
        row = {"name": "probe", "at": datetime.now(UTC)}
        with self.writing() as tx:
            insert_or_update(tx, schema.heartbeat, [row], ["at"])

    def check(self) -> None:
        """Read the whole file and raise StoreError where it is damaged."""
        if self.path is None:
            return
        with self.reading() as tx:
            found = tx.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise StoreError(f"{self.path} is damaged: {found}", RESTORE)

    def backup(self, path: Path) -> None:
        """Write a whole and consistent copy to `path`, while others read and write.

        The copy appears only when it is complete. Raises StoreError on PostgreSQL, which has
        pg_dump, and where the copy cannot be written.
        """
        if self.path is None:
            raise StoreError("a PostgreSQL store is backed up with its own tools", "use pg_dump")
        if path.resolve() == self.path.resolve():
            raise StoreError(f"{path} is the store itself", "name another file for its backup")
        unfinished = path.with_name(f"{path.name}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.unlink(missing_ok=True)
            with self._told(), closing(sqlite3.connect(self.path)) as connection:
                connection.execute("VACUUM INTO ?", (str(unfinished),))
            with unfinished.open("rb+") as written:
                os.fsync(written.fileno())
            unfinished.replace(path)
        except OSError as fault:
            raise StoreError(f"the backup {path} cannot be written: {fault}") from fault

    def close(self) -> None:
        """Close every connection. The store may be used again, and opens new ones."""
        self._writer.dispose()
        self._reader.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in the user's words what the database said in its own."""
        try:
            yield
        except sa.exc.DBAPIError as fault:
            raise self._error(fault.orig or fault) from fault
        except sqlite3.Error as fault:
            raise self._error(fault) from fault
        except sa.exc.TimeoutError as fault:
            raise StoreBusyError("the store is busy: no connection came free") from fault

    def _error(self, fault: BaseException) -> StoreError:
        said = str(fault).strip()
        if self.path is None:
            return StoreError(f"the store {self}: {said}")
        for words, message, hint in _SQLITE_SAYS:
            if words in said:
                kind = StoreBusyError if words == "locked" else StoreError
                return kind(f"{self} {message}", hint)
        return StoreError(f"{self}: {said}")


_SQLITE_SAYS = (
    ("locked", "is held by another process", "try again, or see which process it is"),
    ("disk is full", "cannot grow: the disk is full", "free some space; nothing was sent or lost"),
    ("readonly", "is read-only", "its file and folder must be writable by this user"),
    ("malformed", "is damaged", RESTORE),
    ("not a database", "is not a store, or is damaged", RESTORE),
    ("unable to open", "cannot be opened", "its folder must exist and be writable by this user"),
    ("disk I/O error", "cannot be read or written: the disk reports an error", RESTORE),
)


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise StoreError(f"{url!r} is no store", "sqlite:///data/monitor.db, for one") from None
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreError(
            f"a store cannot be {backend}", "it is sqlite:/// or postgresql+psycopg://"
        )
    if parsed.database in (None, "", ":memory:") or parsed.query:
        raise StoreError("a SQLite store is a file", "sqlite:///data/monitor.db, for one")
    return parsed


def engine(url: sa.URL, *, writer: bool, foreign_keys: bool = True) -> sa.Engine:
    """Return an engine with the settings that a store needs.

    A commit is on the disk when it returns, on SQLite (synchronous = FULL) and on PostgreSQL,
    whatever its server does by default: one that forgot what was sent would send it again. On
    SQLite a writer begins with BEGIN IMMEDIATE on the one connection it has, which threads take in
    turn.
    """
    if url.get_backend_name() == "postgresql":
        pooled = sa.create_engine(
            url,
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=15,
            json_deserializer=read_json,
        )

        @sa.event.listens_for(pooled, "connect")
        def agreed(connection: Any, record: object) -> None:
            connection.execute(_DURABLE)
            connection.commit()

        return pooled
    made = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        pool_size=1 if writer else 5,
        max_overflow=0 if writer else 15,
        connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000},
        json_deserializer=read_json,
    )

    @sa.event.listens_for(made, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # the driver begins nothing of its own
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        connection.execute("PRAGMA synchronous = FULL")
        # KiB. More would hold more of what a chunk writes, but pages that are looked at once in a
        # store of millions come sooner into what the processor's own cache holds.
        connection.execute(f"PRAGMA cache_size = {-16384 if writer else -8192}")
        connection.execute("PRAGMA journal_mode = WAL" if writer else "PRAGMA query_only = ON")

    @sa.event.listens_for(made, "begin")
    def begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")

    return made


def lock(tx: Transaction, number: int) -> None:
    """Wait until no other transaction has this lock. On SQLite there is only one that writes."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def open_store(url: str) -> Database:
    """Open a store, make it where there is none, and bring its tables up to date.

    Raises StoreError for a file that is damaged or no store at all: it is never replaced.
    """
    database = Database(url)
    try:
        if database.path:
            _look_at(database, database.path)
        found = version(database)
        if found != schema.VERSION:
            from monitor.store.migrate import upgrade

            upgrade(database)
    except BaseException:
        database.close()
        raise
    return database


def version(database: Database) -> str | None:
    """Return the migration that a store stands at, None for one that is new."""
    with database.reading() as tx:
        if not sa.inspect(tx).has_table("alembic_version"):
            return None
        return tx.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _look_at(database: Database, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if restoring(path).exists():
            raise StoreError(f"a restore of {path} is not finished", RESTORE_AGAIN)
        if not path.exists():
            return
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
        size = path.stat().st_size
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault
    if start not in (b"", SQLITE_HEADER) or (not start and owners_folder(path).exists()):
        raise StoreError(f"{path} is not a store, or is damaged", RESTORE)
    if 0 < size <= CHECKED_WHOLE_BYTES:
        database.check()


def restoring(path: Path) -> Path:
    """Return the copy of a backup that is being made ready to take a SQLite store's place."""
    return path.with_name(f"{path.name}.restoring")


def owners_folder(path: Path) -> Path:
    """Return the folder of lock files beside a SQLite store."""
    return path.with_name(f"{path.name}.owners")
