"""The state of sources, subscriptions and deliveries, and why a digest was not sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec

from monitor.commands.problems import present_problems, stored_problems
from monitor.commands.upcoming import count_papers, is_paused, local, next_slot
from monitor.model import (
    Delivery,
    DeliveryState,
    Run,
    SourceReport,
    SourceWarning,
)
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store import (
    deliveries,
    digests,
    runs,
    subscriptions,
    suppressions,
    undecided,
    unsent_matches,
)
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction
from monitor.store.subscriptions import SubscriptionState


class SourceStatus(msgspec.Struct, frozen=True):
    """A source, the last attempt to read it, and how many of its records could not be decided."""

    name: str
    outcome: str
    last_run: datetime | None
    seen: int
    new: int
    failing_since: datetime | None
    error: str
    troubles: tuple[SourceWarning, ...]
    undecided: int


class SubscriptionStatus(msgspec.Struct, frozen=True):
    """A subscription: what is due next, what was sent last, and why nothing was sent.

    `timezone` is that of the subscription, and of times in `why` where no other was asked for.
    """

    name: str
    timezone: str
    next_due: datetime | None
    last_period: str
    last_papers: int
    waiting: int
    why: str


class Status(msgspec.Struct, frozen=True):
    ok: bool
    sources: tuple[SourceStatus, ...]
    subscriptions: tuple[SubscriptionStatus, ...]
    deliveries: dict[str, int]
    problems: tuple[str, ...]
    suppressions: int


class Last(msgspec.Struct, frozen=True):
    """The newest digest of a subscription and what became of it."""

    digest: digests.Accounted
    deliveries: tuple[Delivery, ...]


def status(runtime: Runtime, *, probe: bool = True, zone: str = "") -> Status:
    """Return the state of everything: what was recorded, and what is wrong now.

    With `probe`, whether the store can be written is tried. Times in sentences are in `zone`;
    without one in that of the subscription or in UTC.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
        counts = deliveries.counts(tx)
        suppressed = suppressions.count(tx, now)
        states = subscriptions.states(tx)
        rests = {one.subject: one.next_try for one in stored_incidents.open_incidents(tx)}
        reports = tuple(
            _subscription(tx, runtime, s, states.get(s.name), rests, now, zone)
            for s in runtime.subscriptions
        )
        read = {report.source: report for report in _read(tx, runtime, now)}
        kept = {name: count for name, (count, _) in undecided.counts(tx).items()}
        problems = stored_problems(tx, runtime, states, now, zone)
    problems += present_problems(runtime, probe=probe)
    return Status(
        ok=not problems,
        sources=tuple(
            _source(name, last.get(name), read[name], kept.get(name, 0)) for name in runtime.sources
        ),
        subscriptions=reports,
        deliveries={str(state): count for state, count in counts.items()},
        problems=tuple(problems),
        suppressions=suppressed,
    )


def _read(tx: Transaction, runtime: Runtime, now: datetime) -> tuple[SourceReport, ...]:
    return runs.report(tx, runtime.sources, now - timedelta(days=1), now)


def _source(name: str, last: Run | None, report: SourceReport, undecided: int) -> SourceStatus:
    return SourceStatus(
        name=name,
        outcome=last.outcome if last else "never read",
        last_run=last.finished if last else None,
        seen=report.seen,
        new=report.new,
        failing_since=report.failing_since,
        error=report.error,
        troubles=report.troubles,
        undecided=undecided,
    )


def _subscription(
    tx: Transaction,
    runtime: Runtime,
    subscription: Subscription,
    state: SubscriptionState | None,
    rests: Mapping[str, datetime | None],
    now: datetime,
    zone: str,
) -> SubscriptionStatus:
    found = digests.latest_account(tx, subscription.name)
    last = Last(found, tuple(deliveries.of_digest(tx, found.id))) if found else None
    waiting = unsent_matches.waiting(tx, subscription.name, now) if state else 0
    due = next_slot(subscription, state, now)
    return SubscriptionStatus(
        name=subscription.name,
        timezone=subscription.settings.timezone,
        next_due=due,
        last_period=last.digest.period if last else "",
        last_papers=last.digest.papers if last else 0,
        waiting=waiting,
        why=_why(
            runtime, subscription, last, due, rests, now, zone or subscription.settings.timezone
        ),
    )


def _why(
    runtime: Runtime,
    subscription: Subscription,
    last: Last | None,
    due: datetime | None,
    rests: Mapping[str, datetime | None],
    now: datetime,
    zone: str,
) -> str:
    """Return a sentence on what was sent last, or why nothing was."""
    if is_paused(subscription, now):
        return f"paused until {subscription.settings.pause_until}"
    if last is None:
        when = f"is due {local(due, zone)}" if due else "is sent with the first match"
        return f"no digest yet: the first {when}"
    blind = _describe_unread(last.digest.report)
    if not last.digest.papers:
        read = sum(report.new for report in last.digest.report)
        return f"nothing matched in {last.digest.period}: none of {read} new papers did{blind}"
    wanted = [d for d in last.deliveries if d.withheld_at is None]
    unsent = [d for d in wanted if d.state is not DeliveryState.SENT]
    if last.deliveries and not wanted:
        return f"digest {last.digest.period} will not be sent: {last.deliveries[0].error}"
    if unsent:
        return _describe_unsent(runtime, unsent[0], zone, rests)
    verb = "was" if last.digest.papers == 1 else "were"
    return f"{count_papers(last.digest.papers)} {verb} sent for {last.digest.period}{blind}"


_FATE = {
    DeliveryState.FAILED: "could not be sent",
    DeliveryState.UNKNOWN: "may or may not have arrived",
    DeliveryState.SUPPRESSED: "will not be sent",
    DeliveryState.SUPERSEDED: "was not delivered; its papers are in the next digest",
    DeliveryState.CLAIMED: "is being sent",
    DeliveryState.HANDING_OFF: "is being sent",
}


def _describe_unsent(
    runtime: Runtime, delivery: Delivery, zone: str, rests: Mapping[str, datetime | None]
) -> str:
    """Say what becomes of a delivery, and when it is tried again, in the zone of its row."""
    channel = runtime.channels.get(delivery.channel)
    line = channel.outage_group if channel else ""
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


def _describe_unread(report: Iterable[SourceReport]) -> str:
    """Name the sources that could not be read, and those that did not bring what they should."""
    notes = [f"{r.source} was not read" for r in report if r.failing_since]
    notes += [f"{r.source} {incidents.describe(t.kind)}" for r in report for t in r.troubles]
    return "".join(f"; {one}" for one in notes)
