"""Compose: what is due becomes a frozen digest, with one delivery for each part and recipient."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import structlog

from monitor.deliver.mail import message_id
from monitor.deliver.policy import rest
from monitor.digest.compose import compose as compose_digest
from monitor.digest.due import Slot, late_before, latest_due, next_due
from monitor.errors import StoreError, TemplateError, UsageError
from monitor.match import TopicIndex
from monitor.model import Channel, Digest, Notice, Rendered
from monitor.pipeline import incidents
from monitor.pipeline.parts import OPERATOR, Parts, Subscription, Way
from monitor.store import digests, runs
from monitor.store.digests import Planned, SubscriptionState

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


def compose(
    parts: Parts, names: Sequence[str] = (), *, early: bool = False, patient: bool = False
) -> list[Composed]:
    """Compose what is due of the named subscriptions (all when none is named) and freeze it.

    `match` has put the subscriptions in force before; those of a newer file wait for it.

    With `early` they are composed now, as their next period, if there is anything to tell.
    One subscription that fails never stops the others; with `patient`, for who comes again every
    few seconds, it rests for a while. Raises UsageError for unknown names.
    """
    now = parts.clock.now()
    wanted = chosen(parts, names)
    done: list[Composed] = []
    if incidents.clock_jumped(parts):
        _ask_about_the_clock(parts, now)
        wanted = []
    with parts.database.reading() as tx:
        states = digests.states(tx, [subscription.name for subscription in wanted])
        resting = runs.resting(tx, incidents.NOT_COMPOSED, now) if patient else set()
    for subscription in wanted:
        if subscription.name not in states:
            continue  # put in force by nobody yet
        subject = incidents.subscription(subscription.name)
        if subject in resting:
            continue
        try:
            done += _subscription(parts, subscription, states[subscription.name], now, early)
        except Exception as fault:
            log.exception("digest not composed", subscription=subscription.name)
            with parts.database.writing() as tx:
                tries = runs.failed_again(tx, subject, incidents.NOT_COMPOSED, now, str(fault))
                again = now + rest(tries, parts.patience)
                if not isinstance(fault, StoreError):
                    runs.try_at(tx, subject, incidents.NOT_COMPOSED, again)
    notify(parts)
    return done


def _ask_about_the_clock(parts: Parts, now: datetime) -> None:
    """What a wrong clock makes due would be told to everybody: a person says whether it is right.

    Who is down for long needs no such question: a start takes the clock as it is.
    """
    error = (
        f"it went ahead by {parts.ahead().days} days while the service ran, and nothing is "
        "composed until it is set right; where it is right now, restart the service"
    )
    with parts.database.writing() as tx:
        runs.open_incident(tx, incidents.CLOCK, incidents.JUMPED, now, error)


def chosen(parts: Parts, names: Sequence[str]) -> list[Subscription]:
    """Return the named subscriptions, all when none is named. Raises UsageError."""
    known = {subscription.name: subscription for subscription in parts.subscriptions}
    for name in names:
        if name not in known:
            raise UsageError(f"no subscription is named {name!r}", f"there are: {', '.join(known)}")
    return [s for s in parts.subscriptions if not names or s.name in names]


def _subscription(
    parts: Parts, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
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
        runs.end_incident(tx, subject, incidents.NOT_COMPOSED, now)
    return [Composed(frozen, digest)] if frozen is not None else []


def _pause_end(subscription: Subscription) -> datetime:
    """Return the last moment of a pause; long ago without one."""
    if subscription.pause_until is None:
        return datetime.min.replace(tzinfo=UTC)
    zone = ZoneInfo(subscription.timezone)
    start = datetime.combine(subscription.pause_until, time.min, zone)
    return start.astimezone(UTC) - MOMENT


def _slot(
    parts: Parts, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
) -> Slot | None:
    # After a change of zone, what is due still counts from the last slot: no date is skipped.
    first = max(state.first_seen, state.in_force_since) - MOMENT
    last = max(state.first_seen - MOMENT, state.last_due_at or first)
    after = max(last, _pause_end(subscription))
    if subscription.schedule.immediately:
        with parts.database.reading() as tx:
            if not digests.unsent(tx, subscription.name, now, fresh=True):
                return None
            return Slot(str(digests.count(tx, subscription.name) + 1), now)
    if early:
        return next_due(subscription.schedule, subscription.timezone, max(after, now))
    return latest_due(subscription.schedule, subscription.timezone, after, now)


def _digest(
    parts: Parts, subscription: Subscription, state: SubscriptionState, slot: Slot, now: datetime
) -> Digest:
    with parts.database.reading() as tx:
        news = digests.unsent(tx, subscription.name, now)
        since = state.last_composed_at or now - FIRST_REPORT
        report = runs.report(tx, list(parts.sources), since, now)
    index = parts.in_force.index(parts.topics)
    return compose_digest(
        subscription=subscription.name,
        slot=slot,
        timezone=subscription.timezone,
        covers_from=state.last_composed_at,
        composed_at=now,
        news=news,
        whys=index.why,
        report=report,
        notes=_parked(index, subscription),
        full=subscription.full,
        late=_late(subscription, state, now),
    )


def _late(subscription: Subscription, state: SubscriptionState, now: datetime) -> datetime | None:
    """Return before when papers are told by title; None for who was not left waiting so long."""
    before = late_before(subscription.schedule, subscription.timezone, now)
    last = state.last_composed_at
    return before if last and last < before else None


def _parked(index: TopicIndex, subscription: Subscription) -> tuple[str, ...]:
    wrong = index.errors.keys() & set(subscription.topics) if index.errors else ()
    return tuple(
        f"The topic “{name}” cannot be understood and found nothing: {index.errors[name].message}"
        for name in subscription.topics
        if name in wrong
    )


def _ways(subscription: Subscription, digest: Digest) -> tuple[Way, ...]:
    """An empty digest is a recorded outcome; it is sent only to those who asked for it."""
    return subscription.ways if digest.papers or subscription.quiet_send else ()


def _freeze(parts: Parts, digest: Digest, ways: Sequence[Way], now: datetime) -> int | None:
    rendered = {way.channel: _render(parts, parts.channels[way.channel], digest) for way in ways}
    return _plan(parts, digest, ways, rendered, now)


def _plan(
    parts: Parts,
    digest: Digest,
    ways: Sequence[Way],
    rendered: Mapping[str, tuple[Rendered, ...]],
    now: datetime,
) -> int | None:
    planned = [
        Planned(way.channel, recipient, part.part, message_id(secrets.token_hex(12), parts.sender))
        for way in ways
        for recipient in way.recipients
        for part in rendered[way.channel]
    ]
    with parts.database.writing() as tx:
        return digests.freeze(tx, digest, rendered, planned, now)


def _render(parts: Parts, channel: Channel, digest: Digest) -> tuple[Rendered, ...]:
    """A template of the user's that fails is said in the log, and ours takes its place."""
    try:
        return channel.render(digest, parts.templates)
    except TemplateError as fault:
        log.error("template failed", channel=channel.name, error=str(fault))
        return channel.render(digest, parts.fallback_templates)


