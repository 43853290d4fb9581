"""Finding papers by identifiers, title keys, blocks and a source's own ids.

An identifier that different works share (a DOI copied from another paper, or a journal's) is in
`common_key` as data of the works. It is not in `paper_key`, so that no paper is recognised by it.
The subjects of notices are in `about`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from monitor.model import ChangeKind
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Gather, among, each, index_value, insert_new, one_of

# Thousands of papers are titled "Editorial": only the newest are candidates.
CANDIDATES_BY_TITLE = 25
# Only the newest papers of a large block are candidates.
CANDIDATES_BY_BLOCK = 25

Key = tuple[str, str]

_key = schema.paper_key.c
_common = schema.common_key.c
_about = schema.about.c
_sighting = schema.sighting.c


def indexed_pair(pair: Key) -> Key:
    return pair[0], index_value(pair[1])


def of_keys(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, int]:
    """Return the paper of each normalised identifier that is stored."""
    papers: dict[Key, int] = {}
    for scheme, values in _by_scheme(pairs).items():
        rows = tx.execute(_OF_KEYS, {"scheme": scheme, "values": values})
        papers.update(((scheme, value), paper_id) for value, paper_id in rows)
    return papers


_OF_KEYS = sa.select(_key.value, _key.paper_id).where(
    _key.scheme == sa.bindparam("scheme"), one_of(_key.value)
)


def of_papers(tx: Transaction, table: sa.Table, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers of papers in a table such as `paper_key`, in order."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for paper_id, scheme, value in tx.execute(_OF_PAPERS[table], {"values": ids}):
        keys[paper_id].append((scheme, value))
    return keys


_OF_PAPERS = {
    table: sa.select(table.c.paper_id, table.c.scheme, table.c.value)
    .where(one_of(table.c.paper_id))
    .order_by(table.c.paper_id, table.c.scheme, table.c.value)
    for table in (schema.paper_key, schema.common_key, schema.about)
}


def find_pairs(
    tx: Transaction, table: sa.Table, pairs: Iterable[Key], *conditions: sa.ColumnElement[bool]
) -> set[Key]:
    """Return the identifiers that a table has in rows that match the conditions."""
    if is_empty(tx, table):
        return set()
    originals = {indexed_pair(pair): pair for pair in pairs}
    query = sa.select(table.c.value).where(*conditions).distinct()
    return {
        originals[scheme, value]
        for scheme, values in _by_scheme(originals).items()
        for value in tx.scalars(query.where(table.c.scheme == scheme, among(table.c.value, values)))
    }


def _by_scheme(pairs: Iterable[Key]) -> dict[str, list[str]]:
    by_scheme: dict[str, list[str]] = defaultdict(list)
    for scheme, value in pairs:
        by_scheme[scheme].append(index_value(value))
    return by_scheme


def is_empty(tx: Transaction, table: sa.Table) -> bool:
    """Return whether a table has no row, as most stores have no notices and no rulings."""
    return tx.execute(sa.select(sa.literal_column("1")).select_from(table).limit(1)).first() is None


def changed_records(tx: Transaction, source: str, record_hashes: Mapping[str, int]) -> set[str]:
    """Return the records of a source that are new or differ from the last reading."""
    rows = _of_records(tx, _sighting.mark, source, record_hashes)
    return record_hashes.keys() - {
        raw_id for raw_id, record_hash in rows if record_hashes[raw_id] == record_hash
    }


def of_raw_ids(tx: Transaction, source: str, raw_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the papers of each of a source's own ids."""
    papers: dict[str, list[int]] = defaultdict(list)
    for raw_id, paper_id in _of_records(tx, _sighting.paper_id, source, map(index_value, raw_ids)):
        papers[raw_id].append(paper_id)
    return papers


def _of_records(
    tx: Transaction, column: sa.Column[Any], source: str, raw_ids: Iterable[str]
) -> Iterable[Any]:
    return tx.execute(_OF_RECORDS[column], {"source": source, "values": raw_ids})


_OF_RECORDS = {
    column: sa.select(_sighting.raw_id, column).where(
        _sighting.source == sa.bindparam("source"), one_of(_sighting.raw_id)
    )
    for column in (_sighting.mark, _sighting.paper_id)
}


def of_titles(tx: Transaction, keys: Iterable[str]) -> Mapping[str, list[int]]:
    """Return the newest papers that have each title key."""
    return _newest(tx, _OF_TITLES, map(index_value, filter(None, keys)))


def of_blocks(tx: Transaction, blocks: Iterable[int]) -> Mapping[int, list[int]]:
    """Return the newest papers that have each block."""
    return _newest(tx, _OF_BLOCKS, blocks)


def _newest(tx: Transaction, query: sa.Select[Any], keys: Iterable[Any]) -> Mapping[Any, list[int]]:
    keys = set(keys)
    if not keys:
        return {}
    return {key: ids for key, ids in tx.execute(query, {"values": keys}) if ids}


def _newest_of(table: sa.Table, limit: int) -> sa.Select[Any]:
    """Select at most `limit` papers for each key, newest first; a large key costs no more."""
    key = each(table.c.key.type)
    newest = (
        sa.select(table.c.paper_id)
        .where(table.c.key == key.c.value)
        .order_by(table.c.paper_id.desc())
        .limit(limit)
        .correlate(key)
        .subquery()
    )
    ids = sa.select(Gather(newest.c.paper_id)).correlate(key).scalar_subquery()
    return sa.select(key.c.value, ids.label("ids"))


_OF_TITLES = _newest_of(schema.title_key, CANDIDATES_BY_TITLE)
_OF_BLOCKS = _newest_of(schema.block, CANDIDATES_BY_BLOCK)


def stop_matching_by(tx: Transaction, pairs: Iterable[Key]) -> None:
    """Stop recognising papers by some identifiers, and keep them as shared ones."""
    for pair, owner in of_keys(tx, set(pairs)).items():
        write_shared_keys(tx, [(pair, owner)])
        tx.execute(sa.delete(schema.paper_key).filter_by(scheme=pair[0], value=pair[1]))


def write_shared_keys(tx: Transaction, pairs: Iterable[tuple[Key, int]]) -> None:
    """Record which papers share a shared identifier."""
    rows = sorted({(*indexed_pair(pair), id) for pair, id in pairs})
    insert_new(
        tx, schema.common_key, [{"scheme": s, "value": v, "paper_id": id} for s, v, id in rows]
    )


def shared_keys(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that works share."""
    return find_pairs(tx, schema.common_key, pairs)


def restore_keys(tx: Transaction, ids: Iterable[int]) -> None:
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


def write_notices(tx: Transaction, notices: Iterable[tuple[Key, int, ChangeKind | None]]) -> None:
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
