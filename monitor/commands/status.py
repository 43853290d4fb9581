"""The state of sources, subscriptions and deliveries: what is due, what was sent, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from shutil import disk_usage
from zoneinfo import ZoneInfo

import msgspec

from monitor.channels import retry_policy
from monitor.commands.heartbeat import ALIVE, SERVICE
from monitor.digest.schedule import latest_due, next_due
from monitor.errors import StoreError
from monitor.model import (
    Delivery,
    DeliveryState,
    Run,
    SourceReport,
    SourceWarning,
)
from monitor.pipeline import incidents
from monitor.pipeline.due import chosen
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.pipeline.settle_deliveries import is_handed_off_again
from monitor.store.digests import deliveries, digests, outbox, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine import processes
from monitor.store.engine.database import Database, Transaction
from monitor.store.papers import undecided
from monitor.store.sources import runs
from monitor.store.topics import matches, subscriptions
from monitor.store.topics.subscriptions import SubscriptionState


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

    digest: digests.Listed
    report: tuple[SourceReport, ...]
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
        suppressed = len(suppressions.listing(tx, now))
        states = subscriptions.states(tx)
        rests = {
            incident.subject: incident.next_try_at
            for incident in stored_incidents.open_incidents(tx)
        }
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
    newest = digests.latest_report(tx, subscription.name)
    last = Last(*newest, tuple(deliveries.of_digest(tx, newest[0].id))) if newest else None
    waiting = matches.waiting(tx, subscription.name, now) if state else 0
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
    blind = _describe_unread(last.report)
    if not last.digest.papers:
        read = sum(report.new for report in last.report)
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
    """Return what will become of a delivery, and when it is tried again."""
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
    """Name the sources that could not be read, and those with warnings."""
    notes = [f"{r.source} was not read" for r in report if r.failing_since]
    notes += [f"{r.source} {incidents.describe(t.kind)}" for r in report for t in r.troubles]
    return "".join(f"; {note}" for note in notes)


# How long after its due time a digest is late: cron may run some time later, and a service reads
# every source first.
LATE = timedelta(hours=2)
LATE_FOR_SERVICE = timedelta(minutes=20)
MB = 1024 * 1024
# With less free beside a SQLite store, digests and papers may not be stored any more.
NEARLY_FULL = 20 * MB
# Sentences for incidents; the others "have been" their kind.
_LASTING = {
    incidents.GAP: "has had a gap",
    incidents.JUMPED: "has jumped",
    incidents.NOT_COMPOSED: "has not been composed",
    incidents.NOT_RENDERED: "has been unable to render a digest",
    incidents.REPLACED: "could not be used",
    incidents.SHARED: "has been used by two configurations",
    incidents.UNAVAILABLE: "was unavailable",
}


def stored_problems(
    tx: Transaction,
    runtime: Runtime,
    states: Mapping[str, SubscriptionState],
    now: datetime,
    zone: str = "",
) -> list[str]:
    """Return what the store shows to be wrong: incidents, a silent service, late digests.

    Times are in `zone`; without one in UTC, and those of digests in their subscription's zone.
    """
    format_time = _in_zone(zone or "UTC")
    problems = [
        *_list_incidents(tx, runtime, now, format_time),
        *_find_silence(tx, format_time),
        *_find_unmatched(tx, now, format_time),
        *_find_undecided(tx, runtime, format_time),
    ]
    late = LATE_FOR_SERVICE if _is_served(tx) else LATE
    for subscription in runtime.subscriptions:
        problems += _find_overdue(tx, subscription, states.get(subscription.name), now, late, zone)
    return problems


def present_problems(runtime: Runtime, *, probe: bool = True) -> list[str]:
    """Return what is wrong outside the store's records; with `probe` the store is written to."""
    unwritable = _find_unwritable(runtime.database) if probe else ()
    return [*_list_parked(runtime), *_list_template_faults(runtime), *unwritable]


def _list_incidents(
    tx: Transaction, runtime: Runtime, now: datetime, format_time: Callable[[datetime], str]
) -> Iterator[str]:
    """Yield the open incidents and the uncertain deliveries."""
    for incident in stored_incidents.open_incidents(tx):
        if incident.kind == incidents.UNCLEAR:
            continue  # each uncertain delivery is listed below
        retry = (
            f"; next attempt at {format_time(incident.next_try_at)}" if incident.next_try_at else ""
        )
        state = _LASTING.get(incident.kind, f"has been {incident.kind}")
        since = format_time(incident.since)
        yield f"{incident.subject} {state} since {since}: {incident.error}{retry}"
    for delivery in outbox.list_uncertain(tx):
        yield _describe_uncertain(delivery, is_sent_again(tx, runtime, delivery, now))


def _in_zone(zone: str) -> Callable[[datetime], str]:
    def format_time(at: datetime) -> str:
        return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"

    return format_time


def _find_silence(tx: Transaction, format_time: Callable[[datetime], str]) -> Iterator[str]:
    """Yield a problem if a service once ran on this store and no longer does, by the real clock."""
    last = processes.last_beat(tx, SERVICE)
    if last is not None and datetime.now(UTC) - last > ALIVE:
        yield f"the service has given no sign of life since {format_time(last)}"


def _is_served(tx: Transaction) -> bool:
    last = processes.last_beat(tx, SERVICE)
    return last is not None and datetime.now(UTC) - last <= ALIVE


def _find_unmatched(
    tx: Transaction, now: datetime, format_time: Callable[[datetime], str]
) -> Iterator[str]:
    """Yield a problem if papers wait to be matched: the run that reads them should match them."""
    since = matches.unmatched_since(tx)
    if since is not None and since < now - LATE_FOR_SERVICE:
        yield f"papers have been waiting to be matched since {format_time(since)}"


