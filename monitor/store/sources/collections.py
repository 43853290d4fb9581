"""Libraries and reference lists: works that are neither known nor news by being listed there.

An entry that is missing from a whole reading leaves an hour later, unless it is back by then:
reference managers rewrite their files, and a reading may meet one that is half written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
import sqlalchemy as sa

from monitor.identity.keys import LINK, hash_of_text, identifiers, raw_id, record_hash, with_keys
from monitor.identity.resolve import KnownWork, recognise
from monitor.model import IncomingPaper, Paper
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_new, insert_or_update
from monitor.store.papers.candidates import nearest

_collection = schema.collection.c
_entry = schema.collection_entry.c
_key = schema.collection_key.c

LEAVES_AFTER = timedelta(hours=1)
# Entries that share an identifier or a title are compared, the newest first.
MAX_SAME_KEY = 25


class CollectionEntry(msgspec.Struct, frozen=True):
    """A work in a library or reference list, as its source gave it."""

    id: int
    source: str
    paper: Paper


# ── readings ────────────────────────────────────────────────────────────────────────


def content(tx: Transaction, source: str, document: str) -> str:
    """Return what was last read of a document to its end, "" for nothing."""
    query = sa.select(_collection.content).filter_by(source=source, document=document)
    return tx.scalar(query) or ""


def begin_reading(tx: Transaction, source: str, document: str) -> None:
    """Begin to read a document from its start."""
    id, reading = _current_reading(tx, source, document)
    again = sa.update(schema.collection).filter_by(id=id)
    tx.execute(again.values(reading=reading + 1))


def save(tx: Transaction, source: str, document: str, papers: Sequence[Paper]) -> None:
    """Store records of a document; of those with one name the last counts.

    `tx` comes from `Database.ingesting`.
    """
    collection_id, reading = _current_reading(tx, source, document)
    named = {hash_of_text(raw_id(paper)): paper for paper in papers}
    of_names = sa.select(_entry.name, _entry.id, _entry.record_hash, _entry.packed)
    of_names = of_names.filter_by(collection_id=collection_id).where(among(_entry.name, named))
    stored = {row.name: row for row in tx.execute(of_names)}
    hashes = {name: record_hash(paper) for name, paper in named.items()}
    same = {row.id for name, row in stored.items() if row.record_hash == hashes[name]}
    present = sa.update(schema.collection_entry).where(among(_entry.id, same))
    tx.execute(present.values(reading=reading, missing_since=None))
    changed = [row for row in stored.values() if row.id not in same]
    _delete_keys(tx, collection_id, {row.id: row.packed for row in changed})
    next_id = 1 + (tx.scalar(sa.select(sa.func.max(_entry.id))) or 0)
    ids = {name: stored[name].id for name in stored}
    for name in named:
        if name not in ids:
            ids[name], next_id = next_id, next_id + 1
    new = [name for name in named if ids[name] not in same]
    rows = [
        {
            "id": ids[name],
            "collection_id": collection_id,
            "name": name,
            "record_hash": hashes[name],
            "reading": reading,
            "packed": pack(named[name]),
            "missing_since": None,
        }
        for name in new
    ]
    insert_or_update(tx, schema.collection_entry, rows)
    keys = {(key, ids[name]) for name in new for key in _keys_of(with_keys(named[name]))}
    key_rows = [
        {"key": key, "collection_id": collection_id, "entry_id": id} for key, id in sorted(keys)
    ]
    insert_new(tx, schema.collection_key, key_rows)


def end_reading(
    tx: Transaction, source: str, document: str, content: str, now: datetime, *, at_once: bool
) -> None:
    """Record that a document was read to its end: entries that it lacks leave, or do so `at_once`.

    `content` is compared with what is read next.
    """
    collection_id, reading = _current_reading(tx, source, document)
    read = sa.update(schema.collection).filter_by(id=collection_id)
    tx.execute(read.values(content=content))
    lacking = sa.and_(_entry.collection_id == collection_id, _entry.reading < reading)
    missing = sa.update(schema.collection_entry).where(lacking, _entry.missing_since.is_(None))
    tx.execute(missing.values(missing_since=now))
    gone = lacking if at_once else sa.and_(lacking, _entry.missing_since <= now - LEAVES_AFTER)
    query = sa.select(_entry.id, _entry.packed).where(gone).limit(1_000)
    while rows := dict(map(tuple, tx.execute(query))):
        _delete_keys(tx, collection_id, rows)
        tx.execute(sa.delete(schema.collection_entry).where(among(_entry.id, rows)))


def leave_documents(tx: Transaction, source: str, present: Collection[str], now: datetime) -> None:
    """Note that the entries of documents that are not among the `present` ones are missing."""
    of_source = sa.select(_collection.id, _collection.document).filter_by(source=source)
    gone = {id for id, document in tx.execute(of_source) if document not in present}
    if gone:
        # One that comes back is read again.
        documents = sa.update(schema.collection).where(among(_collection.id, gone))
        tx.execute(documents.values(content=""))
        entries = sa.update(schema.collection_entry).where(among(_entry.collection_id, gone))
        missing = entries.where(_entry.missing_since.is_(None))
        tx.execute(missing.values(missing_since=now))


def _current_reading(tx: Transaction, source: str, document: str) -> tuple[int, int]:
    """Return the ids of a document and of its last reading, 0 before the first."""
    query = sa.select(_collection.id, _collection.reading)
    row = tx.execute(query.filter_by(source=source, document=document)).first()
    if row is None:
        values = {"source": source, "document": document, "content": "", "reading": 0}
        id = tx.scalar(sa.insert(schema.collection).returning(_collection.id), values)
        return id or 0, 0
    return row.id, row.reading


def _delete_keys(tx: Transaction, collection_id: int, packed: Mapping[int, bytes]) -> None:
    keys = [
        {"of": id, "is": key}
        for id, record in packed.items()
        for key in _keys_of(with_keys(unpack(record, Paper)))
    ]
    if keys:
        named = _key.key == sa.bindparam("is"), _key.entry_id == sa.bindparam("of")
        gone = sa.delete(schema.collection_key).where(*named, _key.collection_id == collection_id)
        tx.execute(gone, keys)


# ── looking up ──────────────────────────────────────────────────────────────────────


def find(
    tx: Transaction, sources: Collection[str], incoming: Sequence[IncomingPaper], now: datetime
) -> list[list[CollectionEntry]]:
    """Return the entries of some sources that are the same work as each record."""
    if not sources or not incoming:
        return [[] for _ in incoming]
    of_sources = sa.select(_collection.id).where(among(_collection.source, sources))
    collections = set(tx.scalars(of_sources))
    by_key: dict[int, list[int]] = defaultdict(list)
    numbers = {key for record in incoming for key in _keys_of(record)}
    query = sa.select(_key.key, _key.entry_id).where(among(_key.key, numbers))
    query = query.where(among(_key.collection_id, collections)).order_by(_key.entry_id)
    for key, entry_id in tx.execute(query):
        by_key[key].append(entry_id)
    chosen = [_candidates(record, by_key) for record in incoming]
    entries = _load(tx, {id for found_by in chosen for id in found_by}, now)
    return [
        [
            entry
            for id, way in found_by.items()
            if (entry := entries.get(id)) and is_same(record, entry.paper, way)
        ]
        for record, found_by in zip(incoming, chosen, strict=True)
    ]


def entries(
    tx: Transaction, sources: Collection[str], now: datetime, limit: int | None = None
) -> list[CollectionEntry]:
    """Return the entries of some sources, the newest first."""
    query = sa.select(_entry.id).join(schema.collection)
    query = query.where(among(_collection.source, sources)).order_by(_entry.id.desc())
    ids = list(tx.scalars(query.limit(limit)))
    loaded = _load(tx, ids, now)
    return [loaded[id] for id in ids if id in loaded]


def _load(tx: Transaction, ids: Collection[int], now: datetime) -> dict[int, CollectionEntry]:
    if not ids:
        return {}
    missing = _entry.missing_since
    query = sa.select(_entry.id, _collection.source, _entry.packed).join(schema.collection)
    present = sa.or_(missing.is_(None), missing > now - LEAVES_AFTER)
    rows = tx.execute(query.where(among(_entry.id, ids), present))
    return {id: CollectionEntry(id, source, unpack(packed, Paper)) for id, source, packed in rows}


def _candidates(record: IncomingPaper, by_key: Mapping[int, Sequence[int]]) -> dict[int, str]:
    """Return the entries that a record may be of, and how each was found, the strongest way."""
    by_blocks = dict.fromkeys(nearest(record.blocks, by_key), "block")
    by_title = dict.fromkeys(by_key.get(_title_key(record), ())[-MAX_SAME_KEY:], "title")
    named = (by_key.get(key, ())[-MAX_SAME_KEY:] for key in _identifier_keys(record))
    return by_blocks | by_title | {id: "key" for ids in named for id in ids}


def is_same(record: IncomingPaper, paper: Paper, found_by: str) -> bool:
    """Whether a record is of the same work as a paper that is not stored as one."""
    work = KnownWork(paper, (paper,), set(identifiers(paper)), frozenset({found_by}))
    return bool(recognise(record, work))


def _keys_of(record: IncomingPaper) -> set[int]:
    return {*name_keys(record), *record.blocks}


def name_keys(record: IncomingPaper) -> set[int]:
    """Return hashes of the identifiers and the title of a record."""
    titled = {_title_key(record)} if record.title_key else set()
    return {*_identifier_keys(record), *titled}


def _identifier_keys(record: IncomingPaper) -> Iterable[int]:
    return (hash_of_text(f"{scheme}:{value}") for scheme, value in record.keys if scheme != LINK)


def _title_key(record: IncomingPaper) -> int:
    return hash_of_text(f"title:{record.title_key}")
