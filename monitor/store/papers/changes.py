"""Changes: the pieces of news that an ingest wrote, and which of them wait to be matched."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among
from monitor.store.papers.paper_drafts import Draft

# Changes up to this age are matched again when their paper has more text. What an old paper gains
# is no news.
MATCHED_AGAIN_FOR = timedelta(days=90)

_change = schema.change.c


def write(tx: Transaction, drafts: Iterable[Draft], now: datetime) -> None:
    """Write the changes of papers, which wait to be matched.

    If a known paper has more text than before, all its newer changes wait again.
    """
    drafts = list(drafts)
    reopen(tx, [draft.id for draft in drafts if draft.wider], now - MATCHED_AGAIN_FOR)
    rows = [
        {
            "paper_id": draft.id,
            "revision": draft.revision,
            "kind": str(draft.kind),
            "why": draft.why,
            "at": now,
        }
        for draft in drafts
        if draft.kind
    ]
    if rows:
        tx.execute(sa.insert(schema.change), rows)


def matched_since(tx: Transaction, at: datetime) -> set[tuple[int, int]]:
    """Return the (paper id, revision) of changes since a time that topics matched."""
    matched = (_change.at >= at, _change.matched_at.is_not(None))
    query = sa.select(_change.paper_id, _change.revision).where(*matched)
    return {(row.paper_id, row.revision) for row in tx.execute(query)}


def reopen(tx: Transaction, paper_ids: Iterable[int], since: datetime) -> None:
    """Let changes since a time be matched again.

    Nothing is sent twice: `unsent_matches` leaves out what a digest has.
    """
    chosen = among(_change.paper_id, paper_ids)
    matched = (chosen, _change.at >= since, _change.matched_at.is_not(None))
    tx.execute(sa.update(schema.change).where(*matched).values(matched_at=None))
