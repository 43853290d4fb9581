"""Opening the store, and the transactions that everything else is done in."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from monitor.errors import NoStoreError, StoreBusyError, StoreError
from monitor.private_files import create_file, make_folder
from monitor.store import schema
from monitor.store.sql import insert_or_update, read_json

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

RESTORE = "stop the service and restore a backup: see docs/operations.md"
CREATED_BY = "`paper-monitor run` creates it"
PUT_BACK = "nothing is sent; stop the service and put the store back, or restart it to use this one"
BEGIN_ANEW = (
    "restore a backup, or delete that folder to begin with an empty store, to which every paper "
    "is new"
)
# On a disk with less room SQLite cannot even make the files that it works with.
FULL_BYTES = 1024 * 1024
RESTORE_AGAIN = "wait for it; where it was cut short, run `paper-monitor restore` again"


class Database:
    """A store that is open: short transactions, one writer on SQLite, readers beside it."""

    def __init__(self, url: str, wait: float | None = None) -> None:
        """Take a database URL without connecting. Raises StoreError for one that is no store's.

        `wait` are the seconds that it waits for others at most, instead of 30 or longer.
        """
        self.url = _parsed(url)
        self.dialect = self.url.get_backend_name()
        self.path = Path(self.url.database or "") if self.dialect == "sqlite" else None
        self._identity: tuple[int, int] | None = None
        try:
            self._writer = engine(self.url, writer=True, wait=wait)
            self._reader = engine(self.url, writer=False, wait=wait) if self.path else self._writer
        except ModuleNotFoundError as fault:
            hint = "in a clone of the repository: pip install '.[postgres]'"
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
            self.check_identity()
            yield tx
            self.check_identity()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a transaction that sees the store as it was when it began, and blocks nobody."""
        with self._told(), self._reader.connect() as tx:
            if self.dialect == "postgresql":
                tx.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            tx.begin()
            self.check_identity()
            yield tx

    def check_identity(self) -> None:
        """Raise StoreError where the file that was opened is gone, or another is in its place.

        Our connections would go on to write into the file that was deleted, and what they record
        as sent would be lost. So each transaction looks, before it begins and before it commits.
        """
        if self.path is None:
            return
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise StoreError(
                f"the store {self} was deleted or moved while in use", PUT_BACK
            ) from None
        except OSError as fault:
            raise StoreError(f"the store {self} cannot be reached: {fault.strerror}") from fault
        identity = found.st_dev, found.st_ino
        if self._identity is None:
            self._identity = identity
        if identity != self._identity:
            raise StoreError(f"the store {self} was replaced while in use", PUT_BACK)

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
            make_folder(path.parent)
            unfinished.unlink(missing_ok=True)
            create_file(unfinished).close()  # VACUUM takes an empty file, and leaves its mode
            with self._told(), closing(_connect(self.path)) as connection:
                connection.execute("VACUUM INTO ?", (str(unfinished.absolute()),))
            with unfinished.open("rb+") as written:
                os.fsync(written.fileno())
            unfinished.replace(path)
        except OSError as fault:
            raise StoreError(f"the backup {path} cannot be written: {fault}") from fault
        finally:
            with suppress(OSError):  # what could not be made cannot be removed either
                unfinished.unlink(missing_ok=True)

    def close(self) -> None:
        """Close every connection. The store may be used again, and opens new ones."""
        self._writer.dispose()
        self._reader.dispose()
        self._identity = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say in the user's words what the database said in its own."""
        try:
            yield
        except sa.exc.DBAPIError as fault:
            raise self.explain(fault.orig or fault) from fault
        except sqlite3.Error as fault:
            raise self.explain(fault) from fault
        except sa.exc.TimeoutError as fault:
            raise StoreBusyError("the store is busy: no connection became free") from fault

    def explain(self, fault: BaseException) -> StoreError:
        """Return what the database said as an error that says what to do."""
        said = " ".join(str(fault).split())
        if self.path is None:
            return StoreError(f"the store {self}: {said}")
        if "unable to open" in said and not self.path.exists():
            return StoreError(f"there is no store {self}")
        if ("unable to open" in said or "disk I/O" in said) and _is_full(self.path.parent):
            said = "disk is full"
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


