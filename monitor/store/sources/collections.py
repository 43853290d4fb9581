"""Libraries and reference lists, whose works do not become papers.

An entry of a library that is missing from a complete reading is removed after an hour, unless it is
back by then: reference managers rewrite their files, and a reading may meet one that is half
written. Entries of reference lists are removed at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count

import msgspec
import sqlalchemy as sa

from monitor.identity.blocking import add_head_block, blocks_of_words, words
from monitor.identity.keys import (
    LINK,
    claims_of,
    hash_of_text,
    identifiers,
    record_hash,
    with_keys,
)
from monitor.identity.resolve import KnownWork, recognise
from monitor.model import IncomingPaper, LibraryEntry, Paper, Reasons, record_of
from monitor.store.digests.packed import dictionary_for, pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import (
    among,
    each,
    gather_newest,
    insert_all,
    insert_from,
    insert_new,
    insert_or_update,
)
from monitor.store.papers.candidates import nearest
from monitor.store.papers.paper_index import CANDIDATES_EACH
from monitor.text import title_key, title_lengths

# A row of `collection` is one document of a library or reference list.
_collection = schema.collection.c
_entry = schema.collection_entry.c
_key = schema.collection_key.c
_unchecked = schema.unchecked_entry.c

LEAVES_AFTER = timedelta(hours=1)
# Keys of compact entries are put into the index once this many entries have come. Smaller batches
# would write almost one page of the disk for each key.
INDEXED_ENTRIES = 200_000
# Limits of a record of a reference list, which may have millions. Of two abstracts only as many
# words are compared as the shorter one has: 30 are enough.
MAX_WORDS = 30
MAX_ABSTRACT = 300
MAX_AUTHORS = 100
MAX_CATEGORIES = 20


class CollectionEntry(msgspec.Struct, frozen=True):
    """A work in a library or reference list, as its source gave it.

    `since` is when the library got it, None if that was before times were recorded. `recognised`
    says why a record for which it was found is the same work. `document` is the file.
    """

    id: int
    document_id: int
    source: str
    paper: Paper
    since: datetime | None = None
    recognised: Reasons = ()
    document: str = ""

    @property
    def place(self) -> LibraryEntry:
        """The library, the name of the file without its folders, and the key of the entry."""
        file = self.document.partition("?")[0].rstrip("/").rpartition("/")[2]
        return LibraryEntry(self.source, file, self.paper.raw_id)


# ── readings ────────────────────────────────────────────────────────────────────────


def last_content(tx: Transaction, source: str, document: str) -> str:
    """Return the mark of the content that was last read completely, "" for none."""
    query = sa.select(_collection.content).filter_by(source=source, document=document)
    return tx.scalar(query) or ""


def begin_reading(tx: Transaction, source: str, document: str) -> None:
    id, reading = _document_row(tx, source, document)
    update = sa.update(schema.collection).filter_by(id=id)
    # A file that was read half written is read again, even if its earlier content then comes back.
    tx.execute(update.values(reading=reading + 1, content=""))


def save(
    tx: Transaction,
    source: str,
    document: str,
    papers: Sequence[Paper],
    now: datetime,
    *,
    compact: bool = False,
) -> None:
    """Store records of a document. Of records with the same name and title, the last is kept.

    With `compact`, fields are dropped that neither identify a paper nor are filled in. Without it,
    records whose identifiers and title the source did not list before are added to
    `unchecked_entry`. `tx` comes from `Database.ingesting`.
    """
    document_id, reading = _document_row(tx, source, document)
    named = {
        hash_of_text(f"{paper.raw_id or record_hash(paper)} {title_key(paper.title)}"): paper
        for paper in (record_of(paper, source) for paper in papers)
    }
    if compact:
        named = {name: _shorten(paper) for name, paper in named.items()}
    dictionary = _dictionary(tx, document_id, list(named.values()) if compact else ())
    of_names = sa.select(_entry.name, _entry.id, _entry.record_hash, _entry.since)
    of_names = of_names.filter_by(collection_id=document_id).where(among(_entry.name, named))
    stored = {row.name: row for row in tx.execute(of_names)}
    # The forms have different hashes: entries are written again when a list becomes a library.
    hashes = {name: record_hash(paper) ^ (not compact) for name, paper in named.items()}
    same = {row.id for name, row in stored.items() if row.record_hash == hashes[name]}
    present = sa.update(schema.collection_entry).where(among(_entry.id, same))
    tx.execute(present.values(reading=reading, missing_since=None))
    changed = {row.id for row in stored.values()} - same
    new = [name for name in named if name not in stored or stored[name].id not in same]
    since: dict[int, datetime | None] = {}
    if compact:
        keys_of = {name: _compact_keys_of(named[name]) for name in new}
    else:
        records = {name: with_keys(named[name]) for name in new}
        since = _listed_since(tx, source, records)
        keys_of = {name: _keys_of(record) for name, record in records.items()}
    first = None if compact else now
    if changed:
        index_pending_keys(tx)
        _delete_keys(tx, _read(tx, among(_entry.id, changed)))
    highest_id = tx.scalar(sa.select(sa.func.max(_entry.id))) or 0
    unused_ids = count(highest_id + 1)
    ids = {name: stored[name].id if name in stored else next(unused_ids) for name in named}
    rows = [
        {
            "id": ids[name],
            "collection_id": document_id,
            "name": name,
            "record_hash": hashes[name],
            "reading": reading,
            "packed": pack(named[name], dictionary),
            "missing_since": None,
            "since": stored[name].since if name in stored else since.get(name, first),
        }
        for name in new
    ]
    insert_or_update(tx, schema.collection_entry, rows)
    keys = {(key, ids[name]) for name in new for key in keys_of[name]}
    key_rows = [
        {"key": key, "collection_id": document_id, "entry_id": id} for key, id in sorted(keys)
    ]
    if not compact:
        insert_new(tx, schema.collection_key, key_rows)
        _mark_unchecked(tx, (ids[name] for name in new if name not in since))
        return
    insert_all(tx, schema.collection_new_key, key_rows)
    if next(unused_ids) // INDEXED_ENTRIES > (highest_id + 1) // INDEXED_ENTRIES:
        index_pending_keys(tx)


def _listed_since(
    tx: Transaction, source: str, records: Mapping[int, IncomingPaper]
) -> dict[int, datetime | None]:
    """Return since when a library has the works that it lists already under another name."""
    keys = {name: identity_keys(record) for name, record in records.items()}
    by_key = _by_key(tx, [source], {key for of_paper in keys.values() for key in of_paper})
    entries = {
        name: {id for key in of_paper for id in by_key[key]}
        for name, of_paper in keys.items()
        if of_paper <= by_key.keys()
    }
    ids = {id for of_paper in entries.values() for id in of_paper}
    rows = tx.execute(sa.select(_entry.id, _entry.since).where(among(_entry.id, ids)))
    since: dict[int, datetime | None] = dict(map(tuple, rows))
    earliest: dict[int, datetime | None] = {}
    for name, of_paper in entries.items():
        times = [since[id] for id in of_paper]
        earliest[name] = None if None in times else min(filter(None, times))
    return earliest


def _mark_unchecked(tx: Transaction, ids: Iterable[int]) -> None:
    rows = [{"entry_id": id, "only_recent": False} for id in ids]
    insert_or_update(tx, schema.unchecked_entry, rows)


def mark_all_unchecked(tx: Transaction, source: str) -> None:
    """Mark all entries of a library as unchecked, so that they are checked once it is guarded."""
    of_source = sa.select(_collection.id).filter_by(source=source)
    here = _entry.collection_id.in_(of_source)
    recent = _unchecked.only_recent & _unchecked.entry_id.in_(sa.select(_entry.id).where(here))
    tx.execute(sa.update(schema.unchecked_entry).where(recent).values(only_recent=False))
    entries = sa.select(_entry.id.label("entry_id"), sa.false().label("only_recent"))
    waits = _entry.id.in_(sa.select(_unchecked.entry_id))
    insert_from(tx, schema.unchecked_entry, entries.where(here, ~waits))


def take_unchecked(
    tx: Transaction, source: str, now: datetime, limit: int
) -> dict[int, tuple[CollectionEntry | None, bool]]:
    """Return the next entries of a library that stored notices may name, and mark them checked.

    Each comes with whether only recent notices count. An entry that was removed is None.
    """
    of_source = sa.select(_collection.id).filter_by(source=source)
    query = sa.select(_unchecked.entry_id, _unchecked.only_recent)
    query = query.join(schema.collection_entry, _entry.id == _unchecked.entry_id)
    query = query.where(_entry.collection_id.in_(of_source)).order_by(_unchecked.entry_id)
    waiting: dict[int, bool] = dict(map(tuple, tx.execute(query.limit(limit))))
    tx.execute(sa.delete(schema.unchecked_entry).where(among(_unchecked.entry_id, waiting)))
    loaded = _load(tx, list(waiting), now)
    return {id: (loaded.get(id), only_recent) for id, only_recent in waiting.items()}


def index_pending_keys(tx: Transaction) -> None:
    """Move pending keys, which `save` left for later, into the lookup index."""
    new = sa.select(schema.collection_new_key).distinct().order_by(schema.collection_new_key.c.key)
    insert_from(tx, schema.collection_key, new)
    tx.execute(sa.delete(schema.collection_new_key))


def _shorten(paper: Paper) -> Paper:
    return Paper(
        title=paper.title[: title_lengths.KEPT_OF_REFERENCE],
        abstract=" ".join(paper.abstract[:MAX_ABSTRACT].split(None, MAX_WORDS)[:MAX_WORDS]),
        authors=paper.authors[:MAX_AUTHORS],
        venue=paper.venue[: title_lengths.KEPT_OF_REFERENCE],
        year=paper.year,
        published=paper.published,
        url=paper.url,
        pdf_url=paper.pdf_url,
        keys=paper.keys,
        categories=paper.categories[:MAX_CATEGORIES],
        raw_id=paper.raw_id,
        type=paper.type,
        about=paper.about,
        precision=paper.precision,
    )


def _dictionary(tx: Transaction, document_id: int, records: Sequence[Paper]) -> bytes:
    """Return the compression dictionary of a document's records.

    For a long list, it is made from the first records.
    """
    of_document = sa.select(_collection.dictionary).filter_by(id=document_id)
    known: bytes | None = tx.scalar(of_document)
    if known or not records:
        return known or b""
    if dictionary := dictionary_for(records):
        document = sa.update(schema.collection).filter_by(id=document_id)
        tx.execute(document.values(dictionary=dictionary))
    return dictionary


def end_reading(
    tx: Transaction, source: str, document: str, content: str, now: datetime, *, at_once: bool
) -> None:
    """Record that a document was read to its end. Entries that it lacks are marked as missing.

    With `at_once`, they are marked as missing since an hour before, so that they are deleted.
    `content` is compared with that of the next reading.
    """
    document_id, reading = _document_row(tx, source, document)
    update = sa.update(schema.collection).filter_by(id=document_id)
    tx.execute(update.values(content=content, filled_to=0))
    lacking = sa.and_(_entry.collection_id == document_id, _entry.reading < reading)
    _mark_missing(tx, lacking, now, at_once=at_once)


def mark_documents_missing(
    tx: Transaction, source: str, present: Collection[str], now: datetime, *, at_once: bool
) -> None:
    """Mark the entries of documents that are not among the `present` ones as missing."""
    of_source = sa.select(_collection.id, _collection.document).filter_by(source=source)
    gone = {id for id, document in tx.execute(of_source) if document not in present}
    if gone:
        # A document that comes back is read again.
        update = sa.update(schema.collection).where(among(_collection.id, gone))
        tx.execute(update.values(content=""))
        _mark_missing(tx, among(_entry.collection_id, gone), now, at_once=at_once)


def _mark_missing(
    tx: Transaction, missing: sa.ColumnElement[bool], now: datetime, *, at_once: bool
) -> None:
    since = now - LEAVES_AFTER if at_once else now
    update = sa.update(schema.collection_entry).where(missing, _entry.missing_since.is_(None))
    tx.execute(update.values(missing_since=since))


def delete_missing(tx: Transaction, source: str, now: datetime, limit: int) -> int:
    """Delete up to `limit` entries of a source that have left, and return how many."""
    documents = sa.select(_collection.id).filter_by(source=source)
    has_left = _entry.missing_since <= now - LEAVES_AFTER
    return _delete(tx, _entry.collection_id.in_(documents) & has_left, limit)


def _delete(tx: Transaction, gone: sa.ColumnElement[bool], limit: int) -> int:
    entries = {entry.id: entry for entry in _read(tx, gone, limit)}
    _delete_keys(tx, entries.values())
    tx.execute(sa.delete(schema.collection_entry).where(among(_entry.id, entries)))
    return len(entries)


def backfill_position(tx: Transaction, source: str) -> int | None:
    """Return the id of the last paper processed by an unfinished backfill; None when complete."""
    query = sa.select(sa.func.min(_collection.filled_to)).filter_by(source=source)
    return tx.execute(query).scalar()


def set_backfill_position(tx: Transaction, source: str, paper_id: int | None) -> None:
    update = sa.update(schema.collection).filter_by(source=source)
    tx.execute(update.values(filled_to=paper_id))


def _document_row(tx: Transaction, source: str, document: str) -> tuple[int, int]:
    """Return the id of a document, which is added if it is new, and its number of readings."""
    query = sa.select(_collection.id, _collection.reading)
    row = tx.execute(query.filter_by(source=source, document=document)).first()
    if row is None:
        values = {"source": source, "document": document, "content": "", "reading": 0}
        id = tx.scalar(sa.insert(schema.collection).returning(_collection.id), values)
        return id or 0, 0
    return row.id, row.reading


def _delete_keys(tx: Transaction, entries: Iterable[CollectionEntry]) -> None:
    keys = [
        {"hash": key, "document": entry.document_id, "entry": entry.id}
        for entry in entries
        for key in _all_keys_of(entry.paper)
    ]
    if keys:
        columns = {"hash": _key.key, "document": _key.collection_id, "entry": _key.entry_id}
        named = (column == sa.bindparam(name) for name, column in columns.items())
        tx.execute(sa.delete(schema.collection_key).where(*named), keys)


def counts(tx: Transaction) -> dict[str, int]:
    """Return how many entries each library and reference list has."""
    query = sa.select(_collection.source, sa.func.count(_entry.id)).join(schema.collection_entry)
    return dict(map(tuple, tx.execute(query.group_by(_collection.source))))


def forget(tx: Transaction, kept: Collection[str], limit: int) -> int:
    """Delete up to `limit` entries of all sources but the `kept` ones, and return how many."""
    others = sa.select(_collection.id).where(_collection.source.not_in(kept))
    # One that is configured again before all of it is deleted is read again.
    update = sa.update(schema.collection).where(_collection.source.not_in(kept))
    tx.execute(update.where(_collection.content != "").values(content=""))
    if deleted := _delete(tx, _entry.collection_id.in_(others), limit):
        return deleted
    new_key = schema.collection_new_key
    tx.execute(sa.delete(new_key).where(new_key.c.collection_id.in_(others)))
    tx.execute(sa.delete(schema.collection).where(_collection.source.not_in(kept)))
    return 0


# ── finding entries ─────────────────────────────────────────────────────────────────


def find(
    tx: Transaction, sources: Collection[str], incoming: Sequence[IncomingPaper], now: datetime
) -> list[list[CollectionEntry]]:
    """Return, for each record, the entries of some sources that are the same work."""
    if not sources or not incoming:
        return [[] for _ in incoming]
    keys = {key for record in incoming for key in _keys_of(record)}
    by_key = _by_key(tx, sources, keys)
    chosen = [_candidates(record, by_key) for record in incoming]
    entries = _load(tx, {id for found_by in chosen for id in found_by}, now)
    return [
        [
            msgspec.structs.replace(entry, recognised=reasons)
            for id, way in found_by.items()
            if (entry := entries.get(id)) and (reasons := why_same(record, entry.paper, way))
        ]
        for record, found_by in zip(incoming, chosen, strict=True)
    ]


def sharing_identifiers(
    tx: Transaction, source: str, records: Sequence[IncomingPaper], now: datetime
) -> list[list[CollectionEntry]]:
    """Return, for each record, the entries with one of its identifiers, the same work or not."""
    keys = [list(_keys_of_pairs(record.keys)) for record in records]
    by_key = _by_key(tx, [source], {key for of_record in keys for key in of_record})
    chosen = [{id: None for key in of_record for id in by_key.get(key, ())} for of_record in keys]
    entries = _load(tx, {id for ids in chosen for id in ids}, now)
    return [[entries[id] for id in ids if id in entries] for ids in chosen]


def with_identifiers_or_title(
    tx: Transaction,
    sources: Collection[str],
    pairs: Collection[tuple[str, str]],
    key_of_title: str,
    now: datetime,
) -> list[CollectionEntry]:
    """Return the entries of some sources with one of these identifiers, or with this title key."""
    by_key = _by_key(tx, sources, set(_keys_of_identity(pairs, key_of_title)))
    entries = _load(tx, {id for ids in by_key.values() for id in ids}, now)
    named = set(pairs)
    return [
        entry
        for _, entry in sorted(entries.items())
        if not named.isdisjoint(identifiers(entry.paper))
        or title_key(entry.paper.title) == key_of_title != ""
    ]


def _by_key(
    tx: Transaction, sources: Collection[str], keys: Collection[int]
) -> dict[int, list[int]]:
    """Return the newest entries of some sources for each key, the oldest of them first.

    Thousands may have one title: only the newest of each document are candidates.
    """
    key = each(_key.key.type, keys)
    of_key = _key.key == key.c.value, _key.collection_id == _collection.id
    newest = sa.select(_key.entry_id).where(*of_key)
    gathered = gather_newest(newest, CANDIDATES_EACH, key, schema.collection)
    query = sa.select(key.c.value, gathered).join_from(key, schema.collection, sa.true())
    by_key: dict[int, list[int]] = defaultdict(list)
    for number, ids in tx.execute(query.where(among(_collection.source, sources))).all():
        by_key[number] += reversed(ids or ())
    return {number: ids for number, ids in by_key.items() if ids}


def entries(
    tx: Transaction, sources: Collection[str], now: datetime, limit: int | None = None
) -> list[CollectionEntry]:
    """Return the entries of some sources, the newest first."""
    query = sa.select(_entry.id).join(schema.collection)
    query = query.where(among(_collection.source, sources)).order_by(_entry.id.desc())
    loaded = _load(tx, list(tx.scalars(query.limit(limit))), now)
    return [loaded[id] for id in sorted(loaded, reverse=True)]


def _load(tx: Transaction, ids: Collection[int], now: datetime) -> dict[int, CollectionEntry]:
    if not ids:
        return {}
    missing = _entry.missing_since
    present = sa.or_(missing.is_(None), missing > now - LEAVES_AFTER)
    return {entry.id: entry for entry in _read(tx, among(_entry.id, ids) & present)}


def _read(
    tx: Transaction, wanted: sa.ColumnElement[bool], limit: int | None = None
) -> Iterator[CollectionEntry]:
    query = sa.select(_entry.id, _entry.collection_id, _entry.packed, _entry.since)
    rows = tx.execute(query.where(wanted).limit(limit)).all()
    of_rows = among(_collection.id, {row.collection_id for row in rows})
    columns = (_collection.id, _collection.source, _collection.document, _collection.dictionary)
    documents = {row.id: row for row in tx.execute(sa.select(*columns).where(of_rows))}
    for id, document_id, packed, since in rows:
        document = documents[document_id]
        paper = unpack(packed, Paper, document.dictionary)
        yield CollectionEntry(
            id, document_id, document.source, paper, since, document=document.document
        )


def _candidates(record: IncomingPaper, by_key: Mapping[int, Sequence[int]]) -> dict[int, str]:
    """Return the ids of candidate entries, each with how it was found: by block, title or key."""
    by_blocks = dict.fromkeys(nearest(record.blocks, by_key), "block")
    [titled] = _keys_of_pairs([("title", record.title_key)])
    by_title = dict.fromkeys(by_key.get(titled, ())[-CANDIDATES_EACH:], "title")
    named = (by_key.get(key, ())[-CANDIDATES_EACH:] for key in _keys_of_pairs(record.keys))
    return by_blocks | by_title | {id: "key" for ids in named for id in ids}


def why_same(record: IncomingPaper, paper: Paper, found_by: str) -> Reasons:
    """Return why a record is the same work as a paper of a library or list, empty if it is not."""
    work = KnownWork(paper, (paper,), claims_of(paper), frozenset({found_by}))
    return recognise(record, work)


def _all_keys_of(paper: Paper) -> set[int]:
    return _keys_of(with_keys(paper))


def _keys_of(record: IncomingPaper) -> set[int]:
    return {*identity_keys(record), *record.blocks}


def identity_keys(record: IncomingPaper) -> set[int]:
    """Return hashes of the identifiers and the title of a record."""
    return set(_keys_of_identity(record.keys, record.title_key))


def _compact_keys_of(paper: Paper) -> set[int]:
    """Return the keys of a compact entry: its identifiers, its title, and few of its blocks.

    There are at most three blocks: two without a common word, if the title has four rare words, and
    that of the title without its subtitle. A lookup uses all blocks of a record, so that one of the
    four words may differ.
    """
    blocks = blocks_of_words(words(paper.title))
    few = add_head_block((*blocks[:1], *blocks[1:][-1:]), paper.title)
    return {*_keys_of_identity(identifiers(paper), title_key(paper.title)), *few}


def _keys_of_identity(pairs: Iterable[tuple[str, str]], title: str) -> Iterator[int]:
    return _keys_of_pairs((*pairs, *([("title", title)] if title else [])))


def _keys_of_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[int]:
    return (hash_of_text(f"{scheme}:{value}") for scheme, value in pairs if scheme != LINK)
