"""In how many of the papers that a topic matched each word is, as `monitor.pipeline` packs it.

They are the counts of papers by id with the text that each had when it was counted. What changes
which paper is which, or what a topic looks for, deletes them, and they are made again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_or_update
from monitor.store.papers import papers

_counts = schema.word_counts.c
_match = schema.match.c


def read(tx: Transaction, topic: str) -> bytes | None:
    """Return the counts of a topic, None if there are none."""
    return tx.scalar(sa.select(_counts.packed).where(_counts.topic == topic))


def write(
    tx: Transaction, topic: str, packed: bytes, before: bytes | None, added: Collection[int]
) -> None:
    """Write the counts of a topic, unless they are no longer those that were read.

    Nor where one of the papers `added` was merged meanwhile.
    """
    if read(tx, topic) == before and papers.exist(tx, added):
        insert_or_update(tx, schema.word_counts, [{"topic": topic, "packed": packed}])


def forget(tx: Transaction, topics: Iterable[str]) -> None:
    tx.execute(sa.delete(schema.word_counts).where(among(_counts.topic, topics)))


def forget_papers(tx: Transaction, ids: Iterable[int]) -> None:
    """Delete the counts of all topics that matched one of some papers."""
    forget(tx, tx.scalars(sa.select(_match.topic).where(among(_match.paper_id, ids)).distinct()))
