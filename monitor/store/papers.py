"""Papers: what an ingest found, and what is known of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from monitor.model import ChangeKind, Decision, IncomingPaper, Paper, Sighting, StoredPaper
from monitor.store import changes, common, notices, paper_index, schema, search, sighting_texts
from monitor.store.database import Transaction
from monitor.store.paper_drafts import Draft, fold
from monitor.store.sql import (
    among,
    indexed,
    insert_all,
    insert_or_update,
    insert_plain,
    listed,
    moment,
    one_of,
    raw,
    raw_of,
)

# Every paper has a link of its own, `Paper.url`, so among the keys it would be said twice.
LINK = "url"

_paper = schema.paper.c
_key = schema.paper_key.c
_sighting = schema.sighting.c
_change = schema.change.c

Key = tuple[str, str]

# Stands for the blocks of a paper that has none, so that it is known to have been looked at.
NO_BLOCK = -1
# So many earlier fingerprints of a sighting are kept, of 34 characters each.
PAST_TEXTS = 8
_incoming = sa.literal_column("excluded.fingerprint", sa.Text)
_PAST = sa.case(
    (_sighting.fingerprint == _incoming, _sighting.past),
    else_=sa.func.substr(
        _sighting.fingerprint + sa.func.coalesce(sa.literal(" ") + _sighting.past, ""),
        1,
        PAST_TEXTS * 35 - 1,
    ),
)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One revision of a paper that was news. `matched_at` is None while it waits."""

    revision: int
    kind: ChangeKind
    why: str
    at: datetime
    matched_at: datetime | None


@dataclass(frozen=True, slots=True)
class Origin:
    """All that is known of where a paper came from."""

    stored: StoredPaper
    keys: tuple[Key, ...]
    sightings: tuple[Sighting, ...]
    changes: tuple[ChangeRow, ...]


# ── what an ingest found ────────────────────────────────────────────────────────────


def apply(
    tx: Transaction,
    source: str,
    decisions: Sequence[Decision],
    now: datetime,
    document: str = "",
) -> list[int]:
    """Write what was decided of one chunk, and return the paper id for each decision.

    `tx` is one of `Database.ingesting`. A key that belongs to another paper already is left
    where it is. A piece of news becomes a change that waits to be matched; what is stored
    silently becomes none. The changes of a known paper wait again when this source had not
    told of it before, or when words come in that it lacked: other topics may meet it now. What
    the decisions say is to be joined is `joins.unite`'s to do.
    """
    concerned = {d.paper_id for d in decisions if d.paper_id is not None}
    concerned.update(id for d in decisions if d.effect for id in d.effect.papers)
    known = load(tx, concerned)
    ids, drafts = fold(decisions, known, _seen_by(tx, source, known), next_id(tx), now)
    _write_papers(tx, drafts)
    _write_names(tx, ids, decisions)
    _write_sightings(tx, source, document, ids, decisions, now)
    changes.write(tx, drafts, now)
    search.mark(tx, [draft.id for draft in drafts if draft.is_new or draft.changed])
    return ids


def _write_names(tx: Transaction, ids: Sequence[int], decisions: Sequence[Decision]) -> None:
    """Write what papers are recognised by, what else they carry, and what notices are about."""
    disowned = {pair for decision in decisions for pair in decision.disowned}
    common.disown(tx, disowned)
    told = list(zip(ids, (decision.keyed for decision in decisions), strict=True))
    shared = [
        (pair, id)
        for id, keyed in told
        for pair in (*keyed.common, *disowned.intersection(keyed.keys))
    ]
    if disowned:
        told = [
            (id, replace(one, keys=tuple(p for p in one.keys if p not in disowned)))
            for id, one in told
        ]
    write_keys(tx, told)
    common.write(tx, shared)
    notices.write(
        tx,
        (
            (pair, id, decision.effect.kind if decision.effect else None)
            for id, decision in zip(ids, decisions, strict=True)
            for pair in decision.keyed.about
        ),
    )


