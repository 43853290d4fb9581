"""What topics matched lately, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.model import StoredPaper
from monitor.store import papers, schema
from monitor.store.database import Transaction

LATELY = timedelta(days=7)

_match = schema.match.c
_paper = schema.paper.c


def recent_counts(tx: Transaction, now: datetime) -> Mapping[str, int]:
    """Return how many papers first seen in the last seven days each topic matched."""
    first = tx.scalar(sa.select(sa.func.min(_paper.id)).where(_paper.first_seen_at > now - LATELY))
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
