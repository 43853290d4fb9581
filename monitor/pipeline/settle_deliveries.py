"""Settles deliveries: those that dead processes held, and unknown ones, which may have arrived."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Literal

import structlog

from monitor.channels import retry_policy
from monitor.channels.base import Channel
from monitor.model import Delivery, DeliveryState, Outcome
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import locks
from monitor.store.engine.database import Transaction

log = structlog.get_logger()


def settle_unknown(runtime: Runtime, group: str, names: Collection[str]) -> None:
    """Free deliveries that dead owners held on these channels, and settle unknown ones.

    A channel that can look (Slack's history) is asked. Another one hands off once more, the same
    bytes under the same id, if its `unknown` is `resend`. What may have arrived and is tried for
    too long stays unknown.
    """
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        # Our own claims are left from an earlier round.
        outbox.release_dead(
            tx,
            lambda owner: owner != runtime.owner.id and locks.alive(runtime.database, owner),
            now,
            names,
        )
        suppressions.withhold(tx, now)
        for delivery in deliveries.select(tx, deliveries.IS_HANDED_OFF_AGAIN):
            if delivery.channel in names and now >= _give_up_at(tx, runtime, group, delivery, now):
                error = f"the first hand-off may have arrived; given up: {delivery.error}"
                outbox.give_up(tx, delivery.id, error, now)
        unknown = [one for one in outbox.list_unknown(tx, now) if one.channel in names]
    for delivery in unknown:
        outcome = _reconcile(runtime.channels[delivery.channel], delivery, now)
        with runtime.database.writing() as tx:
            if outcome is not None:
                outbox.settle(tx, delivery.id, outcome, now)
            elif is_handed_off_again(tx, runtime, delivery, now):
                outbox.hand_off_again(tx, delivery.id, now)
            else:
                still_unknown = Outcome(
                    DeliveryState.UNKNOWN, delivery.error, retry_after=retry_policy.SETTLE_AFTER
                )
                outbox.settle(tx, delivery.id, still_unknown, now)
                incidents.open_unclear(tx, runtime, delivery, now)
                continue
            incidents.end_unclear(tx, delivery, now)


def is_handed_off_again(
    tx: Transaction, runtime: Runtime, delivery: Delivery, now: datetime
) -> bool:
    """Return whether an unknown delivery is handed off once more, without a person.

    Never a third time. The bytes and Message-ID are the same: receivers may recognise the copy.
    """
    channel = runtime.channels.get(delivery.channel)
    if channel is None or not incidents.is_written_to(runtime, delivery):
        return False
    until = _give_up_at(tx, runtime, channel.outage_group, delivery, now)
    return channel.unknown == "resend" and not delivery.resent and now < until


def _give_up_at(
    tx: Transaction, runtime: Runtime, group: str, delivery: Delivery, now: datetime
) -> datetime:
    down = time_down(tx, group, delivery, now)
    return retry_policy.give_up_at(delivery, runtime.settings.retry, down)


def time_down(tx: Transaction, group: str, delivery: Delivery, now: datetime) -> timedelta:
    """Return how long a group was down since a delivery may have arrived on it."""
    since = delivery.handed_off_at
    return stored_incidents.time_down(tx, group, since, now) if since else timedelta()


def settle_by_hand(runtime: Runtime, delivery_id: int, fate: Literal["sent", "resend"]) -> None:
    """Settle an unknown delivery by hand. Raises UsageError for one that is not unknown."""
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        outbox.settle_by_hand(tx, delivery_id, fate, now)
        incidents.end_unclear(tx, deliveries.get(tx, delivery_id), now)


def _reconcile(channel: Channel, delivery: Delivery, now: datetime) -> Outcome | None:
    try:
        lookup = channel.reconcile(delivery)
        return retry_policy.judge_lookup(delivery, lookup, now) if lookup else None
    except Exception:
        log.exception("reconciliation failed", delivery=delivery.id, channel=channel.name)
        return None
