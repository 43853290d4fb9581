"""Deliver: claim, send with no transaction open, record at once; no line stops another."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

import structlog

from monitor.channels import retry_policy
from monitor.errors import StoreError
from monitor.log import masked
from monitor.model import Channel, Delivery, DeliveryState, Outcome
from monitor.pipeline import incidents
from monitor.pipeline.rate_limit import Pace
from monitor.pipeline.runtime import Runtime
from monitor.store import deliveries, locks, outage_groups, outbox, uncertain_deliveries
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction
from monitor.store.group_commit import Together

log = structlog.get_logger()

# So many deliveries are claimed ahead for each that is sent at a time.
AHEAD = 4
# Seconds between attempts to write down an outcome that the store would not take.
RECORD_AGAIN = (1, 2, 5, 10, 20, 30, 60, 120)


def deliver(parts: Runtime, *, probe: bool = False) -> list[Delivery]:
    """Send what is planned or due for another try, each line in a thread of its own.

    Returns the deliveries that were attempted, as they now stand. `probe` tries lines that are
    down without waiting for their time: a person asks for it, having mended something. Whoever
    waits for this and is interrupted (Ctrl-C) ends the hand-offs under way and begins no other.
    """
    lines = parts.lines
    with ThreadPoolExecutor(max(1, len(lines)), thread_name_prefix="deliver") as pool:
        jobs = [pool.submit(deliver_line, parts, line, probe=probe) for line in lines]
        try:
            attempted = [delivery_id for job in jobs for delivery_id in job.result()]
        except KeyboardInterrupt:
            parts.stopping.set()
            log.warning("ending what is under way")
            raise
    with parts.database.reading() as tx:
        return [deliveries.get(tx, delivery_id) for delivery_id in sorted(attempted)]


def are_open(parts: Runtime, line: str, more_than: int = 0) -> bool:
    """Say whether more than so many deliveries wait on a line now, to be sent at once."""
    return _waiting(parts, _names(parts, line), more_than + 1) > more_than


def deliver_line(
    parts: Runtime, line: str, *, probe: bool = False, most: int | None = None
) -> list[int]:
    """Send all that waits on one line, until it is done, down, or the service stops.

    One round of a line at a time in a process, in which as many are sent at once as
    `Parts.at_once` says; `most` is how many are attempted, None for all. Returns their ids.
    """
    names = _names(parts, line)
    _settle(parts, line, names)
    with parts.database.reading() as tx:
        if not probe and line in stored_incidents.resting(
            tx, stored_incidents.DOWN, parts.clock.now(), parts.mark
        ):
            return []
        swallows = _swallows(tx, line)
    attempted: list[int] = []
    if swallows:
        attempted = _run(_Round(parts, line, names, 1, most, until_sent=True), line, 1)
        with parts.database.reading() as tx:
            if _swallows(tx, line):
                return attempted
    at_once = _waiting(parts, names, parts.at_once.get(line, 1))
    left = None if most is None else most - len(attempted)
    return attempted + _run(_Round(parts, line, names, at_once, left), line, at_once)


def _swallows(tx: Transaction, line: str) -> bool:
    """Say whether the last hand-offs of a line had no clear end: then one at a time is tried."""
    return outage_groups.unclear(tx, line) >= retry_policy.UNCLEAR_LIMIT


def _run(sending: _Round, line: str, at_once: int) -> list[int]:
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


def _names(parts: Runtime, line: str) -> set[str]:
    return {channel.name for channel in parts.lines.get(line, ())}


def _waiting(parts: Runtime, names: Collection[str], most: int) -> int:
    with parts.database.reading() as tx:
        return outbox.waiting(tx, parts.clock.now(), names, most)


class _Round:
    """One round of a line: threads that claim, send and record, one delivery after another.

    What they write at the same time shares a commit. It still stands, as if each had its own,
    before the last byte leaves and before the next delivery is claimed.
    """

    def __init__(
        self,
        parts: Runtime,
        line: str,
        names: Collection[str],
        at_once: int,
        most: int | None,
        *,
        until_sent: bool = False,
    ) -> None:
        self.parts = parts
        self.line = line
        self.names = names
        self.attempted: list[int] = []
        self._begun = itertools.count()
        self._most = most
        self._until_sent = until_sent
        self._ahead = 1 if at_once <= 1 else AHEAD * at_once
        self._claimed: list[Delivery] = []
        self._claiming = threading.Lock()
        self._pace = Pace(parts, line, names)
        self._over = threading.Event()
        self._is_down = False
        self._together = Together(parts.database, expected=at_once // 2)
        with parts.database.reading() as tx:
            self._wrong = {one.subject for one in stored_incidents.open_incidents(tx)}

    def run(self) -> None:
        """Send until nothing is left; whoever finds the round over tells the others."""
        try:
            while self._goes_on() and (delivery := self._claim()):
                if not self._pace.wait(delivery.channel):
                    self._claimed.append(delivery)
                    break
                outcome = self._send(delivery)
                self._pace.sent(delivery.channel)
                self.attempted.append(delivery.id)
                self._record_surely(delivery, outcome, self._is_first_to_find_it_down(outcome))
        except BaseException:
            self._over.set()
            raise

    def end(self) -> None:
        """Let go of what was claimed ahead and not begun."""
        left = [delivery.id for delivery in self._claimed]
        if left:
            with self.parts.database.writing() as tx:
                outbox.put_back(tx, left, self.parts.owner.id, self.parts.clock.now())

    def _goes_on(self) -> bool:
        if self._over.is_set() or self.parts.stopping.is_set():
            return False
        return self._most is None or next(self._begun) < self._most

    def _claim(self) -> Delivery | None:
        """Return the next delivery; several are claimed at a time where several are sent so."""
        with self._claiming:
            if not self._claimed:
                free = self._pace.free()
                self._claimed = self._claim_on(free) if free else []
                if not self._claimed and len(free) < len(self.names):
                    self._claimed = self._claim_on(self.names)
            return self._claimed.pop(0) if self._claimed else None

    def _claim_on(self, names: Collection[str]) -> list[Delivery]:
        return self._together.write(self._claims, names)

    def _claims(
        self, tx: Transaction, asked: Sequence[Collection[str]]
    ) -> Sequence[list[Delivery]]:
        now, owner = self.parts.clock.now(), self.parts.owner.id
        return [outbox.claim(tx, owner, now, channels=names, limit=self._ahead) for names in asked]

    def _send(self, delivery: Delivery) -> Outcome:
        handed_off = False

        def commit_handoff() -> bool:
            nonlocal handed_off
            handed_off = self._together.write(self._hand_off, delivery.id)
            return handed_off

        try:
            return self.parts.channels[delivery.channel].send(delivery, commit_handoff)
        except Exception as fault:
            expected = isinstance(fault, StoreError)
            log.error(
                "delivery failed",
                delivery=delivery.id,
                channel=delivery.channel,
                error=str(fault),
                exc_info=not expected,
            )
            error = str(fault) if expected else f"unexpected {type(fault).__name__}: {fault}"
            # Once the last byte was about to leave, nobody can say whether it did.
            state = DeliveryState.UNKNOWN if handed_off else DeliveryState.RETRY
            return Outcome(state, error, retry_after=retry_policy.AFTER_FAULT)

    def _hand_off(self, tx: Transaction, ids: Sequence[int]) -> Sequence[bool]:
        ours = outbox.commit_handoff(tx, ids, self.parts.owner.id, self.parts.clock.now())
        return [id in ours for id in ids]

    def _is_first_to_find_it_down(self, outcome: Outcome) -> bool:
        """That the line is down is one try in vain, however many were at it."""
        if not outcome.channel_down:
            return False
        with self._claiming:
            first = not self._is_down
            self._is_down = True
        self._over.set()
        return first

    def _record_surely(self, delivery: Delivery, outcome: Outcome, down: bool) -> None:
        """Hold on to an answer until the store takes it: a 250 forgotten would be sent again.

        A disk that is full or a store that is locked stops this line meanwhile (K10, K11).
        """
        for tries, pause in enumerate(RECORD_AGAIN):
            try:
                self._record(delivery, outcome, down)
            except StoreError as fault:
                if not tries:
                    log.error("outcome not recorded yet", delivery=delivery.id, error=str(fault))
                if self.parts.stopping.wait(pause):
                    break
            else:
                if tries:
                    log.warning("outcome recorded", delivery=delivery.id, tries=tries + 1)
                return
        self._record(delivery, outcome, down)

    def _record(self, delivery: Delivery, outcome: Outcome, down: bool) -> None:
        if outcome.channel_down:
            self._together.write(self._put_back, (delivery, outcome, down))
        else:
            self._together.write(self._recorded, (delivery, outcome))
        log_delivery(delivery, outcome)

    def _put_back(
        self, tx: Transaction, tried: Sequence[tuple[Delivery, Outcome, bool]]
    ) -> Sequence[None]:
        """Let wait as before what the line was down for."""
        parts, now = self.parts, self.parts.clock.now()
        for delivery, outcome, down in tried:
            outbox.unclaim(tx, delivery.id, parts.owner.id, outcome.error, now)
            if down:
                told = (self.line, stored_incidents.DOWN)
                tries = stored_incidents.add_failure(tx, *told, now, outcome.error, parts.mark)
                stored_incidents.set_next_try(
                    tx, *told, now + retry_policy.rest(tries, parts.patience)
                )
        return [None] * len(tried)

    def _recorded(
        self, tx: Transaction, tried: Sequence[tuple[Delivery, Outcome]]
    ) -> Sequence[None]:
        parts, now = self.parts, self.parts.clock.now()
        alike: dict[retry_policy.Decided, list[tuple[Delivery, Outcome]]] = defaultdict(list)
        for delivery, outcome in tried:
            down = _time_down(tx, self.line, delivery, now)
            decided = retry_policy.decide(delivery, outcome, now, parts.patience, down)
            unnamed = replace(decided, outcome=replace(decided.outcome, reference=""))
            alike[unnamed].append((delivery, decided.outcome))
        for decided, some in alike.items():
            known_as = {delivery.id: outcome.reference for delivery, outcome in some}
            owner = parts.owner.id
            recorded = outbox.record(tx, known_as, owner, decided.outcome, now, decided.at)
            for delivery, outcome in some:
                if delivery.id not in recorded and outcome.state is DeliveryState.SENT:
                    # We were taken for dead while we waited for the answer: now it is known.
                    uncertain_deliveries.settle(tx, delivery.id, outcome, now)
                self._judge(tx, delivery, outcome, now)
        self._judge_line(tx, [outcome for _, outcome in tried], now)
        return [None] * len(tried)

    def _judge_line(self, tx: Transaction, outcomes: Sequence[Outcome], now: datetime) -> None:
        """A clear answer ends an outage. Too many hand-offs without one, and the line rests."""
        unclear = [outcome for outcome in outcomes if outcome.state is DeliveryState.UNKNOWN]
        if len(unclear) < len(outcomes) and self.line in self._wrong:
            stored_incidents.end_incident(tx, self.line, stored_incidents.DOWN, now)
        if any(outcome.state is DeliveryState.SENT for outcome in outcomes):
            outage_groups.answered(tx, self.line)
            if self._until_sent:
                self._over.set()
        if not unclear:
            return
        count = outage_groups.add_unclear(tx, self.line, len(unclear))
        if count >= retry_policy.UNCLEAR_LIMIT:
            self._over.set()
            error = f"the last {count} messages handed over had no clear answer"
            self._rest(tx, f"{error}: {unclear[-1].error}", now)

    def _rest(self, tx: Transaction, error: str, now: datetime) -> None:
        """Leave the line alone for a while, once for all who find at the same time that it is."""
        if self.line in stored_incidents.resting(tx, stored_incidents.DOWN, now, self.parts.mark):
            return
        tries = stored_incidents.add_failure(
            tx, self.line, stored_incidents.DOWN, now, error, self.parts.mark
        )
        stored_incidents.set_next_try(
            tx,
            self.line,
            stored_incidents.DOWN,
            now + retry_policy.rest(tries, self.parts.patience),
        )
        self._wrong.add(self.line)

    def _judge(self, tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
        """A recipient refused for good is the operator's to mend; the next success ends it."""
        subject = incidents.recipient(delivery.channel, delivery.recipient)
        if outcome.state is DeliveryState.FAILED:
            stored_incidents.open_incident(tx, subject, incidents.REFUSED, now, outcome.error)
            self._wrong.add(subject)
        elif outcome.state is DeliveryState.SENT and subject in self._wrong:
            stored_incidents.end_incident(tx, subject, incidents.REFUSED, now)


