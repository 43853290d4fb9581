"""When a delivery is tried again, and when it is given up: pure.

The waits follow RFC 5321 4.5.4.1 in form, but end sooner, since a digest goes stale. If no
recipient has a digest by the subscription's next slot, it moves into the next digest. A delivery
whose hand-off had no clear end may have arrived: it never moves, is handed off once more at most,
and then the operator settles it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from monitor.model import Delivery, DeliveryState, Outcome
from monitor.setting_types import SOME, Duration, Section, Span, Spans

# An unexpected error may come again at once: the delivery waits, so that no loop can spin.
AFTER_FAULT = timedelta(hours=1)

# Wait before reconciling: the server may still be processing the message.
SETTLE_AFTER = timedelta(minutes=15)

# Hand-offs in a row without a clear answer after which an outage group rests.
UNCLEAR_LIMIT = 3

# Two digests whose address does not exist, so far apart, stop it: a day, less the hour of a clock
# change and what sending takes more one day than the other.
REFUSALS_APART = timedelta(hours=22)

# The shortest and longest wait that a server may ask for: within a digest's life.
_LEAST_ASKED = timedelta(seconds=1)
_MOST_ASKED = timedelta(hours=6)


# After a hand-off without a clear end: one more with the same id, or a person's decision.
AfterUnknown = Literal["resend", "hold"]
AFTER_UNKNOWN_WORDS = (
    "after an [uncertain delivery](delivery.md#the-one-further-hand-off): `resend` once, or `hold` "
    "it for you"
)


class RetrySettings(Section):
    """When a delivery is tried again, and how long a channel that is down rests."""

    waits: Annotated[Spans, SOME] = Field(
        tuple(pairwise(timedelta(minutes=minutes) for minutes in (5, 15, 30, 60, 120, 180))),
        description="the wait before each retry, random within the range; the last one repeats",
    )
    give_up: Duration = Field(
        timedelta(hours=48),
        description="how long to retry, for an uncertain mail "
        "[from its first hand-off](delivery.md#the-one-further-hand-off)",
    )
    # The first is so long that a wrong password locks no account.
    rest: Span = Field(
        (timedelta(minutes=5), timedelta(hours=1)),
        description="how long a channel that is down is left alone, first and at most; doubled "
        "each time",
    )

    @property
    def attempts(self) -> int:
        """How many attempts lie within `give_up` even when each wait is the longest.

        These are made in any case: while a channel is down, time passes without attempts.
        """
        *first, last = (most for _, most in self.waits)
        made = 1
        left = self.give_up
        for wait in first:
            if wait > left:
                return made
            made = made + 1
            left = left - wait
        return made + left // last

    def wait(self, delivery_id: int, attempts: int) -> timedelta:
        """Return how long to wait after `attempts` and one more, each time the same."""
        least, most = self.waits[min(attempts, len(self.waits) - 1)]
        jitter = hashlib.sha256(f"{delivery_id}:{attempts}".encode()).digest()[:4]
        return least + (most - least) * (int.from_bytes(jitter) / 2**32)


DEFAULT_RETRY = RetrySettings()


def decide(
    delivery: Delivery,
    outcome: Outcome,
    now: datetime,
    settings: RetrySettings = DEFAULT_RETRY,
    down: timedelta = timedelta(),
) -> tuple[Outcome, datetime | None]:
    """Return the outcome to record of one attempt, and when to make the next, if at all.

    A retry that comes too late fails, and so does that of a test, which is for now: at once.
    `delivery.attempts` counts the attempts made before this one. `down` is how long the
    outage group was down since a hand-off without a clear answer: such a delivery may have arrived,
    and no later refusal says that it did not, so it becomes unknown where another one fails.
    """
    if outcome.state is DeliveryState.UNKNOWN:
        return outcome, now + SETTLE_AFTER
    at = None
    error = outcome.error
    is_for_now = delivery.is_test and delivery.handed_off_at is None
    if outcome.state is DeliveryState.RETRY and not is_for_now:
        at = next_attempt(outcome, delivery, now, settings, down)
        error = f"given up after {delivery.attempts + 1} attempts: {error}"
    if at is not None or outcome.state is DeliveryState.SENT:
        return outcome, at
    if delivery.handed_off_at is None:
        return replace(outcome, state=DeliveryState.FAILED, error=error), None
    error = f"the first hand-off may have arrived; since then: {error}"
    return replace(outcome, state=DeliveryState.UNKNOWN, error=error), now + SETTLE_AFTER


def give_up_at(
    delivery: Delivery, settings: RetrySettings = DEFAULT_RETRY, down: timedelta = timedelta()
) -> datetime:
    """Return when a delivery that may have arrived is given up; `down` time does not count."""
    return (delivery.handed_off_at or delivery.created_at) + settings.give_up + down


def judge_lookup(delivery: Delivery, outcome: Outcome, now: datetime) -> Outcome:
    """Return the outcome to record of a look-up by the channel.

    What is not there yet may be on its way still, when the process died a moment ago: it is looked
    for once more before it is sent again.
    """
    if outcome.state is not DeliveryState.RETRY or outcome.retry_after is None:
        return outcome
    since = delivery.changed_at
    if since is not None and now < since + outcome.retry_after:
        return replace(outcome, state=DeliveryState.UNKNOWN)
    return replace(outcome, retry_after=None)


def next_attempt(
    outcome: Outcome,
    delivery: Delivery,
    now: datetime,
    settings: RetrySettings = DEFAULT_RETRY,
    down: timedelta = timedelta(),
) -> datetime | None:
    """Return when to try again, or None to give up; `attempts` were made before this one.

    A server's wish (`retry_after`) takes the place of our own wait, within 1 second and 6 hours.
    """
    if outcome.retry_after is not None:
        wait = min(max(outcome.retry_after, _LEAST_ASKED), _MOST_ASKED)
    else:
        wait = settings.wait(delivery.id, delivery.attempts)
    if delivery.handed_off_at is not None:
        return now + wait if now + wait < give_up_at(delivery, settings, down) else None
    is_late = now + wait >= delivery.created_at + settings.give_up
    return None if is_late and delivery.attempts + 1 >= settings.attempts else now + wait


def rest(tries: int, settings: RetrySettings = DEFAULT_RETRY) -> timedelta:
    """Return how long an outage group or a failing subscription rests after `tries` (from 1)."""
    first, most = settings.rest
    return min(first * (1 << min(max(tries - 1, 0), 10)), most)
