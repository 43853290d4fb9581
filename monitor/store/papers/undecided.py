"""Records that could not be decided: their full text is kept until they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

import msgspec
import sqlalchemy as sa
from msgspec import structs

from monitor.identity.keys import link
from monitor.model import FirstRun, Paper, UndecidedRecord
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, index_value, insert_or_update, learned
from monitor.text import clean

_record = schema.undecided.c
_ORDER = (_record.at, _record.document, _record.record_hash)
_MAX_ERROR_LENGTH = 500


def record_of(
    source: str,
    document: str,
    paper: Paper,
    error: BaseException,
    first_run: FirstRun | None,
    at: datetime,
    version: str,
) -> UndecidedRecord:
    """Return a record as it is kept. Its values may be of a wrong type: that may be the error."""
    message = clean(f"{type(error).__name__}: {error}")[:_MAX_ERROR_LENGTH]
    key = source, _hash(paper), _name(paper), document
    return UndecidedRecord(*key, _to_json(paper), message, version, first_run, at, tried_at=at)


def paper_of(record: UndecidedRecord) -> Paper:
    """Return the record as its source gave it, also if some of its values are of a wrong type."""
    fields = json.loads(record.text)
    try:
        return msgspec.convert(fields, learned(Paper))
    except msgspec.ValidationError:
        return Paper(**fields)


def replace_kept(
    tx: Transaction, source: str, papers: Sequence[Paper], left: Sequence[UndecidedRecord]
) -> set[str]:
    """Bring what is kept of a source up to date after a chunk, of which `left` are undecided.

    A record with the source's own id replaces what was kept under that id, since its text is newer.
    Of a record that is kept already, only the last error and attempt are new; returns the hashes
    of these.
    """
    hashes = [record.record_hash for record in left]
    kept_before: set[str] = set()
    if any_of(tx, source):  # hashing all papers takes long
        is_left = among(_record.record_hash, hashes)
        of_left = sa.select(_record.record_hash).filter_by(source=source).where(is_left)
        kept_before.update(tx.scalars(of_left))
        is_read_again = sa.or_(
            among(_record.record_hash, map(_hash, papers)),
            among(_record.raw_id, (_name(paper) for paper in papers if paper.raw_id)),
        )
        done = sa.delete(schema.undecided).filter_by(source=source)
        tx.execute(done.where(is_read_again, ~is_left))
    rows = [structs.asdict(record) for record in left]
    insert_or_update(tx, schema.undecided, rows, ("error", "version", "tried_at"))
    return kept_before


def any_of(tx: Transaction, source: str) -> bool:
    first = sa.select(_record.source).where(_record.source == source).limit(1)
    return tx.scalar(first) is not None


def waiting(
    tx: Transaction,
    source: str,
    limit: int,
    *,
    after: tuple[datetime, str, str] | None = None,
    other_than: str | None = None,
) -> list[UndecidedRecord]:
    """Return the next records of a source, the oldest first, after the `place_of` another.

    With `other_than`, only those that this version of the program has not tried.
    """
    query = sa.select(schema.undecided).filter_by(source=source)
    if after is not None:
        query = query.where(sa.tuple_(*_ORDER) > after)
    if other_than is not None:
        query = query.where(_record.version != other_than)
    return fetch(tx, query.order_by(*_ORDER).limit(limit), UndecidedRecord)


def place_of(record: UndecidedRecord) -> tuple[datetime, str, str]:
    return record.at, record.document, record.record_hash


def listing(tx: Transaction, limit: int | None = None, source: str = "") -> list[UndecidedRecord]:
    """Return the records of a source, or of all, the oldest first."""
    query = sa.select(schema.undecided).order_by(_record.source, *_ORDER)
    query = query.filter_by(source=source).limit(limit) if source else query
    return fetch(tx, query, UndecidedRecord)


def counts(tx: Transaction) -> dict[str, tuple[int, datetime]]:
    """Return how many records of each source are undecided, and since when the first one is."""
    query = sa.select(_record.source, sa.func.count(), sa.func.min(_record.at))
    return {name: (count, at) for name, count, at in tx.execute(query.group_by(_record.source))}


def prune(tx: Transaction, before: datetime) -> int:
    return tx.execute(sa.delete(schema.undecided).where(_record.at < before)).rowcount


def _hash(paper: Paper) -> str:
    """Return a hash of a record without its votes and dates: sources give those of their run."""
    none = dict.fromkeys(("published", "updated", "announced", "upvotes"))
    timeless = structs.replace(paper, **none, listed=())
    return hashlib.sha256(_to_json(timeless).encode()).hexdigest()[:32]


def _name(paper: Paper) -> str:
    """Return the source's own id of a record, else its link, "" without either."""
    return index_value(clean(str(paper.raw_id or link(str(paper.url)))))


def _to_json(paper: Paper) -> str:
    """Return a record as JSON in ASCII, which both databases take whatever is in it."""
    return json.dumps(msgspec.to_builtins(paper, enc_hook=_to_text, str_keys=True))


def _to_text(value: object) -> str:
    """Return what msgspec cannot encode: a `Month`, or whatever a plug-in puts into a field."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
