"""Subscriptions: their schedules and topics, and since when they have each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from monitor.store.digests.deliveries import stands
from monitor.store.engine import processes, schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Instant, among, fetch, insert_new, insert_or_update

_subscription = schema.subscription.c
_has = schema.subscription_topic.c
_digest = schema.digest.c

_SUBSCRIPTIONS = "subscriptions"
IMMEDIATELY = "immediately"

# Name, schedule, zone, topics.
Subscribed = tuple[str, str, str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SubscriptionState:
    """The stored state of a subscription.

    `in_force_since` is when its schedule or zone changed, or when it was added again.
    `last_due_at` is the last slot that has a digest, and `last_composed_at` when the newest digest
    that is not superseded was composed, early ones included. Both are None before the first.
    Nothing is due before `next_due_at`, which is None when that is not known.
    """

    name: str
    first_seen: datetime
    in_force_since: datetime
    last_due_at: datetime | None
    last_composed_at: datetime | None
    next_due_at: datetime | None = None


def sync_subscriptions(
    tx: Transaction, subscribed: Iterable[Subscribed], now: datetime, *, keep_others: bool = False
) -> None:
    """Store the subscriptions of the configuration, and mark others as removed or keep them.

    A subscription has each topic since it first got it, and again from the time when it or the
    topic was added again. After a change each is looked at, whenever it was due next.
    """
    rows = {name: (schedule, zone, topics) for name, schedule, zone, topics in subscribed}
    known = {row.name: row for row in tx.execute(sa.select(schema.subscription))}
    others = [name for name, row in known.items() if name not in rows and row.removed_at is None]
    gone = [] if keep_others else others
    if gone:
        removed = sa.update(schema.subscription).where(among(_subscription.name, gone))
        tx.execute(removed.values(removed_at=now))
        answers = schema.judgement, schema.saved_paper, schema.example
        for table in (schema.subscription_topic, *answers):
            tx.execute(sa.delete(table).where(among(table.c.subscription, gone)))
    times = {"first_seen_at": now, "in_force_since": now, "removed_at": None}
    changed = [
        {"name": name, "schedule": schedule, "timezone": zone, **times}
        for name, (schedule, zone, _) in rows.items()
        if (row := known.get(name)) is None
        or (row.schedule, row.timezone, row.removed_at) != (schedule, zone, None)
    ]
    updated = ["removed_at", "schedule", "timezone", "in_force_since"]
    insert_or_update(tx, schema.subscription, changed, updated)
    kept = frozenset(others if keep_others else ())
    topics = {name: topics for name, (_, _, topics) in rows.items()}
    if _sync_topics(tx, topics, kept, now) or gone or changed or changed_at(tx) is None:
        known_due = _subscription.next_due_at.is_not(None)
        tx.execute(sa.update(schema.subscription).where(known_due).values(next_due_at=None))
        processes.beat(tx, _SUBSCRIPTIONS, datetime.now(UTC))


def changed_at(tx: Transaction) -> datetime | None:
    """Return a mark that changes whenever the stored subscriptions change; None at first."""
    return processes.last_beat(tx, _SUBSCRIPTIONS)


def _sync_topics(
    tx: Transaction, wanted: dict[str, Sequence[str]], kept: Collection[str], now: datetime
) -> bool:
    """Store the topics of subscriptions, but for `kept` ones; return whether any changed."""
    pairs = {(name, topic) for name, topics in wanted.items() for topic in topics}
    rows = tx.execute(sa.select(_has.subscription, _has.topic))
    had = {(name, topic) for name, topic in rows if name not in kept}
    for name, topic in had - pairs:
        lost = sa.delete(schema.subscription_topic).filter_by(subscription=name, topic=topic)
        tx.execute(lost)
    new = [{"subscription": n, "topic": t, "since": now} for n, t in sorted(pairs - had)]
    insert_new(tx, schema.subscription_topic, new)
    return had != pairs


def states(
    tx: Transaction, names: Collection[str] | None = None, due: datetime | None = None
) -> dict[str, SubscriptionState]:
    """Return the state of active subscriptions by name: all, those named, those that may be due."""
    query = sa.select(
        _subscription.name,
        _subscription.first_seen_at.label("first_seen"),
        _subscription.in_force_since,
        _last(_digest.due_at, _digest.early.is_not(sa.true()), _digest.due_at).label("last_due_at"),
        _last(_digest.composed_at, stands(), _digest.id).label("last_composed_at"),
        _subscription.next_due_at,
    ).where(_subscription.removed_at.is_(None))
    if names is not None:
        query = query.where(among(_subscription.name, names))
    if due is not None:
        next_due = _subscription.next_due_at
        query = query.where(sa.or_(next_due.is_(None), next_due <= due))
    return {state.name: state for state in fetch(tx, query, SubscriptionState)}


def set_next_due(
    tx: Transaction, due_times: Iterable[tuple[SubscriptionState, str, str, datetime]]
) -> None:
    """Note when subscriptions are due next, unless their state, schedule or zone changed."""
    unchanged = (
        _subscription.name == sa.bindparam("its_name"),
        _subscription.schedule == sa.bindparam("its_schedule"),
        _subscription.timezone == sa.bindparam("its_zone"),
        _subscription.next_due_at.is_not_distinct_from(sa.bindparam("before", type_=Instant)),
    )
    rows = [
        {"its_name": state.name, "before": state.next_due_at}
        | {"its_schedule": schedule, "its_zone": zone, "after": at}
        for state, schedule, zone, at in due_times
    ]
    if rows:
        update = sa.update(schema.subscription).where(*unchanged)
        tx.execute(update.values(next_due_at=sa.bindparam("after", type_=Instant)), rows)


def wake_immediate(tx: Transaction, topics: Collection[str] | None, now: datetime) -> None:
    """Have those subscriptions to topics, or all, looked at that get their digests immediately."""
    immediate = sa.func.lower(_subscription.schedule) == IMMEDIATELY
    awake = sa.update(schema.subscription).where(immediate)
    if topics is not None:
        readers = sa.select(_has.subscription).where(among(_has.topic, topics))
        awake = awake.where(_subscription.name.in_(readers))
    tx.execute(awake.values(next_due_at=now))


def _last(
    column: sa.ColumnElement[datetime],
    wanted: sa.ColumnElement[bool],
    order: sa.ColumnElement[Any],
) -> sa.ScalarSelect[datetime]:
    """Select a column of the last of a subscription's digests that match a condition."""
    own = sa.select(column).where(_digest.subscription == _subscription.name, wanted)
    return own.order_by(order.desc()).limit(1).correlate(schema.subscription).scalar_subquery()
