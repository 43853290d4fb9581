"""When the next digest of a subscription comes, or why none does; compose and all screens ask here.

A recipient has the next digest of their subscription, unless they paused or stopped it. Ask for one
recipient with a subscription that has no others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from monitor.digest.schedule import Slot, latest_due, next_due
from monitor.model import NextDigest, NextKind, Suppression
from monitor.pipeline.runtime import Subscription
from monitor.store.digests import suppressions
from monitor.store.digests.suppressions import ALL, address_of, lasting
from monitor.store.engine.database import Transaction
from monitor.store.topics import subscriptions
from monitor.store.topics.subscriptions import SubscriptionState

# Taken off a start, so that what is due at that very time counts: a subscription made at 08:00 has
# its first digest at 08:00.
MOMENT = timedelta(microseconds=1)


def next_digests(
    tx: Transaction, selected: Collection[Subscription], now: datetime
) -> Mapping[str, NextDigest]:
    """Return the next digest of each subscription, by name."""
    names = [subscription.name for subscription in selected]
    states = subscriptions.states(tx, names)
    rows = by_address(suppressions.listing(tx, now))
    return {one.name: next_digest(one, states.get(one.name), rows, now) for one in selected}


def by_address(rows: Iterable[Suppression]) -> Mapping[str, list[Suppression]]:
    """Return suppressions by the address that they are about."""
    found = defaultdict[str, list[Suppression]](list)
    for row in rows:
        found[address_of(row.recipient)].append(row)
    return found


def next_digest(
    subscription: Subscription,
    state: SubscriptionState | None,
    suppressed: Mapping[str, Collection[Suppression]],
    now: datetime,
) -> NextDigest:
    """Decide when the next digest comes, given the suppressions in force by address.

    1. If each recipient has stopped it, none comes.
    2. During a pause, of the subscription or of each recipient, it is the first after the pause.
    3. A slot that has come and has no digest is that of the next one, also if it was missed.
    4. Otherwise it is the next slot. An early digest takes none.

    `state` is None for a subscription that is new to the store.
    """
    withheld = _withheld(subscription, suppressed)
    if withheld and withheld.until is None:
        return NextDigest(NextKind.STOPPED)
    pauses = [subscription.pause_end] if now <= subscription.pause_end else []
    pauses += [withheld.until - MOMENT] if withheld and withheld.until else []
    schedule = subscription.schedule
    zone = subscription.settings.timezone
    after = last_slot(subscription, state) if state else max(now, subscription.pause_end)
    if pauses:
        end = max(pauses)
        slot = None if schedule.immediately else next_due(schedule, zone, max(end, after))
        return NextDigest(NextKind.PAUSED, slot.due_at if slot else None, end + MOMENT)
    if schedule.immediately:
        return NextDigest(NextKind.IMMEDIATE)
    if slot := latest_due(schedule, zone, after, now):
        return NextDigest(NextKind.DUE, slot.due_at)
    return NextDigest(NextKind.SCHEDULED, next_due(schedule, zone, max(after, now)).due_at)


def _withheld(
    subscription: Subscription, suppressed: Mapping[str, Collection[Suppression]]
) -> Suppression | None:
    """Return the suppression after which a recipient gets digests again, None if one does now."""
    first: Suppression | None = None
    for _, recipient in subscription.recipients:
        rows = suppressed.get(address_of(recipient), ())
        own = lasting(row for row in rows if row.subscription in (ALL, subscription.name))
        if own is None:
            return None
        if first is None or (own.until and (first.until is None or own.until < first.until)):
            first = own
    return first


def last_slot(subscription: Subscription, state: SubscriptionState) -> datetime:
    """Return the time after which the next slot is to be found."""
    # After a change of zone, what is due still counts from the last slot: no date is skipped.
    first = max(state.first_seen, state.in_force_since) - MOMENT
    last = max(state.first_seen - MOMENT, state.last_due_at or first)
    return max(last, subscription.pause_end)


def overdue_slot(
    subscription: Subscription, state: SubscriptionState, before: datetime
) -> Slot | None:
    """Return the last slot before a time for which no digest was composed."""
    after = last_slot(subscription, state)
    zone = subscription.settings.timezone
    return latest_due(subscription.schedule, zone, after, before)
