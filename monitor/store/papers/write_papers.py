"""Writing what an ingest decided: papers, their keys and their sightings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from msgspec import structs

from monitor.model import (
    ChangeKind,
    Claim,
    Decision,
    EarlierText,
    IncomingPaper,
    Paper,
    StoredPaper,
)
from monitor.model.paper_fields import FILLED, INDEXED, MATCHED, names_of
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, index_value, insert_all, insert_new, insert_or_update
from monitor.store.papers import named_notices, paper_index, search, sightings, withdrawals
from monitor.store.papers.paper_drafts import Draft, fold
from monitor.store.papers.papers import columns, load

_paper = schema.paper.c
_change = schema.change.c
_earlier = schema.earlier_text.c

# Changes up to this age are matched again when their paper has more text. What an old paper gains
# is no news.
MATCHED_AGAIN_FOR = timedelta(days=90)
# The number of earlier texts of a paper, so that digests can show what a revision changed.
KEPT = 3


def apply(
    tx: Transaction, source: str, decisions: Sequence[Decision], now: datetime, document: str = ""
) -> list[int]:
    """Write the decisions on one chunk, and return the paper id of each.

    `tx` comes from `Database.ingesting`. A key goes to the paper with the best claim to it. News
    becomes a change that waits to be matched; papers stored silently make no change. The changes
    of a known paper wait again if this source had not shown it before, or if it gains words or
    links that it lacked, since other topics may match it now. Papers to merge are left to
    `merge_papers`.
    """
    ids_of_stored = {d.paper_id for d in decisions if d.paper_id is not None}
    ids_of_stored.update(id for d in decisions if d.effect for id in d.effect.papers)
    stored = load(tx, ids_of_stored)
    ids, drafts = fold(decisions, stored, sightings.of_papers(tx, stored, source), next_id(tx), now)
    _write_papers(tx, drafts)
    papers = list(zip(ids, (decision.keyed for decision in decisions), strict=True))
    write_keys(tx, papers)
    effects = [decision.effect.kind if decision.effect else None for decision in decisions]
    notices = zip(papers, effects, strict=True)
    about = ((pair, id, kind) for (id, keyed), kind in notices for pair in keyed.about)
    paper_index.write_notices(tx, about)
    named_notices.write(tx, source, ((id, keyed.paper) for id, keyed in papers), now)
    sightings.write(tx, source, document, ids, decisions, now)
    withdrawals.write(tx, source, _marked(papers, decisions), now)
    _write_changes(tx, drafts, now)
    _write_growth(tx, drafts, now)
    _write_earlier_texts(tx, drafts)
    search.queue(tx, [draft.id for draft in drafts if draft.is_new or draft.reworded])
    return ids


def _marked(
    papers: Iterable[tuple[int, IncomingPaper]], decisions: Iterable[Decision]
) -> Iterator[tuple[int, IncomingPaper]]:
    """Yield the papers that records mark as withdrawn, each with the record."""
    for (id, keyed), decision in zip(papers, decisions, strict=True):
        if keyed.paper.withdrawn and not keyed.retracted:
            yield id, keyed
        if decision.effect and decision.effect.kind is ChangeKind.WITHDRAWN:
            yield from ((subject, keyed) for subject in decision.effect.papers)


def next_id(tx: Transaction) -> int:
    """Return the id of the next paper. Ids of merged papers are never reused."""
    newest = [sa.func.max(_paper.id), sa.func.max(schema.joined.c.id)]
    return 1 + max(tx.scalar(sa.select(highest)) or 0 for highest in newest)


def _write_papers(tx: Transaction, drafts: Sequence[Draft]) -> None:
    new = [{"id": draft.id} | columns(draft) for draft in drafts if draft.is_new]
    insert_all(tx, schema.paper, new)
    _update_papers(tx, [draft for draft in drafts if draft.changed and not draft.is_new])


def _update_papers(tx: Transaction, papers: Iterable[Draft | StoredPaper]) -> None:
    if rows := [{"of": paper.id} | columns(paper) for paper in papers]:
        tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), rows)


def write_keys(tx: Transaction, papers: Sequence[tuple[int, IncomingPaper]]) -> None:
    """Write identifiers, title keys and blocks, sorted as their index is.

    An identifier belongs to one paper; title keys and blocks are shared.
    """
    claims: dict[tuple[str, str], dict[int, Claim]] = defaultdict(dict)
    for id, keyed in papers:
        for pair in keyed.keys:
            of_papers = claims[paper_index.indexed_pair(pair)]
            of_papers[id] = min(keyed.claim(pair), of_papers.get(id, Claim.LOOKED_UP))
    paper_index.write_claims(tx, claims)
    titles = {(index_value(keyed.title_key), id) for id, keyed in papers if keyed.title_key}
    insert_new(tx, schema.title_key, [{"key": k, "paper_id": id} for k, id in sorted(titles)])
    blocks = {(block, id) for id, keyed in papers for block in keyed.blocks}
    insert_new(tx, schema.block, [{"key": k, "paper_id": id} for k, id in sorted(blocks)])


def _write_changes(tx: Transaction, drafts: Sequence[Draft], now: datetime) -> None:
    """Write the changes, and let recent ones of papers with more text be matched again."""
    reopen(tx, [draft.id for draft in drafts if draft.wider], now - MATCHED_AGAIN_FOR)
    rows = [
        {"paper_id": d.id, "revision": d.revision, "kind": str(d.kind), "why": d.why, "at": now}
        for d in drafts
        if d.kind
    ]
    insert_all(tx, schema.change, rows)


def _write_growth(tx: Transaction, drafts: Iterable[Draft], now: datetime) -> None:
    """Write which papers have more votes or are in more lists, for topics that ask for these."""
    rows = [
        {
            "paper_id": draft.id,
            "votes": draft.paper.upvotes or 0,
            "lists": len(draft.paper.recent_lists),
        }
        for draft in drafts
        if draft.grown
    ]
    insert_or_update(tx, schema.grown, rows)
    if relisted := [draft.id for draft in drafts if draft.relisted]:
        papers = sa.update(schema.paper).where(among(_paper.id, relisted))
        tx.execute(papers.values(relisted_at=now))


def matched_since(tx: Transaction, at: datetime) -> set[tuple[int, int]]:
    """Return the (paper id, revision) of changes since a time that topics matched."""
    matched = (_change.at >= at, _change.matched_at.is_not(None))
    query = sa.select(_change.paper_id, _change.revision).where(*matched)
    return set(map(tuple, tx.execute(query)))


def fill_in(tx: Transaction, filled: Sequence[tuple[StoredPaper, Paper]], now: datetime) -> None:
    """Write what services filled in of papers, without a change or a revision.

    Recent changes are matched again if topics look at what was gained; what was sent stays sent.
    """
    _update_papers(tx, [structs.replace(stored, paper=paper) for stored, paper in filled])
    gained = {
        stored.id: {name for name in names_of(FILLED) if _differ(name, stored.paper, paper)}
        for stored, paper in filled
    }
    if matched := [id for id, names in gained.items() if not names.isdisjoint(names_of(MATCHED))]:
        reopen(tx, matched, now - MATCHED_AGAIN_FOR)
    search.queue(
        tx, [id for id, names in gained.items() if not names.isdisjoint(names_of(INDEXED))]
    )


def _differ(name: str, one: Paper, other: Paper) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def reopen(tx: Transaction, paper_ids: Iterable[int], since: datetime) -> None:
    """Let changes since a time be matched again; `matches.unsent` leaves out what was sent."""
    chosen = among(_change.paper_id, paper_ids)
    matched = (chosen, _change.at >= since, _change.matched_at.is_not(None))
    tx.execute(sa.update(schema.change).where(*matched).values(matched_at=None))


def _write_earlier_texts(tx: Transaction, drafts: Iterable[Draft]) -> None:
    """Keep the texts that revisions replace, the last of each paper."""
    replaced = [
        {"paper_id": draft.id, "revision": draft.revision - 1, "packed": pack(draft.before)}
        for draft in drafts
        if draft.kind is ChangeKind.REVISED and draft.before is not None
    ]
    if not replaced:
        return
    insert_new(tx, schema.earlier_text, replaced)
    old = _earlier.revision <= sa.bindparam("newest") - KEPT
    gone = sa.delete(schema.earlier_text).where(_earlier.paper_id == sa.bindparam("of"), old)
    tx.execute(gone, [{"of": row["paper_id"], "newest": row["revision"]} for row in replaced])


def texts_before(tx: Transaction, revisions: Mapping[int, int]) -> dict[int, EarlierText]:
    """Return the text before a revision of each paper, where it is kept."""
    if not revisions:  # as in most digests
        return {}
    kept = sa.select(schema.earlier_text).where(among(_earlier.paper_id, revisions))
    return {
        id: unpack(packed, EarlierText)
        for id, revision, packed in tx.execute(kept.order_by(_earlier.revision))
        if revision < revisions[id]
    }


def earlier_texts(tx: Transaction, paper_id: int) -> dict[int, EarlierText]:
    """Return the texts of a paper that are kept, by revision, the oldest first."""
    wanted = sa.select(schema.earlier_text).filter_by(paper_id=paper_id)
    rows = tx.execute(wanted.order_by(_earlier.revision))
    return {row.revision: unpack(row.packed, EarlierText) for row in rows}
