"""What people ask of the store: how things stand, why nothing came, what a topic would find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from monitor.diff.keys import identifiers
from monitor.digest.due import next_due
from monitor.errors import StoreError, UsageError
from monitor.match import TopicIndex, parse_query
from monitor.model import (
    Delivery,
    Digest,
    Paper,
    Run,
    RunOutcome,
    Sighting,
    SourceReport,
    State,
    Stored,
    Why,
)
from monitor.pipeline import Parts, Subscription
from monitor.store import beats, deliveries, digests, matches, papers, runs
from monitor.store.database import Transaction
from monitor.store.papers import ChangeRow
from monitor.store.subscriptions import SubscriptionState
from monitor.text import title_key

PAGE = 2_000
SAMPLE = 10
WIDE_SHARE = 0.05
SERVICE = "serve"
ALIVE = timedelta(minutes=5)


# ── how things stand ────────────────────────────────────────────────────────────────


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


# ── the papers stored ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FoundPaper:
    """A stored paper and where each source told of it."""

    stored: Stored
    sightings: tuple[Sighting, ...]


def search(parts: Parts, query: str) -> list[FoundPaper]:
    """Return the papers that a query meets, all for an empty one, newest first.

    Raises QueryError for a query that cannot be understood.
    """
    with parts.database.reading() as tx:
        found = [stored for stored, _, _ in _meeting(tx, query)]
        found.sort(key=lambda stored: (stored.first_seen, stored.id), reverse=True)
        seen = papers.sightings(tx, [stored.id for stored in found])
    return [FoundPaper(stored, seen.get(stored.id, ())) for stored in found]


def _meeting(tx: Transaction, query: str) -> Iterator[tuple[Stored, tuple[Why, ...], float]]:
    index = TopicIndex({"": parse_query(query)}) if query.strip() else None
    after = 0
    while page := papers.page(tx, after, PAGE):
        after = page[-1][0].id
        if index is None:
            yield from ((stored, (), 0.0) for stored, _ in page)
            continue
        told = [stored.paper for stored, _ in page]
        for hit in index.match(told, sources=[sources for _, sources in page]):
            yield page[hit.position][0], hit.why, hit.score


@dataclass(frozen=True, slots=True)
class Day:
    day: str
    papers: int


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    why: tuple[Why, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a topic would have found in the papers stored."""

    papers: int
    share: float
    per_day: tuple[Day, ...]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]


def try_topic(parts: Parts, query: str) -> Trial:
    """Try a query on all papers stored. Raises QueryError."""
    parsed = parse_query(query)
    with parts.database.reading() as tx:
        total = papers.count(tx)
        found = list(_meeting(tx, query))
    days = Counter(f"{stored.first_seen:%Y-%m-%d}" for stored, _, _ in found)
    best = sorted(found, key=lambda hit: hit[2], reverse=True)[:SAMPLE]
    share = len(found) / total if total else 0.0
    wide = f"meets {share:.0%} of the papers stored: more than a person may want to read"
    return Trial(
        papers=len(found),
        share=share,
        per_day=tuple(Day(day, count) for day, count in sorted(days.items())),
        sample=tuple(Sample(stored.paper.title, why) for stored, why, _ in best),
        warnings=(*map(str, parsed.warnings), *([wide] if share > WIDE_SHARE else [])),
    )


# ── one paper ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class TopicMet:
    topic: str
    revision: int
    score: float
    why: tuple[Why, ...]


