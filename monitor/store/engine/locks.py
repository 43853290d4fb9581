"""Locks that last as long as a process lives.

There is one for each owner of claims, one for the service, one for each source that is being read,
and one for looking up papers. For a SQLite store it is a lock on a file in `<store>.owners/`, for
PostgreSQL an advisory lock of a connection of its own. The system releases it when the process
dies.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from monitor.errors import StoreBusyError, StoreError
from monitor.private_files import make_folder
from monitor.store.engine.connect import owners_folder
from monitor.store.engine.database import Database

SERVICE = "service"
LOOK_UP = "look-up"
EMBEDDINGS = "embeddings"
SOURCE = "source-"


class Lock:
    """A lock that only one process can hold, until `release` or its end. `id` is its name."""

    def __init__(self, path: Path, held: int) -> None:
        self.id = path.name
        self._path = path
        self._held = held

    def keep(self) -> None:
        """Take the lock again if a lost connection released it; a file's never is.

        Raises StoreBusyError if another process has taken it meanwhile: stop then. Raises
        StoreError if the store cannot be reached: try again.
        """

    def release(self) -> None:
        """Release the lock: the claims of an owner are free for others."""
        self._path.unlink(missing_ok=True)
        os.close(self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.release()


def hold_owner(database: Database) -> Lock:
    """Become an owner of claims, which name it by the lock's `id`."""
    id = secrets.token_hex(8)
    return _take(database, id, f"the owner {id} has lost its place to another")


def alive(database: Database, owner: str) -> bool:
    """Return whether an owner still holds its lock."""
    if database.path is None:
        with database.reading() as tx:
            key = sa.func.pg_try_advisory_xact_lock_shared(_number(owner))
            return not tx.scalar(sa.select(key))
    return _is_locked(owners_folder(database.path) / owner)


def service_lock(database: Database) -> Lock:
    """Take the lock of the only service on a store. Raises StoreBusyError if it is taken.

    A PostgreSQL server releases it when the connection is lost: call `keep` regularly, and stop if
    that raises StoreBusyError.
    """
    hint = "only one serves a store; the other commands may be used beside it"
    return _take(database, SERVICE, "another paper-monitor serve runs on this store", hint)


def source_lock(database: Database, source: str) -> Lock:
    """Be the only process to read a source. Raises StoreBusyError while another reads it."""
    busy = f"the source {source} is being read already"
    return _take(database, _of_source(source), busy, "wait until it is done")


def look_up_lock(database: Database) -> Lock:
    """Be the only process to ask services about papers. Raises StoreBusyError while another is."""
    return _take(database, LOOK_UP, "another process asks services about papers", "wait for it")


def embeddings_lock(database: Database) -> Lock:
    """Be the only process to ask for vectors. Raises StoreBusyError while another one does."""
    return _take(database, EMBEDDINGS, "another process asks for vectors of papers", "wait for it")


def is_source_locked(database: Database, source: str) -> bool:
    return alive(database, _of_source(source))


def _of_source(source: str) -> str:
    return SOURCE + hashlib.sha256(source.encode()).hexdigest()[:16]


class _AdvisoryLock(Lock):
    def __init__(self, database: Database, name: str, busy: str, hint: str) -> None:
        self.id = name
        self._database = database
        self._number = _number(name)
        self._busy = busy, hint
        self._connection = self._connect()

    def keep(self) -> None:
        try:
            self._connection.execute(sa.select(1))
        except sa.exc.SQLAlchemyError:
            self._disconnect()
            self._connection = self._connect()

    def release(self) -> None:
        with suppress(sa.exc.SQLAlchemyError):  # a lost connection has released it already
            self._connection.execute(sa.select(sa.func.pg_advisory_unlock(self._number)))
        self._disconnect()

    def _connect(self) -> sa.Connection:
        connection = self._database.session_lock(self._number)
        if connection is None:
            raise StoreBusyError(*self._busy)
        return connection

    def _disconnect(self) -> None:
        if not self._connection.closed:
            self._connection.invalidate()
            self._connection.close()


def _take(database: Database, name: str, busy: str, hint: str = "") -> Lock:
    if database.path is None:
        return _AdvisoryLock(database, name, busy, hint)
    folder = owners_folder(database.path)
    try:
        make_folder(folder)
        for left in folder.iterdir():
            if not _is_reused(left.name):
                _is_locked(left)  # removes the files of owners that died
        held = _lock_file(folder / name, wait=not _is_reused(name))
    except OSError as fault:
        raise StoreError(f"no lock file can be made in {folder}: {fault.strerror}") from fault
    if held is None:
        raise StoreBusyError(busy, hint)
    return Lock(folder / name, held)


def _is_reused(name: str) -> bool:
    """The names of services and sources are used again; those of owners never are."""
    return name in (SERVICE, LOOK_UP, EMBEDDINGS) or name.startswith(SOURCE)


def _number(name: str) -> int:
    digest = hashlib.sha256(f"paper-monitor owner {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _lock_file(path: Path, *, wait: bool) -> int | None:
    """Lock a file and return its descriptor, None if another process holds it.

    The last holder may remove the file between opening and locking it: it is then created again.
    """
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(held)
            return None
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(held).st_ino:
                return held
        os.close(held)


def _is_locked(path: Path) -> bool:
    """Return whether another process holds a lock file; remove one that no process holds."""
    try:
        held = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(held)
    return False
