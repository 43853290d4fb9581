"""Deliver: claim, send with no transaction open, record at once; no line stops another."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Literal

import structlog

from monitor.deliver import policy
from monitor.errors import StoreError
from monitor.model import Channel, Delivery, Outcome, State
from monitor.pipeline import incidents
from monitor.pipeline.pace import Pace
from monitor.pipeline.parts import Parts
from monitor.store import deliveries, owners, runs
from monitor.store.database import Transaction
from monitor.store.together import Together

log = structlog.get_logger()

# So many deliveries are claimed ahead for each that is sent at a time.
AHEAD = 4
# Seconds between attempts to write down an outcome that the store would not take.
RECORD_AGAIN = (1, 2, 5, 10, 20, 30, 60, 120)


def deliver(parts: Parts, *, probe: bool = False) -> list[Delivery]:
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


def are_open(parts: Parts, line: str, more_than: int = 0) -> bool:
    """Say whether more than so many deliveries wait on a line now, to be sent at once."""
    return _waiting(parts, _names(parts, line), more_than + 1) > more_than


def deliver_line(
    parts: Parts, line: str, *, probe: bool = False, most: int | None = None
) -> list[int]:
    """Send all that waits on one line, until it is done, down, or the service stops.

    One round of a line at a time in a process, in which as many are sent at once as
    `Parts.at_once` says; `most` is how many are attempted, None for all. Returns their ids.
    """
    names = _names(parts, line)
    _settle(parts, names)
    with parts.database.reading() as tx:
        if not probe and line in runs.resting(tx, runs.DOWN, parts.clock.now(), parts.mark):
            return []
    at_once = _waiting(parts, names, parts.at_once.get(line, 1))
    sending = _Round(parts, line, names, at_once, most)
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


def _names(parts: Parts, line: str) -> set[str]:
    return {channel.name for channel in parts.lines.get(line, ())}


def _waiting(parts: Parts, names: Collection[str], most: int) -> int:
    with parts.database.reading() as tx:
        return deliveries.waiting(tx, parts.clock.now(), names, most)


class _Round:
    """One round of a line: threads that claim, send and record, one delivery after another.

    What they write at the same time shares a commit. It still stands, as if each had its own,
    before the last byte leaves and before the next delivery is claimed.
    """

    def __init__(
        self, parts: Parts, line: str, names: Collection[str], at_once: int, most: int | None
    ) -> None:
        self.parts = parts
        self.line = line
        self.names = names
        self.attempted: list[int] = []
        self._begun = itertools.count()
        self._most = most
        self._ahead = 1 if at_once <= 1 else AHEAD * at_once
        self._claimed: list[Delivery] = []
        self._claiming = threading.Lock()
        self._pace = Pace(parts, line, names)
        self._over = threading.Event()
        self._is_down = False
        self._together = Together(parts.database, expected=at_once // 2)
        with parts.database.reading() as tx:
            self._wrong = {one.subject for one in runs.open_incidents(tx)}

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
                deliveries.put_back(tx, left, self.parts.owner.id, self.parts.clock.now())

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
        return [
            deliveries.claim(tx, owner, now, channels=names, limit=self._ahead) for names in asked
        ]

    def _send(self, delivery: Delivery) -> Outcome:
        handed_off = False

        def handing_off() -> bool:
            nonlocal handed_off
            handed_off = self._together.write(self._hand_off, delivery.id)
            return handed_off

        try:
            return self.parts.channels[delivery.channel].send(delivery, handing_off)
        except Exception as fault:
            log.exception("delivery failed", delivery=delivery.id, channel=delivery.channel)
            error = f"unexpected {type(fault).__name__}: {fault}"
            # Once the last byte was about to leave, nobody can say whether it did.
            state = State.UNKNOWN if handed_off else State.RETRY
            return Outcome(state, error, retry_after=policy.AFTER_FAULT)

    def _hand_off(self, tx: Transaction, ids: Sequence[int]) -> Sequence[bool]:
        ours = deliveries.handing_off(tx, ids, self.parts.owner.id, self.parts.clock.now())
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
        for pause in RECORD_AGAIN:
            try:
                self._record(delivery, outcome, down)
                return
            except StoreError as fault:
                log.error("outcome not recorded yet", delivery=delivery.id, error=str(fault))
                if self.parts.stopping.wait(pause):
                    break
        self._record(delivery, outcome, down)

    def _record(self, delivery: Delivery, outcome: Outcome, down: bool) -> None:
        if outcome.channel_down:
            self._together.write(self._put_back, (delivery, outcome, down))
        else:
            self._together.write(self._recorded, (delivery, outcome))
        log.info(
            "delivery",
            id=delivery.id,
            channel=delivery.channel,
            state=outcome.state,
            error=outcome.error,
            channel_down=outcome.channel_down,
        )

    def _put_back(
        self, tx: Transaction, tried: Sequence[tuple[Delivery, Outcome, bool]]
    ) -> Sequence[None]:
        """Let wait as before what the line was down for."""
        parts, now = self.parts, self.parts.clock.now()
        for delivery, outcome, down in tried:
            deliveries.unclaim(tx, delivery.id, parts.owner.id, outcome.error, now)
            if down:
                told = (self.line, runs.DOWN)
                tries = runs.failed_again(tx, *told, now, outcome.error, parts.mark)
                runs.try_at(tx, *told, now + policy.rest(tries, parts.patience))
        return [None] * len(tried)

    def _recorded(
        self, tx: Transaction, tried: Sequence[tuple[Delivery, Outcome]]
    ) -> Sequence[None]:
        parts, now = self.parts, self.parts.clock.now()
        alike: dict[policy.Decided, list[tuple[Delivery, Outcome]]] = defaultdict(list)
        for delivery, outcome in tried:
            decided = policy.decide(delivery, outcome, now, parts.patience)
            unnamed = replace(decided, outcome=replace(decided.outcome, reference=""))
            alike[unnamed].append((delivery, decided.outcome))
        for decided, some in alike.items():
            known_as = {delivery.id: outcome.reference for delivery, outcome in some}
            owner = parts.owner.id
            recorded = deliveries.record(tx, known_as, owner, decided.outcome, now, decided.at)
            for delivery, outcome in some:
                if delivery.id not in recorded and outcome.state is State.SENT:
                    # We were taken for dead while we waited for the answer: now it is known.
                    deliveries.settle(tx, delivery.id, outcome, now)
                self._judge(tx, delivery, outcome, now)
        if self.line in self._wrong:
            runs.end_incident(tx, self.line, runs.DOWN, now)
        return [None] * len(tried)

    def _judge(self, tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
        """A recipient refused for good is the operator's to mend; the next success ends it."""
        subject = incidents.recipient(delivery.channel, delivery.recipient)
        if outcome.state is State.FAILED:
            runs.open_incident(tx, subject, incidents.REFUSED, now, outcome.error)
            self._wrong.add(subject)
        elif outcome.state is State.SENT and subject in self._wrong:
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
        found = _reconciled(channel, delivery, now)
        found = found or policy.unsure(delivery, resend=channel.line in parts.resends)
        with parts.database.writing() as tx:
            if found is None:
                asked_again = Outcome(State.UNKNOWN, delivery.error, retry_after=policy.ASK_AFTER)
                deliveries.settle(tx, delivery.id, asked_again, now)
                incidents.unclear(tx, parts, delivery, now)
            else:
                deliveries.settle(tx, delivery.id, found, now)
                incidents.cleared(tx, delivery, now)


def resolve(parts: Parts, delivery_id: int, fate: Literal["sent", "resend"]) -> None:
    """Settle an unknown delivery by hand. Raises UsageError for one that is not unknown."""
    now = parts.clock.now()
    with parts.database.writing() as tx:
        deliveries.resolve(tx, delivery_id, fate, now)
        incidents.cleared(tx, deliveries.get(tx, delivery_id), now)


def _reconciled(channel: Channel, delivery: Delivery, now: datetime) -> Outcome | None:
    try:
        found = channel.reconcile(delivery)
        return policy.looked(delivery, found, now) if found else None
    except Exception:
        log.exception("nothing could be found out", delivery=delivery.id, channel=channel.name)
        return None


def _is_at_it(parts: Parts, owner: str) -> bool:
    """One round at a time: what we still hold at the start of one, an error made us drop."""
    return owner != parts.owner.id and owners.alive(parts.database, owner)
