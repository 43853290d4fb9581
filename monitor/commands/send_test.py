"""`send-test`: a test message to every recipient of subscriptions. Nothing is recorded."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache

from monitor.channels.base import Channel
from monitor.channels.email.channel import message_id
from monitor.model import Delivery, DeliveryState, Notice, Outcome, Rendered, Step
from monitor.pipeline.due import chosen
from monitor.pipeline.runtime import Runtime
from monitor.store.digests.suppressions import address_of, suppressed_addresses


@dataclass(frozen=True, slots=True)
class SentTest:
    """A test message and its outcome; `steps` are those on the way to its channel."""

    subscription: str
    channel: str
    recipient: str
    outcome: Outcome
    steps: tuple[Step, ...] = ()

    @property
    def state(self) -> DeliveryState:
        """A test is not tried again: what was not sent has failed."""
        settled = self.outcome.state in (DeliveryState.SENT, DeliveryState.UNKNOWN)
        return self.outcome.state if settled else DeliveryState.FAILED

    @property
    def error(self) -> str:
        return self.outcome.error


def send_test(runtime: Runtime, names: Sequence[str] = ()) -> list[SentTest]:
    """Send a test message to every destination of the named subscriptions, all if none is.

    Whoever does not want a subscription gets none.
    """
    now = runtime.clock.now()
    unwanted = _suppressed(runtime, names, now)
    lines = ("This is a test. Digests will reach you this way.",)
    notice = Notice("A test message from Paper Monitor", lines, now)
    steps = cache(lambda name: runtime.channels[name].steps())
    return [
        replace(
            _send(runtime, subscription.name, destination.channel, recipient, notice),
            steps=steps(destination.channel),
        )
        for subscription in chosen(runtime, names)
        for destination in subscription.destinations
        for recipient in destination.recipients
        if address_of(recipient) not in unwanted[subscription.name]
    ]


def _suppressed(runtime: Runtime, names: Sequence[str], now: datetime) -> dict[str, set[str]]:
    with runtime.database.reading() as tx:
        return {
            subscription.name: suppressed_addresses(tx, subscription.name, now)
            for subscription in chosen(runtime, names)
        }


def _send(
    runtime: Runtime, subscription: str, channel_name: str, recipient: str, notice: Notice
) -> SentTest:
    channel = runtime.channels[channel_name]
    outcome = Outcome(DeliveryState.FAILED, "the test message has no text")
    for part in channel.render_notice(notice, runtime.templates):
        delivery = unrecorded_delivery(
            subscription, "test", channel, part, recipient, runtime.sender
        )
        outcome = channel.send(delivery, lambda: True)
    return SentTest(subscription, channel.name, recipient, outcome)


def unrecorded_delivery(
    subscription: str,
    period: str,
    channel: Channel,
    part: Rendered,
    recipient: str = "",
    sender: str = "",
) -> Delivery:
    """Return a delivery that the store never sees."""
    return Delivery(
        id=0,
        digest_id=0,
        subscription=subscription,
        period=period,
        channel=channel.name,
        recipient=recipient or channel.recipients()[0],
        part=part.part,
        state=DeliveryState.PLANNED,
        attempts=0,
        message_id=message_id(secrets.token_hex(12), sender),
        created_at=datetime.now(UTC),
        next_attempt_at=None,
        rendered=part,
    )
