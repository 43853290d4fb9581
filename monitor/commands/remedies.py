"""Requests to the service about a problem: read now, try again, send a test.

Each only notes in the store what is due; the service does it at its next tick, and without one
the next `paper-monitor run`.
"""

from __future__ import annotations

from monitor.errors import UsageError
from monitor.model import Notice
from monitor.pipeline import freeze
from monitor.pipeline.runtime import Destination, Runtime, Subscription
from monitor.store.digests import deliveries, outbox
from monitor.store.digests import incidents as stored_incidents
from monitor.store.digests.suppressions import address_of, suppressed_addresses
from monitor.store.sources import reading_state


def read_now(runtime: Runtime, name: str) -> None:
    """Let a source be read before its time. Raises UsageError where its server asked to wait."""
    address, now = runtime.sources[name].address, runtime.clock.now()
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
            outbox.retry(tx, delivery_id, now)
        channel = runtime.channels.get(deliveries.get(tx, delivery_id).channel)
        if channel:
            stored_incidents.end_rest(tx, channel.outage_group, now)


def retry_group(runtime: Runtime, group: str) -> None:
    with runtime.database.writing() as tx:
        stored_incidents.end_rest(tx, group, runtime.clock.now())


def notice_of_test(runtime: Runtime) -> Notice:
    lines = ("This is a test. Digests will reach you this way.",)
    now, zone = runtime.clock.now(), runtime.settings.timezone
    return Notice("A test message from Paper Monitor", lines, now, timezone=zone)


def reached(runtime: Runtime, subscription: Subscription) -> list[Destination]:
    """Return the destinations of a subscription without the recipients that are suppressed."""
    with runtime.database.reading() as tx:
        suppressed = suppressed_addresses(tx, subscription.name, runtime.clock.now())
    return [
        Destination(d.channel, tuple(to for to in d.recipients if address_of(to) not in suppressed))
        for d in subscription.destinations
    ]


def plan_tests(runtime: Runtime, name: str) -> None:
    """Plan a test to each recipient of a subscription that is not suppressed.

    Raises UsageError for an unknown name, and where there is no recipient.
    """
    [subscription] = runtime.subscriptions_named([name])
    now, wanted = runtime.clock.now(), reached(runtime, subscription)
    if not any(destination.recipients for destination in wanted):
        raise UsageError("Nobody would get this test: all its recipients are stopped.")
    period = f"{now:%Y-%m-%dT%H:%M:%S}"
    freeze.freeze_notice(runtime, notice_of_test(runtime), f"{outbox.TEST}{name}", period, wanted)
    for destination in wanted:
        retry_group(runtime, runtime.channels[destination.channel].outage_group)
