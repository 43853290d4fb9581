"""Subscriptions: who is subscribed, since when, and since when to which topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from monitor.store import heartbeats, schema
from monitor.store.database import Transaction
from monitor.store.digest_state import stands
from monitor.store.inserts import insert_new, insert_or_update
from monitor.store.raw_rows import fetch
from monitor.store.sql import among

_subscription = schema.subscription.c
_has = schema.subscription_topic.c
_digest = schema.digest.c

_SUBSCRIPTIONS = "subscriptions"

# Name, schedule, zone, topics.
Subscribed = tuple[str, str, str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SubscriptionState:
    """The stored state of a subscription.

    `in_force_since` is when its schedule or zone changed, or when it was added again.
    `last_due_at` is when its newest digest was due, and `last_composed_at` when the newest that
    is not superseded was composed. Both are None before the first.
    """

    name: str
    first_seen: datetime
    in_force_since: datetime
    last_due_at: datetime | None
    last_composed_at: datetime | None


def sync_subscriptions(tx: Transaction, subscribed: Iterable[Subscribed], now: datetime) -> None:
    """Store the subscriptions of the configuration, and mark all others as removed.

    A subscription has each topic since it first got it, and again from the time when it or the
    topic was added again.
    """
    rows = {name: (schedule, zone, topics) for name, schedule, zone, topics in subscribed}
    known = {row.name: row for row in tx.execute(sa.select(schema.subscription))}
    gone = [name for name, row in known.items() if name not in rows and row.removed_at is None]
    _remove(tx, gone, now)
    changed = [
        _row(name, schedule, zone, now)
        for name, (schedule, zone, _) in rows.items()
        if _differs(known.get(name), schedule, zone)
    ]
    updated = ["removed_at", "schedule", "timezone", "in_force_since"]
    insert_or_update(tx, schema.subscription, changed, updated)
    others = _sync_topics(tx, {name: topics for name, (_, _, topics) in rows.items()}, now)
    if gone or changed or others or subscriptions_mark(tx) is None:
        heartbeats.beat(tx, _SUBSCRIPTIONS, datetime.now(UTC))


def subscriptions_mark(tx: Transaction) -> datetime | None:
    """Return a mark that changes whenever the stored subscriptions change; None at first."""
    return heartbeats.last_beat(tx, _SUBSCRIPTIONS)


def _row(name: str, schedule: str, zone: str, now: datetime) -> dict[str, Any]:
    return {
        "name": name,
        "first_seen_at": now,
        "removed_at": None,
        "schedule": schedule,
        "timezone": zone,
        "in_force_since": now,
    }


def _differs(known: Any, schedule: str, zone: str) -> bool:
    if known is None or known.removed_at is not None:
        return True
    return bool((known.schedule, known.timezone) != (schedule, zone))


def _remove(tx: Transaction, names: Sequence[str], now: datetime) -> None:
    if names:
        gone = among(tx, _subscription.name, names)
        tx.execute(sa.update(schema.subscription).where(gone).values(removed_at=now))
        tx.execute(sa.delete(schema.subscription_topic).where(among(tx, _has.subscription, names)))


def _sync_topics(tx: Transaction, wanted: dict[str, Sequence[str]], now: datetime) -> bool:
    """Store the topics of subscriptions; return whether any changed."""
    pairs = {(name, topic) for name, topics in wanted.items() for topic in topics}
    had = set(map(tuple, fetch(tx, sa.select(_has.subscription, _has.topic))))
    for name, topic in sorted(had - pairs):
        lost = (_has.subscription == name, _has.topic == topic)
        tx.execute(sa.delete(schema.subscription_topic).where(*lost))
    insert_new(
        tx,
        schema.subscription_topic,
        [{"subscription": n, "topic": t, "since": now} for n, t in sorted(pairs - had)],
    )
    return had != pairs


def states(tx: Transaction, names: Collection[str] | None = None) -> dict[str, SubscriptionState]:
    """Return the state of all active subscriptions, or of those named, by name."""
    is_named = sa.true() if names is None else among(tx, _subscription.name, names)
    rows = tx.execute(
        sa.select(
            schema.subscription,
            _newest(_digest.due_at, sa.true()).label("due_at"),
            _newest(_digest.composed_at, stands()).label("composed_at"),
        ).where(_subscription.removed_at.is_(None), is_named)
    )
    return {
        row.name: SubscriptionState(
            name=row.name,
            first_seen=row.first_seen_at,
            in_force_since=row.in_force_since,
            last_due_at=row.due_at,
            last_composed_at=row.composed_at,
        )
        for row in rows
    }


def _newest(
    column: sa.ColumnElement[datetime], wanted: sa.ColumnElement[bool]
) -> sa.ScalarSelect[datetime]:
    """Select a column of a subscription's newest digest by due time that meets a condition."""
    newest = sa.select(column).where(_digest.subscription == _subscription.name, wanted)
    ordered = newest.order_by(_digest.due_at.desc(), _digest.id.desc())
    return ordered.limit(1).correlate(schema.subscription).scalar_subquery()
