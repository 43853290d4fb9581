"""Papers, with their identifiers and sightings. `write_papers` writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
import sqlalchemy as sa

from monitor.identity.keys import LINK, group_by_scheme
from monitor.model import ChangeKind, Paper, Sighting, StoredPaper
from monitor.model.paper_fields import FIELDS, INDEXED, PURGED, SPLIT, Form, PaperField
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, index_value, one_of
from monitor.store.papers import paper_index, sightings
from monitor.store.papers.paper_drafts import Draft

_paper = schema.paper.c
_common = schema.common_key.c
_PAPERS = sa.select(schema.paper).where(one_of(_paper.id))
Key = tuple[str, str]


class ChangeRow(msgspec.Struct, frozen=True):
    """A change of a paper that was news. `matched_at` is None until topics were matched."""

    revision: int
    kind: ChangeKind
    why: str
    at: datetime
    matched_at: datetime | None


class SharedKey(msgspec.Struct, frozen=True):
    """Another paper that has an identifier of this one, and how it is known: see `Claim`."""

    key: str
    paper: int
    title: str
    claim: str


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


def texts(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return the titles and abstracts of papers by id, but for those that were purged."""
    query = sa.select(_paper.id, _paper.title, _paper.abstract)
    rows = tx.execute(query.where(among(_paper.id, ids), _paper.purged_at.is_(None)))
    return {id: (title, abstract) for id, title, abstract in rows}


def get(tx: Transaction, paper_id: int) -> StoredPaper | None:
    return load(tx, [paper_id]).get(paper_id)


def exist(tx: Transaction, ids: Collection[int]) -> bool:
    """Return whether all these papers exist, and keep them until the transaction ends."""
    rows = sa.select(_paper.id).where(among(_paper.id, ids))
    return len(tx.execute(rows.with_for_update(key_share=True, read=True)).all()) == len(ids)


def by_key(tx: Transaction, scheme: str, value: str) -> StoredPaper | None:
    """Return the paper that has a normalised identifier."""
    ids = paper_index.of_keys(tx, [(scheme, value)]).values()
    return next(iter(load(tx, ids).values()), None)


def by_common_key(tx: Transaction, scheme: str, value: str) -> list[StoredPaper]:
    """Return the papers that share a normalised identifier without being one work."""
    owners = sa.select(_common.paper_id).filter_by(scheme=scheme, value=index_value(value))
    return list(load(tx, tx.scalars(owners.order_by(_common.paper_id))).values())


def sharing_keys(tx: Transaction, paper_id: int, keys: Iterable[Key]) -> list[SharedKey]:
    """Return the other papers that have identifiers of a paper."""
    pairs = [pair for pair in keys if pair[0] != LINK]
    claims = {pair: dict([owner]) for pair, owner in paper_index.owners(tx, pairs).items()}
    for pair, of_papers in paper_index.carriers(tx, pairs).items():
        claims[pair] = claims.get(pair, {}) | of_papers
    others = titles(tx, {id for of_pair in claims.values() for id in of_pair} - {paper_id})
    return [
        SharedKey(f"{scheme}:{value}", id, others[id][0], claim.name.lower())
        for (scheme, value), of_pair in sorted(claims.items())
        for id, claim in sorted(of_pair.items())
        if id in others
    ]


def by_title_key(tx: Transaction, key: str) -> list[StoredPaper]:
    """Return the newest papers with a title key. They need not be the same work."""
    ids = paper_index.of_titles(tx, [key]).get(index_value(key), [])
    return list(load(tx, ids).values())


def count(tx: Transaction, since: int = 0) -> int:
    """Return how many papers there are, from an id on: all but the purged ones."""
    # Two counts of an index: to look at each paper would read the whole table.
    every = sa.select(sa.func.count()).select_from(schema.paper)
    if since:
        every = every.where(_paper.id >= since)
    purged = every.where(_paper.purged_at.is_not(None))
    return (tx.scalar(every) or 0) - (tx.scalar(purged) or 0)


def origin(tx: Transaction, stored: StoredPaper) -> Origin:
    """Return where a paper came from."""
    changes = sa.select(schema.change).filter_by(paper_id=stored.id).order_by("revision")
    return Origin(
        stored,
        tuple(all_keys_of(tx, [stored.id]).get(stored.id, ())),
        sightings.with_text(tx, [stored.id]).get(stored.id, ()),
        tuple(fetch(tx, changes, ChangeRow)),
    )


def all_keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return all identifiers of papers, including those that other works share."""
    wanted = set(ids)
    keys = keys_of(tx, wanted)
    for id, pairs in shared_keys_of(tx, wanted).items():
        keys[id] = sorted([*keys[id], *pairs])
    return keys


def keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers that papers are recognised by, in order."""
    return paper_index.of_papers(tx, schema.paper_key, ids)


