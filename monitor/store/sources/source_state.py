"""The state of a source between readings: when it was read, and how long to wait.

It belongs to one place, the kind and address of the source's configuration; another place has no
state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_or_update

_state = schema.source_state.c
_ALL = ["place", "whole_at", "lifetime", "waits_until", "waits_for"]


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
    asked = sa.select(schema.source_state).where(_state.source == source, _state.place == address)
    row = tx.execute(asked).first()
    if row is None:
        return SourceState(address)
    return SourceState(
        address, row.whole_at, timedelta(seconds=row.lifetime), row.waits_until, row.waits_for
    )


def read_whole(
    tx: Transaction, source: str, address: str, now: datetime, lifetime: timedelta
) -> None:
    """Record that a document was read completely, in the transaction that stored its papers."""
    seconds = int(lifetime.total_seconds())
    row = {"source": source, "place": address, "whole_at": now, "lifetime": seconds}
    _put(tx, {**row, "waits_until": None, "waits_for": ""})


def must_wait(tx: Transaction, source: str, address: str, until: datetime, why: str) -> None:
    """Record that a source is not to be read before a time."""
    known = state(tx, source, address)
    seconds = int(known.lifetime.total_seconds())
    row = {"source": source, "place": address, "whole_at": known.whole_at, "lifetime": seconds}
    _put(tx, {**row, "waits_until": until, "waits_for": why})


def _put(tx: Transaction, row: dict[str, object]) -> None:
    insert_or_update(tx, schema.source_state, [row], _ALL)
