"""Requests to the service about a problem: read now, try again, send a test.

Each only notes in the store what is due; the service does it at its next tick, and without one
the next `paper-monitor run`. `send_tests` does it at once, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count

from monitor.commands.status import will_be_sent_again
from monitor.commands.suppressions import describe_stopped
from monitor.digest.wording import format_moment, zone_name
from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, Notice
from monitor.model.delivery import TEST
from monitor.pipeline import freeze
from monitor.pipeline.deliver import deliver_group
from monitor.pipeline.match import sync_subscriptions
from monitor.pipeline.runtime import Destination, Runtime, Subscription
from monitor.store.digests import deliveries, outbox
from monitor.store.digests import incidents as stored_incidents
from monitor.store.digests.suppressions import address_of, suppressed_addresses
from monitor.store.engine.database import Transaction
from monitor.store.sources import reading_state


def read_now(runtime: Runtime, name: str) -> None:
    """Let a source be read before its time. Raises UsageError where its server asked to wait."""
    address = runtime.sources[name].address
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        state = reading_state.source_state(tx, name, address)
        if state.waits_until and state.waits_until > now:
            raise UsageError(
                "Its server asked not to be asked again yet.",
                f"It is read from {state.waits_until:%Y-%m-%d %H:%M} UTC on: {state.waits_for}",
            )
        reading_state.must_wait(tx, name, address, now, reading_state.READ_NOW)


def retry_delivery(runtime: Runtime, delivery_id: int) -> None:
    """Let a delivery be sent now, in an outage group that rests, too; render what has no text.

    Raises UsageError if that might send it twice.
    """
    now = runtime.clock.now()
    is_rendered = freeze.render_again(runtime, delivery_id)
    with runtime.database.writing() as tx:
        if not is_rendered:
            outbox.retry(tx, delivery_id, now, _sent_again(tx, runtime, delivery_id, now))
        channel = runtime.channels.get(deliveries.get(tx, delivery_id).channel)
        if channel:
            stored_incidents.end_rest(tx, channel.outage_group, now)


def _sent_again(tx: Transaction, runtime: Runtime, delivery_id: int, now: datetime) -> str:
    """Return when an unknown delivery is sent again automatically, "" if it is not."""
    delivery = deliveries.get(tx, delivery_id)
    is_unknown = delivery.state is DeliveryState.UNKNOWN
    if not is_unknown or not will_be_sent_again(tx, runtime, delivery, now):
        return ""
    at = delivery.next_attempt_at
    zone = runtime.settings.timezone
    return f"at {format_moment(at, zone)} ({zone_name(zone)})" if at else "at the next run"


def retry_group(runtime: Runtime, group: str) -> None:
    with runtime.database.writing() as tx:
        stored_incidents.end_rest(tx, group, runtime.clock.now())


def reached(runtime: Runtime, subscription: Subscription) -> list[Destination]:
    """Return the destinations of a subscription without the recipients that are suppressed."""
    with runtime.database.reading() as tx:
        suppressed = suppressed_addresses(tx, subscription.name, runtime.clock.now())
    return [
        Destination(d.channel, tuple(to for to in d.recipients if address_of(to) not in suppressed))
        for d in subscription.destinations
    ]


def plan_tests(runtime: Runtime, name: str) -> int:
    """Plan a test to each recipient of a subscription that is not suppressed; return its digest.

    Raises UsageError for an unknown name, and where there is no recipient.
    """
    [subscription] = runtime.subscriptions_named([name])
    wanted = reached(runtime, subscription)
    if not any(destination.recipients for destination in wanted):
        stopped = "; ".join(describe_stopped(runtime, subscription=name))
        raise UsageError("Nobody would get this test: all its recipients are stopped.", stopped)
    digest_id = _freeze_test(runtime, name, wanted)
    for group in _groups(runtime, wanted):
        retry_group(runtime, group)
    return digest_id


def send_tests(runtime: Runtime, names: Sequence[str] = ()) -> list[Delivery]:
    """Plan tests of the named subscriptions, or of all, and deliver what waits in their groups.

    Returns them as they now stand. None of them is sent later, but for one that may have arrived.
    Raises UsageError for an unknown name.
    """
    sync_subscriptions(runtime)
    tests = dict[int, str]()
    groups = dict[str, None]()
    channels = set[str]()
    try:
        for subscription in runtime.subscriptions_named(names):
            wanted = reached(runtime, subscription)
            if any(destination.recipients for destination in wanted):
                channels |= {destination.channel for destination in wanted}
                tests[plan_tests(runtime, subscription.name)] = subscription.name
                groups |= _groups(runtime, wanted)
        for group in groups:
            deliver_group(runtime, group, ignore_backoff=True)
    finally:
        with runtime.database.writing() as tx:
            owner = runtime.owner.id
            now = runtime.clock.now()
            outbox.fail_tests(tx, channels, owner, "not tried before the command ended", now)
    with runtime.database.reading() as tx:
        stored = deliveries.of_digests(tx, tests)
    return [replace(one, subscription=name) for id, name in tests.items() for one in stored[id]]


def _freeze_test(runtime: Runtime, name: str, wanted: Sequence[Destination]) -> int:
    """Store a test; of several in one second, each has a number."""
    now = runtime.clock.now()
    zone = runtime.settings.timezone
    lines = ("This is a test. Digests will reach you this way.",)
    notice = Notice("A test message from Paper Monitor", lines, now, timezone=zone)
    period = f"{now:%Y-%m-%dT%H:%M:%S}"
    periods = (f"{period}-{number}" if number > 1 else period for number in count(1))
    stored = (
        freeze.freeze_notice(runtime, notice, f"{TEST}{name}", one, wanted) for one in periods
    )
    return next(id for id in stored if id is not None)


def _groups(runtime: Runtime, destinations: Sequence[Destination]) -> dict[str, None]:
    """Return the outage groups of destinations that have recipients, each once."""
    used = (entry.channel for entry in destinations if entry.recipients)
    return dict.fromkeys(runtime.channels[channel].outage_group for channel in used)
