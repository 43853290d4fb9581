"""Vectors of papers and topics, and papers just below the bar of a topic that is like a text.

A row of a paper is committed before the request that it is for: see `begin`. What is open has a
`due_at`. Papers and topics of another model have rows of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from msgspec import convert, structs

from monitor.model import MatchRow
from monitor.model.embeddings import Embedding, EmbeddingState, TopicEmbedding
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, fetch, insert_new, insert_or_update
from monitor.store.topics.matches import OF_CHANGE

_embedding = schema.embedding.c
_topic = schema.topic_embedding.c
_near = schema.near_match.c
_match = schema.match.c
_change = schema.change.c
_paper = schema.paper.c
_item = schema.digest_item.c
_has = schema.subscription_topic.c

_DAY = timedelta(days=1)


# ── papers just below the bar ───────────────────────────────────────────────────────


def add_near(tx: Transaction, rows: Iterable[MatchRow], now: datetime, most: int) -> None:
    """Store papers just below the bars of topics, of each topic the nearest, `most` in a day."""
    ordered = sorted(rows, key=lambda row: (-row.score, row.paper_id, row.revision))
    if not ordered:
        return
    lately = sa.select(_near.topic, sa.func.count()).where(_near.at > now - _DAY)
    stored = Counter(dict(map(tuple, tx.execute(lately.group_by(_near.topic)))))
    changed = sa.select(_change.paper_id, _change.revision).where(
        among(_change.paper_id, (row.paper_id for row in ordered))
    )
    there = set(map(tuple, tx.execute(changed.with_for_update(key_share=True, read=True))))
    added = []
    for row in ordered:
        if stored[row.topic] < most and (row.paper_id, row.revision) in there:
            stored[row.topic] += 1
            added.append(
                {
                    "topic": row.topic,
                    "paper_id": row.paper_id,
                    "revision": row.revision,
                    "score": row.score,
                    "at": now,
                    "decided": False,
                }
            )
    insert_new(tx, schema.near_match, added)


def undecided(tx: Transaction) -> list[tuple[MatchRow, datetime]]:
    """Return the papers just below bars that are not decided, with the time of their news."""
    of_change = sa.and_(_change.paper_id == _near.paper_id, _change.revision == _near.revision)
    columns = _near.topic, _near.paper_id, _near.revision, _near.score, _change.at
    query = sa.select(*columns).join_from(schema.near_match, schema.change, of_change)
    rows = tx.execute(query.where(~_near.decided).order_by(*columns[:3]))
    return [(MatchRow(*row[:4]), row.at) for row in rows]


def decide(tx: Transaction, rows: Iterable[MatchRow]) -> None:
    """Record that it is decided whether papers are added."""
    for row in rows:
        one = sa.update(schema.near_match).filter_by(
            topic=row.topic, paper_id=row.paper_id, revision=row.revision
        )
        tx.execute(one.values(decided=True))


def matched(tx: Transaction, ids: Iterable[int]) -> set[tuple[str, int]]:
    """Return which topics have matched which papers, as (topic, paper id)."""
    query = sa.select(_match.topic, _match.paper_id).where(among(_match.paper_id, ids))
    return set(map(tuple, tx.execute(query)))


def forget_near(tx: Transaction, topics: Collection[str]) -> None:
    """Forget the papers just below the bars of topics that changed or are gone."""
    tx.execute(sa.delete(schema.near_match).where(among(_near.topic, topics)))


def is_outdated(tx: Transaction, model: str, before: datetime) -> bool:
    """Return whether there is something to prune."""
    outdated = (
        sa.select(_near.topic).where(_near.at < before),
        sa.select(_embedding.model).where(_embedding.model != model),
        sa.select(_topic.model).where(_topic.model != model),
    )
    return any(tx.execute(query.limit(1)).first() for query in outdated)


def prune(tx: Transaction, model: str, before: datetime) -> None:
    """Delete papers that were near before a time, and all rows of other models."""
    tx.execute(sa.delete(schema.near_match).where(_near.at < before))
    tx.execute(sa.delete(schema.embedding).where(_embedding.model != model))
    tx.execute(sa.delete(schema.topic_embedding).where(_topic.model != model))


def added(tx: Transaction, ids: Iterable[int]) -> dict[tuple[str, int], str]:
    """Return the models that added papers, by topic and paper."""
    query = sa.select(_match.topic, _match.paper_id, _match.added_by).where(
        among(_match.paper_id, ids), _match.added_by.is_not(None)
    )
    return {(topic, id): model for topic, id, model in tx.execute(query)}


# ── vectors of papers ───────────────────────────────────────────────────────────────


def unasked(
    tx: Transaction,
    model: str,
    topics: Collection[str],
    since: datetime,
    limit: int,
    only: Collection[int] = (),
) -> list[int]:
    """Return papers without a vector, newest first: of topics, or just below their bar.

    Of those that topics matched, papers that wait for a digest and were news since a time. `only`
    are the papers to look among, all if it is empty.
    """
    sent = sa.exists().where(
        _item.subscription == _has.subscription, _item.paper_id == _match.paper_id
    )
    waiting = (
        sa.select(_match.paper_id)
        .join_from(schema.match, schema.change, OF_CHANGE)
        .join(schema.subscription_topic, _has.topic == _match.topic)
        .where(among(_match.topic, topics), _change.at >= since, ~sent)
    )
    near = sa.select(_near.paper_id).where(among(_near.topic, topics), ~_near.decided)
    query = sa.select(_paper.id).where(
        _paper.id.in_(waiting.union(near)),
        _paper.purged_at.is_(None),
        ~sa.exists().where(_embedding.paper_id == _paper.id, _embedding.model == model),
    )
    if only:
        query = query.where(among(_paper.id, only))
    return list(tx.scalars(query.order_by(_paper.id.desc()).limit(limit)))


def wait(tx: Transaction, model: str, ids: Iterable[int], due_at: datetime) -> None:
    """Let papers without a row wait for their vectors."""
    waiting = {"model": model, "state": EmbeddingState.WAITING.value, "attempts": 0}
    rows = [{"paper_id": id, **waiting, "due_at": due_at} for id in ids]
    insert_new(tx, schema.embedding, rows)


def due(tx: Transaction, model: str, now: datetime, limit: int) -> list[Embedding]:
    """Return what is due, the first first, and of these the newest papers."""
    query = sa.select(schema.embedding).where(_embedding.model == model, _embedding.due_at <= now)
    ordered = query.order_by(_embedding.due_at, _embedding.paper_id.desc()).limit(limit)
    return fetch(tx, ordered, Embedding)


def begin(
    tx: Transaction, asked: Iterable[Embedding], now: datetime, due_again: datetime
) -> list[Embedding]:
    """Record that papers are asked about; after a crash they are due again, and this counts."""
    begun = [
        structs.replace(
            one, state=EmbeddingState.ASKING, attempts=one.attempts + 1, due_at=due_again
        )
        for one in asked
    ]
    for one in begun:
        values = {"state": one.state.value, "attempts": one.attempts, "due_at": one.due_at}
        tx.execute(_row_of(one).values(values | {"asked_at": now}))
    return begun


def answer(tx: Transaction, asked: Embedding, vector: bytes) -> None:
    """Store the vector of a paper."""
    values = {"state": EmbeddingState.ANSWERED.value, "due_at": None, "vector": vector}
    tx.execute(_row_of(asked).values(values))


def settle(
    tx: Transaction, asked: Embedding, state: EmbeddingState, due_at: datetime | None = None
) -> None:
    """Record that a paper has no vector; one that is tried again is `due_at` a time."""
    tx.execute(_row_of(asked).values({"state": state.value, "due_at": due_at}))


def put_back(tx: Transaction, asked: Iterable[Embedding], due_at: datetime) -> None:
    """Let papers wait again of which nothing was sent."""
    for one in asked:
        values = {"state": EmbeddingState.WAITING.value, "attempts": one.attempts - 1}
        tx.execute(_row_of(one).values(values | {"due_at": due_at}))


def put_off(tx: Transaction, model: str, until: datetime) -> None:
    """Let all that waits wait until a time."""
    waiting = _embedding.state == EmbeddingState.WAITING.value, _embedding.due_at < until
    tx.execute(
        sa.update(schema.embedding).where(_embedding.model == model, *waiting).values(due_at=until)
    )


def _row_of(one: Embedding) -> sa.Update:
    return sa.update(schema.embedding).filter_by(paper_id=one.paper_id, model=one.model)


def is_open(tx: Transaction, model: str, ids: Iterable[int], until: datetime) -> bool:
    """Return whether one of some papers is asked about now, or will be before a moment."""
    asking = _embedding.state == EmbeddingState.ASKING.value
    waiting = sa.and_(_embedding.state == EmbeddingState.WAITING.value, _embedding.due_at <= until)
    open_ = sa.select(_embedding.paper_id).where(
        _embedding.model == model, among(_embedding.paper_id, ids), sa.or_(asking, waiting)
    )
    return tx.execute(open_.limit(1)).first() is not None


def has_open(tx: Transaction, model: str, ids: Iterable[int]) -> bool:
    """Return whether one of some papers still waits for its vector."""
    open_ = sa.select(_embedding.paper_id).where(
        _embedding.model == model, among(_embedding.paper_id, ids), _embedding.due_at.is_not(None)
    )
    return tx.execute(open_.limit(1)).first() is not None


def vectors(tx: Transaction, model: str, ids: Iterable[int]) -> dict[int, bytes | None]:
    """Return the vectors of those papers that are not asked about any more, None for no vector."""
    query = sa.select(_embedding.paper_id, _embedding.vector).where(
        _embedding.model == model, among(_embedding.paper_id, ids), _embedding.due_at.is_(None)
    )
    return dict(map(tuple, tx.execute(query)))


def any_vector(tx: Transaction, model: str) -> bytes | None:
    """Return one of the vectors of a model: all have its length."""
    for table in (schema.topic_embedding, schema.embedding):
        there = table.c.model == model, table.c.vector.is_not(None)
        if vector := tx.scalar(sa.select(table.c.vector).where(*there).limit(1)):
            return bytes(vector)
    return None


def counts(tx: Transaction, model: str, since: datetime) -> Mapping[EmbeddingState, int]:
    """Return how many papers are in each state: all open ones, and others asked since a time."""
    of_late = sa.or_(_embedding.due_at.is_not(None), _embedding.asked_at >= since)
    query = sa.select(_embedding.state, sa.func.count()).where(_embedding.model == model, of_late)
    rows = tx.execute(query.group_by(_embedding.state))
    return {EmbeddingState(state): total for state, total in rows}


def added_since(tx: Transaction, since: datetime) -> int:
    """Return how many papers models added to topics since a time."""
    query = sa.select(sa.func.count()).select_from(schema.match)
    lately = _match.added_by.is_not(None), _match.matched_at >= since
    return tx.scalar(query.where(*lately)) or 0


# ── topics ──────────────────────────────────────────────────────────────────────────


def topics(tx: Transaction, model: str) -> dict[str, TopicEmbedding]:
    """Return the topics whose texts were sent, by name."""
    rows = tx.execute(sa.select(schema.topic_embedding).where(_topic.model == model))
    return {row.topic: convert(row, TopicEmbedding, from_attributes=True) for row in rows}


def save_topic(tx: Transaction, model: str, topic: TopicEmbedding) -> None:
    row = structs.asdict(topic) | {"compared_with": list(topic.compared_with)}
    insert_or_update(tx, schema.topic_embedding, [row | {"model": model}])


def forget_topics(tx: Transaction, model: str, names: Collection[str]) -> None:
    """Forget topics that are gone, or are like no text any more."""
    of_these = _topic.model == model, among(_topic.topic, names)
    tx.execute(sa.delete(schema.topic_embedding).where(*of_these))


def newest_by_words(tx: Transaction, topic: str, limit: int) -> Sequence[int]:
    """Return the newest papers with a text that a topic matched by words, newest first."""
    query = (
        sa.select(_match.paper_id)
        .join(schema.paper, _paper.id == _match.paper_id)
        .where(_match.topic == topic, _match.added_by.is_(None), _paper.purged_at.is_(None))
    )
    ordered = query.distinct().order_by(_match.paper_id.desc()).limit(limit)
    return list(tx.scalars(ordered))
