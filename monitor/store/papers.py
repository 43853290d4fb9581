"""Reading papers, with their identifiers and sightings. `write_papers` writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import ChangeKind, Sighting, StoredPaper
from monitor.store import common, paper_index, schema, sighting_texts
from monitor.store.database import Transaction
from monitor.store.paper_rows import PaperRow, SightingRow, to_sighting, to_stored_paper
from monitor.store.raw_rows import fetch, fetch_for, parse_list
from monitor.store.sql import among, index_value, one_of

_paper = schema.paper.c
_key = schema.paper_key.c
_sighting = schema.sighting.c
_change = schema.change.c
Key = tuple[str, str]


class ChangeRow(msgspec.Struct, frozen=True):
    """A change of a paper that was news. `matched_at` is None until topics were matched."""

    revision: int
    kind: ChangeKind
    why: str
    at: datetime
    matched_at: datetime | None


class Origin(msgspec.Struct, frozen=True):
    """Where a paper came from, with its identifiers, sightings and changes."""

    stored: StoredPaper
    keys: tuple[Key, ...]
    sightings: tuple[Sighting, ...]
    changes: tuple[ChangeRow, ...]


def load(tx: Transaction, ids: Iterable[int]) -> dict[int, StoredPaper]:
    """Return the papers that exist, by id."""
    wanted = set(ids)
    return stored_of(tx, wanted, all_keys_of(tx, wanted))


def texts(tx: Transaction, ids: Iterable[int]) -> list[tuple[int, str, str]]:
    """Return the id, title and abstract of papers, in no order."""
    query = sa.select(_paper.id, _paper.title, _paper.abstract)
    rows = fetch(tx, query.where(among(tx, _paper.id, ids)))
    return [(id, title, abstract) for id, title, abstract in rows]


def get(tx: Transaction, paper_id: int) -> StoredPaper | None:
    """Return the paper with this id."""
    return load(tx, [paper_id]).get(paper_id)


def exist(tx: Transaction, ids: Collection[int]) -> bool:
    """Return whether all these papers exist, and keep them until the transaction ends."""
    return len(fetch_for(tx, _existing, list(ids))) == len(ids)


def _existing(dialect: str) -> sa.Select[Any]:
    rows = sa.select(_paper.id).where(one_of(dialect, _paper.id))
    return rows.with_for_update(key_share=True, read=True)


def by_key(tx: Transaction, scheme: str, value: str) -> StoredPaper | None:
    """Return the paper that has a normalised identifier."""
    key = index_value(scheme), index_value(value)
    paper_id = paper_index.of_keys(tx, [(scheme, value)]).get(key)
    return get(tx, paper_id) if paper_id is not None else None


def by_common_key(tx: Transaction, scheme: str, value: str) -> list[StoredPaper]:
    """Return the papers that share a normalised identifier without being one work."""
    return list(load(tx, common.papers_with(tx, (scheme, value))).values())


def by_title_key(tx: Transaction, key: str) -> list[StoredPaper]:
    """Return the newest papers with a title key. They need not be the same work."""
    ids = paper_index.of_titles(tx, [key]).get(index_value(key), [])
    return list(load(tx, ids).values())


def page(tx: Transaction, after_id: int, limit: int) -> list[tuple[StoredPaper, tuple[str, ...]]]:
    """Return the next papers by id, each with the names of its sources."""
    ids = tx.scalars(
        sa.select(_paper.id)
        .where(_paper.id > after_id, _paper.purged_at.is_(None))
        .order_by(_paper.id)
        .limit(limit)
    )
    stored = load(tx, ids)
    names = sources(tx, stored)
    return [(paper, names.get(id, ())) for id, paper in sorted(stored.items())]


def count(tx: Transaction, since: int = 0) -> int:
    """Return how many papers there are, from an id on: all but the purged ones.

    Both counts read an index alone; to look at each paper would read the whole table.
    """
    every = sa.select(sa.func.count()).select_from(schema.paper)
    if since:
        every = every.where(_paper.id >= since)
    purged = every.where(_paper.purged_at.is_not(None))
    return (tx.scalar(every) or 0) - (tx.scalar(purged) or 0)


def sources(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the names of each paper's sources, in alphabetical order."""
    pairs = sa.select(_sighting.paper_id, _sighting.source).where(
        among(tx, _sighting.paper_id, ids)
    )
    return {
        id: tuple(sorted(set(names))) for id, names in paper_index.group_pairs(tx, pairs).items()
    }


