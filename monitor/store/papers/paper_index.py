"""Finding papers by identifiers, title keys, blocks and a source's own ids.

An identifier that different works share (a DOI copied from another paper, or a journal's) is in
`common_key` as data of the works. It is not in `paper_key`, so that no paper is recognised by it.
The subjects of notices are in `about`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import sqlalchemy as sa

from monitor.model import ChangeKind
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, each, gather_newest, index_value, insert_new, one_of

# Thousands of papers have one title, block, or text as their name: the newest are candidates.
CANDIDATES_EACH = 25

Key = tuple[str, str]

_key = schema.paper_key.c
_common = schema.common_key.c
_about = schema.about.c
_sighting = schema.sighting.c


def indexed_pair(pair: Key) -> Key:
    return pair[0], index_value(pair[1])


def of_keys(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, int]:
    """Return the paper of each normalised identifier that is stored."""
    return dict(_stored_pairs(tx, _key.paper_id, pairs))


def _stored_pairs(
    tx: Transaction, column: sa.Column[Any], pairs: Iterable[Key], *where: sa.ColumnElement[bool]
) -> Iterator[tuple[Key, Any]]:
    """Yield the identifiers that a table has, as its index has them, each with a column's value."""
    by_scheme: dict[str, list[str]] = defaultdict(list)
    for scheme, value in pairs:
        by_scheme[scheme].append(index_value(value))
    for scheme, values in by_scheme.items():
        table = column.table.c
        query = sa.select(table.value, column).where(table.scheme == scheme, *where)
        rows = tx.execute(query.where(among(table.value, values)))
        yield from (((scheme, value), of_pair) for value, of_pair in rows)


def of_papers(tx: Transaction, table: sa.Table, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers of papers in a table such as `paper_key`, in order."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for paper_id, scheme, value in tx.execute(_of_papers(table), {"values": ids}):
        keys[paper_id].append((scheme, value))
    return keys


@cache  # every digest runs it
def _of_papers(table: sa.Table) -> sa.Select[Any]:
    columns = table.c.paper_id, table.c.scheme, table.c.value
    return sa.select(*columns).where(one_of(table.c.paper_id)).order_by(*columns)


def changed_records(tx: Transaction, source: str, record_hashes: Mapping[str, int]) -> set[str]:
    """Return the records of a source that are new or differ from the last reading."""
    rows = _of_records(tx, _sighting.mark, source, record_hashes)
    return record_hashes.keys() - {
        raw_id for raw_id, record_hash in rows if record_hashes[raw_id] == record_hash
    }


def of_raw_ids(tx: Transaction, source: str, raw_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the newest papers of each of a source's own ids."""
    papers: dict[str, list[int]] = defaultdict(list)
    for raw_id, paper_id in _of_records(tx, _sighting.paper_id, source, map(index_value, raw_ids)):
        papers[raw_id].append(paper_id)
    return {raw_id: sorted(ids)[-CANDIDATES_EACH:] for raw_id, ids in papers.items()}


def _of_records(
    tx: Transaction, column: sa.Column[Any], source: str, raw_ids: Iterable[str]
) -> Iterable[Any]:
    wanted = _sighting.source == source, among(_sighting.raw_id, raw_ids)
    return tx.execute(sa.select(_sighting.raw_id, column).where(*wanted))


def of_titles(tx: Transaction, keys: Iterable[str]) -> Mapping[str, list[int]]:
    """Return the newest papers that have each title key."""
    return newest(tx, schema.title_key, map(index_value, filter(None, keys)))


def newest(tx: Transaction, table: sa.Table, keys: Iterable[Any]) -> Mapping[Any, list[int]]:
    """Return the newest papers with each key, newest first; a large key costs no more."""
    if not (keys := set(keys)):
        return {}
    key = each(table.c.key.type, keys)
    of_key = sa.select(table.c.paper_id).where(table.c.key == key.c.value)
    ids = gather_newest(of_key, CANDIDATES_EACH, key)
    rows = tx.execute(sa.select(key.c.value, ids)).all()  # half the time of row by row
    return {value: newest_ids for value, newest_ids in rows if newest_ids}


def stop_matching_by(tx: Transaction, pairs: Iterable[Key]) -> None:
    """Stop recognising papers by some identifiers, and keep them as shared ones."""
    owners = of_keys(tx, pairs)
    write_shared_keys(tx, owners.items())
    for scheme, value in owners:
        tx.execute(sa.delete(schema.paper_key).filter_by(scheme=scheme, value=value))


def write_shared_keys(tx: Transaction, pairs: Iterable[tuple[Key, int]]) -> None:
    """Record which papers share a shared identifier."""
    keys = sorted({(*indexed_pair(pair), id) for pair, id in pairs})
    rows = [{"scheme": s, "value": v, "paper_id": id} for s, v, id in keys]
    insert_new(tx, schema.common_key, rows)


def shared_keys(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that works share."""
    originals = {indexed_pair(pair): pair for pair in pairs}
    return {originals[pair] for pair, _ in _stored_pairs(tx, _common.scheme, originals)}


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
    kinds = {(*indexed_pair(pair), id): kind for pair, id, kind in notices}
    rows = [
        {"scheme": s, "value": v, "paper_id": id, "kind": kinds[s, v, id]}
        for s, v, id in sorted(kinds)
    ]
    insert_new(tx, schema.about, rows)


def find_retracted(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that a stored notice retracts, unless it is withdrawn."""
    originals = {indexed_pair(pair): pair for pair in pairs}
    notice = sa.exists().where(schema.paper.c.id == _about.paper_id, ~schema.paper.c.withdrawn)
    retracts = _about.kind == ChangeKind.WITHDRAWN, notice
    return {originals[pair] for pair, _ in _stored_pairs(tx, _about.kind, originals, *retracts)}


def notices_about(tx: Transaction, ids: Iterable[int]) -> dict[int, set[int]]:
    """Return the stored notices about each paper."""
    same = (_key.scheme == _about.scheme) & (_key.value == _about.value)
    pairs = sa.select(_key.paper_id, _about.paper_id)
    query = pairs.join_from(schema.paper_key, schema.about, same)
    notices: dict[int, set[int]] = defaultdict(set)
    for paper_id, notice in tx.execute(query.where(among(_key.paper_id, ids))):
        notices[paper_id].add(notice)
    return notices
