"""What deliveries wait for that were tried in vain, or whose mail server or service is down."""

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
    """Return what an open delivery waits for, None for one that is not open or was not tried.

    `down` are the incidents of outage groups that are down: what waits for one was tried, if not
    with this delivery.
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
    """Return what each delivery waits for that was tried, by its id."""
    with runtime.database.reading() as tx:
        down = down_groups(tx)
    tries = {delivery.id: next_try(runtime, delivery, down) for delivery in listed}
    return {id: retry for id, retry in tries.items() if retry}
