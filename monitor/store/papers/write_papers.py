"""Writing what an ingest decided: papers, their keys and their sightings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import Decision, IncomingPaper
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_all, insert_new
from monitor.store.engine.sql import among, index_value
from monitor.store.papers import changes, earlier_texts, paper_index, search, sightings
from monitor.store.papers.paper_drafts import Draft, fold
from monitor.store.papers.papers import columns, load

_paper = schema.paper.c
_sighting = schema.sighting.c

# The block of a paper that has none: `retention.without_blocks` must not find it again.
NO_BLOCK = -1


def apply(
    tx: Transaction,
    source: str,
    decisions: Sequence[Decision],
    now: datetime,
    document: str = "",
) -> list[int]:
    """Write the decisions on one chunk, and return the paper id of each.

    `tx` comes from `Database.ingesting`. A key that belongs to another paper stays there. News
    becomes a change that waits to be matched; papers stored silently make no change. The changes
    of a known paper wait again if this source had not shown it before, or if it gains words that
    it lacked, since other topics may match it now. Papers to merge are left to `merge_papers`.
    """
    ids_of_stored = {d.paper_id for d in decisions if d.paper_id is not None}
    ids_of_stored.update(id for d in decisions if d.effect for id in d.effect.papers)
    stored = load(tx, ids_of_stored)
    ids, drafts = fold(decisions, stored, _ids_seen_by(tx, source, stored), next_id(tx), now)
    _write_papers(tx, drafts)
    _write_keys_and_notices(tx, ids, decisions)
    sightings.write(tx, source, document, ids, decisions, now)
    changes.write(tx, drafts, now)
    earlier_texts.write(tx, drafts)
    search.queue(tx, [draft.id for draft in drafts if draft.is_new or draft.changed])
    return ids


def _write_keys_and_notices(
    tx: Transaction, ids: Sequence[int], decisions: Sequence[Decision]
) -> None:
    """Write identifiers that recognise papers, those that do not, and what notices are about."""
    disowned = {pair for decision in decisions for pair in decision.disowned}
    paper_index.stop_matching_by(tx, disowned)
    papers = list(zip(ids, (decision.keyed for decision in decisions), strict=True))
    common_pairs = [
        (pair, id)
        for id, keyed in papers
        for pair in (*keyed.common, *disowned.intersection(keyed.keys))
    ]
    if disowned:
        papers = [
            (id, replace(keyed, keys=tuple(p for p in keyed.keys if p not in disowned)))
            for id, keyed in papers
        ]
    write_keys(tx, papers)
    paper_index.write_shared_keys(tx, common_pairs)
    paper_index.write_notices(
        tx,
        (
            (pair, id, decision.effect.kind if decision.effect else None)
            for id, decision in zip(ids, decisions, strict=True)
            for pair in decision.keyed.about
        ),
    )


def next_id(tx: Transaction) -> int:
    """Return the id of the next paper. Ids of merged papers are never reused."""
    newest = [sa.func.max(_paper.id), sa.func.max(schema.joined.c.id)]
    return 1 + max(tx.scalar(sa.select(highest)) or 0 for highest in newest)


def _ids_seen_by(tx: Transaction, source: str, ids: Iterable[int]) -> set[int]:
    query = sa.select(_sighting.source, _sighting.paper_id)
    rows = tx.execute(query.where(among(_sighting.paper_id, ids)))
    return {row.paper_id for row in rows if row.source == source}


def _write_papers(tx: Transaction, drafts: Sequence[Draft]) -> None:
    new = [{"id": draft.id} | columns(draft) for draft in drafts if draft.is_new]
    changed = [{"of": d.id} | columns(d) for d in drafts if d.changed and not d.is_new]
    insert_all(tx, schema.paper, new)
    if changed:
        tx.execute(sa.update(schema.paper).where(_paper.id == sa.bindparam("of")), changed)


def write_keys(tx: Transaction, papers: Iterable[tuple[int, IncomingPaper]]) -> None:
    """Write identifiers, title keys and blocks, sorted as their index is.

    An identifier belongs to the first paper that has it; title keys and blocks are shared.
    """
    papers = list(papers)
    owners: dict[tuple[str, str], int] = {}
    for id, keyed in papers:
        for pair in keyed.keys:
            owners.setdefault(paper_index.indexed_pair(pair), id)
    keys = [{"scheme": s, "value": v, "paper_id": owners[s, v]} for s, v in sorted(owners)]
    insert_new(tx, schema.paper_key, keys)
    titles = {(index_value(keyed.title_key), id) for id, keyed in papers if keyed.title_key}
    insert_new(tx, schema.title_key, [{"key": k, "paper_id": id} for k, id in sorted(titles)])
    blocks = {(block, id) for id, keyed in papers for block in keyed.blocks or (NO_BLOCK,)}
    insert_new(tx, schema.block, [{"key": k, "paper_id": id} for k, id in sorted(blocks)])
