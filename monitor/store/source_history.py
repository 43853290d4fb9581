"""What became of the readings of one source, as pages show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from monitor.model import Run
from monitor.store import runs, schema
from monitor.store.database import Transaction

_run = schema.run.c


def last_runs(tx: Transaction, source: str, limit: int) -> list[Run]:
    """Return the newest finished runs of a source, newest first."""
    own = (_run.source == source, _run.finished_at.is_not(None))
    wanted = sa.select(schema.run).where(*own).order_by(_run.id.desc()).limit(limit)
    return runs.load(tx, wanted)


def new_papers_by_day(
    tx: Transaction, source: str, after: datetime, zone: str
) -> Mapping[date, int]:
    """Return how many new papers a source brought on each day of a zone on which it was read."""
    rows = tx.execute(
        sa.select(_run.started_at, _run.new).where(
            _run.source == source, _run.started_at > after, _run.outcome.in_(runs.READ)
        )
    )
    days: Counter[date] = Counter()
    for started, new in rows:
        days[started.astimezone(ZoneInfo(zone)).date()] += new
    return days
