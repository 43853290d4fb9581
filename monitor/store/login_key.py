"""The key that signs addresses which log the operator in: beside a SQLite store, not in it.

A store may be readable by others, and is copied into backups; on PostgreSQL the server says who
may read the key of the store.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from monitor.errors import StoreError
from monitor.model import Clock
from monitor.private_files import create_file, read_private
from monitor.store import signing_keys
from monitor.store.database import Database

_BYTES = 32


def load(database: Database) -> str:
    """Return the key, "" where none was made.

    Raises StoreError where it cannot be read, or another account may have written it.
    """
    if database.path is None:
        return signing_keys.load(database)
    path = _beside(database.path)
    try:
        content = read_private(path, database.path.stat().st_uid)
    except FileNotFoundError:
        return ""
    except OSError as fault:
        raise StoreError(f"{path} cannot be read: {fault.strerror}", _REMEDY) from fault
    return content.decode("ascii", "replace").strip()


def make(database: Database, clock: Clock) -> str:
    """Return the key, and make it where there is none.

    Raises StoreError where it cannot be written or read, or other accounts can use it.
    """
    if database.path is None:
        return signing_keys.make(database, clock)
    if not load(database):
        _write(_beside(database.path))
    return load(database)


_REMEDY = (
    "delete it, so that a new one is made for the account of the service, or delete it and set "
    "web.token"
)


def _write(path: Path) -> None:
    """Write the file as a whole: a process that is killed leaves no half of a key."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with create_file(draft) as file:
            file.write(secrets.token_hex(_BYTES).encode())
        draft.replace(path)
    except OSError as fault:
        draft.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written: {fault.strerror}", "use web.token") from fault


def _beside(store: Path) -> Path:
    return store.with_name(f"{store.name}.login-key")
