"""Which records mark a paper as withdrawn, and which a person declared to be mistaken.

A row of before this table is missing: then the notices about a paper are known, and of its own
records none is known to be the one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct

from monitor.model import ChangeKind, IncomingPaper
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, index_value, insert_new, insert_or_update

_row = schema.withdrawal.c
_paper = schema.paper.c
_change = schema.change.c
_sighting = schema.sighting.c
_item = schema.digest_item.c
_digest = schema.digest.c
_about = schema.about.c
_key = schema.paper_key.c

Record = tuple[str, str]


class Withdrawal(Struct, frozen=True):
    """A record that marks a paper as withdrawn; `undone_at` is when a person took the mark off."""

    source: str
    raw_id: str
    title: str
    url: str
    at: datetime
    undone_at: datetime | None = None


def write(
    tx: Transaction, source: str, marked: Iterable[tuple[int, IncomingPaper]], now: datetime
) -> None:
    """Record which records of a source mark papers; what was undone stays so."""
    rows = {
        (id, index_value(record.raw_id)): {
            "source": source,
            "raw_id": index_value(record.raw_id),
            "paper_id": id,
            "title": record.paper.title,
            "url": record.paper.url,
            "at": now,
            "undone_at": None,
        }
        for id, record in marked
    }
    insert_new(tx, schema.withdrawal, list(rows.values()))


def undone(tx: Transaction, source: str, raw_ids: Iterable[str]) -> dict[str, set[int]]:
    """Return the papers that each record of a source marked by mistake."""
    names = {index_value(raw_id): raw_id for raw_id in raw_ids}
    query = sa.select(_row.raw_id, _row.paper_id).where(
        _row.source == source, among(_row.raw_id, names), _row.undone_at.is_not(None)
    )
    papers: dict[str, set[int]] = defaultdict(set)
    for name, paper_id in tx.execute(query):
        papers[names[name]].add(paper_id)
    return papers


def undone_notices(tx: Transaction, ids: Collection[int]) -> dict[int, set[int]]:
    """Return the papers that each of some stored notices marked by mistake."""
    of_notice = sa.and_(_sighting.source == _row.source, _sighting.raw_id == _row.raw_id)
    query = sa.select(_sighting.paper_id, _row.paper_id).join_from(
        schema.sighting, schema.withdrawal, of_notice
    )
    wrong = among(_sighting.paper_id, ids), _row.undone_at.is_not(None)
    papers: dict[int, set[int]] = defaultdict(set)
    for notice, paper_id in tx.execute(query.where(*wrong)):
        papers[notice].add(paper_id)
    return papers


def is_undone_notice() -> sa.ColumnElement[bool]:
    """Whether a row of `about` is of a notice that marked its paper by mistake."""
    of_notice = sa.and_(_sighting.source == _row.source, _sighting.raw_id == _row.raw_id)
    return (
        sa.exists()
        .select_from(schema.withdrawal)
        .where(
            _row.undone_at.is_not(None),
            sa.exists().where(of_notice, _sighting.paper_id == _about.paper_id),
            sa.exists().where(
                _key.paper_id == _row.paper_id,
                _key.scheme == _about.scheme,
                _key.value == _about.value,
            ),
        )
        .correlate(schema.about)
    )


def of_paper(tx: Transaction, paper_id: int) -> list[Withdrawal]:
    """Return the records that mark a paper, or did, and the notices about it; oldest first."""
    return of_papers(tx, [paper_id]).get(paper_id, [])


def of_papers(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Withdrawal]]:
    """Return the records that mark each paper, as `of_paper` does."""
    wanted = set(ids)
    if not wanted:
        return {}
    columns = [_row[name] for name in Withdrawal.__struct_fields__]
    known = sa.select(_row.paper_id, *columns).where(among(_row.paper_id, wanted))
    same = sa.and_(_key.scheme == _about.scheme, _key.value == _about.value)
    notices = (
        sa.select(
            _key.paper_id,
            _sighting.source,
            _sighting.raw_id,
            _paper.title,
            _paper.url,
            _sighting.first_seen_at,
        )
        .join_from(schema.paper_key, schema.about, same)
        .join(schema.paper, _paper.id == _about.paper_id)
        .join(schema.sighting, _sighting.paper_id == _about.paper_id)
        .where(among(_key.paper_id, wanted), _about.kind == ChangeKind.WITHDRAWN, ~_paper.withdrawn)
    )
    marks: dict[int, dict[Record, Withdrawal]] = defaultdict(dict)
    for paper_id, *facts in (*tx.execute(notices.distinct()), *tx.execute(known)):
        mark = Withdrawal(*facts)
        marks[paper_id][mark.source, mark.raw_id] = mark
    return {
        id: sorted(of_it.values(), key=lambda mark: (mark.at, mark.source, mark.raw_id))
        for id, of_it in marks.items()
    }


def first_standing(tx: Transaction, ids: Iterable[int]) -> dict[int, Withdrawal]:
    """Return the first record that marks each paper and was not undone, where one is known."""
    marks = of_papers(tx, ids).items()
    standing = {id: [mark for mark in of_it if mark.undone_at is None] for id, of_it in marks}
    return {id: of_it[0] for id, of_it in standing.items() if of_it}


def undo(tx: Transaction, paper_id: int, now: datetime) -> list[Withdrawal]:
    """Declare the records that mark a paper to be mistaken; return them."""
    standing = [row for row in of_paper(tx, paper_id) if row.undone_at is None]
    if not standing:  # of an older version: any of its own records may be the one
        seen = sa.select(
            _sighting.source, _sighting.raw_id, _paper.title, _paper.url, _sighting.first_seen_at
        )
        of_it = seen.join(schema.paper, _paper.id == _sighting.paper_id)
        rows = tx.execute(of_it.where(_sighting.paper_id == paper_id).order_by(_sighting.source))
        standing = [Withdrawal(*row) for row in rows]
    insert_or_update(
        tx,
        schema.withdrawal,
        [
            {
                "source": row.source,
                "raw_id": row.raw_id,
                "paper_id": paper_id,
                "title": row.title,
                "url": row.url,
                "at": row.at,
                "undone_at": now,
            }
            for row in standing
        ],
        ("undone_at",),
    )
    return standing


def lift(tx: Transaction, paper_id: int, now: datetime) -> set[str]:
    """Take the mark off a paper and return the subscriptions whose digests said that it was.

    What was not sent is not announced any more. A paper that was never news because of the mark is
    news now.
    """
    withdrawn = sa.select(_change.revision).filter_by(paper_id=paper_id, kind=ChangeKind.WITHDRAWN)
    revisions = set(tx.scalars(withdrawn))
    said = (
        sa.select(_item.subscription)
        .join(schema.digest, _digest.id == _item.digest_id)
        .where(_item.paper_id == paper_id, among(_item.revision, revisions))
        .where(_digest.superseded_at.is_(None))
    )
    told = set(tx.scalars(said))
    of_paper = sa.delete(schema.change).filter_by(paper_id=paper_id, kind=ChangeKind.WITHDRAWN)
    tx.execute(of_paper)
    tx.execute(sa.update(schema.paper).filter_by(id=paper_id).values(withdrawn=False))
    row = tx.execute(sa.select(schema.paper).filter_by(id=paper_id)).one()
    if (
        row.news_at is None
        and row.purged_at is None
        and _was_withheld(tx, paper_id, row.first_seen_at)
    ):
        change = {"paper_id": paper_id, "revision": row.revision, "kind": ChangeKind.NEW}
        change |= {"why": "it was withdrawn by mistake", "at": now, "matched_at": None}
        insert_new(tx, schema.change, [change])
        tx.execute(sa.update(schema.paper).filter_by(id=paper_id).values(news_at=now))
    return told


def _was_withheld(tx: Transaction, paper_id: int, first_seen: datetime) -> bool:
    """Whether a paper would have been news when it was first seen: its source was read before."""
    first = sa.select(_sighting.source).where(
        _sighting.paper_id == paper_id, _sighting.first_seen_at <= first_seen
    )
    source = schema.source.c
    read_before = sa.select(source.name).where(
        source.name.in_(first), source.first_read_at < first_seen
    )
    return tx.execute(read_before).first() is not None


def is_marked(tx: Transaction, paper_id: int) -> bool:
    return any(row.undone_at is None for row in of_paper(tx, paper_id))


def move(tx: Transaction, into: Mapping[int, int]) -> None:
    """Let the rows of merged papers be of the papers that they are merged `into`."""
    rows = tx.execute(sa.select(schema.withdrawal).where(among(_row.paper_id, into)))
    insert_new(
        tx, schema.withdrawal, [row._asdict() | {"paper_id": into[row.paper_id]} for row in rows]
    )


def split_off(
    tx: Transaction, records: Collection[Record], paper_id: int, new_id: int
) -> tuple[bool, bool]:
    """Move the marks of records to a new paper; return whether each of the two is marked.

    Of a paper that an older version marked, the records that were first seen then did it.
    """
    known = tx.execute(sa.select(_row.source).filter_by(paper_id=paper_id)).first() is not None
    for source, raw_id in records:
        mine = sa.update(schema.withdrawal).filter_by(
            source=source, raw_id=raw_id, paper_id=paper_id
        )
        tx.execute(mine.values(paper_id=new_id))
    ours = is_marked(tx, paper_id)
    theirs = is_marked(tx, new_id)
    if known or ours or theirs:
        return ours, theirs
    at = sa.select(_change.at).filter_by(paper_id=paper_id, kind=ChangeKind.WITHDRAWN)
    first = sa.select(_sighting.paper_id).where(
        among(_sighting.paper_id, {paper_id, new_id}), _sighting.first_seen_at.in_(at)
    )
    marked_by = set(tx.scalars(first))
    return marked_by != {new_id}, marked_by != {paper_id}
