"""Compose: what is due becomes a frozen digest, with one delivery for each part and recipient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from monitor.channels.retry_policy import rest
from monitor.digest.compose import explain_papers
from monitor.digest.draft import Draft, ListedPapers, draft
from monitor.digest.schedule import Slot, late_before
from monitor.errors import MonitorError, StoreBusyError, StoreError
from monitor.identity.resolve import other_titles
from monitor.match import TopicIndex
from monitor.model import AboutSubscription, Digest, DigestPaper, DigestSection, OtherTitle
from monitor.pipeline import incidents
from monitor.pipeline.due import (
    NextDue,
    chosen,
    find_next_due,
    find_slot,
    may_be_due,
    pause_end,
    set_next_due,
)
from monitor.pipeline.freeze import (
    Forms,
    OnDigest,
    OnFailure,
    failing,
    freeze,
    log_failure,
    render,
    render_again,
)
from monitor.pipeline.match import match
from monitor.pipeline.notices import notify
from monitor.pipeline.order import JudgedPapers, order_of
from monitor.pipeline.runtime import ComposeContext, Destination, Subscription
from monitor.store.digests import digests, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction, rehearsing
from monitor.store.papers import sightings, write_papers
from monitor.store.sources import runs
from monitor.store.topics import matches
from monitor.store.topics.subscriptions import SubscriptionState

log = structlog.get_logger()

# A first digest has no period before it: it accounts for what was read in this time.
FIRST_REPORT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read for one subscription and serves the next ones of the same run."""

    changes: matches.ChangesRead = field(default_factory=matches.ChangesRead)
    judged: JudgedPapers = field(default_factory=JudgedPapers)
    listed: ListedPapers = field(default_factory=ListedPapers)
    reports: runs.ReportsRead = field(default_factory=runs.ReportsRead)


def raise_store_error(failed: Mapping[str, Exception]) -> None:
    """Raise the first error of the store among the failures of `compose`, if there is one."""
    for fault in failed.values():
        if isinstance(fault, StoreError):
            raise fault


def compose(
    context: ComposeContext,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    patient: bool = False,
    on_failure: OnFailure = log_failure,
    on_digest: OnDigest = bool,
) -> list[int]:
    """Compose and freeze what is due of the named subscriptions, or of all; return the ids.

    With `early` they are composed now. One that fails stops no other: it goes to `on_failure`, and
    with `patient` it rests. `on_digest` gets each digest. Raises UsageError, StoreBusyError.
    """
    now, selected = context.clock.now(), chosen(context, names)
    if incidents.clock_jumped(context):
        _ask_about_the_clock(context, now)
        selected = ()
    with context.database.reading() as tx:
        resting, unrendered = _failing(tx, now, patient)
        looked_at = may_be_due(tx, selected, None if early else now, resting, every=not names)
    try:
        done = _compose_each(context, looked_at, now, early, on_failure, on_digest)
    finally:
        # A service would else keep what it wrote of papers that few later digests have.
        context.templates.release()
        context.fallback_templates.release()
        context.in_force.release()
    try:
        render_again(context, selected, unrendered, on_failure)
        notify(context)
    except StoreError as fault:
        if patient:
            raise
        log.error("operator not notified", error=str(fault))
    return done


def _compose_each(
    context: ComposeContext,
    looked_at: Iterable[tuple[Subscription, SubscriptionState]],
    now: datetime,
    early: bool,
    on_failure: OnFailure,
    on_digest: OnDigest,
) -> list[int]:
    """Compose what is due of some subscriptions; note when the others are due."""

    def fail(name: str, fault: Exception) -> None:
        _record_failure(context, name, fault, now)
        on_failure(name, fault)

    done: list[int] = []
    later: list[NextDue] = []
    known = _Known()
    for subscription, state in looked_at:
        try:
            digest = _due(context, subscription, state, now, early, known)
            if digest is None:
                later += find_next_due(subscription, state, now)
            elif early and not digest.papers:  # which is no outcome
                on_digest(digest)
            else:
                frozen = _freeze(context, subscription, digest)
                on_digest(digest)
                done += [] if frozen is None else [frozen]
        except StoreBusyError:
            raise
        except Exception as fault:
            fail(subscription.name, fault)
    try:
        set_next_due(context, later)
    except StoreError as fault:
        log.warning("next due times not recorded", error=str(fault))
    return done


