"""Outage groups of channels: hand-offs in a row without a clear outcome, and time down.

The count is in the store, so that all threads and processes share it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store.digests.incidents import DOWN
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_or_update

_line = schema.line.c
_incident = schema.incident.c


def unclear(tx: Transaction, group: str) -> int:
    """Return how many hand-offs since the last success had no clear outcome."""
    return tx.scalar(sa.select(_line.unclear).where(_line.name == group)) or 0


def add_unclear(tx: Transaction, group: str, count: int) -> int:
    """Count hand-offs without a clear outcome; return how many since the last success."""
    row = {"name": group, "unclear": count}
    insert_or_update(tx, schema.line, [row], [], unclear=_line.unclear + count)
    return unclear(tx, group)


def reset_unclear(tx: Transaction, group: str) -> None:
    """Record a success: the count starts again."""
    tx.execute(_RESET_UNCLEAR, {"group": group})


# Built once: every delivery runs it.
_RESET_UNCLEAR = (
    sa.update(schema.line)
    .where(_line.name == sa.bindparam("group"), _line.unclear != 0)
    .values(unclear=0)
)


def time_down(tx: Transaction, group: str, since: datetime, until: datetime) -> timedelta:
    """Return how long an outage group was down between two times, from its incidents."""
    outages = tx.execute(
        sa.select(_incident.since, _incident.ended_at).where(
            _incident.subject == group,
            _incident.kind == DOWN,
            _incident.since < until,
            sa.or_(_incident.ended_at.is_(None), _incident.ended_at > since),
        )
    )
    spans = (min(outage.ended_at or until, until) - max(outage.since, since) for outage in outages)
    return sum(spans, timedelta())
