"""The state of sources, subscriptions and deliveries: what is due, what was sent, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import islice
from shutil import disk_usage
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from monitor.channels import retry_policy
from monitor.commands.heartbeat import ALIVE, last_sign
from monitor.commands.retries import next_try
from monitor.commands.services import (
    EmbeddingStatus,
    LookUpStatus,
    embedding_status,
    look_up_status,
)
from monitor.config.warnings import unencrypted_pages
from monitor.digest.about import describe_next, join_words
from monitor.digest.delivery_words import WORDS
from monitor.digest.incident_words import FAILING_FILES, name_subject, words_for
from monitor.digest.incident_words import describe as describe_incident
from monitor.digest.page_paths import page_about, path_to
from monitor.digest.wording import (
    format_count,
    format_moment,
    format_news,
    short_date,
    with_more,
)
from monitor.errors import StoreError
from monitor.model import (
    Delivery,
    DeliveryState,
    ListedDigest,
    NextDigest,
    NextKind,
    Role,
    SourceReport,
    SourceWarning,
)
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import incidents, like_topics
from monitor.pipeline.next_digest import by_address, next_digest, next_digests, overdue_slot
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.pipeline.settle_deliveries import is_handed_off_again
from monitor.store.digests import deliveries, digests, suppressions
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Database, Transaction
from monitor.store.papers import undecided
from monitor.store.sources import collections, reference_events, runs
from monitor.store.topics import matches, subscriptions


class SourceStatus(msgspec.Struct, frozen=True):
    """A source, the last attempt to read it, and how many of its records could not be decided."""

    # The key in the configuration.
    name: str
    # The outcome of the last attempt (`RunOutcome`), or "never read".
    outcome: str
    # The end of the last attempt, None if there was none.
    last_run: datetime | None
    # Records read in the last 24 hours, known ones among them.
    seen: int
    # Papers of the last 24 hours that no source had reported before.
    new: int
    # None unless the last attempts failed.
    failing_since: datetime | None
    # The error of these attempts, in one line; "" if they did not fail.
    error: str
    # Its other open incidents, and gaps found in the last 24 hours.
    troubles: tuple[SourceWarning, ...]
    # Records that are kept to be tried again.
    undecided: int
    # The setting, which decides whether `entries` are counted.
    role: Role = Role.NEWS
    # The works in a library or reference list; 0 for a source of news.
    entries: int = 0

    @property
    def state(self) -> str:
        of_role = {Role.LIBRARY: ", library of {:,}", Role.REFERENCE: ", reference list of {:,}"}
        return self.outcome + of_role.get(self.role, "").format(self.entries)


class SubscriptionStatus(msgspec.Struct, frozen=True):
    """A subscription: the digest that is due next, the last one, and why nothing was sent."""

    # The key in the configuration.
    name: str
    # The setting, by its name in the tz database.
    timezone: str
    # When the next digest comes, or why none does.
    upcoming: NextDigest
    # The period of the newest digest, even of one without papers; "" before the first.
    last_period: str
    # The number of papers of that digest.
    last_papers: int
    # Papers for the next digest; 0 until the subscription is active in the store.
    waiting: int
    # Changes of references for the next digest.
    changes: int
    # A sentence on the last digest: what was sent, or why nothing was.
    why: str
    # The first day after a pause, None if there is no pause now.
    paused_until: date | None = None

    @property
    def next_due(self) -> datetime | None:
        return self.upcoming.at


class Action(StrEnum):
    """A remedy that pages offer as a button."""

    READ_SOURCE = "read source"
    RETRY_GROUP = "retry outage group"
    RETRY_DELIVERY = "retry delivery"
    SETTLE_DELIVERY = "settle delivery"
    RESUME_RECIPIENT = "resume recipient"


class Problem(msgspec.Struct, frozen=True):
    """A problem: `text` is what commands print, the other fields are for pages.

    A `heading` of "" is the text. Each of `details` is a line. `page` is the path of the page about
    the subject, or "". `target` is the name or id of what the `action` is done to.
    """

    text: str
    heading: str = ""
    details: tuple[str, ...] = ()
    remedy: str = ""
    page: str = ""
    action: Action | None = None
    target: str = ""


class Status(msgspec.Struct, frozen=True):
    """The state of everything."""

    # There are no `problems`; `warnings` do not count.
    ok: bool
    # All sources, in the order of the configuration.
    sources: tuple[SourceStatus, ...]
    # All subscriptions, or those that were asked for.
    subscriptions: tuple[SubscriptionStatus, ...]
    # The number of deliveries by `DeliveryState`; a state without any is missing.
    deliveries: dict[str, int]
    # Those that the store shows first, then parked topics, templates and a full disk.
    problems: tuple[Problem, ...]
    # The number of stops and pauses of recipients in force.
    suppressions: int
    # Likely mistakes, which stop nothing.
    warnings: tuple[str, ...] = ()
    # None where no service is asked about papers.
    look_up: LookUpStatus | None = None
    # None where no server of embeddings is asked.
    embeddings: EmbeddingStatus | None = None


class _View:
    """The store in one transaction, and the zone of times in sentences, "" as for `status`."""

    def __init__(
        self, tx: Transaction, runtime: Runtime, zone: str, names: Sequence[str] | None = None
    ) -> None:
        """Read the states of these subscriptions, or of all."""
        self.tx, self.runtime, self.now, self.zone = tx, runtime, runtime.clock.now(), zone
        self.states = subscriptions.states(tx, names)
        self.suppressed = by_address(suppressions.listing(tx, self.now))
        self.incidents = stored_incidents.open_incidents(tx)

    def time(self, at: datetime) -> str:
        zone = self.zone or "UTC"
        return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"

    def zone_of(self, subscription: Subscription) -> str:
        return self.zone or subscription.settings.timezone


def status(
    runtime: Runtime,
    *,
    probe: bool = True,
    zone: str = "",
    selected: Sequence[Subscription] | None = None,
) -> Status:
    """Return what was recorded, and what is wrong now; with `probe` the store is written to.

    Times in sentences are in `zone`; without one in that of the subscription or in UTC. Of the
    subscriptions, `selected` are reported, or all: each takes some queries.
    """
    reported = runtime.subscriptions if selected is None else selected
    with runtime.database.reading() as tx:
        view = _View(tx, runtime, zone)
        sources = tuple(_sources(tx, runtime))
        reports = tuple(_subscription(view, known) for known in reported)
        counts = deliveries.counts(tx)
        asked = look_up_status(tx, runtime)
        embedded = embedding_status(tx, runtime)
        suppressed = sum(map(len, view.suppressed.values()))
        problems = list(_stored_problems(view))
    problems += _present_problems(runtime, probe)
    unencrypted = unencrypted_pages(runtime.settings)
    return Status(
        ok=not problems,
        sources=sources,
        subscriptions=reports,
        deliveries={str(state): count for state, count in counts.items()},
        problems=tuple(problems),
        suppressions=suppressed,
        warnings=(
            *([f"public_url {unencrypted}"] if unencrypted else []),
            *missing_examples(runtime),
        ),
        look_up=asked,
        embeddings=embedded,
    )


def soonest(runtime: Runtime, count: int) -> list[Subscription]:
    """Return the subscriptions that are due next, last those that are immediate or paused."""
    with runtime.database.reading() as tx:
        upcoming = next_digests(tx, runtime.subscriptions, runtime.clock.now())

    def due(subscription: Subscription) -> datetime:
        known = upcoming[subscription.name]
        has_time = known.at and known.kind is not NextKind.PAUSED
        return known.at if known.at and has_time else datetime.max.replace(tzinfo=UTC)

    return sorted(runtime.subscriptions, key=due)[:count]


def sources_status(runtime: Runtime) -> tuple[SourceStatus, ...]:
    with runtime.database.reading() as tx:
        return tuple(_sources(tx, runtime))


def status_of(runtime: Runtime, name: str, zone: str = "") -> SubscriptionStatus:
    """Return the state of one subscription. Raises UsageError for a name that is not configured."""
    [subscription] = runtime.subscriptions_named([name])
    with runtime.database.reading() as tx:
        return _subscription(_View(tx, runtime, zone, [name]), subscription)


def _sources(tx: Transaction, runtime: Runtime) -> Iterator[SourceStatus]:
    last_runs = {run.source: run for run in runs.newest_of_each_source(tx)}
    kept = undecided.counts(tx)
    roles = {name: source.role for name, source in runtime.sources.items()}
    entries = collections.counts(tx) if {*roles.values()} - {Role.NEWS} else {}
    now = runtime.clock.now()
    for report in runs.report(tx, runtime.sources, now - timedelta(days=1), now):
        last = last_runs.get(report.source)
        yield SourceStatus(
            name=report.source,
            outcome=last.outcome if last else "never read",
            last_run=last.finished if last else None,
            seen=report.seen,
            new=report.new,
            failing_since=report.failing_since,
            error=report.error,
            troubles=report.troubles,
            undecided=kept[report.source][0] if report.source in kept else 0,
            role=roles[report.source],
            entries=entries.get(report.source, 0),
        )


def _subscription(view: _View, subscription: Subscription) -> SubscriptionStatus:
    state = view.states.get(subscription.name)
    last = digests.latest_report(view.tx, subscription.name)
    upcoming = next_digest(subscription, state, view.suppressed, view.now)
    paused = is_paused(subscription, view.now)
    return SubscriptionStatus(
        name=subscription.name,
        timezone=subscription.settings.timezone,
        upcoming=upcoming,
        last_period=last[0].period if last else "",
        last_papers=last[0].papers if last else 0,
        waiting=matches.waiting(view.tx, subscription.name, view.now) if state else 0,
        changes=count_changes(view.tx, subscription, view.now),
        why=_why(view, subscription, last, upcoming),
        paused_until=subscription.settings.pause_until if paused else None,
    )


def count_changes(tx: Transaction, known: Subscription, now: datetime) -> int:
    """Return how many changes of references wait for the next digest."""
    guard = known.settings.guard
    return len(reference_events.unsent(tx, known.name, guard, known.audience, now))


def _why(
    view: _View,
    subscription: Subscription,
    last: tuple[ListedDigest, digests.FrozenReport] | None,
    upcoming: NextDigest,
) -> str:
    """Return a sentence on what was sent last, or why nothing was."""
    zone = view.zone_of(subscription)
    if is_paused(subscription, view.now):
        return describe_next(upcoming, zone)
    if last is None:
        return f"no digest yet; the first: {describe_next(upcoming, zone, with_zone=True)}"
    digest, content = last
    when = _describe_day(digest.composed_at, view.now, zone)
    date = short_date(digest, zone)
    blind = _describe_unread(content.report)
    if not digest.has_news:
        if content.left_out:
            owned = format_count(len(content.left_out), "paper")
            return f"nothing matched {when} but {owned} of your library{blind}"
        read = sum(report.new for report in content.report)
        return f"nothing matched {when}: none of {read} new papers did{blind}"
    planned = deliveries.of_digests(view.tx, [digest.id])[digest.id]
    wanted = [delivery for delivery in planned if delivery.withheld_at is None]
    if planned and not wanted:
        return f"the digest of {date} will not be sent: {planned[0].error}"
    unsent = [delivery for delivery in wanted if delivery.state is not DeliveryState.SENT]
    if unsent:
        return f"the digest of {date} {_describe_unsent(view, unsent[0], zone)}"
    news = format_news(digest.papers, digest.changes, content.notices)
    return f"{news} sent {when}{blind}"


def _describe_day(at: datetime, now: datetime, zone: str) -> str:
    """`today at 05:31`, `on Thu 19 Nov at 08:00`."""
    local = at.astimezone(ZoneInfo(zone))
    today = now.astimezone(ZoneInfo(zone))
    day = "today" if local.date() == today.date() else f"on {local:%a} {local.day} {local:%b}"
    return f"{day} at {local:%H:%M}"


def _describe_unsent(view: _View, delivery: Delivery, zone: str) -> str:
    """Return what will become of a delivery, and when it is tried again."""
    down = (incident for incident in view.incidents if incident.kind == IncidentKind.DOWN)
    retry = next_try(view.runtime, delivery, {incident.name: incident for incident in down})
    because = f": {delivery.error}" if delivery.error else ""
    if delivery.state in (DeliveryState.PLANNED, DeliveryState.RETRY):
        at = retry.at if retry else delivery.next_attempt_at
        when = f"at {at.astimezone(ZoneInfo(zone)):%H:%M}" if at else "at the next attempt"
        state = DeliveryState.RETRY if retry else delivery.state
        fate = f"{WORDS[state].in_status} by {delivery.channel} {when}"
    else:
        fate = f"{WORDS[delivery.state].in_status} (by {delivery.channel})"
    return f"{fate}{because}"


def _describe_unread(report: Sequence[SourceReport]) -> str:
    """Name the sources that could not be read, and those with warnings."""
    unread = [r.source for r in report if r.failing_since]
    notes = [f"{join_words(unread)} could not be read"] if unread else []
    notes += [describe_incident(t.kind, r.source) for r in report for t in r.troubles]
    return "".join(f"; {note}" for note in notes)


# How long after its due time a digest is late: cron may run some time later, and a service reads
# every source first.
LATE = timedelta(hours=2)
LATE_FOR_SERVICE = timedelta(minutes=20)
MB = 1024 * 1024
# With less free beside a SQLite store, digests and papers may not be stored any more.
MIN_FREE = 200 * MB
# Of the failed deliveries, the newest that are looked at for those that an incident is about.
_FAILED = 500
# The incidents for which a failed delivery is to blame.
_OF_DELIVERIES = frozenset({IncidentKind.REFUSED, IncidentKind.NOT_RENDERED})


def _stored_problems(view: _View) -> Iterator[Problem]:
    """Yield what the store shows to be wrong: incidents, a silent service, late digests."""
    yield from _list_incidents(view)
    last_beat = last_sign(view.tx)
    late = late_after(last_beat)
    if last_beat and late == LATE:
        yield Problem(
            f"the service has given no sign of life since {view.time(last_beat)}",
            remedy="Start `paper-monitor serve` again; its log says why it ended. If cron does its "
            "work instead, the next round of `paper-monitor run` ends this message.",
        )
    since = matches.unmatched_since(view.tx)
    if since is not None and since < view.now - LATE_FOR_SERVICE:
        yield Problem(
            f"papers have been waiting to be matched since {view.time(since)}",
            remedy="The service matches them; its log says what keeps it.",
        )
    for name, (count, at) in undecided.counts(view.tx).items():
        if name in view.runtime.sources:
            has_had = f"has had {format_count(count, 'record')} that could not be decided"
            listed = "`paper-monitor papers undecided` lists them"
            yield Problem(
                f"source {name} {has_had} since {view.time(at)}; {listed}",
                f"{view.runtime.source_titles[name]} {has_had}",
                remedy=f"Since {view.time(at)}. They are tried again after an upgrade.",
                page=path_to("sources", name),
            )
    for subscription in view.runtime.subscriptions:
        yield from _find_overdue(view, subscription, view.now - late)


def _list_incidents(view: _View) -> Iterator[Problem]:
    failed: list[Delivery] = []
    if any(incident.kind in _OF_DELIVERIES for incident in view.incidents):
        failed = deliveries.listing(view.tx, [DeliveryState.FAILED], _FAILED)
    for incident in view.incidents:
        if incident.kind == IncidentKind.UNCLEAR:
            continue  # each uncertain delivery is listed below
        at = incident.next_try_at
        retry = f"; next attempt at {view.time(at)}" if at and at > view.now else ""
        words = words_for(incident.kind, incident.about)
        if incident.kind == IncidentKind.FAILING and _is_folder(view.runtime, incident.subject):
            words = FAILING_FILES
        since = view.time(incident.since)
        error = "; ".join(incident.error.splitlines())
        shown = incidents.title_of_subject(view.runtime, incident.subject)
        action, target = _action(view, incident, failed)
        command = words.to_end(target)
        yield Problem(
            f"{name_subject(incident.subject)} {words.lasting} since {since}: {error}{retry}"
            f"{'. ' if command else ''}{command}",
            words.began.format(shown),
            tuple(incident.error.splitlines()),
            " ".join(filter(None, (f"Since {since}{retry}.", words.remedy, command))),
            page_about(incident.kind, incident.subject),
            action,
            target,
        )
    for delivery in deliveries.select(view.tx, deliveries.IS_UNCERTAIN):
        recipient = f"{delivery.channel} to {delivery.recipient}"
        title = incidents.title_of(view.runtime, delivery.subscription)
        what = f"delivery {delivery.id} ({title}, {view.time(delivery.created_at)}, {recipient})"
        command = f"paper-monitor deliveries resolve {delivery.id} sent"
        settle = f"`{command}|resend`"
        remedy = "Ask the recipient whether it arrived."
        if delivery.is_test:
            settle = f"the next test or digest sent there clears this, as does `{command}`"
            remedy = "The next test or digest sent there clears this."
        if will_be_sent_again(view.tx, view.runtime, delivery, view.now):
            settle = f"it will be sent again automatically, unless you run `{command}`"
            remedy = "It will be sent again automatically, unless you say that it arrived."
        fate = WORDS[DeliveryState.UNKNOWN].in_status
        yield Problem(
            f"{what} {fate}: {settle}",
            f"{title} {fate}",
            (f"By {recipient}, {view.time(delivery.created_at)}.",),
            remedy,
            path_to("deliveries"),
            Action.SETTLE_DELIVERY,
            str(delivery.id),
        )


def _is_folder(runtime: Runtime, subject: Subject) -> bool:
    configured = runtime.sources.get(subject.name)
    is_source = subject.about is SubjectKind.SOURCE
    return is_source and configured is not None and configured.is_folder


def _action(
    view: _View, incident: stored_incidents.Incident, failed: Sequence[Delivery]
) -> tuple[Action | None, str]:
    """Return the action of an incident, if there is one, and its target.

    `failed` are deliveries among which that of the incident is looked for.
    """
    if incident.about is SubjectKind.SOURCE and incident.name in view.runtime.sources:
        return Action.READ_SOURCE, incident.name
    if incident.kind == IncidentKind.DOWN:
        return Action.RETRY_GROUP, incident.name
    if incident.kind in (IncidentKind.STOPPED, IncidentKind.GONE):
        return Action.RESUME_RECIPIENT, incident.recipient
    for delivery in failed if incident.kind in _OF_DELIVERIES else ():
        channel = Subject(SubjectKind.CHANNEL, delivery.channel)
        if incident.subject in (incidents.recipient_of(delivery), channel):
            return Action.RETRY_DELIVERY, str(delivery.id)
    return None, ""


def _find_overdue(view: _View, subscription: Subscription, before: datetime) -> Iterator[Problem]:
    """Yield digests that were due before a time, and papers that wait for `immediately` so long."""
    name = subscription.name
    state = view.states.get(subscription.name)
    text = ""
    if state is None or is_paused(subscription, view.now):
        return
    if subscription.schedule.immediately:
        since = matches.waits_since(view.tx, name, view.now)
        if since is not None and since < before:
            text = f"papers have been waiting for {name} since {view.time(since)}"
    elif slot := overdue_slot(subscription, state, before):
        due = local_time(slot.due_at, view.zone_of(subscription))
        text = f"the digest of {name} was due {due} and has not been composed"
    if text:
        yield Problem(
            text,
            remedy="Without a service, `paper-monitor run` composes it; a service's log says why "
            "it did not.",
            page=path_to("subscriptions", name),
        )


def late_after(last_beat: datetime | None) -> timedelta:
    """Return how long after its due time a digest is late: less while a service is alive.

    `last_beat` is by the real clock.
    """
    is_silent = last_beat is None or datetime.now(UTC) - last_beat > ALIVE
    return LATE if is_silent else LATE_FOR_SERVICE


def _present_problems(runtime: Runtime, probe: bool) -> Iterator[Problem]:
    """Yield what is wrong outside the store's records; with `probe` the store is written to."""
    for name, fault in runtime.active.errors(like_topics.find_current(runtime)).items():
        yield Problem(
            f"topic {name} is parked: {fault.message}",
            f"Topic {name} is parked",
            (fault.message,),
            "It matches nothing until its query is corrected in the configuration.",
            path_to("topics", name),
        )
    for text in template_faults(runtime):
        yield Problem(f"template {text}", remedy="Correct the template.")
    if not probe:
        return
    try:
        runtime.database.probe()
    except StoreError as fault:
        yield Problem(f"the store cannot be written: {fault}")
        return
    room = disk_room(runtime.database)
    if room and room.is_short:
        shown = f"{room.free / MB:.1f} MB free beside the store"
        yield Problem(f"the disk is nearly full: {shown}; free at least {room.wanted // MB:,} MB")


