"""Identifiers that different works share: a DOI copied from another paper, or a journal's.

The works keep it as data in `common_key`. It is not in `paper_key`, so that no paper is recognised
by it.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_new
from monitor.store.paper_index import find_pairs, indexed_pair
from monitor.store.sql import among

Key = tuple[str, str]

_key = schema.paper_key.c
_common = schema.common_key.c


def disown(tx: Transaction, pairs: Iterable[Key]) -> None:
    """Stop recognising papers by some identifiers; `write` adds further papers with them."""
    for pair in sorted(set(map(indexed_pair, pairs))):
        here = _key.scheme == pair[0], _key.value == pair[1]
        owner = tx.scalar(sa.select(_key.paper_id).where(*here))
        if owner is not None:
            write(tx, [(pair, owner)])
            tx.execute(sa.delete(schema.paper_key).where(*here))


def write(tx: Transaction, pairs: Iterable[tuple[Key, int]]) -> None:
    """Record which papers share a common identifier."""
    rows = sorted({(*indexed_pair(pair), id) for pair, id in pairs})
    insert_new(
        tx, schema.common_key, [{"scheme": s, "value": v, "paper_id": id} for s, v, id in rows]
    )


def among_pairs(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that are common."""
    return find_pairs(tx, schema.common_key, pairs)


def restore(tx: Transaction, ids: Iterable[int]) -> None:
    """Recognise papers again by identifiers that no other paper shares any more."""
    other = schema.common_key.alias()
    shared = sa.exists().where(
        other.c.scheme == _common.scheme,
        other.c.value == _common.value,
        other.c.paper_id != _common.paper_id,
    )
    alone = among(_common.paper_id, ids), ~shared
    rows = [row._asdict() for row in tx.execute(sa.select(schema.common_key).where(*alone))]
    insert_new(tx, schema.paper_key, rows)
    tx.execute(sa.delete(schema.common_key).where(*alone))