def shared_keys_of(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Key]]:
    """Return the identifiers of papers that other works share, in order."""
    return paper_index.of_papers(tx, schema.common_key, ids)


def stored_of(
    tx: Transaction, ids: Iterable[int], keys: Mapping[int, Iterable[Key]]
) -> dict[int, StoredPaper]:
    """Return stored papers by id, with the identifiers in `keys`."""
    rows = tx.execute(_PAPERS, {"values": ids}).all()
    return {row.id: _to_stored_paper(row, keys.get(row.id, ())) for row in rows}


def without_link(tx: Transaction, after: int, since: datetime, limit: int) -> list[int]:
    """Return the next papers, by id, that were first seen since a time and have no link."""
    first = sa.select(sa.func.min(_paper.id)).where(_paper.first_seen_at >= since)
    wanted = _paper.id > after, _paper.id >= first.scalar_subquery(), _paper.url == ""
    query = sa.select(_paper.id).where(*wanted, _paper.purged_at.is_(None))
    return list(tx.scalars(query.order_by(_paper.id).limit(limit)))


def with_indexed_fields(tx: Transaction, ids: Iterable[int]) -> dict[int, Paper]:
    """Return stored papers by id, with the fields that are in the search index alone."""
    return {
        row.id: _to_paper(row, _READING_INDEXED) for row in tx.execute(_INDEXED, {"values": ids})
    }


def titles(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return the titles and authors of stored papers by id."""
    if not (wanted := set(ids)):
        return {}
    query = sa.select(_paper.id, _paper.title, _paper.authors).where(among(_paper.id, wanted))
    return {id: (title, tuple(authors)) for id, title, authors in tx.execute(query)}


def _to_stored_paper(row: Any, keys: Iterable[tuple[str, str]]) -> StoredPaper:
    # `Paper.url` has the link.
    by_scheme = group_by_scheme(pair for pair in keys if pair[0] != LINK)
    by_name = {s: v[0] if len(v) == 1 else v for s, v in by_scheme.items()}
    paper = _to_paper(row, _READING, keys=by_name)
    purged = row.purged_at is not None
    return StoredPaper(row.id, paper, row.first_seen_at, row.news_at, row.revision, purged)


def _to_paper(row: Any, reading: Iterable[_Reading], **fields: Any) -> Paper:
    columns = row._mapping
    for name, column, read in reading:
        if (value := columns[column]) is not None:
            fields[name] = read(value) if read else value
    return Paper(**fields)


def columns(draft: Draft | StoredPaper) -> dict[str, Any]:
    """Return the columns of a paper's row, without its id."""
    return _columns_of(draft.paper, _STORED) | {
        "first_seen_at": draft.first_seen,
        "news_at": draft.news_at,
        "revision": draft.revision,
        "purged_at": None,
    }


def split_columns(paper: Paper) -> dict[str, Any]:
    """Return the columns of the fields that each part of a split paper has for itself."""
    return _columns_of(paper, [field for field in _STORED if SPLIT in field.uses])


def _columns_of(paper: Paper, fields: Iterable[PaperField]) -> dict[str, Any]:
    return {field.column: _to_column(field.form, getattr(paper, field.name)) for field in fields}


def _to_column(form: Form | None, value: Any) -> object:
    if form is Form.OPTIONAL_TEXT:
        return value or None
    if form is Form.JSON:
        return msgspec.json.encode(value).decode() if value else None
    return value


def _reader(field: PaperField) -> Callable[[Any], Any] | None:
    """Return what makes the value of a field from its column; None if they are the same."""
    if field.form is Form.JSON:
        return msgspec.json.Decoder(_TYPES[field.name]).decode
    return tuple if field.form is Form.LIST else None


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Paper)}
_STORED = [field for field in FIELDS if field.form]
# The columns that clean-up empties, and their empty values.
PURGED_COLUMNS = {
    field.column: _to_column(field.form, getattr(Paper(""), field.name))
    for field in _STORED
    if PURGED in field.uses
}
# The name and the column of a field, and what reads a value of the column.
_Reading: TypeAlias = tuple[str, str, Callable[[Any], Any] | None]
_READING: list[_Reading] = [(field.name, field.column, _reader(field)) for field in _STORED]
_READING_INDEXED = [
    reading for field, reading in zip(_STORED, _READING, strict=True) if INDEXED in field.uses
]
_INDEXED = sa.select(_paper.id, *(_paper[column] for _, column, _ in _READING_INDEXED)).where(
    one_of(_paper.id)
)
