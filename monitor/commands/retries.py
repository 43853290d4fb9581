"""Open deliveries that were tried: why they were not sent, and when they are tried again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from monitor.model import Delivery, DeliveryState
from monitor.pipeline.runtime import Runtime
from monitor.store.digests.incidents import Incident, down_groups


class Retry(NamedTuple):
    """Why a delivery was not sent, and when it is tried again, None at the next attempt."""

    error: str
    at: datetime | None


def next_try(runtime: Runtime, delivery: Delivery, down: Mapping[str, Incident]) -> Retry | None:
    """Return why an open delivery waits, None for one that is not open or was not tried.

    `down` are the incidents of outage groups that are down: a delivery of such a group counts as
    tried.
    """
    if delivery.state not in (DeliveryState.PLANNED, DeliveryState.RETRY):
        return None
    channel = runtime.channels.get(delivery.channel)
    outage = down.get(channel.outage_group) if channel else None
    if not outage and not delivery.error:
        return None
    times = delivery.next_attempt_at, outage.next_try_at if outage else None
    at = max(filter(None, times), default=None)
    return Retry(delivery.error or (outage.error if outage else ""), at)


def next_tries(runtime: Runtime, listed: Iterable[Delivery]) -> dict[int, Retry]:
    """Return why each of these deliveries waits that was tried, by id."""
    with runtime.database.reading() as tx:
        down = down_groups(tx)
    tries = {delivery.id: next_try(runtime, delivery, down) for delivery in listed}
    return {id: retry for id, retry in tries.items() if retry}
