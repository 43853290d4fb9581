"""How things stand, and why nothing came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from monitor.channels import retry_policy
from monitor.commands.disk_space import lack_of_room
from monitor.commands.heartbeat import ALIVE, SERVICE
from monitor.commands.upcoming import is_paused, local, next_slot
from monitor.digest.schedule import latest_due
from monitor.errors import StoreError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    Run,
    SourceReport,
    SourceWarning,
)
from monitor.pipeline import Runtime, Subscription, incidents, is_handed_off_again
from monitor.store import deliveries, digests, heartbeats, matches, runs
from monitor.store import incidents as stored_incidents
from monitor.store.database import Database, Transaction
from monitor.store.subscriptions import SubscriptionState

# How long after its time a digest is late: a cron of one's own may come some time after the slot,
# a service waits for the first look at every source.
LATE = timedelta(hours=2)
LATE_FOR_SERVICE = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source and the last attempt to read it."""

    name: str
    outcome: str
    last_run: datetime | None
    seen: int
    new: int
    failing_since: datetime | None
    error: str
    troubles: tuple[SourceWarning, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionStatus:
    """A subscription: what is due next, what went out last, and why nothing came.

    Times in `why` are in `timezone`, that of the subscription.
    """

    name: str
    timezone: str
    next_due: datetime | None
    last_period: str
    last_papers: int
    waiting: int
    why: str


@dataclass(frozen=True, slots=True)
class Status:
    ok: bool
    sources: tuple[SourceStatus, ...]
    subscriptions: tuple[SubscriptionStatus, ...]
    deliveries: dict[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Last:
    """The newest digest of a subscription and what became of it."""

    digest: Digest
    deliveries: tuple[Delivery, ...]


def status(parts: Runtime) -> Status:
    """Say how all stands: what was recorded, and what can be seen to be wrong at this moment."""
    now = parts.clock.now()
    with parts.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
        counts = deliveries.counts(tx)
        states = digests.states(tx)
        rests = {one.subject: one.next_try for one in stored_incidents.open_incidents(tx)}
        subscriptions = tuple(
            _subscription(tx, parts, s, states.get(s.name), rests, now) for s in parts.subscriptions
        )
        read = {told.source: told for told in _read(tx, parts, now)}
        problems = [*_recorded(tx, parts, now), *_silence(tx), *_unmatched(tx, now)]
        late = LATE_FOR_SERVICE if _is_served(tx) else LATE
        for told in parts.subscriptions:
            problems += _overdue(tx, told, states.get(told.name), now, late)
    problems += [*_parked(parts), *_templates(parts), *_unwritable(parts.database)]
    return Status(
        ok=not problems,
        sources=tuple(_source(name, last.get(name), read[name]) for name in parts.sources),
        subscriptions=subscriptions,
        deliveries={str(state): count for state, count in counts.items()},
        problems=tuple(problems),
    )


def _read(tx: Transaction, parts: Runtime, now: datetime) -> tuple[SourceReport, ...]:
    return runs.report(tx, parts.sources, now - timedelta(days=1), now)


def _recorded(tx: Transaction, parts: Runtime, now: datetime) -> Iterator[str]:
    """What went wrong and has not ended, and of what nobody knows whether it arrived."""
    for one in stored_incidents.open_incidents(tx):
        if one.kind == incidents.UNCLEAR:
            continue  # said of each delivery below
        said = f"{one.subject} {incidents.said(one.kind)}"
        again = f"; next attempt at {_utc(one.next_try)}" if one.next_try else ""
        yield f"{said} since {_utc(one.since)}: {one.error}{again}"
    for delivery in deliveries.may_have_arrived(tx):
        yield _unsure(delivery, is_sent_again(tx, parts, delivery, now))


def _utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _silence(tx: Transaction) -> Iterator[str]:
    """A service that once ran on this store and does not now; by the real clock, as its beat."""
    last = heartbeats.last_beat(tx, SERVICE)
    if last is not None and datetime.now(UTC) - last > ALIVE:
        yield f"the service has given no sign of life since {_utc(last)}"


def _is_served(tx: Transaction) -> bool:
    last = heartbeats.last_beat(tx, SERVICE)
    return last is not None and datetime.now(UTC) - last <= ALIVE


def _unmatched(tx: Transaction, now: datetime) -> Iterator[str]:
    """Papers are matched with the run that reads them, so none waits for long."""
    since = matches.unmatched_since(tx)
    if since is not None and since < now - LATE_FOR_SERVICE:
        yield f"papers have been waiting to be matched since {_utc(since)}"


def _overdue(
    tx: Transaction,
    told: Subscription,
    state: SubscriptionState | None,
    now: datetime,
    late: timedelta,
) -> Iterator[str]:
    """News that has waited for longer than its slot, and a slot that nobody composed for."""
    if state is None or is_paused(told, now):
        return
    if told.schedule.immediately:
        since = digests.waits_since(tx, told.name, now)
        if since is not None and since < now - late:
            yield f"papers have been waiting for {told.name} since {_utc(since)}"
        return
    after = max(state.first_seen, state.last_due_at or state.in_force_since)
    slot = latest_due(told.schedule, told.timezone, after, now - late)
    if slot is not None:
        waiting = digests.waiting(tx, told.name, now)
        papers = f"; {_papers(waiting)} in it" if waiting else ""
        due = local(slot.due_at, told.timezone)
        yield f"the digest of {told.name} was due {due} and has not been composed{papers}"


def _unwritable(database: Database) -> Iterator[str]:
    """A store that takes no write, or soon will not: nothing is sent that cannot be recorded."""
    try:
        database.probe()
    except StoreError as fault:
        yield f"the store cannot be written: {fault}"
        return
    lack = lack_of_room(database)
    if lack:
        yield lack


def _templates(parts: Runtime) -> Iterator[str]:
    for fault in parts.templates.faults():
        yield f"template {fault.file}:{fault.line}: {fault.message}"


def _source(name: str, last: Run | None, report: SourceReport) -> SourceStatus:
    return SourceStatus(
        name=name,
        outcome=last.outcome if last else "never read",
        last_run=last.finished if last else None,
        seen=report.seen,
        new=report.new,
        failing_since=report.failing_since,
        error=report.error,
        troubles=report.troubles,
    )


def is_sent_again(tx: Transaction, parts: Runtime, delivery: Delivery, now: datetime) -> bool:
    """Say whether what may have arrived is sent once more by itself, and needs no person."""
    if delivery.state is DeliveryState.RETRY:
        return True
    at = delivery.next_attempt_at
    held = at is not None and at > now + retry_policy.ASK_AFTER
    return not held and is_handed_off_again(tx, parts, delivery, now)


def _unsure(delivery: Delivery, sent_again: bool) -> str:
    what = f"{delivery.subscription} {delivery.period}, {delivery.channel} to {delivery.recipient}"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend` settles it"
    if sent_again:
        kept = f"`paper-monitor deliveries resolve {delivery.id} sent`"
        settle = f"it is sent once more by itself, the same, unless you say {kept}"
    return f"delivery {delivery.id} ({what}) may or may not have arrived: {settle}"


def _parked(parts: Runtime) -> list[str]:
    errors = parts.in_force.index(parts.topics).errors
    return [f"topic {name} is parked: {fault.message}" for name, fault in errors.items()]


def _subscription(
    tx: Transaction,
    parts: Runtime,
    told: Subscription,
    state: SubscriptionState | None,
    rests: Mapping[str, datetime | None],
    now: datetime,
) -> SubscriptionStatus:
    found = digests.latest(tx, told.name)
    last = Last(found[1], tuple(deliveries.of_digest(tx, found[0]))) if found else None
    waiting = digests.waiting(tx, told.name, now) if state else 0
    due = next_slot(told, state, now)
    return SubscriptionStatus(
        name=told.name,
        timezone=told.timezone,
        next_due=due,
        last_period=last.digest.period if last else "",
        last_papers=last.digest.papers if last else 0,
        waiting=waiting,
        why=_why(parts, told, last, due, rests, now),
    )


def _why(
    parts: Runtime,
    told: Subscription,
    last: Last | None,
    due: datetime | None,
    rests: Mapping[str, datetime | None],
    now: datetime,
) -> str:
    """Say in a sentence why nothing came, or that something did."""
    if is_paused(told, now):
        return f"paused until {told.pause_until}"
    if last is None:
        when = f"is due {local(due, told.timezone)}" if due else "comes with the first match"
        return f"no digest yet: the first {when}"
    blind = _blind(last.digest.report)
    if not last.digest.papers:
        read = sum(report.new for report in last.digest.report)
        return f"nothing matched in {last.digest.period}: none of {read} new papers did{blind}"
    unsent = [d for d in last.deliveries if d.state is not DeliveryState.SENT]
    if unsent:
        return _unsent(parts, unsent[0], told.timezone, rests)
    verb = "was" if last.digest.papers == 1 else "were"
    return f"{_papers(last.digest.papers)} {verb} sent for {last.digest.period}{blind}"


def _papers(count: int) -> str:
    return "1 paper" if count == 1 else f"{count:,} papers"


_FATE = {
    DeliveryState.FAILED: "could not be sent",
    DeliveryState.UNKNOWN: "may or may not have arrived",
    DeliveryState.SUPPRESSED: "is not sent any more",
    DeliveryState.SUPERSEDED: "reached nobody; the next digest has its papers",
    DeliveryState.CLAIMED: "is being sent",
    DeliveryState.HANDING_OFF: "is being sent",
}


def _unsent(
    parts: Runtime, delivery: Delivery, zone: str, rests: Mapping[str, datetime | None]
) -> str:
    """Say what becomes of a delivery, and when it is tried again, in the zone of its row."""
    channel = parts.channels.get(delivery.channel)
    line = channel.line if channel else ""
    because = f": {delivery.error}" if delivery.error else ""
    if delivery.state in (DeliveryState.PLANNED, DeliveryState.RETRY):
        at = max(filter(None, (delivery.next_attempt_at, rests.get(line))), default=None)
        when = f"at {_clock(at, zone)}" if at else "at the next attempt"
        verb = "retried" if delivery.state is DeliveryState.RETRY or line in rests else "sent"
        fate = f"will be {verb} by {delivery.channel} {when}"
    else:
        fate = f"{_FATE[delivery.state]} (by {delivery.channel})"
    return f"digest {delivery.period} {fate}{because}"


def _clock(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%H:%M}"


def _blind(report: Iterable[SourceReport]) -> str:
    """Name the sources that could not be read, and those that did not bring what they should."""
    said = [f"{r.source} was not read" for r in report if r.failing_since]
    said += [f"{r.source} {incidents.said(t.kind)}" for r in report for t in r.troubles]
    return "".join(f"; {one}" for one in said)
