"""Which subscriptions may be due: the store keeps an index of when to look at each again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from monitor.digest.schedule import Slot, latest_due, next_due
from monitor.errors import UsageError
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.digests import digests
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction
from monitor.store.topics import matches, subscriptions
from monitor.store.topics.subscriptions import SubscriptionState

# A subscription made at eight has its first digest at eight.
MOMENT = timedelta(microseconds=1)
# New matches wake the subscriptions that get them immediately; this is only in case they do not.
LOOK_AGAIN = timedelta(hours=1)
# The state of a subscription, its schedule and zone, and when it has to be looked at again.
NextDue: TypeAlias = tuple[SubscriptionState, str, str, datetime]


def chosen(runtime: Runtime, names: Sequence[str]) -> Sequence[Subscription]:
    """Return the named subscriptions, all when none is named. Raises UsageError."""
    if not names:
        return runtime.subscriptions
    by_name = {subscription.name: subscription for subscription in runtime.subscriptions}
    for name in names:
        if name not in by_name:
            raise UsageError(
                f"no subscription is named {name!r}", f"there are: {', '.join(by_name)}"
            )
    return [by_name[name] for name in by_name if name in set(names)]


def find_chunks(runtime: Runtime, share: int | None) -> list[int]:
    """Return the chunks of `share` subscriptions to compose: the first, and those with some due.

    While a channel cannot render, all: its digests are rendered again. Without `share` there is
    one chunk.
    """
    if not share:
        return [0]
    with runtime.database.reading() as tx:
        due = subscriptions.may_be_due(tx, runtime.clock.now())
        wrong = {entry.kind for entry in stored_incidents.open_incidents(tx)}
    every = incidents.NOT_RENDERED in wrong
    places = enumerate(entry.name for entry in runtime.subscriptions)
    return sorted({0, *(place // share for place, name in places if every or name in due)})


def may_be_due(
    tx: Transaction,
    selected: Sequence[Subscription],
    at: datetime | None,
    resting: Collection[str],
    *,
    every: bool,
) -> list[tuple[Subscription, SubscriptionState]]:
    """Return those of which a digest may be due at a time, with their states, but not the resting.

    Without a time, all. With `every`, `selected` is all that are configured.
    """
    states = subscriptions.states(tx, None if every else [s.name for s in selected], at)
    awake = {name for name in states if incidents.subscription(name) not in resting}
    return [(s, states[s.name]) for s in selected if s.name in awake] if awake else []


def find_next_due(
    subscription: Subscription, state: SubscriptionState, now: datetime
) -> Iterator[NextDue]:
    """Yield when a subscription of which nothing is due has to be looked at again.

    A paused one is always looked at: the store does not know of pauses.
    """
    if now <= pause_end(subscription):
        return
    if subscription.schedule.immediately:
        after = now + LOOK_AGAIN
    else:
        after = next_due(
            subscription.schedule, subscription.settings.timezone, _last_slot(subscription, state)
        ).due_at
    yield state, subscription.settings.schedule, subscription.settings.timezone, after


def set_next_due(runtime: Runtime, entries: Sequence[NextDue]) -> None:
    """Note when subscriptions have to be looked at again."""
    if entries:
        with runtime.database.writing() as tx:
            subscriptions.set_next_due(tx, entries)


def find_slot(
    runtime: Runtime,
    subscription: Subscription,
    state: SubscriptionState,
    now: datetime,
    early: bool,
) -> Slot | None:
    """Return the slot of which a digest is due, or with `early` the next one; None if paused."""
    if now <= pause_end(subscription):
        return None
    after = _last_slot(subscription, state)
    if subscription.schedule.immediately:
        with runtime.database.reading() as tx:
            if not matches.has_fresh(tx, subscription.name, now):
                return None
            return Slot(str(digests.count(tx, subscription.name) + 1), now)
    if early:
        return next_due(subscription.schedule, subscription.settings.timezone, max(after, now))
    return latest_due(subscription.schedule, subscription.settings.timezone, after, now)


def _last_slot(subscription: Subscription, state: SubscriptionState) -> datetime:
    """Return the time after which the next slot is to be found."""
    # After a change of zone, what is due still counts from the last slot: no date is skipped.
    first = max(state.first_seen, state.in_force_since) - MOMENT
    last = max(state.first_seen - MOMENT, state.last_due_at or first)
    return max(last, pause_end(subscription))


def pause_end(subscription: Subscription) -> datetime:
    """Return the last moment of a pause; long ago without one."""
    if subscription.settings.pause_until is None:
        return datetime.min.replace(tzinfo=UTC)
    zone = ZoneInfo(subscription.settings.timezone)
    start = datetime.combine(subscription.settings.pause_until, time.min, zone)
    return start.astimezone(UTC) - MOMENT