def next_id(tx: Transaction) -> int:
    """Return the number of the next paper. One that a joined paper had is never given again."""
    newest = [sa.func.max(_paper.id), sa.func.max(schema.joined.c.id)]
    return 1 + max(tx.scalar(sa.select(one)) or 0 for one in newest)


def _seen_by(tx: Transaction, source: str, ids: Iterable[int]) -> set[int]:
    told = sa.select(_sighting.source, _sighting.paper_id)
    rows = raw(tx, told.where(among(tx, _sighting.paper_id, ids)))
    return {id for name, id in rows if name == source}


def _write_papers(tx: Transaction, drafts: Sequence[Draft]) -> None:
    new = [{"id": draft.id} | columns(draft) for draft in drafts if draft.is_new]
    changed = [{"of": d.id} | columns(d) for d in drafts if d.changed and not d.is_new]
    insert_all(tx, schema.paper, new)
    if changed:
        tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), changed)


def columns(draft: Draft | StoredPaper) -> dict[str, Any]:
    """Return what the row of a paper holds, but for its id."""
    paper = draft.paper
    return {
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": paper.authors,
        "venue": paper.venue,
        "year": paper.year,
        "categories": paper.categories,
        "url": paper.url,
        "pdf_url": paper.pdf_url,
        "published_at": paper.published,
        "updated_at": paper.updated,
        "announced_at": paper.announced,
        "first_seen_at": draft.first_seen,
        "news_at": draft.news_at,
        "revision": draft.revision,
        "version": paper.version,
        "withdrawn": paper.withdrawn,
        "purged_at": None,
        "type": paper.type or None,
    }


def write_keys(tx: Transaction, told: Iterable[tuple[int, IncomingPaper]]) -> None:
    """Write identifiers, title keys and blocks in the order of their index.

    The first paper to come has an identifier, all have title keys and blocks.
    """
    told = list(told)
    keys = dict.fromkeys(
        (*paper_index.indexed_pair(pair), id) for id, one in told for pair in one.keys
    )
    titles = {(indexed(one.title_key), id) for id, one in told if one.title_key}
    named = sorted(keys, key=lambda row: row[:2])
    insert_plain(tx, schema.paper_key, ("scheme", "value", "paper_id"), named)
    insert_plain(tx, schema.title_key, ("key", "paper_id"), sorted(titles))
    blocks = {(block, id) for id, one in told for block in one.blocks or (NO_BLOCK,)}
    insert_plain(tx, schema.block, ("key", "paper_id"), sorted(blocks))


def _write_sightings(
    tx: Transaction,
    source: str,
    document: str,
    ids: Sequence[int],
    decisions: Sequence[Decision],
    now: datetime,
) -> None:
    """Write what the source says; its last texts before are kept, to know them again."""
    rows = {}
    for paper_id, decision in zip(ids, decisions, strict=True):
        keyed = decision.keyed
        raw_id = indexed(keyed.raw_id)
        rows[raw_id, paper_id] = {
            "source": source,
            "raw_id": raw_id,
            "paper_id": paper_id,
            "document": document,
            "version": keyed.paper.version,
            "announce": keyed.paper.announce,
            "fingerprint": keyed.fingerprint,
            "first_seen_at": now,
            "last_seen_at": now,
            "why": decision.recognised or None,
            "mark": keyed.mark,
        }
    ordered = [rows[place] for place in sorted(rows)]
    update = ("version", "announce", "fingerprint", "mark", "last_seen_at")
    insert_or_update(tx, schema.sighting, ordered, update, past=_PAST)
    sighting_texts.write(tx, source, zip(ids, (d.keyed for d in decisions), strict=True))


def touch_sightings(tx: Transaction, source: str, raw_ids: Iterable[str], now: datetime) -> None:
    """Note that a source has told of records just as before."""
    again = (_sighting.source == source, among(tx, _sighting.raw_id, map(indexed, raw_ids)))
    tx.execute(sa.update(schema.sighting).where(*again).values(last_seen_at=now))


# ── what is known of papers ─────────────────────────────────────────────────────────