def _find_undecided(
    tx: Transaction, runtime: Runtime, format_time: Callable[[datetime], str]
) -> Iterator[str]:
    """Yield the count of undecided records of each configured source."""
    for name, (count, since) in undecided.counts(tx).items():
        if name in runtime.sources:
            records = "1 record" if count == 1 else f"{count:,} records"
            yield (
                f"source {name} has had {records} that could not be decided since"
                f" {format_time(since)}; `paper-monitor papers undecided` lists them"
            )


def _find_overdue(
    tx: Transaction,
    subscription: Subscription,
    state: SubscriptionState | None,
    now: datetime,
    late: timedelta,
    zone: str,
) -> Iterator[str]:
    """Yield digests that are overdue, and papers that wait too long for `immediately`."""
    if state is None or is_paused(subscription, now):
        return
    if subscription.schedule.immediately:
        since = matches.waits_since(tx, subscription.name, now)
        if since is not None and since < now - late:
            format_time = _in_zone(zone or "UTC")
            yield f"papers have been waiting for {subscription.name} since {format_time(since)}"
        return
    after = max(state.first_seen, state.last_due_at or state.in_force_since)
    slot = latest_due(subscription.schedule, subscription.settings.timezone, after, now - late)
    if slot is not None:
        waiting = matches.waiting(tx, subscription.name, now)
        papers = f"; {count_papers(waiting)} in it" if waiting else ""
        due = local(slot.due_at, zone or subscription.settings.timezone)
        yield f"the digest of {subscription.name} was due {due} and has not been composed{papers}"


def _find_unwritable(database: Database) -> Iterator[str]:
    """Yield a problem if the store cannot be written, or soon not: then nothing is sent."""
    try:
        database.probe()
    except StoreError as fault:
        yield f"the store cannot be written: {fault}"
        return
    if database.path is not None:
        free = disk_usage(database.path.parent).free
        if free < NEARLY_FULL:
            yield (
                f"the disk is nearly full: {free / MB:.1f} MB free beside the store;"
                " free some space"
            )


def _list_template_faults(runtime: Runtime) -> Iterator[str]:
    if runtime.templates is runtime.fallback_templates:
        return  # there are no user's templates
    for fault in runtime.templates.faults():
        yield f"template {fault.file}:{fault.line}: {fault.message}"


def is_sent_again(tx: Transaction, runtime: Runtime, delivery: Delivery, now: datetime) -> bool:
    """Return whether an uncertain delivery will be sent again without an operator."""
    if delivery.state is DeliveryState.RETRY:
        return True
    at = delivery.next_attempt_at
    held = at is not None and at > now + retry_policy.ASK_AFTER
    return not held and is_handed_off_again(tx, runtime, delivery, now)


def _describe_uncertain(delivery: Delivery, sent_again: bool) -> str:
    what = f"{delivery.subscription} {delivery.period}, {delivery.channel} to {delivery.recipient}"
    settle = f"`paper-monitor deliveries resolve {delivery.id} sent|resend`"
    if sent_again:
        command = f"`paper-monitor deliveries resolve {delivery.id} sent`"
        settle = f"it will be sent again automatically, unless you run {command}"
    return f"delivery {delivery.id} ({what}) may or may not have arrived: {settle}"


def _list_parked(runtime: Runtime) -> list[str]:
    errors = runtime.in_force.errors(runtime.topics)
    return [f"topic {name} is parked: {fault.message}" for name, fault in errors.items()]


# Subscriptions that are listed; each takes a query.
MAX_UPCOMING = 100


def count_papers(count: int) -> str:
    return "1 paper" if count == 1 else f"{count:,} papers"


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The papers that wait for a subscription; `due` is None for `immediately`."""

    subscription: str
    papers: int
    due: datetime | None
    timezone: str
    paused: date | None

    @property
    def sentence(self) -> str:
        papers = f"{count_papers(self.papers)} {'waits' if self.papers == 1 else 'wait'}"
        if self.paused:
            return f"{self.subscription}: {papers}; paused until {self.paused}."
        if self.due is None:
            return f"{self.subscription}: {papers}."
        return f"{self.subscription}: {papers} for {local(self.due, self.timezone)}."


def upcoming(parts: Runtime, names: Sequence[str] = ()) -> list[Upcoming]:
    """Return what waits for the named subscriptions, or for the first 100 of all.

    Raises UsageError for a name that is not configured.
    """
    now = parts.clock.now()
    wanted = chosen(parts, names)[:MAX_UPCOMING]
    with parts.database.reading() as tx:
        states = subscriptions.states(tx, [subscription.name for subscription in wanted])
        return [
            Upcoming(
                subscription.name,
                matches.waiting(tx, subscription.name, now),
                next_slot(subscription, states.get(subscription.name), now),
                subscription.settings.timezone,
                subscription.settings.pause_until if is_paused(subscription, now) else None,
            )
            for subscription in wanted
        ]


def next_slot(
    subscription: Subscription, state: SubscriptionState | None, now: datetime
) -> datetime | None:
    """Return when the next digest is due, None for `immediately`."""
    if subscription.schedule.immediately:
        return None
    last = state.last_due_at if state and state.last_due_at else now
    return next_due(subscription.schedule, subscription.settings.timezone, max(last, now)).due_at


def is_paused(subscription: Subscription, now: datetime) -> bool:
    today = now.astimezone(ZoneInfo(subscription.settings.timezone)).date()
    until = subscription.settings.pause_until
    return until is not None and today < until


def local(at: datetime, zone: str) -> str:
    """Return a moment as a subscriber's clock shows it: Mon 23 Nov 08:00 (Europe/Berlin)."""
    return f"{at.astimezone(ZoneInfo(zone)):%a %-d %b %H:%M} ({zone})"
