"""Sightings: what each source last reported of a paper, with the text of its record.

The texts are in a table of their own. With them a merge can be explained, judged again and undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from msgspec import convert, structs
from msgspec.structs import replace

from monitor.identity.keys import LINK
from monitor.identity.reasons import read_reasons, write_reasons
from monitor.model import Decision, Finding, Reason, Sighting, SightingText, SiteNote
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import (
    among,
    index_value,
    insert_new,
    insert_or_update,
    one_of,
    read_json,
    to_json,
)

_sighting = schema.sighting.c
_text = schema.sighting_text.c
# Before the column `filled`, the `announce` of a reference list began so.
_FILLED_BEFORE = "@filled "
# Earlier fingerprints kept of a sighting, and their length with a space.
PAST_FINGERPRINTS = 8
_FINGERPRINT_LENGTH = 35
_incoming = sa.literal_column("excluded.fingerprint", sa.Text)
_PAST = sa.case(
    (_sighting.fingerprint == _incoming, _sighting.past),
    else_=sa.func.substr(
        _sighting.fingerprint + sa.func.coalesce(sa.literal(" ") + _sighting.past, ""),
        1,
        PAST_FINGERPRINTS * _FINGERPRINT_LENGTH - 1,
    ),
)


def of_papers(
    tx: Transaction, ids: Iterable[int], source: str | None = None
) -> dict[int, tuple[Sighting, ...]]:
    """Return the sightings of papers by all sources, or by one, oldest first, without texts.

    Reference lists that only filled in what papers lack are not among them.
    """
    # The source is filtered here: in the query, SQLite would walk through all of its sightings.
    return {
        id: of_sources
        for id, seen in _all_of_papers(tx, ids).items()
        if (of_sources := tuple(s for s in seen if source in (None, s.source) and not s.filled))
    }


def filled_by(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[Sighting, ...]]:
    """Return the sightings of papers by reference lists, without texts."""
    seen = _all_of_papers(tx, ids)
    return {id: tuple(s for s in of_paper if s.filled) for id, of_paper in seen.items()}


def _all_of_papers(tx: Transaction, ids: Iterable[int]) -> dict[int, list[Sighting]]:
    seen: dict[int, list[Sighting]] = defaultdict(list)
    of_these = sa.select(schema.sighting).where(among(_sighting.paper_id, ids))
    for row in tx.execute(of_these.order_by(_sighting.first_seen_at, _sighting.raw_id)).all():
        sighting = Sighting(
            row.source,
            row.raw_id,
            row.version,
            row.announce,
            row.fingerprint,
            row.first_seen_at,
            row.last_seen_at,
            row.document,
            tuple(row.past.split()) if row.past else (),
            read_reasons(row.why or ""),
            filled=_filled(row.filled, row.announce),
            site_note=_note(row.site_note),
        )
        seen[row.paper_id].append(sighting)
    return seen


def _filled(filled: str | None, announce: str) -> tuple[str, ...]:
    """Return the fields that a reference list filled in.

    Versions up to 0.2.0 wrote them into `announce`, also while another process upgraded the store.
    """
    if filled:
        return tuple(read_json(filled))
    fields = announce.removeprefix(_FILLED_BEFORE)
    return tuple(fields.split(", ")) if fields != announce else ()


def _note(text: str | None) -> SiteNote | None:
    return convert(read_json(text), SiteNote) if text else None


def site_notes(tx: Transaction, ids: Iterable[int]) -> dict[int, list[SiteNote]]:
    """Return the notes of sites about papers, those of the first source first."""
    notes: dict[int, list[SiteNote]] = defaultdict(list)
    for paper_id, text in tx.execute(_NOTED, {"values": ids}):
        if note := _note(text):
            notes[paper_id].append(note)
    return notes


def with_text(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[Sighting, ...]]:
    """Return the sightings by all sources and reference lists, each with its record's text."""
    if not (wanted := set(ids)):
        return {}
    rows = tx.execute(sa.select(schema.sighting_text).where(among(_text.paper_id, wanted)))
    texts = {
        (row.paper_id, row.source, row.raw_id): SightingText(
            row.title,
            tuple(read_json(row.authors)),
            row.venue,
            row.year,
            row.type,
            tuple(map(tuple, read_json(row.keys))),
        )
        for row in rows
    }
    return {
        id: tuple(replace(s, text=texts.get((id, s.source, s.raw_id))) for s in seen)
        for id, seen in _all_of_papers(tx, wanted).items()
    }


