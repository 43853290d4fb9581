"""Works that services are asked about: which were answered, and which are not any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import sqlalchemy as sa

from monitor.model import AskedWorks
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, index_value, insert_or_update

_asked = schema.asked_work.c
# A batch that had no answer once may have met a server on a bad day.
ROUNDS = 2


def answered_before(tx: Transaction, source: str, works: Collection[str]) -> set[str]:
    """Return those of some works about which a source ever answered."""
    names = {index_value(work): work for work in works}
    query = sa.select(_asked.name).where(_asked.source == source, _asked.answered)
    return {names[name] for name in tx.scalars(query.where(among(_asked.name, names)))}


def record(
    tx: Transaction, source: str, works: AskedWorks, now: datetime, *, unanswered: bool
) -> None:
    """Record about which works a source answered, or that it did not answer about a batch."""
    answered = works.answered | answered_before(tx, source, works.asked)
    rows = [
        {
            "source": source,
            "name": index_value(work),
            "answered": work in answered,
            "unanswered": int(unanswered),
            "answered_at": None if unanswered else now,
        }
        for work in works.asked
    ]
    if unanswered:
        again = _asked.unanswered + 1
        insert_or_update(tx, schema.asked_work, rows, ["answered"], unanswered=again)
    else:
        insert_or_update(tx, schema.asked_work, rows)


def answered_at(tx: Transaction, source: str, works: Collection[str]) -> dict[str, datetime]:
    """Return when a source last answered about each of some works, if it ever did."""
    names = {index_value(work): work for work in works}
    query = sa.select(_asked.name, _asked.answered_at)
    query = query.where(_asked.source == source, _asked.answered_at.is_not(None))
    rows = tx.execute(query.where(among(_asked.name, names)))
    return {names[name]: at for name, at in rows}


def retain(tx: Transaction, source: str, works: Iterable[str]) -> None:
    """Forget the works of a source that are no longer asked about."""
    stored = set(tx.scalars(sa.select(_asked.name).filter_by(source=source)))
    if gone := stored.difference(map(index_value, works)):
        tx.execute(
            sa.delete(schema.asked_work).where(_asked.source == source, among(_asked.name, gone))
        )


def unanswered(tx: Transaction, source: str) -> list[str]:
    """Return the works whose batches had no answer the last times that they were asked about."""
    query = sa.select(_asked.name).where(_asked.source == source, _asked.unanswered >= ROUNDS)
    return list(tx.scalars(query.order_by(_asked.name)))
