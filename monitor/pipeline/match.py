"""Match: who watches for what is put in force; changes not yet matched meet the topics.

A new topic looks back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import structlog

from monitor.match import TopicIndex, index_of
from monitor.model import Change, Matched, Topic
from monitor.pipeline import incidents
from monitor.pipeline.parts import OPERATOR, Parts
from monitor.store import deliveries, digests, matches, papers, runs
from monitor.store.database import Transaction

log = structlog.get_logger()

BATCH = 1_000
# Longer than matching a look-back takes, so that nothing falls between two sets of topics.
MEANWHILE = timedelta(hours=1)


def match(parts: Parts) -> int:
    """Match all that waits and return the number of matches written.

    A topic that cannot be understood is parked: it is logged and named in the digests, and
    the others go on.
    """
    enrol(parts)
    topics = {topic.name: topic for topic in parts.topics}
    index: TopicIndex | None = None
    written = _look_back(parts)
    while not parts.stopping.is_set():
        with parts.database.reading() as tx:
            changes = matches.unmatched(tx, BATCH)
        if not changes:
            break
        index = index or _index(parts.topics)
        rows = list(find(index, topics, changes))
        with parts.database.writing() as tx:
            done = _as_they_were(tx, changes)
            matches.save(tx, done, rows, parts.clock.now())
        written += len(rows)
    return written


def _as_they_were(tx: Transaction, changes: Sequence[Change]) -> list[tuple[int, int]]:
    """Leave out what another source has told of meanwhile: it meets the topics once more."""
    now_told = papers.sources(tx, {change.stored.id for change in changes})
    same = [change for change in changes if now_told.get(change.stored.id, ()) == change.sources]
    return [(change.stored.id, change.revision) for change in same]


@lru_cache(maxsize=2)
def _index(topics: tuple[Topic, ...]) -> TopicIndex:
    """Return the index of these topics, made once for as long as they are the same."""
    index = index_of(topics)
    for name, fault in index.errors.items():
        log.warning("topic parked", topic=name, error=str(fault))
    return index


def enrol(parts: Parts) -> None:
    """Put the subscriptions in force; who was removed is written to no more.

    What no longer is in the configuration is no incident either.
    """
    now = parts.clock.now()
    told = [(s.name, s.schedule_text, s.timezone, s.topics) for s in parts.subscriptions]
    ways = [(s.name, way) for s in parts.subscriptions for way in s.ways]
    ways += [(OPERATOR, way) for way in parts.operator]
    living = {(name, way.channel, to) for name, way in ways for to in way.recipients}
    with parts.database.writing() as tx:
        digests.sync_subscriptions(tx, told, now)
        deliveries.suppress_missing(tx, living, now)
        runs.end_obsolete(tx, incidents.subjects(parts, living), now)


def _look_back(parts: Parts) -> int:
    """Let new and changed topics meet the news of their last days, then put them in force.

    The matching is done with no transaction open. What others matched meanwhile without the
    new topics is opened again by the transaction that puts them in force.
    """
    now = parts.clock.now()
    with parts.database.reading() as tx:
        names = set(matches.changed_topics(tx, parts.topics))
        changed = [topic for topic in parts.topics if topic.name in names]
        starts = matches.look_back(tx, changed, now)
    rows = _since(parts, changed, starts)
    with parts.database.writing() as tx:
        matches.sync_topics(tx, parts.topics, now)
        matches.replace_unsent(tx, starts, rows, now)
        if changed:
            matches.reopen(tx, None, now - MEANWHILE)
    return len(rows)


def _since(parts: Parts, changed: Sequence[Topic], starts: Mapping[str, datetime]) -> list[Matched]:
    """Return what each changed topic meets of the news since its own start."""
    rows: list[Matched] = []
    if not changed:
        return rows
    index, topics = _index(tuple(changed)), {topic.name: topic for topic in changed}
    for changes in _news_since(parts, min(starts.values())):
        at = {(change.stored.id, change.revision): change.at for change in changes}
        for row in find(index, topics, changes):
            if at[row.paper_id, row.revision] >= starts[row.topic]:
                rows.append(row)
    return rows


def _news_since(parts: Parts, at: datetime) -> Iterator[list[Change]]:
    after: tuple[int, int] | None = None
    while True:
        with parts.database.reading() as tx:
            changes = matches.news_since(tx, at, after, BATCH)
        if not changes:
            return
        yield changes
        after = changes[-1].stored.id, changes[-1].revision


def find(
    index: TopicIndex, topics: dict[str, Topic], changes: Sequence[Change]
) -> Iterable[Matched]:
    """Yield a row for each topic that a change meets, of a kind and source it asks for."""
    found = index.match([c.stored.paper for c in changes], sources=[c.sources for c in changes])
    for hit in found:
        topic, change = topics[str(hit.topic)], changes[hit.position]
        wanted = not topic.sources or not set(topic.sources).isdisjoint(change.sources)
        if wanted and change.kind in topic.news:
            yield Matched(topic.name, change.stored.id, change.revision, hit.score)
