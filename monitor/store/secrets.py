"""Secrets of an installation: keys that sign, refresh tokens, and logins to the pages."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from monitor.clocks import Clock
from monitor.errors import StoreError
from monitor.private_files import create_file, read_private
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.sql import insert_new, insert_or_update

_BYTES = 32
# Rows are kept so long after their end: a one-time address must not begin a second session.
SESSIONS_KEPT = timedelta(days=1)

_session = schema.web_session.c


def load_signing_key(database: Database) -> str:
    """Return the key that signs links, "" where none was made."""
    with database.reading() as tx:
        return tx.scalar(sa.select(schema.signing_key.c.key)) or ""


def make_signing_key(database: Database, clock: Clock) -> str:
    """Return the key that signs links, made where there is none; all processes get the same."""
    row = {"id": 1, "key": secrets.token_hex(_BYTES), "made_at": clock.now()}
    with database.writing() as tx:
        insert_new(tx, schema.signing_key, [row])
    return load_signing_key(database)


def load_login_key(database: Database) -> str:
    """Return the key that signs addresses which log the operator in, "" where none was made.

    It is beside a SQLite store, which may be readable by others and is copied into backups. On
    PostgreSQL, whose server says who may read it, it is the key of the store. Raises StoreError
    where it cannot be read, or another account may have written it.
    """
    if database.path is None:
        return load_signing_key(database)
    path = _beside(database.path)
    try:
        content = read_private(path, database.path.stat().st_uid)
    except FileNotFoundError:
        return ""
    except OSError as fault:
        raise StoreError(f"{path} cannot be read: {fault.strerror}", _REMEDY) from fault
    return content.decode("ascii", "replace").strip()


def make_login_key(database: Database, clock: Clock) -> str:
    """Return the key of logins, made where there is none.

    Raises StoreError where it cannot be written or read, or other accounts can use it.
    """
    if database.path is None:
        return make_signing_key(database, clock)
    if not load_login_key(database):
        _write_key(_beside(database.path))
    return load_login_key(database)


_REMEDY = (
    "delete it, so that a new one is made for the account of the service, or delete it and set "
    "web.token"
)


def _write_key(path: Path) -> None:
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


class KeptTokens:
    """The refresh tokens that endpoints gave (`monitor.channels.email.oauth.RefreshTokens`)."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def load(self, account: str) -> str:
        with self._database.reading() as tx:
            asked = sa.select(schema.oauth_token.c.refresh_token).filter_by(account=account)
            return tx.scalar(asked) or ""

    def save(self, account: str, refresh_token: str) -> None:
        now = self._clock.now()
        row = {"account": account, "refresh_token": refresh_token, "changed_at": now}
        with self._database.writing() as tx:
            insert_or_update(tx, schema.oauth_token, [row])


def begin_session(
    tx: Transaction, id_: str, login: str, granted_by: str, now: datetime, until: datetime
) -> bool:
    """Record a session, and return whether it began: each `login` begins one only."""
    tx.execute(sa.delete(schema.web_session).where(_session.until < now - SESSIONS_KEPT))
    row = {"id": id_, "login": login, "granted_by": granted_by, "since": now, "until": until}
    return insert_new(tx, schema.web_session, [row]) == 1


def find_session(tx: Transaction, id_: str) -> tuple[str, datetime] | None:
    """Return what granted a session and when it ends, None for one that never began."""
    session = tx.execute(sa.select(_session.granted_by, _session.until).filter_by(id=id_)).first()
    return (session.granted_by, session.until) if session else None


def end_session(tx: Transaction, id_: str, now: datetime) -> None:
    """End a session that is still open."""
    still_open = sa.update(schema.web_session).filter_by(id=id_).where(_session.until > now)
    tx.execute(still_open.values(until=now))
