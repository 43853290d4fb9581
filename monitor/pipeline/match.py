"""Match: who watches for what is put in force; changes not yet matched meet the topics.

A new topic looks back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import structlog

from monitor.match import TopicIndex
from monitor.model import Change, Matched, Topic
from monitor.pipeline.parts import OPERATOR, Parts
from monitor.store import deliveries, digests, matches
from monitor.store.database import Transaction

log = structlog.get_logger()

BATCH = 1_000


def match(parts: Parts) -> int:
    """Match all that waits and return the number of matches written.

    A topic that cannot be understood is parked: it is logged and named in the digests, and
    the others go on.
    """
    index = TopicIndex({topic.name: topic.query for topic in parts.topics})
    for name, fault in index.errors.items():
        log.warning("topic parked", topic=name, error=str(fault))
    now = parts.clock.now()
    with parts.database.writing() as tx:
        _enrol(tx, parts, now)
        written = _look_back(tx, parts.topics, now)
    topics = {topic.name: topic for topic in parts.topics}
    while not parts.stopping.is_set():
        with parts.database.reading() as tx:
            changes = matches.unmatched(tx, BATCH)
        if not changes:
            break
        rows = list(find(index, topics, changes))
        with parts.database.writing() as tx:
            matches.save(tx, [(c.stored.id, c.revision) for c in changes], rows, now)
        written += len(rows)
    return written


def _enrol(tx: Transaction, parts: Parts, now: datetime) -> None:
    """Put the subscriptions in force; who was removed is written to no more."""
    told = [(s.name, s.schedule_text, s.timezone, s.topics) for s in parts.subscriptions]
    digests.sync_subscriptions(tx, told, now)
    ways = [(s.name, way) for s in parts.subscriptions for way in s.ways]
    ways += [(OPERATOR, way) for way in parts.operator]
    living = {(name, way.channel, to) for name, way in ways for to in way.recipients}
    deliveries.suppress_missing(tx, living, now)


def _look_back(tx: Transaction, topics: Sequence[Topic], now: datetime) -> int:
    """Let new and changed topics meet the news of their last days.

    In the transaction that puts them in force, so that a crash cannot lose the look-back.
    """
    names = set(matches.sync_topics(tx, topics, now))
    written = 0
    for topic in topics:
        if topic.name in names:
            index = TopicIndex({topic.name: topic.query})
            rows = [
                row
                for changes in _news_since(tx, matches.look_back(tx, topic.name, now))
                for row in find(index, {topic.name: topic}, changes)
            ]
            matches.replace_unsent(tx, topic.name, rows, now)
            written += len(rows)
    return written


def _news_since(tx: Transaction, at: datetime) -> Iterator[list[Change]]:
    after: tuple[int, int] | None = None
    while changes := matches.news_since(tx, at, after, BATCH):
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
