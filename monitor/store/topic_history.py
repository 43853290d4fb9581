"""What topics matched lately, as pages show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.model import StoredPaper
from monitor.store import papers, schema
from monitor.store.database import Transaction
from monitor.store.matches import OF_CHANGE
from monitor.store.sql import among

LATELY = timedelta(days=7)
# Papers seldom change more often than this within a feed.
_CHANGES_EACH = 10

_match = schema.match.c
_paper = schema.paper.c
_change = schema.change.c


def recent_counts(tx: Transaction, now: datetime) -> Mapping[str, int]:
    """Return how many papers first seen in the last seven days each topic matched."""
    first = tx.scalar(
        sa.select(_paper.id)
        .where(_paper.first_seen_at > now - LATELY)
        .order_by(_paper.first_seen_at, _paper.id)
        .limit(1)
    )
    if first is None:
        return {}
    counted = sa.select(_match.topic, sa.func.count(_match.paper_id.distinct()))
    rows = tx.execute(counted.where(_match.paper_id >= first).group_by(_match.topic))
    return {row[0]: row[1] for row in rows}


def newest_papers(tx: Transaction, topic: str, limit: int) -> list[StoredPaper]:
    """Return the newest papers that a topic matched, newest first."""
    ids = sa.select(_match.paper_id).where(_match.topic == topic).distinct()
    newest = list(tx.scalars(ids.order_by(_match.paper_id.desc()).limit(limit)))
    stored = papers.load(tx, newest)
    return [stored[id] for id in newest if id in stored]


def newest_news(
    tx: Transaction, topics: Collection[str], since: datetime, limit: int
) -> list[tuple[StoredPaper, datetime]]:
    """Return the papers whose changes since a time some topics matched, with the time of the last.

    The newest change comes first.
    """
    matched = sa.exists().where(OF_CHANGE, among(_match.topic, topics))
    rows = tx.execute(
        sa.select(_change.paper_id, _change.at)
        .where(_change.at >= since, matched)
        .order_by(_change.at.desc(), _change.paper_id.desc())
        .limit(_CHANGES_EACH * limit)
    )
    last: dict[int, datetime] = {}
    for row in rows:
        if len(last) < limit:
            last.setdefault(row.paper_id, row.at)
    stored = papers.load(tx, last)
    return [(stored[id], at) for id, at in last.items() if id in stored and not stored[id].purged]
