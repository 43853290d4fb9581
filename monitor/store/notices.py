"""What stored notices and comments are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import sqlalchemy as sa

from monitor.model import ChangeKind
from monitor.store import paper_index, schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_new
from monitor.store.paper_index import find_pairs, indexed_pair
from monitor.store.sql import among

Key = tuple[str, str]

_about = schema.about.c
_key = schema.paper_key.c


def write(tx: Transaction, notices: Iterable[tuple[Key, int, ChangeKind | None]]) -> None:
    """Record what notices are about, and what that means for it."""
    rows = {(*indexed_pair(pair), id): str(kind) if kind else None for pair, id, kind in notices}
    names = ("scheme", "value", "paper_id", "kind")
    ordered = [dict(zip(names, (*key, rows[key]), strict=True)) for key in sorted(rows)]
    insert_new(tx, schema.about, ordered)


def find_retracted(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that a stored notice has retracted."""
    return find_pairs(tx, schema.about, pairs, _about.kind == str(ChangeKind.WITHDRAWN))


def notices_about(tx: Transaction, ids: Iterable[int]) -> dict[int, set[int]]:
    """Return the stored notices about each paper."""
    same = (_key.scheme == _about.scheme) & (_key.value == _about.value)
    query = sa.select(_key.paper_id, _about.paper_id.label("notice"))
    rows = tx.execute(
        query.join_from(schema.paper_key, schema.about, same).where(among(_key.paper_id, ids))
    )
    notices: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        notices[row.paper_id].add(row.notice)
    return notices


def of_papers(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers of what papers are about, in order."""
    return paper_index.of_papers(tx, schema.about, ids)
