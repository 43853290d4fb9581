"""Papers: what may be the same one, what an ingest found, and what is known of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import Candidate, Decision, Keyed, Kind, Paper, Sighting, Stored
from monitor.store import changes, schema, search
from monitor.store.columns import among, indexed, insert_new, insert_or_update
from monitor.store.database import Transaction
from monitor.store.merge import Draft, fold

# "Editorial" is a title of thousands: the newest papers of a title are candidates enough.
CANDIDATES_BY_TITLE = 25
# Every paper has a link of its own, `Paper.url`, so among the keys it would be said twice.
LINK = "url"

_paper = schema.paper.c
_key = schema.paper_key.c
_title = schema.title_key.c
_sighting = schema.sighting.c
_change = schema.change.c

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One revision of a paper that was news. `matched_at` is None while it waits."""

    revision: int
    kind: Kind
    why: str
    at: datetime
    matched_at: datetime | None


@dataclass(frozen=True, slots=True)
class Origin:
    """All that is known of where a paper came from."""

    stored: Stored
    keys: tuple[Key, ...]
    sightings: tuple[Sighting, ...]
    changes: tuple[ChangeRow, ...]


# ── what may be the same paper ──────────────────────────────────────────────────────


def candidates(
    tx: Transaction, source: str, incoming: Sequence[Keyed]
) -> list[tuple[Candidate, ...]]:
    """Return, for each incoming paper, the stored ones that it may be, by ascending id.

    A handful of statements however many papers there are: they are found by identifier, by
    this source's own name for the record, and by title key (its newest papers only).
    """
    found: list[dict[int, set[str]]] = [defaultdict(set) for _ in incoming]
    by_key = _by_key(tx, {pair for one in incoming for pair in one.keys})
    by_raw_id = _by_raw_id(tx, source, {one.raw_id for one in incoming})
    by_title = _by_title(tx, {one.title_key for one in incoming})
    for ways, one in zip(found, incoming, strict=True):
        for pair in one.keys:
            _note(ways, by_key.get(_indexed(pair), ()), "key")
        _note(ways, by_raw_id.get(indexed(one.raw_id), ()), "raw_id")
        _note(ways, by_title.get(indexed(one.title_key), ()), "title")
    return _assemble(tx, source, found)


def _note(ways: dict[int, set[str]], ids: Iterable[int], way: str) -> None:
    for paper_id in ids:
        ways[paper_id].add(way)


def _indexed(pair: Key) -> Key:
    return indexed(pair[0]), indexed(pair[1])


def _by_key(tx: Transaction, pairs: Iterable[Key]) -> Mapping[Key, list[int]]:
    by_scheme: dict[str, list[str]] = defaultdict(list)
    for scheme, value in map(_indexed, pairs):
        by_scheme[scheme].append(value)
    found: dict[Key, list[int]] = {}
    for scheme, values in by_scheme.items():
        rows = tx.execute(
            sa.select(_key.value, _key.paper_id).where(
                _key.scheme == scheme, among(tx, _key.value, values)
            )
        )
        found.update({(scheme, value): [paper_id] for value, paper_id in rows})
    return found


def _by_raw_id(tx: Transaction, source: str, raw_ids: Iterable[str]) -> Mapping[str, list[int]]:
    return _grouped(
        tx,
        sa.select(_sighting.raw_id, _sighting.paper_id).where(
            _sighting.source == source, among(tx, _sighting.raw_id, map(indexed, raw_ids))
        ),
    )


def _by_title(tx: Transaction, keys: Iterable[str]) -> Mapping[str, list[int]]:
    wanted = among(tx, _title.key, map(indexed, filter(None, keys)))
    rows = _grouped(tx, sa.select(_title.key, _title.paper_id).where(wanted))
    return {key: sorted(ids)[-CANDIDATES_BY_TITLE:] for key, ids in rows.items()}


