"""A record that cannot be decided is set apart, and the others of its chunk are stored.

    store_together ──> DecidingError ──> store_apart ──> StoredChunk with `undecided`
    one transaction    rolled back       another one

The first needs no savepoint, which would take a fifth of an ingest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.diff.decide import DecisionContext
from monitor.errors import MonitorError, ValueRefusedError
from monitor.model import Paper
from monitor.pipeline.store_chunk import StoredChunk, Undecided, store_chunk
from monitor.store.database import Database, Transaction

# Errors of the database, of the machine and of the installation: no record is at fault, and the run
# fails.
_NOT_OF_RECORDS = (MonitorError, OSError, ImportError, MemoryError)


class DecidingError(Exception):
    """A record of a chunk could not be decided or stored; the cause is its error."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of one document, in order, as `store_chunk` takes them, to be stored `now`."""

    source: str
    papers: Sequence[Paper]
    circumstances: DecisionContext
    document: str
    now: datetime
    last_read: datetime | None = None


def store_together(database: Database, tx: Transaction, chunk: Chunk) -> StoredChunk:
    """Store a chunk. Raises DecidingError if a record raises: `tx` must be rolled back then."""
    with _deciding(database):
        return store_chunk(
            tx,
            chunk.source,
            chunk.papers,
            chunk.circumstances,
            chunk.document,
            last_read=chunk.last_read,
            now=chunk.now,
        )


def store_apart(database: Database, tx: Transaction, chunk: Chunk) -> StoredChunk:
    """Store a chunk without the records that raise: what raises is halved until one is left.

    The second half is decided after the first one is stored, as a chunk that follows it would be.
    """
    stored = StoredChunk()
    parts = [chunk.papers]
    while parts:
        papers = parts.pop()
        undated = chunk.circumstances.undated_before + stored.undated
        circumstances = replace(chunk.circumstances, undated_before=undated)
        try:
            with tx.begin_nested():
                part = replace(chunk, papers=papers, circumstances=circumstances)
                stored += store_together(database, tx, part)
        except DecidingError as fault:
            if len(papers) == 1:
                assert fault.__cause__ is not None
                stored += StoredChunk(undecided=(Undecided(papers[0], fault.__cause__),))
            else:
                middle = len(papers) // 2
                parts += [papers[middle:], papers[:middle]]
    return stored


@contextmanager
def _deciding(database: Database) -> Iterator[None]:
    """Turn an error that only a record can be the cause of into a DecidingError."""
    try:
        with database.explaining():
            yield
    except ValueRefusedError as fault:
        raise DecidingError from fault
    except _NOT_OF_RECORDS:
        raise
    except Exception as fault:
        raise DecidingError from fault