# Topics and examples that are named: a reference list may be missing as a whole.
_NAMED_TOPICS = 20
_NAMED_EXAMPLES = 3


def missing_examples(runtime: Runtime) -> list[str]:
    """Return what is said of topics whose words were learned without one of their examples."""
    missing = {
        topic.name: topic.words.missing
        for topic in like_topics.find_current(runtime)
        if topic.words and topic.words.missing
    }
    said = []
    for name, examples in islice(missing.items(), _NAMED_TOPICS):
        named = with_more([*examples[:_NAMED_EXAMPLES]], len(examples), "example")
        said.append(
            f"topic {name} was learned without {', '.join(named)}; once readable, run "
            f"`paper-monitor topics relearn {name}`"
        )
    more = len(missing) - len(said)
    return (
        [*said, f"{format_count(more, 'more topic')} learned without an example"] if more else said
    )


class DiskRoom(NamedTuple):
    """The room beside a store, in bytes."""

    store: int
    free: int
    wanted: int

    @property
    def is_short(self) -> bool:
        return self.free < self.wanted


def disk_room(database: Database) -> DiskRoom | None:
    """Return the room on the disk of a SQLite store: with a full one nothing can be sent."""
    if database.path is None:
        return None
    size = database.path.stat().st_size
    wanted = max(MIN_FREE, size // 10)
    return DiskRoom(size, disk_usage(database.path.parent).free, wanted)


def template_faults(runtime: Runtime) -> Iterator[str]:
    """Yield the faults of the user's templates, if there are any templates."""
    if runtime.templates is not runtime.fallback_templates:
        for fault in runtime.templates.faults():
            yield f"{fault.file}:{fault.line}: {fault.message}"


def will_be_sent_again(
    tx: Transaction, runtime: Runtime, delivery: Delivery, now: datetime
) -> bool:
    """Return whether an uncertain delivery will be sent again without an operator."""
    if delivery.state is DeliveryState.RETRY:
        return True
    at = delivery.next_attempt_at
    held = at is not None and at > now + retry_policy.SETTLE_AFTER
    return not held and is_handed_off_again(tx, runtime, delivery, now)


def is_paused(subscription: Subscription, now: datetime) -> bool:
    return now <= subscription.pause_end


def local_time(at: datetime, zone: str) -> str:
    """Return a moment as a subscriber's clock shows it: Mon 23 Nov 08:00 (Europe/Berlin)."""
    return f"{format_moment(at, zone)} ({zone})"
