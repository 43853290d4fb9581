"""The last texts of revised papers, so that digests can show what a revision changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from monitor.model import ChangeKind, EarlierText
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new
from monitor.store.engine.sql import among
from monitor.store.papers.paper_drafts import Draft

KEPT = 3

_text = schema.earlier_text.c


def write(tx: Transaction, drafts: Iterable[Draft]) -> None:
    """Keep the texts that revisions replace, the last of each paper."""
    replaced = [
        {"paper_id": draft.id, "revision": draft.revision - 1, "packed": pack(draft.before)}
        for draft in drafts
        if draft.kind is ChangeKind.REVISED and draft.before is not None
    ]
    if not replaced:
        return
    insert_new(tx, schema.earlier_text, replaced)
    old = _text.revision <= sa.bindparam("newest") - KEPT
    gone = sa.delete(schema.earlier_text).where(_text.paper_id == sa.bindparam("of"), old)
    tx.execute(gone, [{"of": row["paper_id"], "newest": row["revision"]} for row in replaced])


def before(tx: Transaction, revisions: Mapping[int, int]) -> dict[int, EarlierText]:
    """Return the text before a revision of each paper, where it is kept."""
    if not revisions:  # as in most digests
        return {}
    rows = tx.execute(
        sa.select(schema.earlier_text)
        .where(among(_text.paper_id, revisions))
        .order_by(_text.revision)
    )
    return {
        row.paper_id: unpack(row.packed, EarlierText)
        for row in rows
        if row.revision < revisions[row.paper_id]
    }


def of_paper(tx: Transaction, paper_id: int) -> dict[int, EarlierText]:
    """Return the texts of a paper that are kept, by revision, the oldest first."""
    wanted = sa.select(schema.earlier_text).where(_text.paper_id == paper_id)
    rows = tx.execute(wanted.order_by(_text.revision))
    return {row.revision: unpack(row.packed, EarlierText) for row in rows}
