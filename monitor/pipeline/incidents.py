"""What may go wrong, by the names under which it is recorded, told and ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from monitor.pipeline.parts import Parts
from monitor.store import runs

# A clock that is set right after a start without a network is often wrong by hours.
MOST_AHEAD = timedelta(days=1)

CONFIGURATION = "configuration"

CLOCK = "clock"

JUMPED = "jumped"
FAILING = "failing"
HELD = "held"
FAULTY = "faulty"
NOT_COMPOSED = "not composed"
REFUSED = "refused"
GAP = runs.GAP


def said(kind: str) -> str:
    """Return what is told of a subject: that it is failing, or has a gap."""
    return {GAP: "has a gap", JUMPED: "has jumped"}.get(kind, f"is {kind}")


def source(name: str) -> str:
    return f"source {name}"


def subscription(name: str) -> str:
    return f"subscription {name}"


def recipient(channel: str, address: str) -> str:
    return f"{channel} to {address}"


def clock_jumped(parts: Parts) -> bool:
    """Say whether the clock went ahead by itself while this process ran.

    To be down for long is no jump, and neither is to sleep: both pass for the clock that counts
    from the machine's start, too.
    """
    return parts.ahead() > MOST_AHEAD


def subjects(parts: Parts, living: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return all subjects that the configuration in force may have incidents of.

    `living` are (subscription, channel, recipient). The clock is one for as long as it is wrong.
    """
    return {
        CONFIGURATION,
        *([CLOCK] if clock_jumped(parts) else []),
        *map(source, parts.sources),
        *(subscription(told.name) for told in parts.subscriptions),
        *parts.lines,
        *(recipient(channel, address) for _, channel, address in living),
    }
