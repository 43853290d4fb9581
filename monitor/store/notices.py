"""What stored notices and comments are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

import sqlalchemy as sa

from monitor.model import ChangeKind
from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.inserts import insert_plain
from monitor.store.paper_index import find_pairs, indexed_pair
from monitor.store.raw_rows import fetch_for
from monitor.store.sql import one_of

Key = tuple[str, str]

_about = schema.about.c
_key = schema.paper_key.c


def write(tx: Transaction, notices: Iterable[tuple[Key, int, ChangeKind | None]]) -> None:
    """Record what notices are about, and what that means for it."""
    rows = {(*indexed_pair(pair), id): str(kind) if kind else None for pair, id, kind in notices}
    names = ("scheme", "value", "paper_id", "kind")
    insert_plain(tx, schema.about, names, [(*key, rows[key]) for key in sorted(rows)])


def find_retracted(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that a stored notice has retracted."""
    if not fetch_for(tx, _first, ()):
        return set()
    return find_pairs(tx, pairs, _retractions_of)


@cache
def _first(dialect: str) -> sa.Select[Any]:
    return sa.select(sa.literal_column("1")).select_from(schema.about).limit(1)


@cache
def _retractions_of(dialect: str) -> sa.Select[Any]:
    there = _about.scheme == sa.bindparam("scheme"), one_of(dialect, _about.value)
    return sa.select(_about.value).where(*there, _about.kind == str(ChangeKind.WITHDRAWN))


def notices_about(tx: Transaction, ids: Iterable[int]) -> dict[int, set[int]]:
    """Return the stored notices about each paper."""
    found: dict[int, set[int]] = defaultdict(set)
    for id, notice in fetch_for(tx, _notices_about, set(ids)):
        found[id].add(notice)
    return found


@cache
def _notices_about(dialect: str) -> sa.Select[Any]:
    same = (_key.scheme == _about.scheme) & (_key.value == _about.value)
    query = sa.select(_key.paper_id, _about.paper_id)
    return query.join_from(schema.paper_key, schema.about, same).where(
        one_of(dialect, _key.paper_id)
    )


def of_papers(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers of what papers are about, in order."""
    found: dict[int, list[Key]] = defaultdict(list)
    if fetch_for(tx, _first, ()):
        for id, scheme, value in fetch_for(tx, _of_papers, set(ids)):
            found[id].append((scheme, value))
    return found


@cache
def _of_papers(dialect: str) -> sa.Select[Any]:
    query = sa.select(_about.paper_id, _about.scheme, _about.value)
    query = query.order_by(_about.paper_id, _about.scheme, _about.value)
    return query.where(one_of(dialect, _about.paper_id))
