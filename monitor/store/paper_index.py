"""Finding papers by key, title key, block or a source's own id, in one statement each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

import sqlalchemy as sa

from monitor.store import schema
from monitor.store.database import Transaction
from monitor.store.raw_rows import fetch, fetch_for, gather_ids, parse_ids
from monitor.store.sql import INDEXED_CHARACTERS, each, each_pair, index_value, one_of

# Thousands of papers are titled "Editorial": only the newest are candidates.
CANDIDATES_BY_TITLE = 25
# Only the newest papers of a large block are candidates.
CANDIDATES_BY_BLOCK = 25

Key = tuple[str, str]

_key = schema.paper_key.c
_sighting = schema.sighting.c


def indexed_pair(pair: Key) -> Key:
    return pair if len(pair[1]) <= INDEXED_CHARACTERS else (pair[0], index_value(pair[1]))


def find_pairs(
    tx: Transaction, pairs: Iterable[Key], made: Callable[[str], sa.Select[Any]]
) -> set[Key]:
    """Return the identifiers whose values a query finds, run once for each `scheme`."""
    by_scheme: dict[str, dict[str, Key]] = defaultdict(dict)
    for pair in pairs:
        scheme, value = indexed_pair(pair)
        by_scheme[scheme][value] = pair
    return {
        values[value]
        for scheme, values in by_scheme.items()
        for (value,) in fetch_for(tx, made, values.keys(), scheme=scheme)
    }


def of_keys(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, int]:
    """Return the paper of each normalised identifier that is stored."""
    by_scheme: dict[str, list[str]] = defaultdict(list)
    for scheme, value in pairs:
        by_scheme[scheme].append(value if len(value) <= INDEXED_CHARACTERS else index_value(value))
    found: dict[Key, int] = {}
    for scheme, values in by_scheme.items():
        rows = fetch_for(tx, _of_keys, values, scheme=scheme)
        found.update(((scheme, value), paper_id) for value, paper_id in rows)
    return found


@cache
def _of_keys(dialect: str) -> sa.Select[Any]:
    there = _key.scheme == sa.bindparam("scheme"), one_of(dialect, _key.value)
    return sa.select(_key.value, _key.paper_id).where(*there)


def not_as_before(tx: Transaction, source: str, marks: Mapping[str, int]) -> set[str]:
    """Return the records of a source that are new or differ from the last reading.

    Nearly all records are unchanged, so the query returns the others.
    """
    return {name for (name,) in fetch_for(tx, _not_as_before, marks, source=source)}


@cache
def _not_as_before(dialect: str) -> sa.Select[Any]:
    pairs = each_pair(dialect, sa.Text, sa.BigInteger)
    same = (
        _sighting.source == sa.bindparam("source"),
        _sighting.raw_id == pairs.c.key,
        _sighting.mark == pairs.c.value,
    )
    return sa.select(pairs.c.key).where(~sa.exists().where(*same))


def of_raw_ids(tx: Transaction, source: str, raw_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the papers of each of a source's own ids."""
    found: dict[str, list[int]] = defaultdict(list)
    for name, paper_id in fetch_for(tx, _of_raw_ids, map(index_value, raw_ids), source=source):
        found[name].append(paper_id)
    return found


@cache
def _of_raw_ids(dialect: str) -> sa.Select[Any]:
    there = _sighting.source == sa.bindparam("source"), one_of(dialect, _sighting.raw_id)
    return sa.select(_sighting.raw_id, _sighting.paper_id).where(*there)


def of_titles(tx: Transaction, keys: Iterable[str]) -> Mapping[str, list[int]]:
    """Return the newest papers that have each title key."""
    return _newest(tx, _OF_TITLES, map(index_value, filter(None, keys)))


def of_blocks(tx: Transaction, blocks: Iterable[int]) -> Mapping[int, list[int]]:
    """Return the newest papers that have each block."""
    return _newest(tx, _OF_BLOCKS, blocks)


def _newest(
    tx: Transaction, made: Callable[[str], sa.Select[Any]], keys: Iterable[Any]
) -> Mapping[Any, list[int]]:
    keys = set(keys)
    if not keys:
        return {}
    rows = fetch_for(tx, made, keys)
    return {key: parse_ids(ids) for key, ids in rows if ids}


@cache
def _newest_of(table: sa.Table, most: int, dialect: str) -> sa.Select[Any]:
    """Return at most so many papers for each key, newest first; a large key costs no more."""
    asked = each(dialect, table.c.key.type)
    newest = (
        sa.select(table.c.paper_id)
        .where(table.c.key == asked.c.value)
        .order_by(table.c.paper_id.desc())
        .limit(most)
        .correlate(asked)
        .subquery()
    )
    ids = sa.select(gather_ids(dialect, newest.c.paper_id)).correlate(asked).scalar_subquery()
    return sa.select(asked.c.value, ids)


_OF_TITLES = partial(_newest_of, schema.title_key, CANDIDATES_BY_TITLE)
_OF_BLOCKS = partial(_newest_of, schema.block, CANDIDATES_BY_BLOCK)


def group_pairs(tx: Transaction, pairs: sa.Select[Any]) -> dict[Any, list[Any]]:
    """Return the values of the second column grouped by the first."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for one, other in fetch(tx, pairs):
        found[one].append(other)
    return found