@dataclass(frozen=True, slots=True)
class ToldIn:
    subscription: str
    period: str
    revision: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a paper came from, why it was news, which topics it met, and where it went out."""

    id: int
    title: str
    keys: tuple[tuple[str, str], ...]
    first_seen: datetime
    news_at: datetime | None
    withdrawn: bool
    sources: tuple[Sighting, ...]
    changes: tuple[ChangeRow, ...]
    topics: tuple[TopicMet, ...]
    digests: tuple[ToldIn, ...]


def explain(parts: Parts, wanted: str) -> Explanation:
    """Explain the paper with this id, identifier, link or title. Raises UsageError."""
    with parts.database.reading() as tx:
        stored = _paper(tx, wanted)
        origin = papers.origin(tx, stored.id)
        assert origin is not None, "the paper was found in this very transaction"
        met = matches.of_paper(tx, stored.id)
        told = digests.of_paper(tx, stored.id)
    index = TopicIndex({topic.name: topic.query for topic in parts.topics})
    sources = [sighting.source for sighting in origin.sightings]
    return Explanation(
        id=stored.id,
        title=stored.paper.title,
        keys=origin.keys,
        first_seen=stored.first_seen,
        news_at=stored.news_at,
        withdrawn=stored.paper.withdrawn,
        sources=origin.sightings,
        changes=origin.changes,
        topics=tuple(
            TopicMet(
                row.topic, row.revision, row.score, index.why(row.topic, stored.paper, sources)
            )
            for row in met
        ),
        digests=tuple(ToldIn(*row) for row in told),
    )


def _paper(tx: Transaction, wanted: str) -> Stored:
    found = _candidates(tx, wanted)
    if not found:
        raise UsageError(
            f"no paper is {wanted!r}", "an id of `paper-monitor papers`, a key, a link or a title"
        )
    if len(found) > 1:
        ids = ", ".join(str(stored.id) for stored in found)
        raise UsageError(f"several papers are {wanted!r}", f"name one by its id: {ids}")
    return found[0]


def _candidates(tx: Transaction, wanted: str) -> list[Stored]:
    if wanted.isdecimal() and (stored := papers.get(tx, int(wanted))):
        return [stored]
    scheme, _, value = wanted.partition(":")
    told = Paper("", url=wanted, keys={"arxiv": wanted, "doi": wanted, scheme.lower(): value})
    by_key = (papers.by_key(tx, *pair) for pair in identifiers(told))
    found = {stored.id: stored for stored in by_key if stored}
    if not found:
        found = {stored.id: stored for stored in papers.by_title_key(tx, title_key(wanted))}
    return list(found.values())


# ── what the service needs ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: `message` says how it is, or what to do."""

    name: str
    ok: bool
    message: str


def vital_signs(parts: Parts, *, whole: bool = False) -> list[Check]:
    """Say whether the store takes a write and the service has ticked lately.

    `whole` reads all of the store, which takes a while when it is large.
    """
    with parts.database.reading() as tx:
        last = beats.last_beat(tx, SERVICE)
    if last is None:
        service = Check("service", False, "it has never run on this store: paper-monitor serve")
    else:
        age = datetime.now(UTC) - last
        told = f"last sign of life {last:%Y-%m-%d %H:%M:%S} UTC"
        service = Check("service", age < ALIVE, told)
    return [_store(parts, whole=whole), service]


def _store(parts: Parts, *, whole: bool) -> Check:
    try:
        parts.database.probe()
        if whole:
            parts.database.check()
    except StoreError as fault:
        return Check("store", False, str(fault))
    return Check("store", True, "it is whole and takes a write" if whole else "it takes a write")


def doctor(parts: Parts) -> list[Check]:
    """Look at everything the service needs: the store, the ways out, the sources, the service."""
    ways = [
        Check(f"channel {name}", not fault, fault or "reached; nothing was sent")
        for name, channel in parts.channels.items()
        for fault in [channel.check()]
    ]
    return [*vital_signs(parts, whole=True), *ways, *_sources_read(parts)]


def _sources_read(parts: Parts) -> list[Check]:
    with parts.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
    return [
        Check(f"source {name}", last[name].outcome is not RunOutcome.FAILED, _last_run(last[name]))
        if name in last
        else Check(f"source {name}", False, "never read: paper-monitor ingest")
        for name in parts.sources
    ]


def _last_run(run: Run) -> str:
    return f"{run.outcome} {run.started:%Y-%m-%d %H:%M} UTC" + (
        f": {run.error}" if run.error else ""
    )
