"""Deliver: claim, send with no transaction open, record at once; no line stops another."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import structlog

from monitor.deliver import policy
from monitor.model import Delivery, Outcome, State
from monitor.pipeline.parts import Parts
from monitor.store import deliveries, owners, runs
from monitor.store.database import Transaction

log = structlog.get_logger()

REFUSED = "refused"


def deliver(parts: Parts, *, probe: bool = False) -> list[Delivery]:
    """Send what is planned or due for another try, each line in a thread of its own.

    Returns the deliveries that were attempted, as they now stand. `probe` tries lines that are
    down without waiting for their time: a person asks for it, having mended something.
    """
    _settle(parts)
    lines: dict[str, set[str]] = {}
    for name, channel in parts.channels.items():
        lines.setdefault(channel.line, set()).add(name)
    with ThreadPoolExecutor(max(1, len(lines)), thread_name_prefix="deliver") as pool:
        jobs = [pool.submit(_line, parts, line, names, probe) for line, names in lines.items()]
        try:
            attempted = [delivery_id for job in jobs for delivery_id in job.result()]
        except KeyboardInterrupt:
            parts.stopping.set()  # the pool waits for the hand-off under way, and for no more
            raise
    with parts.database.reading() as tx:
        return [deliveries.get(tx, delivery_id) for delivery_id in attempted]


def _line(parts: Parts, line: str, channels: Collection[str], probe: bool) -> list[int]:
    """Send all that waits on one line, until it is done, down, or the service stops."""
    attempted: list[int] = []
    with parts.database.reading() as tx:
        if not probe and line in runs.lines_down(tx, parts.clock.now()):
            return attempted
    while not parts.stopping.is_set():
        now = parts.clock.now()
        with parts.database.writing() as tx:
            claimed = deliveries.claim(tx, parts.owner.id, now, channels=channels, limit=1)
        if not claimed:
            break
        [delivery] = claimed
        outcome = _send(parts, delivery)
        attempted.append(delivery.id)
        if not _record(parts, line, delivery, outcome):
            break
    return attempted


def _send(parts: Parts, delivery: Delivery) -> Outcome:
    def handing_off() -> bool:
        with parts.database.writing() as tx:
            return deliveries.handing_off(tx, delivery.id, parts.owner.id, parts.clock.now())

    try:
        return parts.channels[delivery.channel].send(delivery, handing_off)
    except Exception as fault:
        log.exception("delivery failed", delivery=delivery.id, channel=delivery.channel)
        error = f"unexpected {type(fault).__name__}: {fault}"
        return Outcome(_after_fault(parts, delivery), error, retry_after=policy.AFTER_FAULT)


def _after_fault(parts: Parts, delivery: Delivery) -> State:
    """Once the last byte was about to leave, nobody can say whether it did."""
    with parts.database.reading() as tx:
        state = deliveries.get(tx, delivery.id).state
    return State.UNKNOWN if state is State.HANDING_OFF else State.RETRY


def _record(parts: Parts, line: str, delivery: Delivery, outcome: Outcome) -> bool:
    """Write down what became of an attempt, at once; False when the line is down."""
    now = parts.clock.now()
    with parts.database.writing() as tx:
        if outcome.channel_down:
            deliveries.unclaim(tx, delivery.id, parts.owner.id, outcome.error, now)
            tries = runs.line_down(tx, line, now, outcome.error)
            runs.line_try_at(tx, line, now + policy.channel_retry(tries))
        else:
            decided = policy.decide(delivery, outcome, now)
            deliveries.record(tx, delivery.id, parts.owner.id, decided.outcome, now, decided.at)
            runs.end_incident(tx, line, runs.DOWN, now)
            _judge(tx, delivery, decided.outcome, now)
    log.info(
        "delivery",
        id=delivery.id,
        channel=delivery.channel,
        state=outcome.state,
        error=outcome.error,
        channel_down=outcome.channel_down,
    )
    return not outcome.channel_down


def _is_at_it(parts: Parts, owner: str) -> bool:
    """One round at a time: what we still hold at the start of one, an error made us drop."""
    return owner != parts.owner.id and owners.alive(parts.database, owner)


def _judge(tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """A recipient that is refused for good is the operator's to mend; the next success ends it."""
    subject = f"{delivery.channel} to {delivery.recipient}"
    if outcome.state is State.FAILED:
        runs.open_incident(tx, subject, REFUSED, now, outcome.error)
    elif outcome.state is State.SENT:
        runs.end_incident(tx, subject, REFUSED, now)


def _settle(parts: Parts) -> None:
    """Free what dead owners held, and find out about what nobody knows.

    A channel that can look (Slack's history) is asked; e-mail is sent again once, the same
    bytes under the same Message-ID, unless the configuration says to hold.
    """
    now = parts.clock.now()
    with parts.database.writing() as tx:
        deliveries.release_dead(tx, lambda owner: _is_at_it(parts, owner), now)
        open_questions = deliveries.unknown(tx, now)
    for delivery in open_questions:
        channel = parts.channels.get(delivery.channel)
        if channel is None:
            continue
        found = channel.reconcile(delivery)
        found = found or policy.unsure(delivery, resend=channel.line in parts.resends)
        if found is not None:
            with parts.database.writing() as tx:
                deliveries.settle(tx, delivery.id, found, now)
