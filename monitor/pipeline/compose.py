"""Compose: what is due becomes a frozen digest, with one delivery for each part and recipient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import structlog

from monitor.channels.retry_policy import rest
from monitor.digest.compose import compose as compose_digest
from monitor.digest.schedule import Slot, late_before, latest_due, next_due
from monitor.errors import MonitorError, StoreBusyError, StoreError, UsageError
from monitor.identity.other_titles import other_titles
from monitor.match import TopicIndex
from monitor.model import Digest, Notice, OtherTitle, UnsentMatch
from monitor.pipeline import incidents
from monitor.pipeline.render import Forms, OnFailure, failing, judge, plan, render, render_again
from monitor.pipeline.runtime import OPERATOR, Destination, Runtime, Subscription
from monitor.store import digests, freeze_digest, papers, runs, subscriptions, unsent_matches
from monitor.store import incidents as stored_incidents
from monitor.store.database import Transaction
from monitor.store.subscriptions import SubscriptionState

log = structlog.get_logger()

# A first digest has no period before it: it accounts for what was read in this time.
FIRST_REPORT = timedelta(days=7)
# Who subscribes at eight is told at eight.
MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Composed:
    """A digest as it was composed. `id` is None when there was nothing to freeze."""

    id: int | None
    digest: Digest


def log_failure(subscription: str, fault: Exception) -> None:
    """Log a store that refused a digest; every other fault is logged where it arises."""
    if isinstance(fault, StoreError):
        log.error("digest not composed", subscription=subscription, error=str(fault))


def raise_store_error(failed: Mapping[str, Exception]) -> None:
    """Raise the first error of the store among the failures of `compose`, if there is one."""
    for fault in failed.values():
        if isinstance(fault, StoreError):
            raise fault


def compose(
    parts: Runtime,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    patient: bool = False,
    on_failure: OnFailure = log_failure,
) -> list[Composed]:
    """Compose what is due of the named subscriptions (all when none is named) and freeze it.

    `match` has put the subscriptions in force before; those of a newer file wait for it.

    With `early` they are composed now, as their next period, if there is anything to tell.
    One subscription that fails never stops the others: `on_failure` gets its name and error. With
    `patient`, for who comes again every few seconds, it rests for a while. Raises UsageError for
    unknown names, StoreBusyError when another process holds the store.
    """
    now = parts.clock.now()
    wanted = chosen(parts, names)
    done: list[Composed] = []
    if incidents.clock_jumped(parts):
        _ask_about_the_clock(parts, now)
        wanted = []
    with parts.database.reading() as tx:
        states = subscriptions.states(tx, [subscription.name for subscription in wanted])
        resting = stored_incidents.resting(tx, incidents.NOT_COMPOSED, now) if patient else set()
        unrendered = failing(stored_incidents.open_incidents(tx))
        unrendered -= (
            stored_incidents.resting(tx, incidents.NOT_RENDERED, now) if patient else set()
        )
    for subscription in wanted:
        if subscription.name not in states:
            continue  # put in force by nobody yet
        subject = incidents.subscription(subscription.name)
        if subject in resting:
            continue
        try:
            done += _subscription(parts, subscription, states[subscription.name], now, early)
        except StoreBusyError:
            raise
        except Exception as fault:
            _record_failure(parts, subscription.name, fault, now)
            on_failure(subscription.name, fault)
    try:
        render_again(parts, wanted, unrendered, on_failure)
        notify(parts)
    except StoreError as fault:
        if patient:
            raise
        log.error("operator not notified", error=str(fault))
    return done


def _record_failure(parts: Runtime, name: str, fault: Exception, now: datetime) -> None:
    """Open an incident, or renew it. A store that refuses to record is retried without a rest."""
    subject, kind = incidents.subscription(name), incidents.NOT_COMPOSED
    by_store = isinstance(fault, StoreError)
    if not by_store:
        expected = isinstance(fault, MonitorError)
        error = str(fault)
        log.error("digest not composed", subscription=name, error=error, exc_info=not expected)
    with suppress(StoreError), parts.database.writing() as tx:
        tries = stored_incidents.add_failure(
            tx, subject, kind, now, str(fault) or type(fault).__name__
        )
        if not by_store:
            stored_incidents.set_next_try(tx, subject, kind, now + rest(tries, parts.patience))


def _ask_about_the_clock(parts: Runtime, now: datetime) -> None:
    """What a wrong clock makes due would be told to everybody: a person says whether it is right.

    Who is down for long needs no such question: a start takes the clock as it is.
    """
    error = (
        f"it went ahead by {parts.ahead().days} days while the service ran, and nothing is "
        "composed until it is set right; where it is right now, restart the service"
    )
    with parts.database.writing() as tx:
        stored_incidents.open_incident(tx, incidents.CLOCK, incidents.JUMPED, now, error)


def chosen(parts: Runtime, names: Sequence[str]) -> list[Subscription]:
    """Return the named subscriptions, all when none is named. Raises UsageError."""
    known = {subscription.name: subscription for subscription in parts.subscriptions}
    for name in names:
        if name not in known:
            raise UsageError(f"no subscription is named {name!r}", f"there are: {', '.join(known)}")
    return [s for s in parts.subscriptions if not names or s.name in names]


def _subscription(
    parts: Runtime, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
) -> list[Composed]:
    if now <= _pause_end(subscription):
        return []
    slot = _slot(parts, subscription, state, now, early)
    if slot is None:
        return []
    digest = _digest(parts, subscription, state, slot, now)
    if early and not digest.papers:
        return [Composed(None, digest)]
    frozen = _freeze(parts, digest, _ways(subscription, digest), now)
    with parts.database.writing() as tx:
        subject = incidents.subscription(subscription.name)
        stored_incidents.end_incident(tx, subject, incidents.NOT_COMPOSED, now)
    return [Composed(frozen, digest)] if frozen is not None else []


def _pause_end(subscription: Subscription) -> datetime:
    """Return the last moment of a pause; long ago without one."""
    if subscription.pause_until is None:
        return datetime.min.replace(tzinfo=UTC)
    zone = ZoneInfo(subscription.timezone)
    start = datetime.combine(subscription.pause_until, time.min, zone)
    return start.astimezone(UTC) - MOMENT


def _slot(
    parts: Runtime, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
) -> Slot | None:
    # After a change of zone, what is due still counts from the last slot: no date is skipped.
    first = max(state.first_seen, state.in_force_since) - MOMENT
    last = max(state.first_seen - MOMENT, state.last_due_at or first)
    after = max(last, _pause_end(subscription))
    if subscription.schedule.immediately:
        with parts.database.reading() as tx:
            if not unsent_matches.unsent(tx, subscription.name, now, fresh=True):
                return None
            return Slot(str(digests.count(tx, subscription.name) + 1), now)
    if early:
        return next_due(subscription.schedule, subscription.timezone, max(after, now))
    return latest_due(subscription.schedule, subscription.timezone, after, now)


def _digest(
    parts: Runtime, subscription: Subscription, state: SubscriptionState, slot: Slot, now: datetime
) -> Digest:
    with parts.database.reading() as tx:
        news = unsent_matches.unsent(tx, subscription.name, now)
        since = state.last_composed_at or now - FIRST_REPORT
        report = runs.report(tx, list(parts.sources), since, now)
        also = _other_titles(tx, news)
    index = parts.in_force.index(parts.topics)
    return compose_digest(
        subscription=subscription.name,
        slot=slot,
        timezone=subscription.timezone,
        covers_from=state.last_composed_at,
        composed_at=now,
        news=news,
        whys=parts.in_force.explain(parts.topics),
        report=report,
        notes=_parked(index, subscription),
        full=subscription.full,
        late=_late(subscription, state, now),
        other_titles=also,
    )


def _other_titles(
    tx: Transaction, news: Sequence[UnsentMatch]
) -> dict[int, tuple[OtherTitle, ...]]:
    titles = {item.change.stored.id: item.change.stored.paper.title for item in news}
    seen = papers.sightings_with_text(tx, titles)
    return {id: found for id, some in seen.items() if (found := other_titles(titles[id], some))}


def _late(subscription: Subscription, state: SubscriptionState, now: datetime) -> datetime | None:
    """Return before when papers are told by title; None for who was not left waiting so long."""
    before = late_before(subscription.schedule, subscription.timezone, now)
    last = state.last_composed_at
    return before if last and last < before else None


def _parked(index: TopicIndex, subscription: Subscription) -> tuple[str, ...]:
    wrong = index.errors.keys() & set(subscription.topics) if index.errors else ()
    return tuple(
        f"The topic “{name}” is parked and finds nothing until its query is corrected: "
        f"{index.errors[name].message}"
        for name in subscription.topics
        if name in wrong
    )


def _ways(subscription: Subscription, digest: Digest) -> tuple[Destination, ...]:
    """An empty digest is a recorded outcome; it is sent only to those who asked for it."""
    return subscription.ways if digest.papers or subscription.quiet_send else ()


def _freeze(
    parts: Runtime, digest: Digest, ways: Sequence[Destination], now: datetime
) -> int | None:
    forms = render(parts, ways, digest)
    return _plan(parts, digest, ways, forms, now)


def _plan(
    parts: Runtime, digest: Digest, ways: Sequence[Destination], forms: Forms, now: datetime
) -> int | None:
    planned = plan(parts, ways, forms)
    with parts.database.writing() as tx:
        frozen = freeze_digest.freeze(tx, digest, forms.parts, planned, now)
        if frozen is not None:
            judge(tx, parts, forms, now)
    if frozen is not None:
        log.info(
            "digest",
            id=frozen,
            subscription=digest.subscription,
            period=digest.period,
            papers=digest.papers,
            deliveries=len(planned),
        )
    return frozen


# ── notices to the operator ─────────────────────────────────────────────────────────


def notify(parts: Runtime) -> int:
    """Tell the operator of each incident once when it begins and once when it ends.

    One that ended before its beginning was told is no news. Returns how many were told.
    """
    now = parts.clock.now()
    with parts.database.reading() as tx:
        untold = stored_incidents.unnotified(tx)
    told = 0
    for incident in untold:
        try:
            if parts.operator and _is_news(incident):
                _notify(parts, incident, now)
        except StoreError:
            raise
        except Exception:
            if incident.id not in parts.unnotified:
                log.exception("notice not composed", subject=incident.subject)
            parts.unnotified.add(incident.id)
            continue
        with parts.database.writing() as tx:
            stored_incidents.mark_notified(tx, [incident], now)
        told += 1
    return told


def _is_news(incident: stored_incidents.Incident) -> bool:
    """A store that was unavailable could not say so before it was well again."""
    over = incident.ended and incident.notified is None
    return not over or incident.kind == incidents.UNAVAILABLE


def _notify(parts: Runtime, incident: stored_incidents.Incident, now: datetime) -> None:
    notice = _notice(incident, now)
    period = f"{incident.id}-{'ended' if incident.ended else 'began'}"
    digest = Digest(OPERATOR, period, now, parts.timezone, None, now, groups=(), report=())
    forms = Forms(
        {
            way.channel: parts.channels[way.channel].render_notice(notice, parts.fallback_templates)
            for way in parts.operator
        }
    )
    _plan(parts, digest, parts.operator, forms, now)


def _notice(incident: stored_incidents.Incident, now: datetime) -> Notice:
    since = f"{incident.since:%Y-%m-%d %H:%M} UTC"
    if incident.ended and incident.kind == incidents.UNAVAILABLE:
        lines = f"From {since} until {incident.ended:%Y-%m-%d %H:%M} UTC.", incident.error
        return Notice(f"{incident.subject} {incidents.said(incident.kind)}", lines, now)
    if incident.ended:
        ended = f"It began {since} and ended {incident.ended:%Y-%m-%d %H:%M} UTC."
        return Notice(
            f"{incident.subject} has recovered", (ended, f"It was: {incident.error}"), now
        )
    return Notice(
        f"{incident.subject} {incidents.said(incident.kind)}",
        (f"Since {since}: {incident.error}", "One more message follows when it ends."),
        now,
    )
