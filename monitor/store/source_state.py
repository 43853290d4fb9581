"""What is remembered of a source between two readings: how it stands, and what it waits for.

All of it is about one place, the kind and address that the source is configured with: of
another place nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_or_update

_state = schema.source_state.c
_ALL = ["place", "whole_at", "lifetime", "waits_until", "waits_for"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """`whole_at` is when a document was last read whole, which said to stay for its `lifetime`.

    Until `waits_until` its server is not asked, because of what `waits_for` says.
    """

    place: str
    whole_at: datetime | None = None
    lifetime: timedelta = timedelta(0)
    waits_until: datetime | None = None
    waits_for: str = ""


def state(tx: Transaction, source: str, place: str) -> SourceState:
    """Return what is known of a source at a place."""
    asked = sa.select(schema.source_state).where(_state.source == source, _state.place == place)
    row = tx.execute(asked).first()
    if row is None:
        return SourceState(place)
    return SourceState(
        place, row.whole_at, timedelta(seconds=row.lifetime), row.waits_until, row.waits_for
    )


def read_whole(
    tx: Transaction, source: str, place: str, now: datetime, lifetime: timedelta
) -> None:
    """Note that a document was read whole; it is to be the transaction that stored its papers."""
    seconds = int(lifetime.total_seconds())
    row = {"source": source, "place": place, "whole_at": now, "lifetime": seconds}
    _put(tx, {**row, "waits_until": None, "waits_for": ""})


def must_wait(tx: Transaction, source: str, place: str, until: datetime, why: str) -> None:
    """Note that a source is not to be read before a time."""
    known = state(tx, source, place)
    seconds = int(known.lifetime.total_seconds())
    row = {"source": source, "place": place, "whole_at": known.whole_at, "lifetime": seconds}
    _put(tx, {**row, "waits_until": until, "waits_for": why})


def _put(tx: Transaction, row: dict[str, object]) -> None:
    insert_or_update(tx, schema.source_state, [row], _ALL)
