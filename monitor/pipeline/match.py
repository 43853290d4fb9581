"""Match: subscriptions and topics are put in force, a new topic looks back, changes match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

import structlog

from monitor.match import TopicIndex, asks_for_numbers, build_index
from monitor.model import LIST_AGE, Change, MatchRow, Topic
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline import incidents, like_topics, shared_store
from monitor.pipeline.near_matches import MOST_NEAR_A_DAY, RECENT, NearTopics, near_topics
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import incidents as stored_incidents
from monitor.store.digests import outbox, suppressions
from monitor.store.engine.database import Transaction
from monitor.store.papers import sightings
from monitor.store.papers.write_papers import matched_since, reopen
from monitor.store.topics import embeddings as stored_embeddings
from monitor.store.topics import examples, matches, subscriptions

log = structlog.get_logger()

BATCH = 1_000
# Longer than matching a look-back takes, so that nothing falls between two sets of topics.
MATCH_OVERLAP = timedelta(hours=1)


def match(runtime: Runtime) -> int:
    """Match all that waits and return the number of matches written.

    A topic that cannot be understood is parked: it is logged and named in the digests, and
    the others go on.
    """
    sync_subscriptions(runtime)
    topics = {topic.name: topic for topic in runtime.topics}
    index: TopicIndex | None = None
    lowered: NearTopics | None = None
    written = _look_back(runtime)
    while not runtime.stopping.is_set():
        with runtime.database.reading() as tx:
            changes = matches.changes_to_match(tx, BATCH)
        if not changes:
            break
        if index is None:
            index = _current_index(runtime)
            lowered = near_topics(runtime, like_topics.find_current(runtime))
        rows = list(find(index, topics, changes))
        now = runtime.clock.now()
        near = find_near(lowered, changes, rows, now)
        with runtime.database.writing() as tx:
            done = _with_same_sources(tx, _sources_by_change(changes))
            matches.save(tx, done, rows, now)
            stored_embeddings.add_near(tx, near, now, MOST_NEAR_A_DAY)
        written += len(rows)
    return written + _look_again(runtime)


def _current_index(runtime: Runtime) -> TopicIndex:
    return runtime.active.index(like_topics.find_current(runtime))


def _look_again(runtime: Runtime) -> int:
    """Match papers whose votes or lists grew with the topics that ask for these numbers.

    What a topic has matched before it does not match again: a paper is news to it once.
    """
    written = 0
    index = None
    while not runtime.stopping.is_set():
        now = runtime.clock.now()
        with runtime.database.reading() as tx:
            grown = matches.grown_papers(tx, BATCH)
            papers = [paper.paper_id for paper in grown]
            changes = matches.news_of(tx, papers, now - LIST_AGE) if papers else []
            every = like_topics.current_topics(tx, runtime)
        if not grown:
            break
        topics = {topic.name: topic for topic in every if asks_for_numbers(topic)}
        index = index or build_index(topics.values())
        rows = list(find(index, topics, changes)) if topics else []
        with runtime.database.writing() as tx:
            matches.save_grown(tx, grown, rows, now)
        written += len(rows)
    return written


# Changes by paper and revision, with the sources that had listed each.
_SourcesByChange: TypeAlias = dict[tuple[int, int], tuple[str, ...]]


def _sources_by_change(changes: Iterable[Change]) -> _SourcesByChange:
    return {(change.stored.id, change.revision): change.sources for change in changes}


def _with_same_sources(tx: Transaction, expected: _SourcesByChange) -> list[tuple[int, int]]:
    """Leave out what another source listed meanwhile: it is matched once more."""
    current = sightings.sources(tx, {paper for paper, _ in expected})
    return [change for change, sources in expected.items() if current.get(change[0], ()) == sources]


def sync_subscriptions(runtime: Runtime) -> None:
    """Put the subscriptions in force; who was removed is written to no more.

    What no longer is in the configuration is no incident either. What another configuration has
    stays for as long as that is in use as well.
    """
    now = runtime.clock.now()
    keep = False
    with runtime.database.writing() as tx:
        shared_store.take_turn(tx, runtime)
        activated = runtime.activation_hash, subscriptions.changed_at(tx)
        if runtime.active.subscriptions != activated:
            keep = shared_store.keeps_others(tx, runtime)
            subscriptions.sync_subscriptions(tx, runtime.subscribed, now, keep_others=keep)
        activated = runtime.activation_hash, subscriptions.changed_at(tx)
        outbox.suppress_missing(tx, runtime.recipients, now)
        suppressions.withhold(tx, now)
        examples.settle(tx)
        if stored_incidents.open_incidents(tx):
            living = incidents.subjects(runtime)
            if shared_store.find_rivals_now(tx):
                living.add(Subject(SubjectKind.STORE))
            stored_incidents.end_obsolete(tx, living, now)
    # Subscriptions that were kept are removed once the other configuration is out of use.
    runtime.active.subscriptions = ("", None) if keep else activated


def _look_back(runtime: Runtime) -> int:
    """Match new and changed topics with what was matched without them, then put them in force.

    What waits to be matched is left to `match`, which matches it with all topics at once. The
    matching is done with no transaction open. What others matched meanwhile without the new
    topics is opened again by the transaction that puts them in force.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        activated_at = matches.activated_at(tx)
        if runtime.active.topics == (runtime.activation_hash, activated_at):
            return 0
        changed, gone = matches.difference(tx, runtime.topics)
    learned = changed = like_topics.learn_missing(runtime, changed)
    every = len(changed) == len(runtime.topics)
    index = runtime.active.index(tuple(changed)) if every else build_index(changed)
    changed = _readable(changed, index)
    if activated_at and not changed and not gone:
        runtime.active.topics = runtime.activation_hash, activated_at
        return 0
    with runtime.database.reading() as tx:
        starts = matches.look_back(tx, changed, now)
    log.info("topics activated", new_or_changed=len(changed), gone=len(gone))
    rows, near, seen = _match_since(runtime, changed, starts, index)
    with runtime.database.writing() as tx:
        matches.begin_activation(tx)
        if matches.activated_at(tx) != activated_at:
            changed, gone = matches.difference(tx, runtime.topics)
            changed = like_topics.with_same_words(tx, changed, learned)
            changed = _readable(changed, build_index(changed))
        keep = shared_store.keeps_others(tx, runtime)
        like_topics.store_missing(tx, changed, now)
        matches.activate_topics(tx, changed, gone, now, keep_matches=keep)
        matches.replace_unsent(tx, starts, rows, now)
        stored_embeddings.forget_near(tx, [*starts, *([] if keep else gone)])
        stored_embeddings.add_near(tx, near, now, MOST_NEAR_A_DAY)
        if starts:
            reopen(tx, _papers_to_match_again(tx, seen, now - MATCH_OVERLAP), now - MATCH_OVERLAP)
        activated_at = matches.activated_at(tx)
    runtime.active.topics = runtime.activation_hash, activated_at
    return len(rows)


