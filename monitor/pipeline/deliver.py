"""Deliver: claim, send with no transaction open, record at once; no outage group stops another."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count

import structlog

from monitor.channels import retry_policy
from monitor.errors import StoreError
from monitor.log import masked
from monitor.model import Delivery, DeliveryState, Outcome
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import freeze, incidents
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.settle_deliveries import settle_unknown, time_down
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Together, Transaction

log = structlog.get_logger()


# How many outage groups are sent to at a time, so that servers which hang hold up no others.
AT_ONCE = 40


def deliver(runtime: Runtime, *, ignore_backoff: bool = False) -> list[Delivery]:
    """Send the deliveries that are planned or due for another try, a thread an outage group.

    Returns those that were attempted, as they now stand, without their bodies. `ignore_backoff`
    tries groups that rest, as after a repair. An interrupt (Ctrl-C) lets hand-offs under way end,
    and begins no other.
    """
    groups = runtime.outage_groups
    at_once = max(1, min(len(groups), AT_ONCE))
    with ThreadPoolExecutor(at_once, thread_name_prefix="deliver") as pool:
        job = partial(deliver_group, runtime, ignore_backoff=ignore_backoff)
        try:
            attempted = [id for sent in pool.map(job, groups) for id in sent.ids]
        except KeyboardInterrupt:
            runtime.stopping.set()
            log.warning("finishing work in progress")
            raise
    with runtime.database.reading() as tx:
        return deliveries.with_ids(tx, attempted)


def are_open(runtime: Runtime, group: str, more_than: int = 0) -> bool:
    """Return whether more than this number of deliveries can be sent in an outage group now."""
    return _waiting(runtime, _names(runtime, group), more_than + 1) > more_than


@dataclass(frozen=True, slots=True)
class Attempted:
    """The deliveries that were attempted, by id; `is_cut` where a limit may have left others."""

    ids: list[int]
    is_cut: bool = False


def deliver_group(
    runtime: Runtime,
    group: str,
    *,
    ignore_backoff: bool = False,
    most: int | None = None,
    seconds: float | None = None,
) -> Attempted:
    """Send all that waits in one outage group, until it is done, down, or the service stops.

    A process does one round of a group at a time. `most` is how many are attempted, and `seconds`
    for how long another one is begun, None for no limit.
    """
    until = None if seconds is None else time.monotonic() + seconds
    names = _names(runtime, group)
    settle_unknown(runtime, group, names)
    with runtime.database.reading() as tx:
        if not ignore_backoff and group in stored_incidents.resting(
            tx, IncidentKind.DOWN, runtime.clock.now(), runtime.config_hash
        ):
            return Attempted([])
        swallows = _swallows(tx, group)
    ids: list[int] = []
    if swallows:
        ids = Round(runtime, group, names, 1, most, until, until_sent=True).send_all().ids
        with runtime.database.reading() as tx:
            if _swallows(tx, group):
                return Attempted(ids)
    server = runtime.mail_server(group)
    at_once = _waiting(runtime, names, server.connections if server else 1)
    left = None if most is None else most - len(ids)
    rest = Round(runtime, group, names, at_once, left, until).send_all()
    return replace(rest, ids=ids + rest.ids)


def _swallows(tx: Transaction, group: str) -> bool:
    """Say whether the last hand-offs of a group had no clear end: then one at a time is tried."""
    return stored_incidents.unclear(tx, group) >= retry_policy.UNCLEAR_LIMIT


def _names(runtime: Runtime, group: str) -> set[str]:
    return {channel.name for channel in runtime.outage_groups.get(group, ())}


def _waiting(runtime: Runtime, names: Collection[str], most: int) -> int:
    with runtime.database.reading() as tx:
        return outbox.waiting(tx, runtime.clock.now(), names, most)


# How many deliveries are claimed ahead for each that is sent at a time.
CLAIMED_PER_SENDER = 4
# Seconds between attempts to record an outcome that the store did not take.
RECORD_RETRY_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120)


@dataclass(eq=False)
class Round:
    """One round of an outage group: threads that each claim, send and record one delivery a time.

    What they write at the same time shares a commit. It still stands, as if each had its own,
    before the last byte leaves and before the next delivery is claimed.
    """

    # The channels, and the owner that claims deliveries.
    runtime: Runtime
    # The name of the outage group.
    group: str
    # The names of the group's channels.
    names: Collection[str]
    # The number of threads; 0 sends nothing.
    at_once: int
    # How many deliveries are attempted, None for no limit.
    most: int | None
    # The monotonic time after which no delivery is begun, None for no limit.
    until: float | None
    # The first success ends the round: the last hand-offs of the group had no clear outcome.
    until_sent: bool = False
    # The ids of deliveries whose attempt has ended.
    attempted: list[int] = field(default_factory=list)

    # Counts the deliveries that are begun, for `most`.
    _begun: Iterator[int] = field(default_factory=count)
    # Deliveries that are claimed and not begun; the end of the round puts them back.
    _claimed: list[Delivery] = field(default_factory=list)
    # Guards `_claimed`, the record of an outage, and the turns at a server with a limit a minute.
    _claiming: threading.Lock = field(default_factory=threading.Lock)
    # Once it is set, no thread begins another delivery.
    _over: threading.Event = field(default_factory=threading.Event)
    # A limit ended the round, so that deliveries may be left.
    _is_cut: bool = False
    # An outage was recorded: it counts once, however many threads noticed it.
    _is_down: bool = False
    # The error of that outage, with which waiting tests fail; "" for none.
    _outage_error: str = ""

    def __post_init__(self) -> None:
        self._together = Together(self.runtime.database, expected=self.at_once // 2)
        self._outage = Subject(SubjectKind.OUTAGE_GROUP, self.group)
        with self.runtime.database.reading() as tx:
            self._wrong = {incident.subject for incident in stored_incidents.open_incidents(tx)}

    def send_all(self) -> Attempted:
        """Send in as many threads as are allowed."""
        try:
            if self.at_once == 1:
                self.run()
            elif self.at_once:
                with ThreadPoolExecutor(self.at_once, thread_name_prefix=self.group) as pool:
                    list(pool.map(lambda _: self.run(), range(self.at_once)))
        finally:
            self._let_go()
        return Attempted(self.attempted, self._is_cut and not self._over.is_set())

    def run(self) -> None:
        """Send until nothing is left, or another thread has ended the round."""
        try:
            while self._goes_on() and (delivery := self._claim()):
                pause = max(self._seconds_left(delivery.channel), self._take_turn())
                if pause > 0 and self.runtime.stopping.wait(pause):
                    self._claimed.append(delivery)
                    break
                outcome = self._send(delivery)
                apart = self.runtime.channels[delivery.channel].min_interval
                if apart:
                    self.runtime.not_before[self.group, delivery.channel] = time.monotonic() + apart
                self.attempted.append(delivery.id)
                self._record_surely(delivery, outcome)
        except BaseException:
            self._over.set()
            raise

    def _let_go(self) -> None:
        left = [delivery.id for delivery in self._claimed]
        if left or self._outage_error:
            owner = self.runtime.owner.id
            now = self.runtime.clock.now()
            with self.runtime.database.writing() as tx:
                outbox.put_back(tx, left, owner, now)
                if self._outage_error:
                    outbox.fail_tests(tx, self.names, owner, self._outage_error, now)

    def _goes_on(self) -> bool:
        if self._over.is_set() or self.runtime.stopping.is_set():
            return False
        late = self.until is not None and time.monotonic() >= self.until
        if late or (self.most is not None and next(self._begun) >= self.most):
            self._is_cut = True
        return not self._is_cut

    def _claim(self) -> Delivery | None:
        """Return the next delivery; several are claimed at a time where several are sent so."""
        with self._claiming:
            if not self._claimed:
                free = {name for name in self.names if self._seconds_left(name) <= 0}
                self._claimed = self._claim_on(free) if free else []
                if not self._claimed and len(free) < len(self.names):
                    self._claimed = self._claim_on(self.names)
            return self._claimed.pop(0) if self._claimed else None

    def _claim_on(self, names: Collection[str]) -> list[Delivery]:
        now = self.runtime.clock.now()
        owner = self.runtime.owner.id
        ahead = 1 if self.at_once <= 1 else CLAIMED_PER_SENDER * self.at_once
        with self.runtime.database.writing() as tx:
            return outbox.claim(tx, owner, now, names, ahead)

    def _seconds_left(self, channel: str) -> float:
        """Return the seconds until a channel may be sent to; a next round knows them, too."""
        return self.runtime.not_before.get((self.group, channel), 0.0) - time.monotonic()

    def _take_turn(self) -> float:
        server = self.runtime.mail_server(self.group)
        if server is None or not server.per_minute:
            return 0.0
        with self._claiming:
            pause = max(self._seconds_left(""), 0.0)
            turn = time.monotonic() + pause
            self.runtime.not_before[self.group, ""] = turn + 60 / server.per_minute
        return pause

    def _send(self, delivery: Delivery) -> Outcome:
        handed_off = False

        def commit_handoff() -> bool:
            nonlocal handed_off
            handed_off = self._together.write(self._hand_off, delivery.id)
            return handed_off

        try:
            return self.runtime.channels[delivery.channel].send(delivery, commit_handoff)
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
            # Once the last byte was about to leave, it may have arrived.
            state = DeliveryState.UNKNOWN if handed_off else DeliveryState.RETRY
            return Outcome(state, error, retry_after=retry_policy.AFTER_FAULT)

    def _hand_off(self, tx: Transaction, ids: Sequence[int]) -> Sequence[bool]:
        ours = outbox.commit_handoff(tx, ids, self.runtime.owner.id, self.runtime.clock.now())
        return [id in ours for id in ids]

    def _record_surely(self, delivery: Delivery, outcome: Outcome) -> None:
        """Hold on to an answer until the store takes it: a 250 forgotten would be sent again.

        A disk that is full or a store that is locked stops this group meanwhile (K10, K11).
        """
        for tries, pause in enumerate(RECORD_RETRY_SECONDS):
            try:
                self._record(delivery, outcome)
            except StoreError as fault:
                if not tries:
                    log.error("outcome not recorded yet", delivery=delivery.id, error=str(fault))
                if self.runtime.stopping.wait(pause):
                    break
            else:
                if tries:
                    log.warning("outcome recorded", delivery=delivery.id, tries=tries + 1)
                return
        self._record(delivery, outcome)

    def _record(self, delivery: Delivery, outcome: Outcome) -> None:
        # Other outcomes stand whatever a channel says of itself: what may have arrived is unknown.
        if outcome.split:
            freeze.split(self.runtime, delivery, outcome.split)
        elif outcome.channel_down and outcome.state is DeliveryState.RETRY:
            self._put_back(delivery, outcome.error)
        else:
            self._together.write(self._record_batch, (delivery, outcome))
        log_delivery(delivery, outcome)

    def _put_back(self, delivery: Delivery, error: str) -> None:
        """Let a delivery wait as before. The outage counts once, however many threads met it."""
        self._over.set()
        with self._claiming:
            with self.runtime.database.writing() as tx:
                now = self.runtime.clock.now()
                outbox.unclaim(tx, delivery.id, self.runtime.owner.id, error, now)
                if not self._is_down:
                    self._open_outage(tx, error, now)
            self._is_down = True

    def _record_batch(
        self, tx: Transaction, tried: Sequence[tuple[Delivery, Outcome]]
    ) -> Sequence[None]:
        runtime = self.runtime
        now = self.runtime.clock.now()
        alike = defaultdict[tuple[Outcome, datetime | None], list[tuple[Delivery, Outcome]]](list)
        for delivery, outcome in tried:
            down = time_down(tx, self.group, delivery, now)
            decided, at = retry_policy.decide(delivery, outcome, now, runtime.settings.retry, down)
            # A test that might succeed later has failed, but its recipient was not refused.
            judged = outcome if delivery.is_test else decided
            alike[replace(decided, reference=""), at].append((delivery, judged))
        for (unnamed, at), deliveries_alike in alike.items():
            known_as = {delivery.id: outcome.reference for delivery, outcome in deliveries_alike}
            owner = runtime.owner.id
            recorded = outbox.record(tx, known_as, owner, unnamed, now, at)
            for delivery, outcome in deliveries_alike:
                if delivery.id not in recorded and outcome.state is DeliveryState.SENT:
                    # We were taken for dead while we waited for the answer: now it is known.
                    outbox.settle(tx, delivery.id, outcome, now)
                self._judge(tx, delivery, outcome, now)
                if delivery.id in recorded:
                    self._stop(tx, delivery, outcome, now)
        self._judge_group(tx, [outcome for _, outcome in tried], now)
        return [None] * len(tried)

    def _judge_group(self, tx: Transaction, outcomes: Sequence[Outcome], now: datetime) -> None:
        """A definite answer ends an outage. After too many unknown outcomes, pause the group."""
        unknown = [outcome for outcome in outcomes if outcome.state is DeliveryState.UNKNOWN]
        if len(unknown) < len(outcomes) and self._outage in self._wrong:
            stored_incidents.end_incident(tx, self._outage, IncidentKind.DOWN, now)
        if any(outcome.state is DeliveryState.SENT for outcome in outcomes):
            stored_incidents.reset_unclear(tx, self.group)
            if self.until_sent:
                self._over.set()
        if not unknown:
            return
        count = stored_incidents.add_unclear(tx, self.group, len(unknown))
        if count < retry_policy.UNCLEAR_LIMIT:
            return
        self._over.set()
        # Threads that find it at the same time count once.
        if self.group not in stored_incidents.resting(
            tx, IncidentKind.DOWN, now, self.runtime.config_hash
        ):
            error = f"the last {count} messages handed over had no clear answer"
            self._open_outage(tx, f"{error}: {unknown[-1].error}", now)
            self._wrong.add(self._outage)

    def _open_outage(self, tx: Transaction, error: str, now: datetime) -> None:
        self._outage_error = error
        config_hash = self.runtime.config_hash
        incidents.add_failure(
            tx, self.runtime, self._outage, IncidentKind.DOWN, now, error, config_hash
        )

    def _judge(self, tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
        """A permanent refusal opens an incident; the next success closes it."""
        subject = incidents.recipient_of(delivery)
        if outcome.state is DeliveryState.FAILED:
            stored_incidents.open_incident(tx, subject, IncidentKind.REFUSED, now, outcome.error)
            self._wrong.add(subject)
        elif outcome.state is DeliveryState.SENT and subject in self._wrong:
            stored_incidents.end_incident(tx, subject, IncidentKind.REFUSED, now)

    def _stop(self, tx: Transaction, delivery: Delivery, outcome: Outcome, now: datetime) -> None:
        """Stop what is gone, and an address that two digests found not to exist."""
        kind = IncidentKind.STOPPED
        reason = outcome.error
        apart = retry_policy.REFUSALS_APART
        if outcome.gone:
            kind = IncidentKind.GONE
            is_stopped = suppressions.stop_gone(tx, delivery, reason, now)
        else:
            is_stopped = outcome.address_refused and suppressions.stop_refused(
                tx, delivery, reason, now, apart
            )
        if is_stopped:
            subject = incidents.recipient_of(delivery)
            stored_incidents.replace_incident(tx, subject, IncidentKind.REFUSED, kind, now, reason)
            log.warning("recipient stopped", recipient=masked(delivery.recipient))


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