def _failing(tx: Transaction, now: datetime, patient: bool) -> tuple[set[str], set[str]]:
    """Return the subjects that rest after a failure, and the channels to render for again now."""
    unrendered = failing(stored_incidents.open_incidents(tx))
    if not patient:
        return set(), unrendered
    resting = stored_incidents.resting(tx, incidents.NOT_COMPOSED, now)
    return resting, unrendered - stored_incidents.resting(tx, incidents.NOT_RENDERED, now)


def _record_failure(context: ComposeContext, name: str, fault: Exception, now: datetime) -> None:
    """Open an incident, or renew it. A store that refuses to record is retried without a rest."""
    subject, kind = incidents.subscription(name), incidents.NOT_COMPOSED
    by_store = isinstance(fault, StoreError)
    if not by_store:
        expected = isinstance(fault, MonitorError)
        error = str(fault)
        log.error("digest not composed", subscription=name, error=error, exc_info=not expected)
    with suppress(StoreError), context.database.writing() as tx:
        tries = stored_incidents.add_failure(
            tx, subject, kind, now, str(fault) or type(fault).__name__
        )
        if not by_store:
            stored_incidents.set_next_try(tx, subject, kind, now + rest(tries, context.retry))


def _ask_about_the_clock(context: ComposeContext, now: datetime) -> None:
    """Open an incident while the clock is more than a day ahead of elapsed time.

    The operator confirms it with a restart. After downtime there is no elapsed time to compare
    with, and digests are composed.
    """
    error = (
        f"it went ahead by {context.ahead().days} days while the service ran, and no digests "
        "are composed until it is corrected; if it is correct now, restart the service"
    )
    with context.database.writing() as tx:
        stored_incidents.open_incident(tx, incidents.CLOCK, incidents.JUMPED, now, error)


def _due(
    context: ComposeContext,
    subscription: Subscription,
    state: SubscriptionState,
    now: datetime,
    early: bool,
    known: _Known,
) -> Digest | None:
    """Compose the digest of a subscription if one is due."""
    if now <= pause_end(subscription):
        return None
    slot = find_slot(context, subscription, state, now, early)
    return _digest(context, subscription, state, slot, now, known) if slot else None


def _freeze(context: ComposeContext, subscription: Subscription, digest: Digest) -> int | None:
    # An empty digest is a recorded outcome; it is sent only to those who asked for it.
    is_sent = digest.papers or subscription.settings.quiet == "send"
    destinations = subscription.destinations if is_sent else ()
    forms = render(context, destinations, digest)
    add_missed(context, destinations, digest, forms)
    return freeze(context, digest, destinations, forms)


def _digest(
    context: ComposeContext,
    subscription: Subscription,
    state: SubscriptionState,
    slot: Slot,
    now: datetime,
    known: _Known,
) -> Digest:
    with context.database.reading() as tx:
        news = matches.unsent(tx, subscription.name, now, known.changes)
        order = order_of(tx, subscription, context.topics, known.judged)
        drafted = draft(
            news,
            subscription.settings.max,
            _late(subscription, state, now),
            rules=context.sections,
            sources=context.labels,
            order=order.place if order else None,
            listed=known.listed,
        )
        report = known.reports.read(tx, context.sources, _reported_from(state, now), now)
        also = _other_titles(tx, drafted)
        earlier = write_papers.texts_before(tx, drafted.revisions)
    composed = Digest(
        subscription=subscription.name,
        period=slot.period,
        due_at=slot.due_at,
        timezone=subscription.settings.timezone,
        covers_from=state.last_composed_at,
        composed_at=now,
        groups=explain_papers(drafted, context.in_force.explain(context.topics), also, earlier),
        report=tuple(
            replace(source, title=context.labels[source.source].title) for source in report
        ),
        full=subscription.settings.max,
        waiting=drafted.waiting,
        notes=_notes_on_parked_topics(context.in_force.index(context.topics), subscription),
        titles=subscription.settings.titles,
        about=_about(context, subscription),
    )
    return order.explain(composed, drafted.in_full) if order else composed


def _reported_from(state: SubscriptionState, now: datetime) -> datetime:
    return state.last_composed_at or now - FIRST_REPORT


