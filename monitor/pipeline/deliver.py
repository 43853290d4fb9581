"""Deliver: claim, send with no transaction open, record at once; no line stops another."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import structlog

from monitor.channels import retry_policy
from monitor.model import Delivery
from monitor.pipeline.delivery_round import Round
from monitor.pipeline.runtime import DeliverContext
from monitor.pipeline.settle_deliveries import settle_open
from monitor.store import deliveries, outage_groups, outbox
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction

log = structlog.get_logger()


def deliver(context: DeliverContext, *, ignore_backoff: bool = False) -> list[Delivery]:
    """Send the deliveries that are planned or due for another try, a thread an outage group.

    Returns those that were attempted, as they now stand, without their bodies. `ignore_backoff`
    tries groups that rest, as after a repair. An interrupt (Ctrl-C) lets hand-offs under way end,
    and begins no other.
    """
    lines = context.outage_groups
    with ThreadPoolExecutor(max(1, len(lines)), thread_name_prefix="deliver") as pool:
        jobs = [
            pool.submit(deliver_line, context, line, ignore_backoff=ignore_backoff)
            for line in lines
        ]
        try:
            attempted = [delivery_id for job in jobs for delivery_id in job.result()]
        except KeyboardInterrupt:
            context.stopping.set()
            log.warning("finishing work in progress")
            raise
    with context.database.reading() as tx:
        return deliveries.with_ids(tx, attempted)


def are_open(context: DeliverContext, line: str, more_than: int = 0) -> bool:
    """Say whether more than so many deliveries wait on a line now, to be sent at once."""
    return _waiting(context, _names(context, line), more_than + 1) > more_than


def deliver_line(
    context: DeliverContext, line: str, *, ignore_backoff: bool = False, most: int | None = None
) -> list[int]:
    """Send all that waits on one line, until it is done, down, or the service stops.

    A process does one round of a line at a time, and sends `at_once` of its deliveries together.
    `most` is how many are attempted, None for all. Returns their ids.
    """
    names = _names(context, line)
    settle_open(context, line, names)
    with context.database.reading() as tx:
        if not ignore_backoff and line in stored_incidents.resting(
            tx, stored_incidents.DOWN, context.clock.now(), context.config_hash
        ):
            return []
        swallows = _swallows(tx, line)
    attempted: list[int] = []
    if swallows:
        attempted = _run(Round(context, line, names, 1, most, until_sent=True), line, 1)
        with context.database.reading() as tx:
            if _swallows(tx, line):
                return attempted
    at_once = _waiting(context, names, context.at_once.get(line, 1))
    left = None if most is None else most - len(attempted)
    return attempted + _run(Round(context, line, names, at_once, left), line, at_once)


def _swallows(tx: Transaction, line: str) -> bool:
    """Say whether the last hand-offs of a line had no clear end: then one at a time is tried."""
    return outage_groups.unclear(tx, line) >= retry_policy.UNCLEAR_LIMIT


def _run(sending: Round, line: str, at_once: int) -> list[int]:
    try:
        if at_once <= 1:
            sending.run()
        else:
            with ThreadPoolExecutor(at_once, thread_name_prefix=line) as pool:
                jobs = [pool.submit(sending.run) for _ in range(at_once)]
            for job in jobs:
                job.result()
    finally:
        sending.end()
    return sending.attempted


def _names(context: DeliverContext, line: str) -> set[str]:
    return {channel.name for channel in context.outage_groups.get(line, ())}


def _waiting(context: DeliverContext, names: Collection[str], most: int) -> int:
    with context.database.reading() as tx:
        return outbox.waiting(tx, context.clock.now(), names, most)
