"""What may go wrong, by the names under which it is recorded, told and ended."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.pipeline.parts import Parts
from monitor.store import runs

CONFIGURATION = "configuration"

FAILING = "failing"
HELD = "held"
FAULTY = "faulty"
NOT_COMPOSED = "not composed"
REFUSED = "refused"
GAP = runs.GAP


def said(kind: str) -> str:
    """Return what is told of a subject: that it is failing, or has a gap."""
    return "has a gap" if kind == GAP else f"is {kind}"


def source(name: str) -> str:
    return f"source {name}"


def subscription(name: str) -> str:
    return f"subscription {name}"


def recipient(channel: str, address: str) -> str:
    return f"{channel} to {address}"


def subjects(parts: Parts, living: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return all subjects that the configuration in force may have incidents of.

    `living` are (subscription, channel, recipient).
    """
    return {
        CONFIGURATION,
        *map(source, parts.sources),
        *(subscription(told.name) for told in parts.subscriptions),
        *(channel.line for channel in parts.channels.values()),
        *(recipient(channel, address) for _, channel, address in living),
    }
