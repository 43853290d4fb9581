"""Splitting a paper into two. Both keep what was matched and sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from monitor.model import IncomingPaper, Paper
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new
from monitor.store.papers import identity_rulings, search, sighting_texts, write_papers

_paper = schema.paper.c
_sighting = schema.sighting.c

Key = tuple[str, str]


def split(
    tx: Transaction,
    paper_id: int,
    keys: Iterable[Key],
    records: Iterable[Key],
    kept: IncomingPaper,
    parted: IncomingPaper,
    now: datetime,
) -> int:
    """Move identifiers and records (source, raw id) of a paper to a new one; return its id.

    `kept` and `parted` are the texts of the two until their records are read again, which is no
    news. What was matched and sent of the paper counts for both, and a ruling keeps them apart.
    `tx` comes from `Database.ingesting`.
    """
    keys, records = list(keys), list(records)
    new_id = write_papers.next_id(tx)
    row = tx.execute(sa.select(schema.paper).where(_paper.id == paper_id)).one()
    tx.execute(sa.insert(schema.paper), [row._asdict() | {"id": new_id} | _text(parted.paper)])
    tx.execute(sa.update(schema.paper).where(_paper.id == paper_id).values(_text(kept.paper)))
    copied = (schema.title_key, schema.block, schema.change, schema.match, schema.digest_item)
    for table in (*copied, schema.judgement, schema.saved_paper):
        rows = tx.execute(sa.select(table).where(table.c.paper_id == paper_id)).mappings()
        insert_new(tx, table, [{**copy, "paper_id": new_id} for copy in rows])
    write_papers.write_keys(tx, [(paper_id, kept), (new_id, parted)])
    for scheme, value in keys:
        for table in (schema.paper_key, schema.common_key):
            named = table.c.scheme == scheme, table.c.value == value
            mine = *named, table.c.paper_id == paper_id
            tx.execute(sa.update(table).where(*mine).values(paper_id=new_id))
    _move_records(tx, records, paper_id, new_id)
    names = identity_rulings.names_of(tx, [paper_id, new_id])
    identity_rulings.rule(tx, names[paper_id], names[new_id], identity_rulings.DIFFERENT, now)
    search.queue(tx, [paper_id, new_id])
    return new_id


def _move_records(tx: Transaction, records: Iterable[Key], paper_id: int, new_id: int) -> None:
    """Move records to the new paper; all records of both are compared again when next read."""
    ours = _sighting.paper_id == paper_id
    unread = {"fingerprint": "", "past": None, "mark": None}
    tx.execute(sa.update(schema.sighting).where(ours).values(unread))
    for source, raw_id in records:
        record = (_sighting.source == source, _sighting.raw_id == raw_id)
        values = {"paper_id": new_id, "why": "separated by `papers split`"}
        tx.execute(sa.update(schema.sighting).where(*record, ours).values(values))
        sighting_texts.give(tx, (source, raw_id), paper_id, new_id)


def _text(paper: Paper) -> dict[str, Any]:
    return {
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": paper.authors,
        "venue": paper.venue,
        "year": paper.year,
    }