def _is_full(folder: Path) -> bool:
    """Return whether a file system has no room, or no name for another file."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    no_names = disk.f_files > 0 and disk.f_favail == 0
    return no_names or disk.f_bavail * disk.f_frsize < FULL_BYTES


def _parsed(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise StoreError(f"{url!r} is not a store", "sqlite:///data/monitor.db, for one") from None
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


def _at_most(wait: float) -> dict[str, Any]:
    """Return the arguments of a PostgreSQL connection that waits for nothing for long."""
    limits = (f"-c {name}_timeout={wait * 1000:.0f}" for name in ("lock", "statement"))
    return {"connect_timeout": max(2, round(wait)), "options": " ".join(limits)}


def engine(
    url: sa.URL, *, writer: bool, foreign_keys: bool = True, wait: float | None = None
) -> sa.Engine:
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
            connect_args=_at_most(wait) if wait else {},
        )

        @sa.event.listens_for(pooled, "connect")
        def agreed(connection: Any, record: object) -> None:
            connection.execute(_DURABLE)
            connection.commit()

        return pooled
    file = Path(url.database or "")
    made = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        pool_size=1 if writer else 5,
        max_overflow=0 if writer else 15,
        creator=lambda: _connect(file, wait),
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


def _connect(path: Path, wait: float | None = None) -> sqlite3.Connection:
    """Connect to a file that exists: SQLite would make an empty one of any other name.

    `wait` is for how many seconds a locked store is waited for.
    """
    address = f"{path.absolute().as_uri()}?mode=rw"
    timeout = wait or BUSY_MS / 1000
    return sqlite3.connect(address, uri=True, timeout=timeout, check_same_thread=False)


def lock(tx: Transaction, number: int) -> None:
    """Wait until no other transaction has this lock. On SQLite there is only one that writes."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def open_store(url: str, *, create: bool = True) -> Database:
    """Open a store, make it where there is none, and bring its tables up to date.

    Raises StoreError for a file that is damaged or no store at all: it is never replaced. Without
    `create`, for commands that only read, raises NoStoreError where there is none.
    """
    database = Database(url)
    try:
        if database.path:
            _look_at(database, database.path, create)
        found = version(database)
        if found is None and not create:
            raise NoStoreError(f"there is no store yet at {database}", CREATED_BY)
        if found != schema.VERSION:
            from monitor.store.migrate import upgrade

            upgrade(database)
    except BaseException:
        database.close()
        raise
    return database


def is_there(url: str) -> bool:
    """Return whether there is a store, or a file in its place. Raises StoreError."""
    database = Database(url)
    try:
        if database.path:
            return owners_folder(database.path).exists() or bool(_size(database.path))
        return version(database) is not None
    finally:
        database.close()


def version(database: Database) -> str | None:
    """Return the migration that a store stands at, None for one that is new."""
    with database.reading() as tx:
        if not sa.inspect(tx).has_table("alembic_version"):
            return None
        return tx.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _look_at(database: Database, path: Path, create: bool) -> None:
    # Looked for before the file: another process that makes the store makes the file first.
    in_use = owners_folder(path).exists()
    try:
        if restoring(path).exists():
            raise StoreError(f"a restore of {path} is not finished", RESTORE_AGAIN)
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
    except FileNotFoundError:
        _create(database, path, in_use, create)
        return
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault
    if start not in (b"", SQLITE_HEADER) or (not start and in_use):
        raise StoreError(f"{path} is not a store, or is damaged", RESTORE)
    if 0 < _size(path) <= CHECKED_WHOLE_BYTES:
        database.check()


def _create(database: Database, path: Path, in_use: bool, create: bool) -> None:
    """Make the empty file of a new store, never in the place of one that was in use."""
    if in_use:
        was = f"its folder {owners_folder(path).name} shows that it was in use"
        raise StoreError(f"the store {path} is missing, and {was}", BEGIN_ANEW)
    if not create:
        raise NoStoreError(f"there is no store yet at {database}", CREATED_BY)
    try:
        make_folder(path.parent)
        with suppress(FileExistsError):  # another process makes the same one
            create_file(path).close()
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be created: {fault.strerror}") from fault


def _size(path: Path) -> int:
    """Return the bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault


def restoring(path: Path) -> Path:
    """Return the copy of a backup that is being made ready to take a SQLite store's place."""
    return path.with_name(f"{path.name}.restoring")


def owners_folder(path: Path) -> Path:
    """Return the folder of lock files beside a SQLite store."""
    return path.with_name(f"{path.name}.owners")