_LEVELS = {DeliveryState.SENT: logging.INFO, DeliveryState.FAILED: logging.ERROR}


def log_delivery(delivery: Delivery, outcome: Outcome) -> None:
    """Log an attempt; the recipient is masked, in the server's answer too."""
    to = masked(delivery.recipient)
    log.log(
        _LEVELS.get(outcome.state, logging.WARNING),
        "delivery",
        id=delivery.id,
        subscription=delivery.subscription,
        period=delivery.period,
        channel=delivery.channel,
        recipient=to,
        state=outcome.state,
        error=outcome.error.replace(delivery.recipient, to) if delivery.recipient else "",
        channel_down=outcome.channel_down,
    )


# ── what was left open ──────────────────────────────────────────────────────────────


def _settle(parts: Runtime, line: str, names: Collection[str]) -> None:
    """Free what dead owners held on these channels, and find out about what nobody knows.

    A channel that can look (Slack's history) is asked; e-mail is handed off once more, the same
    bytes under the same Message-ID, unless the configuration says to hold. What may have arrived
    and is tried for too long stays unknown.
    """
    now = parts.clock.now()
    with parts.database.writing() as tx:
        outbox.release_dead(tx, lambda owner: _is_at_it(parts, owner), now, names)
        for delivery in uncertain_deliveries.to_hand_off_again(tx):
            if delivery.channel in names and now >= _give_up_at(tx, parts, line, delivery, now):
                error = f"the first hand-off may have arrived; given up: {delivery.error}"
                uncertain_deliveries.give_up(tx, delivery.id, error, now)
        unsure = [one for one in uncertain_deliveries.unknown(tx, now) if one.channel in names]
    for delivery in unsure:
        found = _reconciled(parts.channels[delivery.channel], delivery, now)
        with parts.database.writing() as tx:
            if found is not None:
                uncertain_deliveries.settle(tx, delivery.id, found, now)
            elif is_handed_off_again(tx, parts, delivery, now):
                uncertain_deliveries.hand_off_again(tx, delivery.id, now)
            else:
                asked_again = Outcome(
                    DeliveryState.UNKNOWN, delivery.error, retry_after=retry_policy.ASK_AFTER
                )
                uncertain_deliveries.settle(tx, delivery.id, asked_again, now)
                incidents.unclear(tx, parts, delivery, now)
                continue
            incidents.cleared(tx, delivery, now)


