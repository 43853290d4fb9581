"""What is wrong at this moment: incidents, late digests, a store that cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from shutil import disk_usage
from zoneinfo import ZoneInfo

from monitor.channels import retry_policy
from monitor.commands.heartbeat import ALIVE, SERVICE
from monitor.commands.upcoming import count_papers, is_paused, local
from monitor.digest.schedule import latest_due
from monitor.errors import StoreError
from monitor.model import (
    Delivery,
    DeliveryState,
)
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.pipeline.settle_deliveries import is_handed_off_again
from monitor.store import heartbeats, matches, uncertain_deliveries, undecided, unsent_matches
from monitor.store import incidents as stored_incidents
from monitor.store.database import Database, Transaction
from monitor.store.subscriptions import SubscriptionState

# How long after its time a digest is late: a cron of one's own may come some time after the slot,
# a service waits for the first look at every source.
LATE = timedelta(hours=2)
LATE_FOR_SERVICE = timedelta(minutes=20)
MB = 1024 * 1024
# With less free beside a SQLite store, digests and papers may not be stored any more.
NEARLY_FULL = 20 * MB
# How to say that an incident has lasted for some time; the others "have been" their kind.
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
    said = _in_zone(zone or "UTC")
    problems = [
        *_list_incidents(tx, runtime, now, said),
        *_find_silence(tx, said),
        *_find_unmatched(tx, now, said),
        *_find_undecided(tx, runtime, said),
    ]
    late = LATE_FOR_SERVICE if _is_served(tx) else LATE
    for one in runtime.subscriptions:
        problems += _find_overdue(tx, one, states.get(one.name), now, late, zone)
    return problems


def present_problems(runtime: Runtime, *, probe: bool = True) -> list[str]:
    """Return what is wrong outside the store's records; with `probe` the store is written to."""
    unwritable = _find_unwritable(runtime.database) if probe else ()
    return [*_list_parked(runtime), *_list_template_faults(runtime), *unwritable]


def _list_incidents(
    tx: Transaction, runtime: Runtime, now: datetime, said: Callable[[datetime], str]
) -> Iterator[str]:
    """Yield the open incidents and the uncertain deliveries."""
    for one in stored_incidents.open_incidents(tx):
        if one.kind == incidents.UNCLEAR:
            continue  # each uncertain delivery is listed below
        retry = f"; next attempt at {said(one.next_try)}" if one.next_try else ""
        state = _LASTING.get(one.kind, f"has been {one.kind}")
        yield f"{one.subject} {state} since {said(one.since)}: {one.error}{retry}"
    for delivery in uncertain_deliveries.listing(tx):
        yield _describe_uncertain(delivery, is_sent_again(tx, runtime, delivery, now))


def _in_zone(zone: str) -> Callable[[datetime], str]:
    def said(at: datetime) -> str:
        return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"

    return said


def _find_silence(tx: Transaction, said: Callable[[datetime], str]) -> Iterator[str]:
    """A service that once ran on this store and does not now; by the real clock, as its beat."""
    last = heartbeats.last_beat(tx, SERVICE)
    if last is not None and datetime.now(UTC) - last > ALIVE:
        yield f"the service has given no sign of life since {said(last)}"


def _is_served(tx: Transaction) -> bool:
    last = heartbeats.last_beat(tx, SERVICE)
    return last is not None and datetime.now(UTC) - last <= ALIVE


def _find_unmatched(
    tx: Transaction, now: datetime, said: Callable[[datetime], str]
) -> Iterator[str]:
    """Papers are matched with the run that reads them, so none waits for long."""
    since = matches.unmatched_since(tx)
    if since is not None and since < now - LATE_FOR_SERVICE:
        yield f"papers have been waiting to be matched since {said(since)}"


def _find_undecided(
    tx: Transaction, runtime: Runtime, said: Callable[[datetime], str]
) -> Iterator[str]:
    """Records that an error kept from being stored, of each source that is configured."""
    for name, (count, since) in undecided.counts(tx).items():
        if name in runtime.sources:
            records = "1 record" if count == 1 else f"{count:,} records"
            yield (
                f"source {name} has had {records} that could not be decided since {said(since)};"
                " `paper-monitor papers undecided` lists them"
            )


def _find_overdue(
    tx: Transaction,
    subscription: Subscription,
    state: SubscriptionState | None,
    now: datetime,
    late: timedelta,
    zone: str,
) -> Iterator[str]:
    """News that has waited for longer than its slot, and a slot that nobody composed for."""
    if state is None or is_paused(subscription, now):
        return
    if subscription.schedule.immediately:
        since = unsent_matches.waits_since(tx, subscription.name, now)
        if since is not None and since < now - late:
            said = _in_zone(zone or "UTC")
            yield f"papers have been waiting for {subscription.name} since {said(since)}"
        return
    after = max(state.first_seen, state.last_due_at or state.in_force_since)
    slot = latest_due(subscription.schedule, subscription.settings.timezone, after, now - late)
    if slot is not None:
        waiting = unsent_matches.waiting(tx, subscription.name, now)
        papers = f"; {count_papers(waiting)} in it" if waiting else ""
        due = local(slot.due_at, zone or subscription.settings.timezone)
        yield f"the digest of {subscription.name} was due {due} and has not been composed{papers}"


def _find_unwritable(database: Database) -> Iterator[str]:
    """A store that takes no write, or soon will not: nothing is sent that cannot be recorded."""
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
        return  # the user has none
    for fault in runtime.templates.faults():
        yield f"template {fault.file}:{fault.line}: {fault.message}"


def is_sent_again(tx: Transaction, runtime: Runtime, delivery: Delivery, now: datetime) -> bool:
    """Say whether what may have arrived is sent once more by itself, and needs no person."""
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
