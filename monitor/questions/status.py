"""How things stand, and why nothing came."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from monitor.digest.due import next_due
from monitor.match import TopicIndex
from monitor.model import (
    Delivery,
    Digest,
    Run,
    SourceReport,
    State,
)
from monitor.pipeline import Parts, Subscription
from monitor.store import deliveries, digests, runs
from monitor.store.database import Transaction
from monitor.store.subscriptions import SubscriptionState


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
        incidents = runs.open_incidents(tx)
        counts = deliveries.counts(tx)
        states = digests.states(tx)
        unsure = deliveries.listing(tx, [State.UNKNOWN])
        subscriptions = tuple(
            _subscription(tx, s, states.get(s.name), now) for s in parts.subscriptions
        )
        read = runs.report(tx, parts.sources, now - timedelta(days=1), now)
    problems = [
        f"{one.subject} is {one.kind} since {one.since:%Y-%m-%d %H:%M} UTC: {one.error}"
        for one in incidents
    ]
    problems += [_unsure(delivery) for delivery in unsure]
    problems += _parked(parts)
    failing = {report.source: report for report in read}
    return Status(
        ok=not problems,
        sources=tuple(_source(name, last.get(name), failing[name]) for name in parts.sources),
        subscriptions=subscriptions,
        deliveries={str(state): count for state, count in counts.items()},
        problems=tuple(problems),
    )


def _source(name: str, last: Run | None, report: SourceReport) -> SourceStatus:
    return SourceStatus(
        name=name,
        outcome=last.outcome if last else "never read",
        last_run=last.finished if last else None,
        seen=report.seen,
        new=report.new,
        failing_since=report.failing_since,
        error=report.error,
    )


def _unsure(delivery: Delivery) -> str:
    what = f"{delivery.subscription} {delivery.period}, {delivery.channel} to {delivery.recipient}"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend` settles it"
    return f"delivery {delivery.id} ({what}) may or may not have arrived: {settle}"


def _parked(parts: Parts) -> list[str]:
    errors = TopicIndex({topic.name: topic.query for topic in parts.topics}).errors
    return [f"topic {name} is parked: {fault.message}" for name, fault in errors.items()]


def _subscription(
    tx: Transaction, told: Subscription, state: SubscriptionState | None, now: datetime
) -> SubscriptionStatus:
    found = digests.latest(tx, told.name)
    last = Last(found[1], tuple(deliveries.of_digest(tx, found[0]))) if found else None
    waiting = len(digests.unsent(tx, told.name, now)) if state else 0
    due = None if told.schedule.immediately else _next(told, state, now)
    return SubscriptionStatus(
        name=told.name,
        next_due=due,
        last_period=last.digest.period if last else "",
        last_papers=last.digest.papers if last else 0,
        waiting=waiting,
        why=_why(told, last, due),
    )


def _next(told: Subscription, state: SubscriptionState | None, now: datetime) -> datetime:
    last = state.last_due_at if state and state.last_due_at else now
    return next_due(told.schedule, told.timezone, max(last, now)).due_at


def _why(told: Subscription, last: Last | None, due: datetime | None) -> str:
    """Say in a sentence why nothing came, or that something did."""
    if last is None:
        when = f"is due {_local(due, told.timezone)}" if due else "comes with the first match"
        return f"no digest yet: the first {when}"
    read = sum(report.new for report in last.digest.report)
    failing = [r.source for r in last.digest.report if r.failing_since]
    blind = f"; not read: {', '.join(failing)}" if failing else ""
    if not last.digest.papers:
        return f"nothing matched in {last.digest.period}: of {read} new papers none met{blind}"
    unsent = [d for d in last.deliveries if d.state is not State.SENT]
    if unsent:
        first = unsent[0]
        because = f": {first.error}" if first.error else ""
        return f"the digest of {last.digest.period} is {first.state} on {first.channel}{because}"
    return f"{last.digest.papers} papers were sent for {last.digest.period}{blind}"


def _local(at: datetime, zone: str) -> str:
    return f"{at.astimezone(ZoneInfo(zone)):%a %Y-%m-%d %H:%M}"
