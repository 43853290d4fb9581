"""The texts of records, so that a merge can be explained, judged again and undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from monitor.model import IncomingPaper, SightingText
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new, insert_or_update
from monitor.store.engine.sql import among, index_value, read_json, to_json

_text = schema.sighting_text.c
_SAID = ("title", "authors", "venue", "year", "type", "keys")
# Links are left out: they identify nothing, and are the longest part of a record.
_LINK = "url"

# Source, its own id of the record, and the paper.
Place = tuple[str, str, int]


def write(tx: Transaction, source: str, records: Iterable[tuple[int, IncomingPaper]]) -> None:
    """Write the texts of one source's records. Existing ones stay."""
    rows = {
        (paper_id, index_value(keyed.raw_id)): {
            "paper_id": paper_id,
            "source": source,
            "raw_id": index_value(keyed.raw_id),
        }
        | _row_of(keyed)
        for paper_id, keyed in records
    }
    ordered = [rows[place] for place in sorted(rows)]
    insert_or_update(tx, schema.sighting_text, ordered, _SAID, only_changed=True)


def _row_of(keyed: IncomingPaper) -> dict[str, Any]:
    paper = keyed.paper
    return {
        "title": paper.title,
        "authors": to_json(paper.authors),
        "venue": paper.venue,
        "year": paper.year,
        "type": paper.type,
        "keys": to_json([pair for pair in (*keyed.keys, *keyed.common) if pair[0] != _LINK]),
    }


def of_papers(tx: Transaction, ids: Iterable[int]) -> dict[tuple[int, str, str], SightingText]:
    """Return the texts of records by paper, source and the source's own id."""
    if not (ids := set(ids)):
        return {}
    rows = tx.execute(sa.select(schema.sighting_text).where(among(_text.paper_id, ids)))
    return {
        (row.paper_id, row.source, row.raw_id): SightingText(
            row.title,
            tuple(read_json(row.authors)),
            row.venue,
            row.year,
            row.type,
            tuple((scheme, value) for scheme, value in read_json(row.keys)),
        )
        for row in rows
    }


def papers_with_several(tx: Transaction, after: int, limit: int) -> list[int]:
    """Return the next papers with several records, ordered by id."""
    paper_id = schema.sighting.c.paper_id
    several = sa.select(paper_id).where(paper_id > after).group_by(paper_id)
    ordered = several.having(sa.func.count() > 1).order_by(paper_id).limit(limit)
    return list(tx.scalars(ordered))


def move(tx: Transaction, into: Mapping[int, int], before: Mapping[Place, int]) -> None:
    """Move the texts of merged papers' records to the papers that they are merged `into`.

    `before` names the paper of each record; if there were several, the one that counts.
    """
    query = sa.select(schema.sighting_text).where(among(_text.paper_id, into))
    rows = [row._asdict() for row in tx.execute(query)]
    moved = [
        row | {"paper_id": into[row["paper_id"]]}
        for row in rows
        if before.get((row["source"], row["raw_id"], into[row["paper_id"]])) == row["paper_id"]
    ]
    tx.execute(sa.delete(schema.sighting_text).where(among(_text.paper_id, into)))
    insert_new(tx, schema.sighting_text, moved)


def give(tx: Transaction, record: tuple[str, str], paper_id: int, new_id: int) -> None:
    """Move the text of a record (source, raw id) to another paper."""
    source, raw_id = record
    at = (_text.paper_id == paper_id, _text.source == source, _text.raw_id == raw_id)
    tx.execute(sa.update(schema.sighting_text).where(*at).values(paper_id=new_id))