def load(tx: Transaction, ids: Iterable[int]) -> dict[int, StoredPaper]:
    """Return stored papers by id; those that do not exist are left out."""
    wanted = set(ids)
    return stored_of(tx, wanted, all_keys_of(tx, wanted))


def texts(tx: Transaction, ids: Iterable[int]) -> list[tuple[int, str, str]]:
    """Return the id, title and abstract of papers, in no order."""
    told = sa.select(_paper.id, _paper.title, _paper.abstract)
    return [(id, title, text) for id, title, text in raw(tx, told.where(among(tx, _paper.id, ids)))]


def get(tx: Transaction, paper_id: int) -> StoredPaper | None:
    """Return the paper with this id."""
    return load(tx, [paper_id]).get(paper_id)


def exist(tx: Transaction, ids: Collection[int]) -> bool:
    """Return whether there are all of these papers; until the transaction ends they stay."""
    there = sa.select(_paper.id).where(among(tx, _paper.id, ids))
    return len(tx.execute(there.with_for_update(key_share=True, read=True)).all()) == len(ids)


def by_key(tx: Transaction, scheme: str, value: str) -> StoredPaper | None:
    """Return the paper that has a normalised identifier."""
    found = paper_index.of_keys(tx, [(scheme, value)]).get((indexed(scheme), indexed(value)))
    return get(tx, found) if found is not None else None


def by_common_key(tx: Transaction, scheme: str, value: str) -> list[StoredPaper]:
    """Return the papers that carry a normalised identifier which no paper is recognised by."""
    return list(load(tx, common.papers_with(tx, (scheme, value))).values())


def by_title_key(tx: Transaction, key: str) -> list[StoredPaper]:
    """Return the newest papers with a title key: candidates, never proof."""
    ids = paper_index.of_titles(tx, [key]).get(indexed(key), [])
    return list(load(tx, ids).values())


def page(tx: Transaction, after_id: int, limit: int) -> list[tuple[StoredPaper, tuple[str, ...]]]:
    """Return the next papers by id, each with the sources that told of it."""
    found = tx.scalars(
        sa.select(_paper.id)
        .where(_paper.id > after_id, _paper.purged_at.is_(None))
        .order_by(_paper.id)
        .limit(limit)
    )
    stored = load(tx, found)
    told = sources(tx, stored)
    return [(paper, told.get(id, ())) for id, paper in sorted(stored.items())]


def count(tx: Transaction, since: int = 0) -> int:
    """Return how many papers there are, from an id on."""
    there = (_paper.purged_at.is_(None), _paper.id >= since)
    return tx.scalar(sa.select(sa.func.count()).where(*there)) or 0


