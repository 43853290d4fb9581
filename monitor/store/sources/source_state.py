"""The state of a source between readings: when it was read, and how long to wait.

It belongs to one place, the kind and address of the source's configuration; another place has no
state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_or_update


@dataclass(frozen=True, slots=True)
class SourceState:
    """`whole_at` is when a document was last read completely, valid for its `lifetime`.

    Until `waits_until` its server is not asked, for the reason in `waits_for`.
    """

    address: str
    whole_at: datetime | None = None
    lifetime: timedelta = timedelta(0)
    waits_until: datetime | None = None
    waits_for: str = ""


def state(tx: Transaction, source: str, address: str) -> SourceState:
    """Return the state of a source at an address."""
    row = tx.execute(sa.select(schema.source_state).filter_by(source=source, place=address)).first()
    if row is None:
        return SourceState(address)
    lifetime = timedelta(seconds=row.lifetime)
    return SourceState(address, row.whole_at, lifetime, row.waits_until, row.waits_for)


def read_whole(
    tx: Transaction, source: str, address: str, now: datetime, lifetime: timedelta
) -> None:
    """Record that a document was read completely, in the transaction that stored its papers."""
    _save(tx, source, SourceState(address, now, lifetime))


def must_wait(tx: Transaction, source: str, address: str, until: datetime, why: str) -> None:
    """Record that a source is not to be read before a time."""
    known = state(tx, source, address)
    _save(tx, source, replace(known, waits_until=until, waits_for=why))


def _save(tx: Transaction, source: str, state: SourceState) -> None:
    row = {
        "source": source,
        "place": state.address,
        "whole_at": state.whole_at,
        "lifetime": int(state.lifetime.total_seconds()),
        "waits_until": state.waits_until,
        "waits_for": state.waits_for,
    }
    insert_or_update(tx, schema.source_state, [row])
