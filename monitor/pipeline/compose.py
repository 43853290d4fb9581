"""Compose: what is due becomes a frozen digest, with one delivery for each part and recipient."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import structlog

from monitor.channels.email.channel import sender_address
from monitor.digest.draft import Draft, Listed, draft
from monitor.digest.explain import Explain, explain_papers
from monitor.digest.schedule import Slot, early_slots, late_before, latest_due, next_due
from monitor.digest.wording import format_count
from monitor.errors import MonitorError, StoreBusyError, StoreError
from monitor.identity.keys import with_keys
from monitor.identity.resolve import other_titles
from monitor.match import TopicIndex
from monitor.model import (
    AboutSubscription,
    ChangeKind,
    Digest,
    MatchReason,
    NextDigest,
    OtherTitle,
    Paper,
    SiteNote,
    SourceLabel,
    SourceReport,
    WithdrawnBy,
)
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.model.look_up import notes_of
from monitor.model.paper_fields import matched_values
from monitor.pipeline import embeddings, incidents, library_fields, like_topics, look_up
from monitor.pipeline.fill_sections import FillContext, fill_sections
from monitor.pipeline.freeze import freeze, notify, render
from monitor.pipeline.match import match
from monitor.pipeline.next_digest import last_slot, next_digest
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.store.digests import digests
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction, rehearsing
from monitor.store.papers import look_ups, sightings, withdrawals, write_papers
from monitor.store.sources import collections, reference_events, runs
from monitor.store.sources.collections import CollectionEntry
from monitor.store.topics import matches, subscriptions
from monitor.store.topics.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from monitor.pipeline.order import OrderCache

log = structlog.get_logger()

# The first digest of a subscription reports on the readings of this period.
FIRST_REPORT = timedelta(days=7)

# Word counts are written once those of 64 topics have changed, about 40 kilobytes a topic.
SAVE_WORD_COUNTS_FROM = 64
# The most answers that `cached_explain` keeps, about four kilobytes each: a digest shows a bounded
# part of an abstract.
MAX_EXPLAINED = 4_096


def cached_explain(why: Explain) -> Explain:
    """Return `why` with a cache, by topic, sources and the fields of a paper that topics match."""
    known: dict[tuple[Hashable, ...], tuple[MatchReason, ...]] = {}

    def explain(topic: str, paper: Paper, sources: Sequence[str]) -> tuple[MatchReason, ...]:
        key = (topic, *matched_values(paper), *sources)
        if key not in known:
            if len(known) >= MAX_EXPLAINED:
                known.clear()
            known[key] = why(topic, paper, sources)
        return known[key]

    return explain


# New matches wake subscriptions with `immediately`. As a safeguard, each is also checked after this
# time.
LOOK_AGAIN = timedelta(hours=1)
# The state of a subscription, its schedule and zone, and when to check it again.
NextDue: TypeAlias = tuple[SubscriptionState, str, str, datetime]


@dataclass(slots=True)
class _RunCache:
    """Data read for one subscription and used for the next ones of the same run."""

    explain: Explain
    changes: matches.ChangesRead = field(default_factory=matches.ChangesRead)
    order: OrderCache | None = None
    listed: Listed = field(default_factory=dict)
    reports: dict[Any, tuple[SourceReport, ...]] = field(default_factory=dict)


def compose(
    runtime: Runtime,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    ahead: bool = False,
    ignore_backoff: bool = True,
    awaits_look_up: bool = False,
    failed: dict[str, Exception] | None = None,
    on_digest: Callable[[Digest], object] | None = None,
) -> list[int]:
    """Compose and freeze the digests that are due, for the named subscriptions or all.

    Returns their ids. `early` composes an extra digest now, `ahead` the digest of the next slot. A
    failing subscription stops no other: its error goes to `failed`. Without `ignore_backoff`, one
    that failed lately is skipped until its back-off is over. With `awaits_look_up`, a digest whose
    papers are being looked up is left for later. `on_digest` gets each digest.

    Raises UsageError, StoreBusyError, and without `failed` an error of the store.
    """
    now = runtime.clock.now()
    selected = runtime.subscriptions_named(names)
    if incidents.clock_jumped(runtime):
        _report_clock(runtime, now)
        selected = ()
    with runtime.database.reading() as tx:
        backing_off = set()
        if not ignore_backoff:
            backing_off = stored_incidents.resting(tx, IncidentKind.NOT_COMPOSED, now)
        only_names = [entry.name for entry in selected] if names else None
        states = subscriptions.states(tx, only_names, None if early or ahead else now)
    to_check = [
        (entry, states[entry.name])
        for entry in (selected if states else ())
        if entry.name in states and entry.name not in backing_off
    ]
    try:
        done = _compose_each(
            runtime, to_check, now, early, ahead, awaits_look_up, failed, on_digest
        )
    finally:
        # Otherwise `serve` would keep texts of papers that few later digests have.
        runtime.templates.release()
        runtime.fallback_templates.release()
    try:
        notify(runtime)
    except StoreError as fault:
        if not ignore_backoff:
            raise
        log.error("operator not notified", error=str(fault))
    return done


def _compose_each(
    runtime: Runtime,
    to_check: Iterable[tuple[Subscription, SubscriptionState]],
    now: datetime,
    early: bool,
    ahead: bool,
    awaits_look_up: bool,
    failed: dict[str, Exception] | None,
    on_digest: Callable[[Digest], object] | None,
) -> list[int]:
    """Compose the digests that are due; record when the other subscriptions are."""
    done: list[int] = []
    later: list[NextDue] = []
    cache = _RunCache(cached_explain(runtime.active.index(like_topics.find_current(runtime)).why))
    for subscription, state in to_check:
        if runtime.stopping.is_set():
            break
        try:
            slot = _due_slot(runtime, subscription, state, now, early, ahead)
            # A paused subscription is always checked: the store does not know of pauses.
            if slot is None and now > subscription.pause_end:
                later.append(_next_due(subscription, state, now))
            digest = (
                _digest(runtime, subscription, state, slot, now, cache, awaits_look_up)
                if slot
                else None
            )
            if digest is None:
                continue
            done += _freeze(runtime, subscription, digest, is_early=early or ahead)
            if on_digest:
                on_digest(digest)
            _save_word_counts(runtime, cache, SAVE_WORD_COUNTS_FROM)
        except StoreBusyError:
            raise
        except Exception as fault:
            _record_failure(runtime, subscription.name, fault, now)
            if failed is not None:
                failed[subscription.name] = fault
            elif isinstance(fault, StoreError):
                raise
    try:
        if later:
            with runtime.database.writing() as tx:
                subscriptions.set_next_due(tx, later)
    except StoreError as fault:
        log.warning("next due times not recorded", error=str(fault))
    _save_word_counts(runtime, cache)
    return done


def _save_word_counts(runtime: Runtime, cache: _RunCache, min_topics: int = 1) -> None:
    """Write the changed word counts, if those of at least `min_topics` topics have changed.

    A failure is only logged: word counts can be computed again.
    """
    try:
        if cache.order and len(cache.order.words.changed) >= min_topics:
            cache.order.words.save(runtime.database)
    except StoreError as fault:
        log.warning("word counts of topics not recorded", error=str(fault))


def _record_failure(runtime: Runtime, name: str, fault: Exception, now: datetime) -> None:
    """Open an incident, or renew it. After an error of the store there is no back-off."""
    subject = Subject(SubjectKind.SUBSCRIPTION, name)
    kind = IncidentKind.NOT_COMPOSED
    by_store = isinstance(fault, StoreError)
    expected = isinstance(fault, MonitorError)
    error = str(fault) or type(fault).__name__
    if not by_store:
        log.error("digest not composed", subscription=name, error=error, exc_info=not expected)
    with suppress(StoreError), runtime.database.writing() as tx:
        if by_store:
            stored_incidents.add_failure(tx, subject, kind, now, error)
        else:
            incidents.add_failure(tx, runtime, subject, kind, now, error)


def _report_clock(runtime: Runtime, now: datetime) -> None:
    """Open an incident while the clock is more than a day ahead of elapsed time.

    The operator confirms the clock with a restart. After downtime there is no elapsed time to
    compare with, and digests are composed.
    """
    error = (
        f"it went ahead by {runtime.ahead().days} days while the service ran, and no digests "
        "are composed until it is corrected; if it is correct now, restart the service"
    )
    with runtime.database.writing() as tx:
        subject = Subject(SubjectKind.CLOCK)
        stored_incidents.open_incident(tx, subject, IncidentKind.JUMPED, now, error)


def _freeze(
    runtime: Runtime, subscription: Subscription, digest: Digest, *, is_early: bool
) -> list[int]:
    """Store a digest and its deliveries, and return its id; [] if it need not be recorded."""
    # An empty digest that was asked for early is not recorded. An empty one of a slot is, and is
    # sent only with `quiet: send`.
    if is_early and not digest.has_news:
        return []
    is_sent = digest.has_news or subscription.settings.quiet == "send"
    destinations = subscription.destinations if is_sent else ()
    frozen = freeze(runtime, digest, destinations, render(runtime, destinations, digest))
    return [] if frozen is None else [frozen]


def _digest(
    runtime: Runtime,
    subscription: Subscription,
    state: SubscriptionState,
    slot: Slot,
    now: datetime,
    cache: _RunCache,
    awaits_look_up: bool,
) -> Digest | None:
    """Return the digest of a slot, None while look-ups of its papers are open."""
    # Loads NumPy, and only where digests are composed.
    from monitor.pipeline.order import OrderCache, order_of

    cache.order = cache.order or OrderCache()
    news_sources = [name for name, source in runtime.sources.items() if source.announces]
    guarded = set(subscription.settings.guard)
    asked_about_references = [
        name for name, source in runtime.sources.items() if not guarded.isdisjoint(source.about)
    ]
    report_start = state.last_composed_at or now - FIRST_REPORT
    report_key = (*news_sources, *asked_about_references), report_start, now
    with runtime.database.reading() as tx:
        if awaits_look_up and any(
            stage.holds(tx, runtime, subscription, slot, now) for stage in (look_up, embeddings)
        ):
            return None
        news = matches.unsent(tx, subscription.name, now, cache.changes)
        left_out: dict[int, int] = {}
        if subscription.settings.owned == "skip":
            named = subscription.settings.libraries
            of_news = {item.change.stored.id: item.change.stored.paper for item in news}
            to_leave_out = _in_libraries(tx, named, of_news, now)
            changes = sorted((item.change for item in news), key=attrgetter("revision"))
            left_out = {
                change.stored.id: change.revision
                for change in changes
                if change.stored.id in to_leave_out
            }
            news = [item for item in news if item.change.stored.id not in to_leave_out]
        order = order_of(tx, subscription, runtime.topics, cache.order, now)
        order = replace(order, nearness=embeddings.nearness(tx, runtime, news))
        drafted = draft(
            news,
            subscription.settings.max,
            _late(subscription, state, now),
            rules=runtime.group_rules,
            sources={name: runtime.labels[name] for name in news_sources},
            order=order.place,
            order_groups=order.place_groups,
            listed=cache.listed,
            each_topic="max" not in subscription.settings.model_fields_set,
        )
        papers = {id: change.stored.paper for id, change in drafted.latest.items()}
        in_libraries = _in_libraries(tx, subscription.libraries, papers, now)
        to_mark: Collection[int] = ()
        if subscription.settings.owned == "mark":
            named = subscription.settings.libraries
            to_mark = {id for id, of in in_libraries.items() if any(e.source in named for e in of)}
        usable = library_fields.choose(tx, papers, in_libraries, now)
        report = cache.reports.get(report_key) or runs.report(tx, *report_key)
        cache.reports[report_key] = report
        also = _other_titles(tx, drafted)
        withdrawn_by = _withdrawn_by(tx, drafted, runtime.labels)
        notes = _site_notes(tx, runtime, drafted) if subscription.settings.lines else {}
        earlier = write_papers.texts_before(tx, drafted.revisions)
        owned_papers = format_count(len(left_out), "paper")
        remarks = (f"Left out: {owned_papers} of your library.",) if left_out else ()
        digest = Digest(
            subscription=subscription.name,
            period=slot.period,
            due_at=slot.due_at,
            timezone=subscription.settings.timezone,
            covers_from=state.last_composed_at,
            composed_at=now,
            groups=drafted.groups,
            report=tuple(
                replace(
                    source,
                    title=runtime.labels[source.source].title,
                    announces=source.source in news_sources,
                )
                for source in report
            ),
            full=drafted.full,
            waiting=drafted.waiting,
            notes=(
                *_faults(runtime.active.index(like_topics.find_current(runtime)), subscription),
                *remarks,
            ),
            remarks=remarks,
            titles=subscription.settings.titles,
            about=_about(runtime, subscription, slot, _next_after(subscription, state, slot, now)),
            at_most=subscription.settings.at_most,
            left_out=tuple(left_out.items()),
            early=slot.early,
        )
        digest = fill_sections(FillContext(tx, runtime, subscription, now), digest)
    explained = explain_papers(drafted, cache.explain, also, earlier, to_mark, withdrawn_by, notes)
    lead = order.lead(explained, drafted.in_full, subscription.settings.lead)
    digest = order.explain(replace(digest, groups=explained, lead=lead), drafted.in_full)
    if not usable:
        return digest
    # Done last: reasons, excerpts and the order are those of the paper as it is stored.
    return digests.map_papers(digest, lambda entry: library_fields.lay_over(entry, usable))


def _site_notes(tx: Transaction, runtime: Runtime, drafted: Draft) -> dict[int, list[SiteNote]]:
    """Return the notes of sites about the papers in full: of sources, then of services."""
    notes = sightings.site_notes(tx, drafted.in_full)
    asked = look_ups.of_papers(tx, drafted.in_full) if runtime.services else {}
    for id, answers in asked.items():
        notes.setdefault(id, []).extend(notes_of(answers))
    return notes


def _next_after(
    subscription: Subscription, state: SubscriptionState, slot: Slot, now: datetime
) -> NextDigest:
    """Return the digest that follows the one of a slot."""
    if not slot.early:
        state = replace(state, last_due_at=slot.due_at)
    return next_digest(subscription, state, {}, now)


def _about(
    runtime: Runtime, subscription: Subscription, slot: Slot, upcoming: NextDigest
) -> AboutSubscription:
    rules = runtime.group_rules
    settings = subscription.settings
    url = runtime.settings.public_url
    operator = runtime.settings.operator
    contact = next(iter(operator.email), "") if operator else ""
    return AboutSubscription(
        title=settings.title,
        topics=tuple(rules[name].title if name in rules else name for name in subscription.topics),
        guards=bool(settings.guard),
        schedule=settings.schedule,
        contact=contact or sender_address(runtime.sender),
        shares_recipients=subscription.name in runtime.sharing,
        archive_url=f"{url}/digests/{quote(subscription.name)}/{quote(slot.period)}" if url else "",
        upcoming=upcoming,
    )


def _withdrawn_by(
    tx: Transaction, drafted: Draft, labels: Mapping[str, SourceLabel]
) -> dict[int, WithdrawnBy]:
    """Return the source that reports each paper that is news because it was withdrawn."""
    entries = chain.from_iterable(group.entries for group in drafted.groups)
    ids = [entry.paper_id for entry in entries if entry.kind is ChangeKind.WITHDRAWN]
    standing = withdrawals.first_standing(tx, ids)
    return {
        id: WithdrawnBy(labels.get(row.source, SourceLabel()).title or row.source, row.url)
        for id, row in standing.items()
    }


def _other_titles(tx: Transaction, drafted: Draft) -> dict[int, tuple[OtherTitle, ...]]:
    titles = {id: drafted.latest[id].stored.paper.title for id in drafted.in_full}
    seen = sightings.with_text(tx, sightings.recognised(tx, titles))
    return {
        id: others for id, records in seen.items() if (others := other_titles(titles[id], records))
    }


def _late(subscription: Subscription, state: SubscriptionState, now: datetime) -> datetime | None:
    """Return the moment before which papers are listed by title only.

    None if a digest was composed since, or never.
    """
    before = late_before(subscription.schedule, subscription.settings.timezone, now)
    last = state.last_composed_at
    return before if last and last < before else None


def _faults(index: TopicIndex, subscription: Subscription) -> list[str]:
    return [
        f"The topic “{name}” is parked and finds nothing until its query is corrected: "
        f"{error.message}"
        for name in subscription.topics
        if (error := index.error(name))
    ]


def _in_libraries(
    tx: Transaction, libraries: Collection[str], papers: Mapping[int, Paper], now: datetime
) -> dict[int, list[CollectionEntry]]:
    """Return the entries of each paper that some libraries have now."""
    if not libraries:
        return {}
    found = collections.find(tx, libraries, list(map(with_keys, papers.values())), now)
    return {id: entries for id, entries in zip(papers, found, strict=True) if entries}


def rehearse(
    runtime: Runtime,
    names: Sequence[str] = (),
    *,
    early: bool = False,
    ahead: bool = False,
    failed: dict[str, Exception] | None = None,
) -> list[Digest]:
    """Return the digests that `compose` would make, by subscription, and undo all it wrote."""
    with rehearsing(runtime.database) as database:
        rehearsal = replace(runtime, database=database)
        match(rehearsal)
        composed: list[Digest] = []
        compose(
            rehearsal, names, early=early, ahead=ahead, failed=failed, on_digest=composed.append
        )
    return composed


# ── which subscriptions are due ────────────────────────────────────────────────────


def due_chunks(runtime: Runtime, batch_size: int | None) -> list[int]:
    """Return the numbers of the batches of `batch_size` subscriptions in which one is due.

    The first batch is always among them.
    """
    if not batch_size:
        return [0]
    with runtime.database.reading() as tx:
        due = subscriptions.states(tx, due=runtime.clock.now())
    names = enumerate(entry.name for entry in runtime.subscriptions)
    return sorted({0, *(number // batch_size for number, name in names if name in due)})


def _next_due(subscription: Subscription, state: SubscriptionState, now: datetime) -> NextDue:
    """Return when to check a subscription again for which nothing is due."""
    settings = subscription.settings
    after = now + LOOK_AGAIN
    if not subscription.schedule.immediately:
        last = last_slot(subscription, state)
        after = next_due(subscription.schedule, settings.timezone, last).due_at
    return state, settings.schedule, settings.timezone, after


def _due_slot(
    runtime: Runtime,
    subscription: Subscription,
    state: SubscriptionState,
    now: datetime,
    early: bool,
    ahead: bool,
) -> Slot | None:
    """Return the slot to compose: the due one, an extra one (`early`) or the next one (`ahead`).

    None if there is none, or the subscription is paused.
    """
    if now <= subscription.pause_end:
        return None
    if early:
        slots = early_slots(subscription.schedule, subscription.settings.timezone, now)
        with runtime.database.reading() as tx:
            name = subscription.name
            return next(slot for slot in slots if not digests.has_period(tx, name, slot.period))
    after = last_slot(subscription, state)
    if subscription.schedule.immediately:
        with runtime.database.reading() as tx:
            name = subscription.name
            guard = subscription.settings.guard
            has_fresh = matches.has_fresh(tx, name, now) or reference_events.unsent(
                tx, name, guard, subscription.audience, now, fresh=True
            )
            if not has_fresh:
                return None
            return Slot(str(digests.count(tx, name) + 1), now)
    if ahead:
        return next_due(subscription.schedule, subscription.settings.timezone, max(after, now))
    return latest_due(subscription.schedule, subscription.settings.timezone, after, now)
