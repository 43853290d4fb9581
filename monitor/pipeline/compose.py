"""Compose: what is due becomes a frozen digest, with one delivery for each part and recipient."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog

from monitor.deliver.mail import message_id
from monitor.digest.compose import compose as compose_digest
from monitor.digest.due import Slot, latest_due, next_due
from monitor.errors import QueryError, TemplateError, UsageError
from monitor.match import TopicIndex
from monitor.model import Channel, Digest, Notice, Paper, Rendered, Templates, Why
from monitor.pipeline.parts import OPERATOR, Parts, Subscription, Way
from monitor.store import deliveries, digests, runs
from monitor.store.digests import Planned, SubscriptionState

log = structlog.get_logger()

# A first digest has no period before it: it accounts for what was read in this time.
FIRST_REPORT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Composed:
    """A digest as it was composed. `id` is None when there was nothing to freeze."""

    id: int | None
    digest: Digest


def compose(parts: Parts, names: Sequence[str] = (), *, early: bool = False) -> list[Composed]:
    """Compose what is due of the named subscriptions (all when none is named) and freeze it.

    With `early` they are composed now, as their next period, if there is anything to tell.
    One subscription that fails never stops the others. Raises UsageError for unknown names.
    """
    now = parts.clock.now()
    enrol(parts)
    chosen = _chosen(parts, names)
    with parts.database.reading() as tx:
        states = digests.states(tx)
    done: list[Composed] = []
    for subscription in chosen:
        try:
            done += _subscription(parts, subscription, states[subscription.name], now, early)
        except Exception:
            log.exception("digest not composed", subscription=subscription.name)
            _incident(parts, subscription.name)
    _notices(parts, now)
    return done


def enrol(parts: Parts) -> None:
    """Tell the store who is subscribed now; who was removed is written to no more."""
    now = parts.clock.now()
    rows = [(s.name, s.schedule_text, s.timezone, s.topics) for s in parts.subscriptions]
    living = {
        (name, way.channel, recipient)
        for name, ways in [
            *((s.name, s.ways) for s in parts.subscriptions),
            (OPERATOR, parts.operator),
        ]
        for way in ways
        for recipient in way.recipients
    }
    with parts.database.writing() as tx:
        digests.sync_subscriptions(tx, rows, now)
        deliveries.suppress_missing(tx, living, now)


def _chosen(parts: Parts, names: Sequence[str]) -> list[Subscription]:
    known = {subscription.name: subscription for subscription in parts.subscriptions}
    for name in names:
        if name not in known:
            raise UsageError(f"no subscription is named {name!r}", f"there are: {', '.join(known)}")
    return [s for s in parts.subscriptions if not names or s.name in names]


def _subscription(
    parts: Parts, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
) -> list[Composed]:
    local = now.astimezone(ZoneInfo(subscription.timezone)).date()
    if subscription.pause_until and local < subscription.pause_until:
        return []
    slot = _slot(parts, subscription, state, now, early)
    if slot is None:
        return []
    digest = _digest(parts, subscription, state, slot, now)
    unscheduled = early or subscription.schedule.immediately
    if unscheduled and not digest.papers:
        return [Composed(None, digest)] if early else []
    frozen = _freeze(parts, subscription.name, digest, _ways(subscription, digest), now)
    return [Composed(frozen, digest)] if frozen is not None else []


def _slot(
    parts: Parts, subscription: Subscription, state: SubscriptionState, now: datetime, early: bool
) -> Slot | None:
    after = max(filter(None, (state.first_seen, state.in_force_since, state.last_due_at)))
    if subscription.schedule.immediately:
        with parts.database.reading() as tx:
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
    queries = {topic.name: topic.query for topic in parts.topics}
    index = TopicIndex({name: queries[name] for name in subscription.topics})
    return compose_digest(
        subscription=subscription.name,
        slot=slot,
        timezone=subscription.timezone,
        covers_from=state.last_composed_at,
        composed_at=now,
        news=news,
        whys=_Whys(index),
        report=report,
        notes=_parked(index),
        full=subscription.full,
    )


class _Whys:
    """Works out why a paper met a topic, when a digest needs to say so."""

    def __init__(self, index: TopicIndex) -> None:
        self.index = index

    def __call__(self, topic: str, paper: Paper) -> tuple[Why, ...]:
        return self.index.why(topic, paper)


def _parked(index: TopicIndex) -> tuple[str, ...]:
    return tuple(
        f"The topic “{name}” cannot be understood and found nothing: {fault.message}"
        for name, fault in index.errors.items()
        if isinstance(fault, QueryError)
    )


def _ways(subscription: Subscription, digest: Digest) -> tuple[Way, ...]:
    """An empty digest is a recorded outcome; it is sent only to those who asked for it."""
    return subscription.ways if digest.papers or subscription.quiet_send else ()


def _freeze(
    parts: Parts, name: str, digest: Digest, ways: Sequence[Way], now: datetime
) -> int | None:
    rendered = {
        way.channel: _render(parts, parts.channels[way.channel], digest) for way in ways
    }
    return _plan(parts, name, digest, ways, rendered, now)


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
