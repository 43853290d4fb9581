"""How far the dumps and the documents of each source were read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from monitor.model import Dump, DumpCursor
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_or_update

_dump = schema.dump.c
_document = schema.document.c


@dataclass(frozen=True, slots=True)
class DumpState:
    """A dump as it was last read, how far, and whether that was its end."""

    name: str
    size: int
    modified: int | None
    cursor: DumpCursor
    ended: bool

    def is_read(self, dump: Dump) -> bool:
        """Return whether a dump is unchanged and was read to its end."""
        same = (self.name, self.size, self.modified) == (dump.name, dump.size, dump.modified)
        return self.ended and same and dump.modified is not None


def dump_states(tx: Transaction, source: str) -> list[DumpState]:
    """Return the dumps of a source that were read, completely or partly."""
    rows = tx.execute(sa.select(schema.dump).where(_dump.source == source).order_by(_dump.name))
    return [
        DumpState(
            row.name,
            row.size,
            row.modified,
            DumpCursor(row.offset, row.number, row.digest, row.start),
            row.ended,
        )
        for row in rows
    ]


def read_to(
    tx: Transaction, source: str, dump: Dump, cursor: DumpCursor, ended: bool, now: datetime
) -> None:
    """Record how far a dump was read, in the transaction that wrote its papers."""
    row = {"source": source, "name": dump.name, "size": dump.size, "modified": dump.modified}
    row |= asdict(cursor) | {"ended": ended, "at": now}
    insert_or_update(tx, schema.dump, [row])


def of_document(tx: Transaction, source: str, content_hash: str) -> tuple[int, bool] | None:
    """Return how many papers of a document are stored, and whether these are all of them.

    None if it was never read.
    """
    progress = sa.select(_document.offset, _document.finished)
    row = tx.execute(progress.filter_by(source=source, content_hash=content_hash)).first()
    return (row.offset, row.finished) if row else None


def set_document(
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
    insert_or_update(tx, schema.document, [row])
