"""Deliver: claim, send with no transaction open, record at once; no line stops another."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import structlog

from monitor.deliver import policy
from monitor.errors import StoreError
from monitor.model import Channel, Delivery, Outcome, State
from monitor.pipeline import incidents
from monitor.pipeline.parts import Parts
from monitor.store import deliveries, owners, runs
from monitor.store.database import Transaction

log = structlog.get_logger()

# Seconds between attempts to write down an outcome that the store would not take.
RECORD_AGAIN = (1, 2, 5, 10, 20, 30, 60, 120)


def deliver(parts: Parts, *, probe: bool = False) -> list[Delivery]:
    """Send what is planned or due for another try, each line in a thread of its own.

    Returns the deliveries that were attempted, as they now stand. `probe` tries lines that are
    down without waiting for their time: a person asks for it, having mended something. Whoever
    waits for this and is interrupted (Ctrl-C) ends the hand-offs under way and begins no other.
    """
    lines = {channel.line for channel in parts.channels.values()}
    with ThreadPoolExecutor(max(1, len(lines)), thread_name_prefix="deliver") as pool:
        jobs = [pool.submit(deliver_line, parts, line, probe=probe) for line in lines]
        try:
            attempted = [delivery_id for job in jobs for delivery_id in job.result()]
        except KeyboardInterrupt:
            parts.stopping.set()
            raise
    with parts.database.reading() as tx:
        return [deliveries.get(tx, delivery_id) for delivery_id in sorted(attempted)]


def are_open(parts: Parts, line: str, more_than: int = 0) -> bool:
    """Say whether more than so many deliveries wait on a line now, to be sent at once."""
    now = parts.clock.now()
    with parts.database.reading() as tx:
        return deliveries.are_waiting(tx, now, _names(parts, line), more_than)


def deliver_line(
    parts: Parts, line: str, *, probe: bool = False, most: int | None = None
) -> list[int]:
    """Send all that waits on one line, until it is done, down, or the service stops.

    One round of a line at a time in a process; `most` is how many it attempts, None for all.
    Returns the ids of what was attempted.
    """
    names = _names(parts, line)
    _settle(parts, names)
    attempted: list[int] = []
    with parts.database.reading() as tx:
        if not probe and line in runs.lines_down(tx, parts.clock.now(), parts.mark):
            return attempted
    while not parts.stopping.is_set() and (most is None or len(attempted) < most):
        now = parts.clock.now()
        with parts.database.writing() as tx:
            claimed = deliveries.claim(tx, parts.owner.id, now, channels=names, limit=1)
        if not claimed:
            break
        [delivery] = claimed
        outcome = _send(parts, delivery)
        attempted.append(delivery.id)
        _record_surely(parts, line, delivery, outcome)
        if outcome.channel_down:
            break
    return attempted


def _names(parts: Parts, line: str) -> set[str]:
    return {name for name, channel in parts.channels.items() if channel.line == line}


# ── one attempt ─────────────────────────────────────────────────────────────────────


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


def _record_surely(parts: Parts, line: str, delivery: Delivery, outcome: Outcome) -> None:
    """Hold on to an answer until the store takes it: a 250 forgotten would be sent again.

    A disk that is full or a store that is locked stops this line meanwhile (K10, K11).
    """
    for pause in RECORD_AGAIN:
        try:
            _record(parts, line, delivery, outcome)
            return
        except StoreError as fault:
            log.error("outcome not recorded yet", delivery=delivery.id, error=str(fault))
            if parts.stopping.wait(pause):
                break
    _record(parts, line, delivery, outcome)


def _record(parts: Parts, line: str, delivery: Delivery, outcome: Outcome) -> None:
    now = parts.clock.now()
    with parts.database.writing() as tx:
        if outcome.channel_down:
            deliveries.unclaim(tx, delivery.id, parts.owner.id, outcome.error, now)
            tries = runs.line_down(tx, line, now, outcome.error, parts.mark)
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


def _judge(tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """A recipient that is refused for good is the operator's to mend; the next success ends it."""
    subject = incidents.recipient(delivery.channel, delivery.recipient)
    if outcome.state is State.FAILED:
        runs.open_incident(tx, subject, incidents.REFUSED, now, outcome.error)
    elif outcome.state is State.SENT:
        runs.end_incident(tx, subject, incidents.REFUSED, now)


# ── what was left open ──────────────────────────────────────────────────────────────


def _settle(parts: Parts, names: Collection[str]) -> None:
    """Free what dead owners held on these channels, and find out about what nobody knows.

    A channel that can look (Slack's history) is asked; e-mail is sent again once, the same
    bytes under the same Message-ID, unless the configuration says to hold.
    """
    now = parts.clock.now()
    with parts.database.writing() as tx:
        deliveries.release_dead(tx, lambda owner: _is_at_it(parts, owner), now, names)
        unsure = [one for one in deliveries.unknown(tx, now) if one.channel in names]
    for delivery in unsure:
        channel = parts.channels[delivery.channel]
        found = _reconciled(channel, delivery)
        found = found or policy.unsure(delivery, resend=channel.line in parts.resends)
        found = found or Outcome(State.UNKNOWN, delivery.error, retry_after=policy.ASK_AFTER)
        with parts.database.writing() as tx:
            deliveries.settle(tx, delivery.id, found, now)


def _reconciled(channel: Channel, delivery: Delivery) -> Outcome | None:
    try:
        return channel.reconcile(delivery)
    except Exception:
        log.exception("nothing could be found out", delivery=delivery.id, channel=channel.name)
        return None


def _is_at_it(parts: Parts, owner: str) -> bool:
    """One round at a time: what we still hold at the start of one, an error made us drop."""
    return owner != parts.owner.id and owners.alive(parts.database, owner)
