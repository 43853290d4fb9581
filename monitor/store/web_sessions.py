"""Logins of the operator to the pages: one row each, until it ends."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_new

# Rows are kept so long after their end: a one-time address must not begin a second session.
KEPT = timedelta(days=1)

_session = schema.web_session.c


def begin(
    tx: Transaction, id_: str, login: str, granted_by: str, now: datetime, until: datetime
) -> bool:
    """Record a session, and return whether it began: each `login` begins one only."""
    tx.execute(sa.delete(schema.web_session).where(_session.until < now - KEPT))
    row = {"id": id_, "login": login, "granted_by": granted_by, "since": now, "until": until}
    return insert_new(tx, schema.web_session, [row]) == 1


def find(tx: Transaction, id_: str) -> tuple[str, datetime] | None:
    """Return what granted a session and when it ends, None for one that never began."""
    row = tx.execute(sa.select(_session.granted_by, _session.until).where(_session.id == id_))
    session = row.first()
    return (session.granted_by, session.until) if session else None


def end(tx: Transaction, id_: str, now: datetime) -> None:
    """End a session that is still open."""
    tx.execute(
        sa.update(schema.web_session)
        .where(_session.id == id_, _session.until > now)
        .values(until=now)
    )
