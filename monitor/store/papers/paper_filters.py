"""The ids of papers that a `PaperFilter` lets through, newest first, without a look at the others.

One of its conditions names ids, in the order of an index; `keep` then checks all conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import sqlalchemy as sa

from monitor.model import ChangeKind, PaperFilter
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among

_paper = schema.paper.c
_sighting = schema.sighting.c
_match = schema.match.c
_change = schema.change.c
# Papers are numbered in the order in which they are first seen, but for what two sources bring
# within one run.
_LONGEST_RUN = timedelta(days=1)
MAX_ID = 2**63 - 1


def id_bounds(tx: Transaction, wanted: PaperFilter) -> tuple[int, int]:
    """Return the least id that may be wanted, and one that is more than all of them."""
    first, end = 0, MAX_ID
    at = _paper.first_seen_at
    if wanted.since:
        later = sa.select(_paper.id).where(at >= wanted.since - _LONGEST_RUN)
        first = tx.scalar(later.order_by(at).limit(1)) or MAX_ID
    if wanted.until:
        earlier = sa.select(_paper.id).where(at < wanted.until + _LONGEST_RUN)
        end = (tx.scalar(earlier.order_by(at.desc()).limit(1)) or 0) + 1
    return first, end


def newest(tx: Transaction, wanted: PaperFilter, below: int, limit: int) -> list[int]:
    """Return the next ids that meet the narrowest condition, newest first."""
    column, conditions = _narrowest(wanted)
    query = sa.select(column).distinct().where(column < below, *conditions)
    return list(tx.scalars(query.order_by(column.desc()).limit(limit)))


def _narrowest(
    wanted: PaperFilter,
) -> tuple[sa.ColumnElement[int], tuple[sa.ColumnElement[bool], ...]]:
    if wanted.topic:
        return _match.paper_id, (_match.topic == wanted.topic,)
    if wanted.kind:
        return _change.paper_id, (_change.kind == wanted.kind, *_rare(wanted.kind))
    if wanted.source:
        return _sighting.paper_id, (_sighting.source == wanted.source,)
    return _paper.id, ()


def _rare(kind: ChangeKind) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the condition of the index of rare kinds, as it is written there."""
    is_rare = _change.kind != sa.literal_column(f"'{ChangeKind.NEW}'")
    return () if kind is ChangeKind.NEW else (is_rare,)


def keep(tx: Transaction, wanted: PaperFilter, ids: Sequence[int]) -> list[int]:
    """Return those of the papers that are wanted, in their order. Purged ones are not."""
    query = sa.select(_paper.id).where(
        among(_paper.id, ids), _paper.purged_at.is_(None), *_conditions(wanted)
    )
    kept = set(tx.scalars(query))
    return [id for id in ids if id in kept]


def _conditions(wanted: PaperFilter) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.since:
        yield _paper.first_seen_at >= wanted.since
    if wanted.until:
        yield _paper.first_seen_at < wanted.until
    if wanted.source:
        ours = _sighting.paper_id == _paper.id, _sighting.source == wanted.source
        yield sa.exists().where(*ours)
    if wanted.topic:
        yield sa.exists().where(_match.paper_id == _paper.id, _match.topic == wanted.topic)
    if wanted.kind:
        yield sa.exists().where(_change.paper_id == _paper.id, _change.kind == wanted.kind)