def _grouped(tx: Transaction, pairs: sa.Select[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for one, other in tx.execute(pairs):
        found[one].append(other)
    return found


def _assemble(
    tx: Transaction, source: str, found: Sequence[Mapping[int, set[str]]]
) -> list[tuple[Candidate, ...]]:
    ids = {paper_id for ways in found for paper_id in ways}
    keys = _keys(tx, ids)
    stored = _stored(tx, ids, keys)
    seen = sightings(tx, ids, source)
    return [
        tuple(
            Candidate(stored[id], tuple(keys.get(id, ())), frozenset(ways[id]), seen.get(id, ()))
            for id in sorted(ways)
        )
        for ways in found
    ]


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
    told of it before, or when words come in that it lacked: other topics may meet it now.
    """
    known = load(tx, {d.paper_id for d in decisions if d.paper_id is not None})
    newest = tx.scalar(sa.select(sa.func.max(_paper.id))) or 0
    ids, drafts = fold(decisions, known, _seen_by(tx, source, known), newest + 1, now)
    _write_papers(tx, drafts)
    _write_keys(tx, list(zip(ids, (d.keyed for d in decisions), strict=True)))
    _write_sightings(tx, source, document, ids, decisions, now)
    changes.write(tx, drafts, now)
    search.mark(tx, [draft.id for draft in drafts if draft.is_new or draft.changed])
    return ids


def _seen_by(tx: Transaction, source: str, ids: Iterable[int]) -> set[int]:
    told = (_sighting.source == source, among(tx, _sighting.paper_id, ids))
    return set(tx.scalars(sa.select(_sighting.paper_id).where(*told)))


def _write_papers(tx: Transaction, drafts: Sequence[Draft]) -> None:
    new = [{"id": draft.id} | _columns(draft) for draft in drafts if draft.is_new]
    changed = [{"of": d.id} | _columns(d) for d in drafts if d.changed and not d.is_new]
    if new:
        tx.execute(sa.insert(schema.paper), new)
    if changed:
        tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), changed)


def _columns(draft: Draft) -> dict[str, Any]:
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
    }


def _write_keys(tx: Transaction, told: Iterable[tuple[int, Keyed]]) -> None:
    """Write identifiers and title keys in the order of their index; the first to come has one."""
    told = list(told)
    keys = dict.fromkeys((*_indexed(pair), id) for id, one in told for pair in one.keys)
    titles = {(indexed(one.title_key), id) for id, one in told if one.title_key}
    rows = [{"scheme": s, "value": v, "paper_id": id} for s, v, id in keys]
    insert_new(tx, schema.paper_key, sorted(rows, key=lambda row: (row["scheme"], row["value"])))
    insert_new(tx, schema.title_key, [{"key": key, "paper_id": id} for key, id in sorted(titles)])


def _write_sightings(
    tx: Transaction,
    source: str,
    document: str,
    ids: Sequence[int],
    decisions: Sequence[Decision],
    now: datetime,
) -> None:
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
        }
    ordered = [rows[place] for place in sorted(rows)]
    update = ("version", "announce", "fingerprint", "last_seen_at")
    insert_or_update(tx, schema.sighting, ordered, update)


# ── what is known of papers ─────────────────────────────────────────────────────────


def load(tx: Transaction, ids: Iterable[int]) -> dict[int, Stored]:
    """Return stored papers by id; those that do not exist are left out."""
    wanted = set(ids)
    return _stored(tx, wanted, _keys(tx, wanted))


def get(tx: Transaction, paper_id: int) -> Stored | None:
    """Return the paper with this id."""
    return load(tx, [paper_id]).get(paper_id)


def by_key(tx: Transaction, scheme: str, value: str) -> Stored | None:
    """Return the paper that has a normalised identifier."""
    ids = _by_key(tx, [(scheme, value)]).get(_indexed((scheme, value)), [])
    return get(tx, ids[0]) if ids else None


def by_title_key(tx: Transaction, key: str) -> list[Stored]:
    """Return the newest papers with a title key: candidates, never proof."""
    ids = _by_title(tx, [key]).get(indexed(key), [])
    return list(load(tx, ids).values())


def page(tx: Transaction, after_id: int, limit: int) -> list[tuple[Stored, tuple[str, ...]]]:
    """Return the next papers by id, each with the sources that told of it."""
    found = tx.scalars(
        sa.select(_paper.id).where(_paper.id > after_id).order_by(_paper.id).limit(limit)
    )
    stored = load(tx, found)
    told = sources(tx, stored)
    return [(paper, told.get(id, ())) for id, paper in sorted(stored.items())]


def count(tx: Transaction) -> int:
    """Return how many papers there are."""
    return tx.scalar(sa.select(sa.func.count()).select_from(schema.paper)) or 0


def sources(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the names of the sources that told of each paper, in alphabetical order."""
    pairs = sa.select(_sighting.paper_id, _sighting.source).where(
        among(tx, _sighting.paper_id, ids)
    )
    return {id: tuple(sorted(set(names))) for id, names in _grouped(tx, pairs).items()}


def sightings(
    tx: Transaction, ids: Iterable[int], source: str | None = None
) -> dict[int, tuple[Sighting, ...]]:
    """Return what each source, or the one named, last said of each paper, the oldest first."""
    wanted = sa.select(schema.sighting).where(among(tx, _sighting.paper_id, ids))
    if source is not None:
        wanted = wanted.where(_sighting.source == source)
    found: dict[int, list[Sighting]] = defaultdict(list)
    for row in tx.execute(wanted.order_by(_sighting.first_seen_at, _sighting.raw_id)):
        found[row.paper_id].append(
            Sighting(
                source=row.source,
                raw_id=row.raw_id,
                version=row.version,
                announce=row.announce,
                fingerprint=row.fingerprint,
                first_seen=row.first_seen_at,
                last_seen=row.last_seen_at,
                document=row.document,
            )
        )
    return {id: tuple(seen) for id, seen in found.items()}


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
        tuple(_keys(tx, [paper_id]).get(paper_id, ())),
        sightings(tx, [paper_id]).get(paper_id, ()),
        tuple(
            ChangeRow(row.revision, Kind(row.kind), row.why, row.at, row.matched_at) for row in rows
        ),
    )


def _keys(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    rows = tx.execute(
        sa.select(_key.paper_id, _key.scheme, _key.value)
        .where(among(tx, _key.paper_id, ids))
        .order_by(_key.paper_id, _key.scheme, _key.value)
    )
    found: dict[int, list[Key]] = defaultdict(list)
    for paper_id, scheme, value in rows:
        found[paper_id].append((scheme, value))
    return found


def _stored(
    tx: Transaction, ids: Iterable[int], keys: Mapping[int, Sequence[Key]]
) -> dict[int, Stored]:
    rows = tx.execute(sa.select(schema.paper).where(among(tx, _paper.id, ids)))
    return {
        row.id: Stored(
            id=row.id,
            paper=_paper_of(row, keys.get(row.id, ())),
            first_seen=row.first_seen_at,
            news_at=row.news_at,
            revision=row.revision,
        )
        for row in rows
    }


def _paper_of(row: Any, keys: Sequence[Key]) -> Paper:
    by_scheme: dict[str, tuple[str, ...]] = {}
    for scheme, value in keys:
        if scheme != LINK:
            by_scheme[scheme] = (*by_scheme.get(scheme, ()), value)
    return Paper(
        title=row.title,
        abstract=row.abstract,
        authors=tuple(row.authors),
        venue=row.venue,
        year=row.year,
        published=row.published_at,
        updated=row.updated_at,
        announced=row.announced_at,
        url=row.url,
        pdf_url=row.pdf_url,
        keys={s: v[0] if len(v) == 1 else v for s, v in by_scheme.items()},
        categories=tuple(row.categories),
        version=row.version,
        withdrawn=row.withdrawn,
    )