def is_handed_off_again(tx: Transaction, parts: Runtime, delivery: Delivery, now: datetime) -> bool:
    """Say whether an uncertain delivery is handed off once more, without a person."""
    channel = parts.channels.get(delivery.channel)
    if channel is None or not incidents.is_written_to(parts, delivery):
        return False
    until = _give_up_at(tx, parts, channel.outage_group, delivery, now)
    resend = channel.outage_group in parts.resends
    return retry_policy.may_hand_off_again(delivery, resend=resend, now=now, until=until)


def _give_up_at(
    tx: Transaction, parts: Runtime, line: str, delivery: Delivery, now: datetime
) -> datetime:
    down = _time_down(tx, line, delivery, now)
    return retry_policy.give_up_at(delivery, parts.patience, down)


def _time_down(tx: Transaction, line: str, delivery: Delivery, now: datetime) -> timedelta:
    """Return how long the line was down since a delivery may have arrived on it."""
    since = delivery.handed_off_at
    return outage_groups.time_down(tx, line, since, now) if since else timedelta()


def resolve(parts: Runtime, delivery_id: int, fate: Literal["sent", "resend"]) -> None:
    """Settle an unknown delivery by hand. Raises UsageError for one that is not unknown."""
    now = parts.clock.now()
    with parts.database.writing() as tx:
        uncertain_deliveries.resolve(tx, delivery_id, fate, now)
        incidents.cleared(tx, deliveries.get(tx, delivery_id), now)


def _reconciled(channel: Channel, delivery: Delivery, now: datetime) -> Outcome | None:
    try:
        found = channel.reconcile(delivery)
        return retry_policy.looked(delivery, found, now) if found else None
    except Exception:
        log.exception("nothing could be found out", delivery=delivery.id, channel=channel.name)
        return None


def _is_at_it(parts: Runtime, owner: str) -> bool:
    """One round at a time: what we still hold at the start of one, an error made us drop."""
    return owner != parts.owner.id and locks.alive(parts.database, owner)