def sources(tx: Transaction, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the names of each paper's sources, in alphabetical order."""
    return {id: names for id, (_, names) in last_announcements(tx, ids).items()}


# Built once: every digest runs these.
_ANNOUNCED = (
    sa.select(_sighting.paper_id, _sighting.last_seen_at, _sighting.announce, _sighting.source)
    .where(one_of(_sighting.paper_id), _sighting.filled.is_(None))
    .order_by(_sighting.first_seen_at, _sighting.raw_id)
)


_NOTED = (
    sa.select(_sighting.paper_id, _sighting.site_note)
    .where(one_of(_sighting.paper_id), _sighting.site_note.is_not(None), _sighting.filled.is_(None))
    .order_by(_sighting.first_seen_at, _sighting.raw_id)
)
_RECOGNISED = (
    sa.select(_sighting.paper_id)
    .where(one_of(_sighting.paper_id), _sighting.why.is_not(None))
    .distinct()
)


def last_announcements(
    tx: Transaction, ids: Iterable[int]
) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return how the source that last saw a paper announced it, and all its sources, by paper."""
    seen: dict[int, list[tuple[datetime, str, str]]] = defaultdict(list)
    for paper_id, last_seen, announce, source in tx.execute(_ANNOUNCED, {"values": ids}).all():
        if not announce.startswith(_FILLED_BEFORE):
            seen[paper_id].append((last_seen, announce, source))
    return {
        id: (max(of_paper, key=itemgetter(0))[1], tuple(sorted({row[2] for row in of_paper})))
        for id, of_paper in seen.items()
    }


def recognised(tx: Transaction, ids: Iterable[int]) -> set[int]:
    """Return the papers that a record was recognised as: those with a reason to be one."""
    return set(tx.scalars(_RECOGNISED, {"values": ids}))


def papers_with_several(tx: Transaction, after: int, limit: int) -> list[int]:
    """Return the next papers with several records, ordered by id."""
    paper_id = _sighting.paper_id
    several = sa.select(paper_id).where(paper_id > after).group_by(paper_id)
    ordered = several.having(sa.func.count() > 1).order_by(paper_id).limit(limit)
    return list(tx.scalars(ordered))


def write(
    tx: Transaction,
    source: str,
    document: str,
    ids: Sequence[int],
    decisions: Sequence[Decision],
    now: datetime,
) -> None:
    """Write the source's sightings. Earlier fingerprints are kept, to recognise an old text."""
    rows = []
    texts = []
    for paper_id, decision in zip(ids, decisions, strict=True):
        keyed = decision.keyed
        paper = decision.keyed.paper
        place = {"source": source, "raw_id": index_value(keyed.raw_id), "paper_id": paper_id}
        sighting = {
            "document": document,
            "version": paper.version,
            "announce": paper.announce,
            "fingerprint": keyed.fingerprint,
            "first_seen_at": now,
            "last_seen_at": now,
            "why": write_reasons(decision.recognised) if decision.recognised else None,
            "filled": to_json(decision.filled) if decision.filled else None,
            "site_note": to_json(structs.asdict(note)) if (note := paper.site_note) else None,
            "mark": keyed.record_hash,
        }
        # Without links: they identify nothing, and are the longest part of a record.
        pairs = [pair for pair in keyed.keys if pair[0] != LINK]
        text = {
            "title": paper.title,
            "authors": to_json(paper.authors),
            "venue": paper.venue,
            "year": paper.year,
            "type": paper.type,
            "keys": to_json(pairs),
        }
        rows.append(place | sighting)
        texts.append(place | text)
    update = ("version", "announce", "fingerprint", "mark", "last_seen_at", "filled", "site_note")
    insert_or_update(tx, schema.sighting, rows, update, past=_PAST)
    insert_or_update(tx, schema.sighting_text, texts, only_changed=True)


def touch(tx: Transaction, source: str, raw_ids: Iterable[str], now: datetime) -> None:
    """Record that a source shows records unchanged."""
    unchanged = (_sighting.source == source, among(_sighting.raw_id, map(index_value, raw_ids)))
    tx.execute(sa.update(schema.sighting).where(*unchanged).values(last_seen_at=now))


def move(tx: Transaction, into: Mapping[int, int]) -> None:
    """Move the sightings of merged papers to the papers that they are merged `into`.

    Of a record that both papers had, the last text and the first time count.
    """
    seen = sa.select(schema.sighting).where(among(_sighting.paper_id, into))
    merged: dict[tuple[str, str, int], dict[str, Any]] = {}
    before: dict[tuple[str, str, int], int] = {}
    for row in tx.execute(seen.order_by(_sighting.last_seen_at.desc())):
        place = (row.source, row.raw_id, into[row.paper_id])
        last = merged.setdefault(place, row._asdict() | {"paper_id": into[row.paper_id]})
        last["first_seen_at"] = min(last["first_seen_at"], row.first_seen_at)
        before.setdefault(place, row.paper_id)
    every_text = sa.select(schema.sighting_text).where(among(_text.paper_id, into))
    texts = [
        row._asdict() | {"paper_id": into[row.paper_id]}
        for row in tx.execute(every_text)
        if before.get((row.source, row.raw_id, into[row.paper_id])) == row.paper_id
    ]
    for table in (schema.sighting, schema.sighting_text):
        tx.execute(sa.delete(table).where(among(table.c.paper_id, into)))
    insert_new(tx, schema.sighting, [merged[place] for place in sorted(merged)])
    insert_new(tx, schema.sighting_text, texts)


def split_off(
    tx: Transaction, records: Iterable[tuple[str, str]], paper_id: int, new_id: int
) -> None:
    """Move records (source, raw id) to a new paper; all of both are compared when next read."""
    unread = {"fingerprint": "", "past": None, "mark": None}
    tx.execute(sa.update(schema.sighting).filter_by(paper_id=paper_id).values(unread))
    for source, raw_id in records:
        record = {"source": source, "raw_id": raw_id, "paper_id": paper_id}
        why = write_reasons([Reason(Finding.SEPARATED)])
        moved = sa.update(schema.sighting).filter_by(**record)
        tx.execute(moved.values(paper_id=new_id, why=why))
        tx.execute(sa.update(schema.sighting_text).filter_by(**record).values(paper_id=new_id))