def sightings(
    tx: Transaction, ids: Iterable[int], source: str | None = None
) -> dict[int, tuple[Sighting, ...]]:
    """Return the sightings of papers by all sources, or by one, oldest first."""
    # The source is filtered here: in the query, SQLite would walk through all of its sightings.
    seen: dict[int, list[Sighting]] = defaultdict(list)
    for row in map(SightingRow._make, fetch_for(tx, _sightings, ids)):
        if source is None or row.source == source:
            seen[row.paper_id].append(to_sighting(row))
    return {id: tuple(some) for id, some in seen.items()}


def sightings_with_text(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[Sighting, ...]]:
    """Return the sightings by all sources, each with the title and authors of its record."""
    wanted = set(ids)
    texts = sighting_texts.of_papers(tx, wanted)
    return {
        id: tuple(replace(one, text=texts.get((id, one.source, one.raw_id))) for one in seen)
        for id, seen in sightings(tx, wanted).items()
    }


def recognised(tx: Transaction, ids: Iterable[int]) -> set[int]:
    """Return the papers that a record was recognised as: those with a reason to be one."""
    return {paper_id for [paper_id] in fetch_for(tx, _recognised, set(ids))}


@cache
def _recognised(dialect: str) -> sa.Select[Any]:
    query = sa.select(_sighting.paper_id).where(_sighting.why.is_not(None)).distinct()
    return query.where(one_of(dialect, _sighting.paper_id))


def last_announcements(
    tx: Transaction, ids: Iterable[int]
) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return of each paper how the source that saw it last announced it, and all its sources."""
    seen: dict[int, list[tuple[Any, str, str]]] = defaultdict(list)
    for paper_id, *one in fetch_for(tx, _announcements, set(ids)):
        seen[paper_id].append(tuple(one))
    return {
        id: (max(some, key=itemgetter(0))[1], tuple(sorted({one[2] for one in some})))
        for id, some in seen.items()
    }


@cache
def _announcements(dialect: str) -> sa.Select[Any]:
    columns = _sighting.paper_id, _sighting.last_seen_at, _sighting.announce, _sighting.source
    query = sa.select(*columns).where(one_of(dialect, _sighting.paper_id))
    return query.order_by(_sighting.first_seen_at, _sighting.raw_id)


@cache
def _sightings(dialect: str) -> sa.Select[Any]:
    query = sa.select(schema.sighting).where(one_of(dialect, _sighting.paper_id))
    return query.order_by(_sighting.first_seen_at, _sighting.raw_id)


def origin(tx: Transaction, paper_id: int) -> Origin | None:
    """Return where a paper came from, None if it does not exist."""
    stored = get(tx, paper_id)
    if stored is None:
        return None
    rows = tx.execute(
        sa.select(_change.revision, _change.kind, _change.why, _change.at, _change.matched_at)
        .where(_change.paper_id == paper_id)
        .order_by(_change.revision)
    )
    return Origin(
        stored,
        tuple(all_keys_of(tx, [paper_id]).get(paper_id, ())),
        sightings_with_text(tx, [paper_id]).get(paper_id, ()),
        tuple(
            ChangeRow(row.revision, ChangeKind(row.kind), row.why, row.at, row.matched_at)
            for row in rows
        ),
    )


def all_keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return all identifiers of papers, including those that other works share."""
    wanted = set(ids)
    keys = keys_of(tx, wanted)
    for id, pairs in common.of_papers(tx, wanted).items():
        keys[id] = sorted([*keys[id], *pairs])
    return keys


def keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers that papers are recognised by, in order."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for paper_id, scheme, value in fetch_for(tx, _keys, ids):
        keys[paper_id].append((scheme, value))
    return keys


@cache
def _keys(dialect: str) -> sa.Select[Any]:
    query = sa.select(_key.paper_id, _key.scheme, _key.value)
    query = query.order_by(_key.paper_id, _key.scheme, _key.value)
    return query.where(one_of(dialect, _key.paper_id))


def stored_of(
    tx: Transaction, ids: Iterable[int], keys: Mapping[int, Sequence[Key]]
) -> dict[int, StoredPaper]:
    """Return stored papers by id, with the identifiers in `keys`."""
    rows = map(PaperRow._make, fetch_for(tx, _papers, ids))
    return {row.id: to_stored_paper(row, keys.get(row.id, ())) for row in rows}


@cache
def _papers(dialect: str) -> sa.Select[Any]:
    return sa.select(schema.paper).where(one_of(dialect, _paper.id))


def titles(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return the titles and authors of stored papers by id."""
    wanted = set(ids)
    if not wanted:
        return {}
    rows = fetch_for(tx, _titles, wanted)
    return {id: (title, parse_list(authors)) for id, title, authors in rows}


@cache
def _titles(dialect: str) -> sa.Select[Any]:
    return sa.select(_paper.id, _paper.title, _paper.authors).where(one_of(dialect, _paper.id))
