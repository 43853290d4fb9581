"""What each source brought on each day, counted from its runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

import sqlalchemy as sa

from monitor.model import RunOutcome, SourceDay
from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_or_update

_ANSWERED = (RunOutcome.OK, RunOutcome.PARTIAL, RunOutcome.UNCHANGED)

_run = schema.run.c
_day = schema.source_day.c


def count(tx: Transaction, source: str, day: date, start: datetime, end: datetime) -> None:
    """Count a day again, from the runs that started between `start` and `end`.

    An unchanged response counts as papers if the last one that was read had any.
    """
    answered = _run.outcome.in_(_ANSWERED)
    unchanged = _run.outcome == RunOutcome.UNCHANGED
    that_day = (_run.source == source, _run.started_at >= start, _run.started_at < end)
    row = tx.execute(
        sa.select(
            sa.func.count().filter(answered).label("asked"),
            sa.func.count().filter(unchanged).label("unchanged"),
            sa.func.coalesce(sa.func.sum(_run.seen), 0).label("seen"),
            sa.func.coalesce(sa.func.sum(_run.fresh), 0).label("fresh"),
        ).where(*that_day)
    ).one()
    counted = {
        "source": source,
        "day": day,
        "asked": row.asked,
        "offered": bool(row.seen or (row.unchanged and _last_read_had_papers(tx, source))),
        "fresh": row.fresh,
    }
    insert_or_update(tx, schema.source_day, [counted], ["asked", "offered", "fresh"])


def _last_read_had_papers(tx: Transaction, source: str) -> bool:
    read = (RunOutcome.OK, RunOutcome.PARTIAL)
    last = sa.select(_run.seen).where(_run.source == source, _run.outcome.in_(read))
    return bool(tx.scalar(last.order_by(_run.id.desc()).limit(1)))


def history(tx: Transaction, source: str, after: date) -> Mapping[date, SourceDay]:
    """Return the counted days of a source, and delete those up to `after`."""
    tx.execute(sa.delete(schema.source_day).where(_day.source == source, _day.day <= after))
    return stored(tx, source)


def stored(tx: Transaction, source: str) -> Mapping[date, SourceDay]:
    """Return the counted days of a source."""
    rows = tx.execute(sa.select(schema.source_day).where(_day.source == source))
    return {row.day: SourceDay(row.asked, row.offered, row.fresh) for row in rows}
