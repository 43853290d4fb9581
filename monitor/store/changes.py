"""Changes: the pieces of news that an ingest wrote, and which of them wait to be matched."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.columns import among
from monitor.store.database import Transaction
from monitor.store.merge import Draft

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


def reopen(tx: Transaction, paper_ids: Iterable[int] | None, since: datetime) -> None:
    """Let the changes of papers (None: of all) since a moment meet the topics again.

    Nobody is told anew of what a digest has told: `digests.unsent` leaves it out.
    """
    chosen = among(tx, _change.paper_id, paper_ids) if paper_ids is not None else sa.true()
    matched = (chosen, _change.at >= since, _change.matched_at.is_not(None))
    tx.execute(sa.update(schema.change).where(*matched).values(matched_at=None))