# ── notices to the operator ─────────────────────────────────────────────────────────


def notify(parts: Parts) -> int:
    """Tell the operator of each incident once when it begins and once when it ends.

    One that ended before its beginning was told is no news. Returns how many were told.
    """
    now = parts.clock.now()
    with parts.database.reading() as tx:
        untold = runs.untold(tx)
    told = 0
    for incident in untold:
        try:
            if parts.operator and not (incident.ended and incident.told is None):
                _notify(parts, incident, now)
        except Exception:
            log.exception("notice not composed", subject=incident.subject)
            continue
        with parts.database.writing() as tx:
            runs.told(tx, [incident], now)
        told += 1
    return told


def _notify(parts: Parts, incident: runs.Incident, now: datetime) -> None:
    notice = _notice(incident, now)
    period = f"{incident.id}-{'ended' if incident.ended else 'began'}"
    digest = Digest(OPERATOR, period, now, parts.timezone, None, now, groups=(), report=())
    rendered = {
        way.channel: parts.channels[way.channel].render_notice(notice, parts.fallback_templates)
        for way in parts.operator
    }
    _plan(parts, digest, parts.operator, rendered, now)


def _notice(incident: runs.Incident, now: datetime) -> Notice:
    since = f"{incident.since:%Y-%m-%d %H:%M} UTC"
    if incident.ended:
        ended = f"It began {since} and ended {incident.ended:%Y-%m-%d %H:%M} UTC."
        return Notice(
            f"{incident.subject} is well again", (ended, f"It was: {incident.error}"), now
        )
    return Notice(
        f"{incident.subject} {incidents.said(incident.kind)}",
        (f"Since {since}: {incident.error}", "One more message follows when it ends."),
        now,
    )
