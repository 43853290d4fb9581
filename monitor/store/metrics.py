"""Counts of what is stored and what waits, cheap enough to be asked for every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from monitor.store.digests.deliveries import WAITING
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.topics.matches import OF_CHANGE

_change = schema.change.c
_delivery = schema.delivery.c


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """Counts of the store; `matches` are those of the changes since a time.

    Waiting are changes for topics, papers for the search index, deliveries for their time, since
    `oldest_delivery`, and jobs for workers.
    """

    papers: int
    digests: int
    matches: int
    unmatched: int
    unsearched: int
    oldest_delivery: datetime | None
    jobs: int


def count(tx: Transaction, since: datetime) -> StoreCounts:
    """Count what is stored and what waits."""
    oldest = sa.select(sa.func.min(_delivery.created_at)).where(_delivery.state.in_(WAITING))
    recent = sa.select(sa.func.count()).select_from(schema.change).where(_change.at >= since)
    return StoreCounts(
        papers=_count(tx, schema.paper),
        digests=_count(tx, schema.digest),
        matches=tx.scalar(recent.join(schema.match, OF_CHANGE)) or 0,
        unmatched=_count(tx, schema.change, _change.matched_at.is_(None)),
        unsearched=_count(tx, schema.unsearched),
        oldest_delivery=tx.scalar(oldest),
        jobs=_jobs(tx),
    )


def _count(tx: Transaction, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    return tx.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


def _jobs(tx: Transaction) -> int:
    """Count the jobs that no worker has taken; only PostgreSQL has a queue, once it is used."""
    if tx.dialect.name != "postgresql" or not sa.inspect(tx).has_table("procrastinate_jobs"):
        return 0
    todo = sa.text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")
    return tx.scalar(todo) or 0
