"""Merging papers that turn out to be one work. What was sent of one was sent of the other.

The earliest paper is kept, and the ids of the others lead to it. Frozen digests stay as they are.
It takes a few statements for any number of papers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from monitor.model import ChangeKind, StoredPaper
from monitor.store.digests.deliveries import reaches_anyone
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new
from monitor.store.engine.sql import among
from monitor.store.papers import (
    changes,
    identity_rulings,
    paper_index,
    papers,
    search,
    sighting_texts,
)
from monitor.store.papers.paper_drafts import fill, revise
from monitor.store.topics import judgements

_paper = schema.paper.c
_change = schema.change.c
_match = schema.match.c
_item = schema.digest_item.c
_sighting = schema.sighting.c
_joined = schema.joined.c

# From the old (paper, revision) to the new revision of the paper that is kept.
Renumbered = Mapping[tuple[int, int], int]

# A work is new, or older, only once.
_FIRST = (ChangeKind.NEW, ChangeKind.OLDER)


def merge(tx: Transaction, pairs: Iterable[tuple[int, int, str]], now: datetime) -> dict[int, int]:
    """Merge pairs of papers, each with the reason; return the new id of each lost paper.

    `tx` comes from `Database.ingesting`. Pairs that a ruling keeps apart are left out. If both
    papers were new, the first change is kept; other changes stay, in order of time. What was sent
    of one counts as sent of the other. Topics are matched again, since the paper has more text.
    """
    pairs = list(pairs)
    parted = (
        identity_rulings.apart(tx, {(id, other_id) for id, other_id, _ in pairs})
        if pairs
        else set()
    )
    pairs = [pair for pair in pairs if pair[:2] not in parted]
    kept = _choose_kept(pairs)
    if not kept:
        return {}
    reasons = {max(id, other_id): why for id, other_id, why in pairs}
    ids = set(kept) | set(kept.values())
    # No composer and no matcher may add rows until all of them are moved.
    tx.execute(sa.select(_paper.id).where(among(_paper.id, ids)).with_for_update())
    stored = papers.load(tx, ids)
    kept = {lost: to for lost, to in kept.items() if lost in stored and to in stored}
    into = {id: kept.get(id, id) for id in stored}
    renumbered = _unite_news(tx, stored, into)
    _write_paper(tx, stored, into, renumbered, now)
    _move_names(tx, into)
    _redirect_ids(tx, kept, reasons, now)
    tx.execute(sa.delete(schema.paper).where(among(_paper.id, kept)))
    paper_index.restore_keys(tx, set(kept.values()))
    changes.reopen(tx, set(kept.values()), now - changes.MATCHED_AGAIN_FOR)
    return kept


def _choose_kept(pairs: Iterable[tuple[int, int, str]]) -> dict[int, int]:
    """Return for each lost paper the earliest of its group."""
    roots: dict[int, int] = {}

    def root(id: int) -> int:
        while id in roots:
            id = roots[id]
        return id

    for id, other_id, _ in pairs:
        first, last = sorted((root(id), root(other_id)))
        if first != last:
            roots[last] = first
    return {id: root(id) for id in roots}


def _unite_news(
    tx: Transaction, stored: Mapping[int, StoredPaper], into: Mapping[int, int]
) -> Renumbered:
    """A purged paper had been sent to all its recipients: the other one is not news."""
    settled = {into[id] for id, paper in stored.items() if paper.purged and paper.news_at}
    of_change = sa.select(schema.change).where(among(_change.paper_id, into))
    every = tx.execute(of_change.order_by(_change.at, _change.paper_id).with_for_update()).all()
    rows = [row for row in every if row.kind not in _FIRST or into[row.paper_id] not in settled]
    matched = tx.execute(sa.select(schema.match).where(among(_match.paper_id, into))).all()
    items = tx.execute(
        sa.select(schema.digest_item, reaches_anyone(_item.digest_id).label("reached"))
        .where(among(_item.paper_id, into))
        .order_by(_item.digest_id)
    ).all()
    for table in (schema.digest_item, schema.match, schema.change):
        tx.execute(sa.delete(table).where(among(table.c.paper_id, into)))
    numbered, news = _renumber(rows, into)
    if news:
        tx.execute(sa.insert(schema.change), news)
    insert_new(tx, schema.match, _united_matches(matched, into, numbered))
    insert_new(tx, schema.digest_item, _united_items(items, into, numbered))
    return numbered


def _renumber(
    rows: Sequence[Any], into: Mapping[int, int]
) -> tuple[Renumbered, list[dict[str, Any]]]:
    """Order the changes of each group by time, and number them again.

    Changes that wait to be matched still wait. `rows` are ordered by time.
    """
    numbered: dict[tuple[int, int], int] = {}
    news: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.kind not in _FIRST):
        changes = news[into[row.paper_id]]
        first = next((change for change in changes if change["kind"] in _FIRST), None)
        if row.kind in _FIRST and first:
            first["matched_at"] = first["matched_at"] and row.matched_at
            numbered[row.paper_id, row.revision] = first["revision"]
            continue
        revision = len(changes) + 1
        changes.append(row._asdict() | {"paper_id": into[row.paper_id], "revision": revision})
        numbered[row.paper_id, row.revision] = revision
    return numbered, [change for changes in news.values() for change in changes]


def _united_matches(
    rows: Sequence[Any], into: Mapping[int, int], numbered: Renumbered
) -> list[dict[str, Any]]:
    best: dict[tuple[str, int, int], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: -row.score):
        if (row.paper_id, row.revision) not in numbered:  # of changes that were dropped
            continue
        paper_id, revision = into[row.paper_id], numbered[row.paper_id, row.revision]
        moved = row._asdict() | {"paper_id": paper_id, "revision": revision}
        best.setdefault((row.topic, paper_id, revision), moved)
    return list(best.values())


def _united_items(
    rows: Sequence[Any], into: Mapping[int, int], numbered: Renumbered
) -> list[dict[str, Any]]:
    """If both papers were in digests, the one that reached a recipient counts."""
    items: dict[tuple[str, int, int], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: not row.reached):
        paper_id = into[row.paper_id]
        revision = numbered.get((row.paper_id, row.revision), row.revision)
        item = {
            "subscription": row.subscription,
            "paper_id": paper_id,
            "revision": revision,
            "digest_id": row.digest_id,
            "shown_under": row.shown_under,
        }
        items.setdefault((row.subscription, paper_id, revision), item)
    return list(items.values())


def _write_paper(
    tx: Transaction,
    stored: Mapping[int, StoredPaper],
    into: Mapping[int, int],
    numbered: Renumbered,
    now: datetime,
) -> None:
    """Fill the kept papers' empty fields from the others, and take the latest version's text."""
    newest: dict[int, int] = defaultdict(int)
    for (paper_id, _), revision in numbered.items():
        newest[into[paper_id]] = max(newest[into[paper_id]], revision)
    whole: dict[int, StoredPaper] = {}
    for id, paper in sorted(stored.items()):
        before = whole.get(into[id])
        whole[into[id]] = _combine(before, paper) if before else paper
    rows = [
        papers.columns(structs.replace(paper, revision=max(newest[id], 1)))
        | {"of": id, "purged_at": now if paper.purged else None}
        for id, paper in whole.items()
    ]
    tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), rows)
    search.queue(tx, whole)


def _combine(kept: StoredPaper, lost: StoredPaper) -> StoredPaper:
    later = (lost.paper.version or 0) > (kept.paper.version or 0) > 0
    paper = revise(kept.paper, lost.paper) if later else fill(kept.paper, lost.paper)
    either = kept.paper.withdrawn or lost.paper.withdrawn
    withdrawn = lost.paper.withdrawn if later else either
    times = [at for at in (kept.news_at, lost.news_at) if at]
    return structs.replace(
        kept,
        paper=structs.replace(paper, withdrawn=withdrawn),
        first_seen=min(kept.first_seen, lost.first_seen),
        news_at=min(times, default=None),
        purged=kept.purged and lost.purged,
    )


def _move_names(tx: Transaction, into: Mapping[int, int]) -> None:
    """Move all keys, title keys, blocks and sightings to the kept papers."""
    lost = [id for id, kept in into.items() if id != kept]
    moved = [{"of": id, "to": into[id]} for id in lost]
    for table in (schema.paper_key, schema.joined):
        at = table.c.paper_id == sa.bindparam("of")
        tx.execute(sa.update(table).where(at).values(paper_id=sa.bindparam("to")), moved)
    for names in (schema.title_key, schema.block):
        rows = tx.execute(sa.select(names).where(among(names.c.paper_id, lost)))
        values = {(row.key, into[row.paper_id]) for row in rows}
        insert_new(tx, names, [{"key": key, "paper_id": id} for key, id in sorted(values)])
    for pairs in (schema.common_key, schema.about):
        rows = tx.execute(sa.select(pairs).where(among(pairs.c.paper_id, lost)))
        insert_new(tx, pairs, [row._asdict() | {"paper_id": into[row.paper_id]} for row in rows])
    judgements.move(tx, {id: into[id] for id in lost})
    _move_sightings(tx, into, lost)


def _move_sightings(tx: Transaction, into: Mapping[int, int], lost: Sequence[int]) -> None:
    """Move sightings. One of both papers keeps its last text and its first time."""
    rows = tx.execute(
        sa.select(schema.sighting)
        .where(among(_sighting.paper_id, into))
        .order_by(_sighting.last_seen_at.desc())
    )
    sightings: dict[tuple[str, str, int], dict[str, Any]] = {}
    before: dict[tuple[str, str, int], int] = {}
    for row in rows:
        moved = row._asdict() | {"paper_id": into[row.paper_id]}
        place = (row.source, row.raw_id, moved["paper_id"])
        last = sightings.setdefault(place, moved)
        last["first_seen_at"] = min(last["first_seen_at"], row.first_seen_at)
        before.setdefault(place, row.paper_id)
    tx.execute(sa.delete(schema.sighting).where(among(_sighting.paper_id, into)))
    insert_new(tx, schema.sighting, [sightings[place] for place in sorted(sightings)])
    sighting_texts.move(tx, into, before)


def _redirect_ids(
    tx: Transaction, kept: Mapping[int, int], reasons: Mapping[int, str], now: datetime
) -> None:
    rows = [
        {"id": lost, "paper_id": to, "why": reasons.get(lost, ""), "at": now}
        for lost, to in sorted(kept.items())
    ]
    if rows:
        tx.execute(sa.insert(schema.joined), rows)


def current_id(tx: Transaction, paper_id: int) -> int:
    """Return the paper that one was merged into, else its own id."""
    return tx.scalar(sa.select(_joined.paper_id).where(_joined.id == paper_id)) or paper_id


def into(tx: Transaction, paper_id: int) -> list[tuple[int, str, datetime]]:
    """Return (id, reason, time) of the papers merged into one, in order."""
    rows = tx.execute(
        sa.select(_joined.id, _joined.why, _joined.at)
        .where(_joined.paper_id == paper_id)
        .order_by(_joined.at, _joined.id)
    )
    return [(row.id, row.why, row.at) for row in rows]
