"""The words of topics with ratings: in how many of the papers that a topic matched each is.

The counts are stored. What a topic matched since is added when a digest is composed, and nothing is
taken away: a paper that the topic matches no longer, or that is older than the newest 2,000, counts
until there are too many of them, and then the papers are counted again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from monitor.rank import MAX_MATCHED, NO_FREQUENCIES, Features, Weights, features_of, pack, unpack
from monitor.store.engine.database import Database, Transaction
from monitor.store.papers import papers
from monitor.store.topics import matches, word_counts

# Papers counted in one run, about 0.2 ms each; the others are counted in the next ones.
MAX_COUNTED = 2_500
# The papers that count too much are at most such a share of those that should.
_MOST_GONE = 0.25
# The newest papers of a topic, with which reasons compare.
RECENT = 40
# About a megabyte each.
MOST_TOPICS = 48


class Words(NamedTuple):
    """How words weigh in a topic, those of its trade, and the words of its newest papers, by id."""

    factors: Weights | None
    trade: frozenset[int]
    recent: dict[int, Features]


class TopicWords:
    """The words of topics as read in one run, and the counts that are to be written."""

    def __init__(self) -> None:
        self._known: dict[str, Words] = {}
        # The counts, those before, and the papers that were added.
        self.changed: dict[str, tuple[bytes, bytes | None, Collection[int]]] = {}
        self._left = MAX_COUNTED

    def read(self, tx: Transaction, topic: str) -> Words:
        """Return the words of a topic, with what it matched since they were counted."""
        if topic not in self._known:
            if len(self._known) >= MOST_TOPICS:
                self._known.clear()
            self._known[topic] = self._read(tx, topic)
        return self._known[topic]

    def save(self, database: Database) -> None:
        """Write the counts that changed."""
        changed = self.changed
        self.changed = {}
        with database.writing() as tx:
            for topic, change in changed.items():
                word_counts.write(tx, topic, *change)

    def _read(self, tx: Transaction, topic: str) -> Words:
        matched = matches.newest_ids(tx, topic, MAX_MATCHED)
        before = word_counts.read(tx, topic)
        counted, frequencies = unpack(before) if before else (set(), NO_FREQUENCIES)
        gone = len(counted.difference(matched))
        if gone > _MOST_GONE * len(matched) and self._left >= len(matched):
            counted = set()
            frequencies = NO_FREQUENCIES
        added = [id for id in matched if id not in counted][: self._left]
        texts = papers.texts(tx, {*added, *matched[:RECENT]})
        words = {id: features_of(*texts[id]) for id in matched if id in texts}
        added = [id for id in added if id in words]
        if added:
            self._left -= len(added)
            frequencies = frequencies.plus([words[id] for id in added])
            self.changed[topic] = pack(counted.union(added), frequencies), before, added
        recent = {id: words[id] for id in matched[:RECENT] if id in words}
        return Words(frequencies.factors(), frequencies.trade(), recent)
