"""Finding papers by identifiers, title keys, blocks and a source's own ids.

An identifier is in `paper_key` for the paper with the best claim to it, of equal ones the first. In
`common_key` it is data of all other papers that have it (a DOI copied from another paper, or a
journal's). The subjects of notices are in `about`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from monitor.identity.keys import LINK
from monitor.model import ChangeKind, Claim
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import (
    among,
    each,
    gather_newest,
    index_value,
    insert_new,
    insert_or_update,
    one_of,
)
from monitor.store.papers import withdrawals

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
    return dict(map(tuple, _stored_pairs(tx, [_key.paper_id], pairs)))


def owners(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, tuple[int, Claim]]:
    """Return the paper of each normalised identifier that is stored, and its claim."""
    rows = _stored_pairs(tx, [_key.paper_id, _key.claim], pairs)
    return {pair: (id, _read_claim(claim)) for pair, id, claim in rows}


def carriers(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, dict[int, Claim]]:
    """Return the papers that have each normalised identifier as data, and their claims."""
    papers: dict[Key, dict[int, Claim]] = defaultdict(dict)
    for pair, id, claim in _stored_pairs(tx, [_common.paper_id, _common.claim], pairs):
        papers[pair][id] = _read_claim(claim)
    return papers


def _is_own_key() -> sa.ColumnElement[bool]:
    return sa.or_(_key.claim.is_(None), _key.claim <= Claim.FIELD.value)


def _read_claim(stored: int | None) -> Claim:
    return Claim(stored or Claim.FIELD)


def _stored_pairs(
    tx: Transaction,
    columns: Sequence[sa.Column[Any]],
    pairs: Iterable[Key],
    *where: sa.ColumnElement[bool],
) -> Iterator[tuple[Any, ...]]:
    """Yield the identifiers that a table has, as its index has them, each with some columns."""
    by_scheme: dict[str, list[str]] = defaultdict(list)
    for scheme, value in pairs:
        by_scheme[scheme].append(index_value(value))
    for scheme, values in by_scheme.items():
        table = columns[0].table.c
        query = sa.select(table.value, *columns).where(table.scheme == scheme, *where)
        rows = tx.execute(query.where(among(table.value, values)))
        yield from (((scheme, value), *of_pair) for value, *of_pair in rows)


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


def claims_of(tx: Transaction, ids: Iterable[int]) -> dict[int, dict[Key, Claim]]:
    """Return the identifiers that papers are recognised by, in order, with their claims."""
    columns = _key.paper_id, _key.scheme, _key.value
    query = sa.select(*columns, _key.claim).where(among(_key.paper_id, ids)).order_by(*columns)
    claims: dict[int, dict[Key, Claim]] = defaultdict(dict)
    for id, scheme, value, claim in tx.execute(query):
        claims[id][scheme, value] = _read_claim(claim)
    return claims


def write_claims(tx: Transaction, claims: Mapping[Key, Mapping[int, Claim]]) -> None:
    """Record which papers claim identifiers: one has each, all others carry it as data.

    `claims` has identifiers as the index has them.
    """
    owned = owners(tx, claims)
    carried = carriers(tx, claims)
    keys = []
    data = []
    no_data = []
    for pair in sorted(claims):
        scheme, value = pair
        before, claim_before = owned.get(pair, (None, Claim.LOOKED_UP))
        by_paper = {} if before is None else {before: claim_before}
        for id, claim in (*carried.get(pair, {}).items(), *claims[pair].items()):
            by_paper[id] = min(claim, by_paper.get(id, claim))
        owner = _owner(by_paper, before, carried.get(pair, ()))
        for id, claim in by_paper.items():
            stored = None if claim is Claim.FIELD or scheme == LINK else claim.value
            row = {"scheme": scheme, "value": value, "paper_id": id, "claim": stored}
            if id == owner:
                keys.append(row)
                no_data += [row] if id in carried.get(pair, ()) else []
            elif scheme != LINK:
                data.append(row)
    insert_or_update(tx, schema.paper_key, keys, only_changed=True)
    insert_or_update(tx, schema.common_key, data, only_changed=True)
    for row in no_data:
        place = {name: row[name] for name in ("scheme", "value", "paper_id")}
        tx.execute(sa.delete(schema.common_key).filter_by(**place))


def _owner(claims: Mapping[int, Claim], before: int | None, carriers: Container[int]) -> int | None:
    """Return the paper that has an identifier: by the best claim, of equal ones the first.

    None where older versions took an identifier from all papers that share it, and none of them has
    a better claim now.
    """
    best = min(claims.values())
    first, *_ = (id for id, claim in claims.items() if claim == best)
    if before is not None and claims[before] == best:
        return before
    return None if before is None and first in carriers else first


def contested(tx: Transaction, pairs: Iterable[Key]) -> set[Key]:
    """Return the normalised identifiers that works share with equal claims."""
    originals = {indexed_pair(pair): pair for pair in pairs}
    if not (carried := carriers(tx, originals)):  # nearly always
        return set()
    owned = owners(tx, carried)
    return {
        originals[pair]
        for pair, claims in carried.items()
        if pair not in owned or min(claims.values()) <= owned[pair][1]
    }


def subjects(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, int]:
    """Return the papers that a notice about normalised identifiers is about.

    Not those that merely link to the subject, nor one of several that claim to be it.
    """
    originals = {indexed_pair(pair): pair for pair in pairs}
    shared = contested(tx, originals.values())
    return {
        pair: id
        for indexed, (id, claim) in owners(tx, originals).items()
        if claim <= Claim.FIELD and (pair := originals[indexed]) not in shared
    }


def restore_keys(tx: Transaction, ids: Iterable[int]) -> None:
    """Recognise papers again by identifiers that no other paper has any more."""
    other = schema.common_key.alias()
    same = sa.and_(schema.paper_key.c.scheme == _common.scheme, _key.value == _common.value)
    is_shared = sa.exists().where(
        other.c.scheme == _common.scheme,
        other.c.value == _common.value,
        other.c.paper_id != _common.paper_id,
    )
    is_owned = sa.exists().where(same, _key.paper_id != _common.paper_id)
    is_own = sa.exists().where(same, _key.paper_id == _common.paper_id)
    of_ids = among(_common.paper_id, ids)
    tx.execute(sa.delete(schema.common_key).where(of_ids, is_own))
    alone = of_ids, ~is_shared, ~is_owned
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
    """Return the normalised identifiers that a stored notice retracts.

    Not if it is withdrawn itself, or a person declared it to be mistaken.
    """
    originals = {indexed_pair(pair): pair for pair in pairs}
    notice = sa.exists().where(schema.paper.c.id == _about.paper_id, ~schema.paper.c.withdrawn)
    retracts = _about.kind == ChangeKind.WITHDRAWN, notice, ~withdrawals.is_undone_notice()
    rows = _stored_pairs(tx, [_about.kind], originals, *retracts)
    return {originals[pair] for pair, *_ in rows}


def notices_naming(tx: Transaction, pairs: Iterable[Key]) -> dict[Key, set[int]]:
    """Return the stored notices that name each normalised identifier, of those that some do."""
    originals = {indexed_pair(pair): pair for pair in pairs}
    notices: dict[Key, set[int]] = defaultdict(set)
    is_notice = _about.kind.is_not(None)
    for pair, notice in _stored_pairs(tx, [_about.paper_id], originals, is_notice):
        notices[originals[pair]].add(notice)
    return notices


def notices_about(tx: Transaction, ids: Iterable[int]) -> dict[int, set[int]]:
    """Return the stored notices about each paper."""
    same = (_key.scheme == _about.scheme) & (_key.value == _about.value)
    pairs = sa.select(_key.paper_id, _about.paper_id)
    query = pairs.join_from(schema.paper_key, schema.about, same).where(_is_own_key())
    notices: dict[int, set[int]] = defaultdict(set)
    for paper_id, notice in tx.execute(query.where(among(_key.paper_id, ids))):
        notices[paper_id].add(notice)
    return notices