def sources(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the names of the sources that told of each paper, in alphabetical order."""
    pairs = sa.select(_sighting.paper_id, _sighting.source).where(
        among(tx, _sighting.paper_id, ids)
    )
    return {id: tuple(sorted(set(names))) for id, names in paper_index.grouped(tx, pairs).items()}


def sightings(
    tx: Transaction, ids: Iterable[int], source: str | None = None
) -> dict[int, tuple[Sighting, ...]]:
    """Return what each source, or the one named, last said of each paper, the oldest first."""
    # Sources are told apart here: asked for one, SQLite walks through all that it ever said.
    seen: dict[int, list[Sighting]] = defaultdict(list)
    for row in raw_of(tx, _sightings, ids):
        if source is None or row[0] == source:
            seen[row[_PAPER]].append(_sighting_of(*row))
    return {id: tuple(some) for id, some in seen.items()}


def sightings_with_text(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[Sighting, ...]]:
    """Return `sightings` of all sources, each with what its record said of itself."""
    wanted = set(ids)
    texts = sighting_texts.of_papers(tx, wanted)
    return {
        id: tuple(replace(one, text=texts.get((id, one.source, one.raw_id))) for one in seen)
        for id, seen in sightings(tx, wanted).items()
    }


@cache
def _sightings(dialect: str) -> sa.Select[Any]:
    told = sa.select(schema.sighting).where(one_of(dialect, _sighting.paper_id))
    return told.order_by(_sighting.first_seen_at, _sighting.raw_id)


_PAPER = list(_sighting.keys()).index("paper_id")


def _sighting_of(
    source: str,
    raw_id: str,
    paper_id: int,
    document: str,
    version: int | None,
    announce: str,
    fingerprint: str,
    first_seen: datetime | str,
    last_seen: datetime | str,
    why: str | None,
    past: str | None,
    mark: int | None,
) -> Sighting:
    """Return a row of `schema.sighting`, its columns in their order."""
    return Sighting(
        source,
        raw_id,
        version,
        announce,
        fingerprint,
        moment(first_seen),
        moment(last_seen),
        document,
        tuple(past.split()) if past else (),
        why or "",
    )


def origin(tx: Transaction, paper_id: int) -> Origin | None:
    """Return all that is known of where a paper came from."""
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
    """Return all identifiers that papers carry, those included that prove nothing."""
    wanted = set(ids)
    keys = keys_of(tx, wanted)
    for id, pairs in common.of_papers(tx, wanted).items():
        keys[id] = sorted([*keys[id], *pairs])
    return keys


def keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers that papers are recognised by, in a stable order."""
    keys: dict[int, list[Key]] = defaultdict(list)
    for paper_id, scheme, value in raw_of(tx, _keys, ids):
        keys[paper_id].append((scheme, value))
    return keys


@cache
def _keys(dialect: str) -> sa.Select[Any]:
    told = sa.select(_key.paper_id, _key.scheme, _key.value)
    ordered = told.order_by(_key.paper_id, _key.scheme, _key.value)
    return ordered.where(one_of(dialect, _key.paper_id))


def stored_of(
    tx: Transaction, ids: Iterable[int], keys: Mapping[int, Sequence[Key]]
) -> dict[int, StoredPaper]:
    """Return stored papers by id, with their identifiers as they are given."""
    rows = raw_of(tx, _papers, ids)
    return {row[0]: _stored_of(keys.get(row[0], ()), *row) for row in rows}


@cache
def _papers(dialect: str) -> sa.Select[Any]:
    return sa.select(schema.paper).where(one_of(dialect, _paper.id))


def titles(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return the titles and authors of stored papers by id."""
    wanted = set(ids)
    if not wanted:
        return {}
    rows = raw_of(tx, _titles, wanted)
    return {id: (title, listed(authors)) for id, title, authors in rows}


@cache
def _titles(dialect: str) -> sa.Select[Any]:
    told = sa.select(_paper.id, _paper.title, _paper.authors)
    return told.where(one_of(dialect, _paper.id))


def _stored_of(
    keys: Sequence[Key],
    id: int,
    title: str,
    abstract: str,
    authors: str | list[str],
    venue: str,
    year: int | None,
    categories: str | list[str],
    url: str,
    pdf_url: str,
    published: datetime | str | None,
    updated: datetime | str | None,
    announced: datetime | str | None,
    first_seen: datetime | str,
    news_at: datetime | str | None,
    revision: int,
    version: int | None,
    withdrawn: bool | int,
    purged_at: datetime | str | None,
    type_: str | None,
) -> StoredPaper:
    """Return a row of `schema.paper`, its columns in their order."""
    by_scheme: dict[str, tuple[str, ...]] = {}
    for scheme, value in keys:
        if scheme != LINK:
            by_scheme[scheme] = (*by_scheme.get(scheme, ()), value)
    paper = Paper(
        title=title,
        abstract=abstract,
        authors=listed(authors),
        venue=venue,
        year=year,
        published=moment(published) if published else None,
        updated=moment(updated) if updated else None,
        announced=moment(announced) if announced else None,
        url=url,
        pdf_url=pdf_url,
        keys={s: v[0] if len(v) == 1 else v for s, v in by_scheme.items()},
        categories=listed(categories),
        version=version,
        withdrawn=bool(withdrawn),
        type=type_ or "",
    )
    since = moment(news_at) if news_at else None
    return StoredPaper(id, paper, moment(first_seen), since, revision, purged_at is not None)