def _about(context: ComposeContext, subscription: Subscription) -> AboutSubscription:
    rules, settings = context.sections, subscription.settings
    return AboutSubscription(
        title=settings.title if context.titles[settings.title] == 1 else "",
        topics=tuple(rules[name].title if name in rules else name for name in subscription.topics),
        schedule=settings.schedule,
        contact=context.contact,
        shares_recipients=subscription.name in context.sharing,
    )


def _other_titles(tx: Transaction, drafted: Draft) -> dict[int, tuple[OtherTitle, ...]]:
    titles = {id: drafted.latest[id].stored.paper.title for id in drafted.in_full}
    seen = sightings.with_text(tx, sightings.recognised(tx, titles))
    return {
        id: others
        for id, sightings in seen.items()
        if (others := other_titles(titles[id], sightings))
    }


def _late(subscription: Subscription, state: SubscriptionState, now: datetime) -> datetime | None:
    """Return before when papers are listed by title only; None if the last digest is recent."""
    before = late_before(subscription.schedule, subscription.settings.timezone, now)
    last = state.last_composed_at
    return before if last and last < before else None


def _notes_on_parked_topics(index: TopicIndex, subscription: Subscription) -> tuple[str, ...]:
    return tuple(
        f"The topic “{name}” is parked and finds nothing until its query is corrected: "
        f"{error.message}"
        for name in subscription.topics
        if (error := index.error(name))
    )


def rehearse(
    context: ComposeContext,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    on_failure: OnFailure = log_failure,
) -> list[Digest]:
    """Match and compose as `compose` would, and undo all that was written; nothing is sent.

    The digests come in the order of the subscriptions.
    """
    with rehearsing(context.database) as database:
        rehearsal = replace(context, database=database)
        match(rehearsal)
        composed: list[Digest] = []
        compose(rehearsal, names, early=early, on_failure=on_failure, on_digest=composed.append)
    places = {subscription.name: place for place, subscription in enumerate(context.subscriptions)}
    return sorted(composed, key=lambda digest: places[digest.subscription])


NOTE = "These papers came while your digests were paused."


def add_missed(
    context: ComposeContext,
    destinations: Sequence[Destination],
    digest: Digest,
    forms: Forms,
) -> None:
    """Add further parts to a digest, each for one recipient who was sent none for a while."""
    rendered = [way for way in destinations if way.channel in forms.parts]
    with context.database.reading() as tx:
        returned = [
            (way.channel, to)
            for way in rendered
            for to in suppressions.with_ended_pause(
                tx, digest.subscription, way.recipients, digest.composed_at
            )
        ]
        withheld = {
            returning: suppressions.list_missed(tx, digest.subscription, *returning)
            for returning in returned
        }
        lists = {
            returning: list_papers(digest, filter(None, (digests.get(tx, id) for id in ids)))
            for returning, ids in withheld.items()
        }
    for (channel, recipient), listed in lists.items():
        if listed.groups:
            _add(context, channel, recipient, listed, forms)


def _add(
    context: ComposeContext, channel: str, recipient: str, listed: Digest, forms: Forms
) -> None:
    """Render a list of papers as the next parts of a digest, for one recipient alone."""
    rendered = context.channels[channel].render(listed, context.fallback_templates)
    parts = forms.parts[channel]
    first = parts[-1].part + 1
    more = tuple(replace(part, part=first + number) for number, part in enumerate(rendered))
    forms.parts[channel] = (*parts, *more)
    forms.only |= {(channel, part.part): recipient for part in more}


def list_papers(digest: Digest, withheld: Iterable[Digest]) -> Digest:
    """Return the papers of digests that were withheld as a list of titles, by topic: pure.

    A paper that is in the digest itself, or in a later one, is listed once.
    """
    sections: dict[str, DigestSection] = {}
    seen = {entry.paper_id for group in digest.groups for entry in group.entries}
    for group in (group for digest in withheld for group in digest.groups):
        entries: list[DigestPaper] = [e for e in group.entries if e.paper_id not in seen]
        seen |= {entry.paper_id for entry in entries}
        known = sections.get(group.topic, replace(group, entries=(), more=0))
        if entries:
            sections[group.topic] = replace(known, entries=(*known.entries, *entries))
    return replace(
        digest,
        groups=tuple(sections.values()),
        full=0,
        waiting=0,
        notes=(NOTE,),
        about=replace(
            digest.about, title=f"{digest.heading}, while paused", shares_recipients=True
        ),
    )
