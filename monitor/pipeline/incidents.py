"""What may go wrong, by the names under which it is recorded, told and ended."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.pipeline.parts import Parts

CONFIGURATION = "configuration"

FAILING = "failing"
FAULTY = "faulty"
NOT_COMPOSED = "not composed"
REFUSED = "refused"


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