def _readable(changed: Sequence[Topic], index: TopicIndex) -> list[Topic]:
    """Skip topics that do not parse; their stored version stays active."""
    errors = index.errors
    for topic in changed:
        if topic.name in errors:
            log.warning("topic parked", topic=topic.name, error=str(errors[topic.name]))
    return [topic for topic in changed if topic.name not in errors]


def _match_since(
    runtime: Runtime,
    changed: Sequence[Topic],
    starts: Mapping[str, datetime],
    index: TopicIndex,
) -> tuple[list[MatchRow], list[MatchRow], _SourcesByChange]:
    """Return what each changed topic matches since its own start, and what is just below its bar.

    And all that was looked at.
    """
    rows: list[MatchRow] = []
    near: list[MatchRow] = []
    now = runtime.clock.now()
    lowered = near_topics(runtime, changed)
    seen: _SourcesByChange = {}
    topics = {topic.name: topic for topic in changed}
    after: tuple[int, int] | None = None
    while changed:
        with runtime.database.reading() as tx:
            changes = matches.matched_news(tx, min(starts.values()), after, BATCH)
        if not changes:
            break
        at = {(change.stored.id, change.revision): change.at for change in changes}
        seen |= _sources_by_change(changes)
        found = list(find(index, topics, changes))
        below = find_near(lowered, changes, found, now)
        for row, to in [*((row, rows) for row in found), *((row, near) for row in below)]:
            if at[row.paper_id, row.revision] >= starts[row.topic]:
                to.append(row)
        after = changes[-1].stored.id, changes[-1].revision
    return rows, near, seen


def _papers_to_match_again(tx: Transaction, seen: _SourcesByChange, since: datetime) -> set[int]:
    """Return the papers that others matched and new topics did not see as they now are."""
    matched = matched_since(tx, since)
    same = _with_same_sources(tx, {change: seen[change] for change in matched if change in seen})
    return {paper for paper, _ in matched.difference(same)}


def find(
    index: TopicIndex, topics: Mapping[str, Topic], changes: Sequence[Change]
) -> Iterable[MatchRow]:
    """Yield a row for each topic that a change matches, of a kind and source it asks for."""
    columns = index.scores([c.stored.paper for c in changes], sources=[c.sources for c in changes])
    for at, number, score in zip(*(column.tolist() for column in columns), strict=True):
        topic = topics[str(index.name(number))]
        change = changes[at]
        wanted = not topic.sources or not set(topic.sources).isdisjoint(change.sources)
        if wanted and change.kind in topic.news:
            yield MatchRow(topic.name, change.stored.id, change.revision, score)


def find_near(
    lowered: NearTopics | None,
    changes: Sequence[Change],
    matched: Iterable[MatchRow],
    now: datetime,
) -> list[MatchRow]:
    """Return a row for each topic of whose bar recent news is just below: `matched` is above."""
    recent = [change for change in changes if change.at > now - RECENT]
    if lowered is None or not recent:
        return []
    above = {(row.topic, row.paper_id, row.revision) for row in matched}
    below = find(lowered.index, lowered.topics, recent)
    return [row for row in below if (row.topic, row.paper_id, row.revision) not in above]
