"""When a delivery is tried again, and when it is given up: pure.

An answer is waited for in the queue, never in a sleeping thread. The waits follow RFC 5321
4.5.4.1 in form, but end sooner, since a digest goes stale: the first retry comes after 5 to
30 minutes, the later ones back off to 2 to 3 hours, and all end after 48 hours of trying. What
reached nobody by the subscription's next slot moves into the next digest before that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from monitor.model import Delivery, Outcome, State

# Both must be passed: a channel that is down stops the clock, and no attempts are counted then.
GIVE_UP_AFTER = timedelta(hours=48)
MOST_ATTEMPTS = 20

# An unexpected error may come again at once: the delivery waits, so that no loop can spin.
AFTER_FAULT = timedelta(hours=1)

# What nobody knows is not asked about at once: the server may still be at it.
ASK_AFTER = timedelta(minutes=15)

# Minutes between attempts, from and to; the last pair holds for all later ones.
_WAITS = ((5, 15), (15, 30), (30, 60), (60, 120), (120, 180))

# What a server may ask for: less would hammer it, more would outlive the digest.
_LEAST_ASKED = timedelta(seconds=1)
_MOST_ASKED = timedelta(hours=6)

_CHANNEL_FIRST = timedelta(minutes=5)
_CHANNEL_MOST = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be recorded: `at` is the time of the next attempt, None when there is none."""

    outcome: Outcome
    at: datetime | None


def decide(delivery: Delivery, outcome: Outcome, now: datetime) -> Decided:
    """Turn what one attempt brought into what is recorded; a retry that comes too late fails.

    `delivery.attempts` counts the attempts made before this one.
    """
    if outcome.state is State.UNKNOWN:
        return Decided(outcome, now + ASK_AFTER)
    if outcome.state is not State.RETRY:
        return Decided(outcome, None)
    at = next_attempt(outcome, delivery.id, delivery.attempts, delivery.created_at, now)
    if at is None:
        error = f"given up after {delivery.attempts + 1} attempts: {outcome.error}"
        return Decided(replace(outcome, state=State.FAILED, error=error), None)
    return Decided(outcome, at)


def unsure(delivery: Delivery, *, resend: bool) -> Outcome | None:
    """Say what becomes of a delivery whose end its channel cannot find out.

    `resend` allows one more attempt, never a third, with the same bytes and Message-ID, so that
    receivers may recognise the copy. None: it waits for a person.
    """
    again = resend and not delivery.resent
    return Outcome(State.RETRY, delivery.error) if again else None


def next_attempt(
    outcome: Outcome, delivery_id: int, attempts: int, created_at: datetime, now: datetime
) -> datetime | None:
    """Return when to try again, or None to give up; `attempts` were made before this one.

    A server's wish (`retry_after`) takes the place of our own wait, within 1 second and 6 hours.
    """
    if outcome.retry_after is not None:
        wait = min(max(outcome.retry_after, _LEAST_ASKED), _MOST_ASKED)
    else:
        wait = _wait(delivery_id, attempts)
    late = now + wait >= created_at + GIVE_UP_AFTER
    return None if late and attempts + 1 >= MOST_ATTEMPTS else now + wait


def channel_retry(tries: int) -> timedelta:
    """Return how long a channel rests after `tries` failed attempts (1 or more) to reach it.

    The first rest is long enough that a wrong password does not lock the account.
    """
    doublings = min(max(tries - 1, 0), 10)
    return min(_CHANNEL_FIRST * (1 << doublings), _CHANNEL_MOST)


def _wait(delivery_id: int, attempts: int) -> timedelta:
    low, high = _WAITS[min(attempts, len(_WAITS) - 1)]
    return timedelta(minutes=low + (high - low) * _jitter(delivery_id, attempts))


def _jitter(delivery_id: int, attempts: int) -> float:
    """Return a number from 0 to 1 that is always the same for the same attempt."""
    digest = hashlib.sha256(f"{delivery_id}:{attempts}".encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32
