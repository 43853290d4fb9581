"""Documents: how many papers of each document of a source are stored."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_or_update

_document = schema.document.c


def progress(tx: Transaction, source: str, content_hash: str) -> tuple[int, bool] | None:
    """Return how many papers of a document are stored, and whether these are all of them.

    None if it was never read.
    """
    row = tx.execute(
        sa.select(_document.offset, _document.finished).where(
            _document.source == source, _document.content_hash == content_hash
        )
    ).first()
    return (row.offset, row.finished) if row else None


def set_progress(
    tx: Transaction,
    source: str,
    content_hash: str,
    name: str,
    offset: int,
    finished: bool,
    now: datetime,
) -> None:
    """Record how many papers are stored, in the transaction that wrote them."""
    row = {
        "source": source,
        "content_hash": content_hash,
        "name": name,
        "offset": offset,
        "finished": finished,
        "at": now,
    }
    insert_or_update(tx, schema.document, [row], ["name", "offset", "finished", "at"])
