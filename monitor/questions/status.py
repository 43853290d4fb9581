"""How things stand, and why nothing came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from monitor.deliver import policy
from monitor.digest.due import latest_due, next_due
from monitor.model import (
    Delivery,
    Digest,
    Run,
    SourceReport,
    State,
    Trouble,
)
from monitor.pipeline import Parts, Subscription, incidents
from monitor.questions.alive import ALIVE, SERVICE
from monitor.store import beats, deliveries, digests, runs
from monitor.store.database import Transaction
from monitor.store.subscriptions import SubscriptionState

# A cron of one's own may come some time after the slot.
LATE = timedelta(hours=2)


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
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionStatus:
    """A subscription: what is due next, what went out last, and why nothing came."""

    name: str
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


def status(parts: Parts) -> Status:
    """Say how all stands, from the store alone."""
    now = parts.clock.now()
    with parts.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
        counts = deliveries.counts(tx)
        states = digests.states(tx)
        subscriptions = tuple(
            _subscription(tx, s, states.get(s.name), now) for s in parts.subscriptions
        )
        read = {told.source: told for told in _read(tx, parts, now)}
        problems = [*_recorded(tx, parts, now), *_silence(tx)]
    for told in parts.subscriptions:
        problems += _overdue(told, states.get(told.name), now)
    problems += _parked(parts)
    return Status(
        ok=not problems,
        sources=tuple(_source(name, last.get(name), read[name]) for name in parts.sources),
        subscriptions=subscriptions,
        deliveries={str(state): count for state, count in counts.items()},
        problems=tuple(problems),
    )


def _read(tx: Transaction, parts: Parts, now: datetime) -> tuple[SourceReport, ...]:
    return runs.report(tx, parts.sources, now - timedelta(days=1), now)


def _recorded(tx: Transaction, parts: Parts, now: datetime) -> Iterator[str]:
    """What went wrong and has not ended, and of what nobody knows whether it arrived."""
    for one in runs.open_incidents(tx):
        if one.kind == incidents.UNCLEAR:
            continue  # said of each delivery below
        said = f"{one.subject} {incidents.said(one.kind)}"
        yield f"{said} since {one.since:%Y-%m-%d %H:%M} UTC: {one.error}"
    for delivery in deliveries.listing(tx, [State.UNKNOWN]):
        yield _unsure(delivery, is_sent_again(parts, delivery, now))


def _silence(tx: Transaction) -> Iterator[str]:
    """A service that once ran on this store and does not now; by the real clock, as its beat."""
    last = beats.last_beat(tx, SERVICE)
    if last is not None and datetime.now(UTC) - last > ALIVE:
        yield f"the service has given no sign of life since {last:%Y-%m-%d %H:%M} UTC"


def _overdue(told: Subscription, state: SubscriptionState | None, now: datetime) -> Iterator[str]:
    """A slot that passed and nobody composed for: neither a service nor a cron was there."""
    if state is None or told.schedule.immediately or _is_paused(told, now):
        return
    after = max(state.first_seen, state.last_due_at or state.in_force_since)
    slot = latest_due(told.schedule, told.timezone, after, now - LATE)
    if slot is not None:
        due = _local(slot.due_at, told.timezone)
        yield f"the digest of {told.name} was due {due} and nothing has composed it"


def _is_paused(told: Subscription, now: datetime) -> bool:
    today = now.astimezone(ZoneInfo(told.timezone)).date()
    return told.pause_until is not None and today < told.pause_until


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


def is_sent_again(parts: Parts, delivery: Delivery, now: datetime) -> bool:
    """Say whether a delivery of unknown end is sent once more by itself, and needs no person."""
    channel, at = parts.channels.get(delivery.channel), delivery.next_attempt_at
    if channel is None or (at is not None and at > now + policy.ASK_AFTER):
        return False
    return policy.unsure(delivery, resend=channel.line in parts.resends) is not None


def _unsure(delivery: Delivery, sent_again: bool) -> str:
    what = f"{delivery.subscription} {delivery.period}, {delivery.channel} to {delivery.recipient}"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend` settles it"
    if sent_again:
        kept = f"`paper-monitor deliveries resolve {delivery.id} sent`"
        settle = f"it is sent once more by itself, the same, unless you say {kept}"
    return f"delivery {delivery.id} ({what}) may or may not have arrived: {settle}"


def _parked(parts: Parts) -> list[str]:
    errors = parts.in_force.index(parts.topics).errors
    return [f"topic {name} is parked: {fault.message}" for name, fault in errors.items()]


def _subscription(
    tx: Transaction, told: Subscription, state: SubscriptionState | None, now: datetime
) -> SubscriptionStatus:
    found = digests.latest(tx, told.name)
    last = Last(found[1], tuple(deliveries.of_digest(tx, found[0]))) if found else None
    waiting = digests.waiting(tx, told.name, now) if state else 0
    due = None if told.schedule.immediately else _next(told, state, now)
    return SubscriptionStatus(
        name=told.name,
        next_due=due,
        last_period=last.digest.period if last else "",
        last_papers=last.digest.papers if last else 0,
        waiting=waiting,
        why=_why(told, last, due, now),
    )


def _next(told: Subscription, state: SubscriptionState | None, now: datetime) -> datetime:
    last = state.last_due_at if state and state.last_due_at else now
    return next_due(told.schedule, told.timezone, max(last, now)).due_at


def _why(told: Subscription, last: Last | None, due: datetime | None, now: datetime) -> str:
    """Say in a sentence why nothing came, or that something did."""
    if _is_paused(told, now):
        return f"paused until {told.pause_until}"
    if last is None:
        when = f"is due {_local(due, told.timezone)}" if due else "comes with the first match"
        return f"no digest yet: the first {when}"
    read = sum(report.new for report in last.digest.report)
    blind = _blind(last.digest.report)
    if not last.digest.papers:
        return f"nothing matched in {last.digest.period}: of {read} new papers none met{blind}"
    unsent = [d for d in last.deliveries if d.state is not State.SENT]
    if unsent:
        first = unsent[0]
        because = f": {first.error}" if first.error else ""
        return f"the digest of {last.digest.period} is {first.state} on {first.channel}{because}"
    return f"{last.digest.papers} papers were sent for {last.digest.period}{blind}"


def _blind(report: Iterable[SourceReport]) -> str:
    """Name the sources that could not be read, and those that did not bring what they should."""
    said = [f"{r.source} was not read" for r in report if r.failing_since]
    said += [f"{r.source} {incidents.said(t.kind)}" for r in report for t in r.troubles]
    return "".join(f"; {one}" for one in said)


def _local(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M}"
