"""Merging papers that turn out to be one work, or splitting those that are two.

Of merged papers the earliest is kept, and the ids of the others lead to it. Frozen digests stay as
they are. What was sent of one counts as sent of the other, and of both after a split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from monitor.model import ChangeKind, IncomingPaper, StoredPaper
from monitor.store.digests.deliveries import reaches_anyone
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_all, insert_new
from monitor.store.papers import (
    identity_rulings,
    look_ups,
    paper_index,
    papers,
    search,
    sightings,
    withdrawals,
    write_papers,
)
from monitor.store.papers.paper_drafts import combine
from monitor.store.topics import judgements, word_counts

_paper = schema.paper.c
_change = schema.change.c
_match = schema.match.c
_item = schema.digest_item.c
_joined = schema.joined.c

Key = tuple[str, str]
# From the old (paper, revision) to the new revision of the paper that is kept.
Renumbered = Mapping[tuple[int, int], int]

# A work is new, or older, only once.
_FIRST = (ChangeKind.NEW, ChangeKind.OLDER)


def merge(tx: Transaction, pairs: Iterable[tuple[int, int, str]], now: datetime) -> dict[int, int]:
    """Merge pairs of papers, each with the reason; return the new id of each lost paper.

    `tx` comes from `Database.ingesting`. Pairs that a ruling keeps apart are left out. Of two new
    papers the first change stays, and all others; the paper is matched again with its longer text.
    """
    pairs = list(pairs)
    if not pairs:
        return {}
    parted = identity_rulings.apart(tx, {(id, other_id) for id, other_id, _ in pairs})
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
    word_counts.forget_papers(tx, ids)
    renumbered = _unite_news(tx, stored, into)
    _write_paper(tx, stored, into, renumbered, now)
    _move_names(tx, into)
    redirects = [
        {"id": lost, "paper_id": to, "why": reasons.get(lost, ""), "at": now}
        for lost, to in sorted(kept.items())
    ]
    insert_all(tx, schema.joined, redirects)
    tx.execute(sa.delete(schema.paper).where(among(_paper.id, kept)))
    paper_index.restore_keys(tx, set(kept.values()))
    write_papers.reopen(tx, set(kept.values()), now - write_papers.MATCHED_AGAIN_FOR)
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
    matches = sa.select(schema.match).where(among(_match.paper_id, into))
    matched = tx.execute(matches.order_by(_match.score.desc())).all()
    # If both papers were in digests, the one that reached a recipient counts.
    reached_first = reaches_anyone(_item.digest_id).desc(), _item.digest_id
    in_digests = sa.select(schema.digest_item).where(among(_item.paper_id, into))
    items = tx.execute(in_digests.order_by(*reached_first)).all()
    for table in (schema.digest_item, schema.match, schema.change):
        tx.execute(sa.delete(table).where(among(table.c.paper_id, into)))
    numbered, news = _renumber(rows, into)
    insert_all(tx, schema.change, news)
    of_kept_changes = [row for row in matched if (row.paper_id, row.revision) in numbered]
    for table, moved in ((schema.match, of_kept_changes), (schema.digest_item, items)):
        rows_of_kept = [
            row._asdict()
            | {"paper_id": into[row.paper_id]}
            | {"revision": numbered.get((row.paper_id, row.revision), row.revision)}
            for row in moved
        ]
        insert_new(tx, table, rows_of_kept)  # of several with one key the first
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


def _write_paper(
    tx: Transaction,
    stored: Mapping[int, StoredPaper],
    into: Mapping[int, int],
    numbered: Renumbered,
    now: datetime,
) -> None:
    """Fill the kept papers' empty fields from the others, and take the latest version's text."""
    newest = dict.fromkeys(into.values(), 1)
    for (paper_id, _), revision in numbered.items():
        newest[into[paper_id]] = max(newest[into[paper_id]], revision)
    whole: dict[int, StoredPaper] = {}
    for id, paper in sorted(stored.items()):
        before = whole.get(into[id])
        whole[into[id]] = _combine(before, paper) if before else paper
    rows = [
        papers.columns(structs.replace(paper, revision=newest[id]))
        | {"of": id, "purged_at": now if paper.purged else None}
        for id, paper in whole.items()
    ]
    tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), rows)
    search.queue(tx, whole)


def _combine(kept: StoredPaper, lost: StoredPaper) -> StoredPaper:
    paper = combine(kept.paper, lost.paper)
    times = [at for at in (kept.news_at, lost.news_at) if at]
    return structs.replace(
        kept,
        paper=paper,
        first_seen=min(kept.first_seen, lost.first_seen),
        news_at=min(times, default=None),
        purged=kept.purged and lost.purged,
    )


def _move_names(tx: Transaction, into: Mapping[int, int]) -> None:
    lost = {id: kept for id, kept in into.items() if id != kept}
    for table in (schema.paper_key, schema.joined):
        for id, kept in lost.items():
            tx.execute(sa.update(table).filter_by(paper_id=id).values(paper_id=kept))
    shared = schema.title_key, schema.block, schema.common_key, schema.about, schema.named_notice
    for table in shared:
        rows = tx.execute(sa.select(table).where(among(table.c.paper_id, lost)))
        insert_new(tx, table, [row._asdict() | {"paper_id": into[row.paper_id]} for row in rows])
    judgements.move(tx, lost)
    withdrawals.move(tx, lost)
    sightings.move(tx, into)
    look_ups.move(tx, lost)


def current_id(tx: Transaction, paper_id: int) -> int:
    """Return the paper that one was merged into, else its own id."""
    return tx.scalar(sa.select(_joined.paper_id).where(_joined.id == paper_id)) or paper_id


def into(tx: Transaction, paper_id: int) -> list[tuple[int, str, datetime]]:
    """Return (id, reason, time) of the papers merged into one, in order."""
    merged = sa.select(_joined.id, _joined.why, _joined.at).filter_by(paper_id=paper_id)
    return list(map(tuple, tx.execute(merged.order_by(_joined.at, _joined.id))))


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
    new_id = write_papers.next_id(tx)
    word_counts.forget_papers(tx, [paper_id])
    row = tx.execute(sa.select(schema.paper).filter_by(id=paper_id)).one()
    own = papers.split_columns(parted.paper)
    tx.execute(sa.insert(schema.paper), [row._asdict() | {"id": new_id} | own])
    of_kept = sa.update(schema.paper).where(_paper.id == paper_id)
    tx.execute(of_kept.values(papers.split_columns(kept.paper)))
    copied = (schema.title_key, schema.block, schema.change, schema.match, schema.digest_item)
    for table in (*copied, schema.judgement, schema.saved_paper):
        rows = tx.execute(sa.select(table).filter_by(paper_id=paper_id)).mappings()
        insert_new(tx, table, [{**copy, "paper_id": new_id} for copy in rows])
    write_papers.write_keys(tx, [(paper_id, kept), (new_id, parted)])
    for scheme, value in keys:
        for table in (schema.paper_key, schema.common_key):
            mine = sa.update(table).filter_by(scheme=scheme, value=value, paper_id=paper_id)
            tx.execute(mine.values(paper_id=new_id))
    records = list(records)
    sightings.split_off(tx, records, paper_id, new_id)
    if row.withdrawn:
        marked = withdrawals.split_off(tx, records, paper_id, new_id)
        for id, is_marked in zip((paper_id, new_id), marked, strict=True):
            tx.execute(sa.update(schema.paper).filter_by(id=id).values(withdrawn=is_marked))
    names = identity_rulings.names_of(tx, [paper_id, new_id])
    identity_rulings.rule(tx, names[paper_id], names[new_id], identity_rulings.DIFFERENT, now)
    search.queue(tx, [paper_id, new_id])
    return new_id
