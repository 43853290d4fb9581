"""Changes: the pieces of news that an ingest wrote, and which of them wait to be matched."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.paper_drafts import Draft
from monitor.store.sql import among

# What is told of a paper that came in earlier is no news any more: so old is `older`, too.
REOPENED = timedelta(days=90)

_change = schema.change.c


def write(tx: Transaction, drafts: Iterable[Draft], now: datetime) -> None:
    """Write the news that there is of papers; it waits to be matched.

    A known paper of which there is more to match than before waits again, with all of its
    newer changes.
    """
    drafts = list(drafts)
    reopen(tx, [draft.id for draft in drafts if draft.wider], now - REOPENED)
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
    """Return the (paper id, revision) of changes since a moment that met the topics."""
    matched = (_change.at >= at, _change.matched_at.is_not(None))
    query = sa.select(_change.paper_id, _change.revision).where(*matched)
    return {(row.paper_id, row.revision) for row in tx.execute(query)}


def reopen(tx: Transaction, paper_ids: Iterable[int], since: datetime) -> None:
    """Let the changes of papers since a moment meet the topics again.

    Nobody is told anew of what a digest has told: `digests.unsent` leaves it out.
    """
    chosen = among(tx, _change.paper_id, paper_ids)
    matched = (chosen, _change.at >= since, _change.matched_at.is_not(None))
    tx.execute(sa.update(schema.change).where(*matched).values(matched_at=None))
