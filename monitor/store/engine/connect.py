"""Connections to SQLite and PostgreSQL, with the settings and the files that a store needs."""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from monitor.errors import StoreError
from monitor.store.engine.sql import read_json

BUSY_MS = 30_000
# KiB that a connection to SQLite keeps of the store. With larger caches the many connections of a
# service grow for hours (benchmarks/steady.py). The pages are in the system's cache as well.
READ_CACHE = 2_048
WRITE_CACHE = 8_192
# Bytes that the -wal file keeps after a large transaction.
MAX_JOURNAL = 64 * 1024 * 1024

# A stronger setting of the server, such as waiting for its standbys, is kept.
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)


def parse_url(url: str) -> sa.URL:
    """Return the URL of a store, as the configuration permits it: a file or a server."""
    if url.startswith("sqlite:"):
        return sa.URL.create("sqlite", database=url.removeprefix("sqlite:///"))
    return sa.make_url(url).set(drivername="postgresql+psycopg")


def engine(
    url: sa.URL, *, writer: bool, foreign_keys: bool = True, wait: float | None = None
) -> sa.Engine:
    """Return an engine with the settings that a store needs; it waits for `wait` seconds at most.

    A commit is on the disk when it returns, on SQLite (synchronous = FULL) and on PostgreSQL,
    whatever its server's default: a lost commit would send a digest again. On SQLite a writer
    begins with BEGIN IMMEDIATE on its only connection, which threads use in turn.
    """
    if url.get_backend_name() == "postgresql":
        return _postgresql_engine(url, wait)
    file = Path(url.database or "")
    new_engine = sa.create_engine(
        url,
        poolclass=sa.QueuePool,
        pool_size=1 if writer else 5,
        max_overflow=0 if writer else 15,
        # Each connection has a cache of its own: the one used last has the warmest.
        pool_use_lifo=True,
        creator=lambda: connect_sqlite(file, wait),
        json_deserializer=read_json,
    )

    @sa.event.listens_for(new_engine, "connect")
    def configure(connection: sqlite3.Connection, record: object) -> None:
        connection.isolation_level = None  # the driver begins no transaction by itself
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = {-(WRITE_CACHE if writer else READ_CACHE)}")
        if writer:
            _write_ahead(connection)
            connection.execute(f"PRAGMA journal_size_limit = {MAX_JOURNAL}")
        else:
            connection.execute("PRAGMA query_only = ON")

    @sa.event.listens_for(new_engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writer else "BEGIN")

    return new_engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        # Another process is changing it. SQLite waits for that in BEGIN, but not in this pragma.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _postgresql_engine(url: sa.URL, wait: float | None) -> sa.Engine:
    limits: dict[str, Any] = {}
    if wait:
        timeouts = (f"-c {name}_timeout={wait * 1000:.0f}" for name in ("lock", "statement"))
        limits = {"connect_timeout": max(2, round(wait)), "options": " ".join(timeouts)}
    new_engine = sa.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=15,
        json_deserializer=read_json,
        connect_args=limits,
    )

    @sa.event.listens_for(new_engine, "connect")
    def require_durability(connection: Any, record: object) -> None:
        connection.execute(_DURABLE)
        connection.commit()

    return new_engine


def connect_sqlite(path: Path, wait: float | None = None) -> sqlite3.Connection:
    """Connect to an existing file; wait for a locked store, for `wait` seconds at most."""
    # Without a mode SQLite would create a missing file.
    address = f"{path.absolute().as_uri()}?mode=rw"
    timeout = wait or BUSY_MS / 1000
    return sqlite3.connect(address, uri=True, timeout=timeout, check_same_thread=False)


# With less free space SQLite cannot create its temporary files.
MIN_FREE_BYTES = 1024 * 1024
_LIMITS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "a disk quota is reached",
    errno.EFBIG: "a limit on the size of files is reached",
}
# https://www.sqlite.org/fileformat.html, 1.3
SQLITE_HEADER = b"SQLite format 3\0"


def growth_fault(path: Path) -> str:
    """Return why the files of a store cannot grow, or "" if they can.

    SQLite reports a quota and a limit on the size of files as it reports a broken disk. So growing
    is tried, with a file without a name, beyond the end of the store's largest file.
    """
    end = max(size_of(path), size_of(path.with_name(f"{path.name}-wal")))
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.seek(end)
            file.write(bytes(MIN_FREE_BYTES))
    except OSError as fault:
        return _LIMITS.get(fault.errno or 0, "")
    return ""


def header_of(path: Path) -> bytes:
    """Return the first bytes of a file, `SQLITE_HEADER` of a store. To open it could change it."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER))


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault


def restoring(path: Path) -> Path:
    """Return the copy of a backup that is being prepared to replace a SQLite store."""
    return path.with_name(f"{path.name}.restoring")


def owners_folder(path: Path) -> Path:
    """Return the folder of lock files beside a SQLite store."""
    return path.with_name(f"{path.name}.owners")
