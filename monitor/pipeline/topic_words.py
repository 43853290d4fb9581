"""The words of topics with ratings."""

from __future__ import annotations

from typing import NamedTuple

from monitor.rank import NO_FREQUENCIES, Features, Frequencies, features_of
from monitor.store.engine.database import Transaction
from monitor.store.papers import papers
from monitor.store.topics import matches

# The newest papers of a topic, with which reasons compare.
RECENT = 40
# About 40 kilobytes each.
MOST_TOPICS = 128


class Words(NamedTuple):
    """The word frequencies of a topic, and the words of the papers that it matched last, by id."""

    frequencies: Frequencies
    recent: dict[int, Features]


class TopicWords:
    """The words of topics as read in one run."""

    def __init__(self) -> None:
        self._known: dict[str, Words] = {}

    def read(self, tx: Transaction, topic: str) -> Words:
        """Return the words of a topic."""
        if topic not in self._known:
            if len(self._known) >= MOST_TOPICS:
                self._known.clear()
            texts = papers.texts(tx, matches.newest_ids(tx, topic, RECENT))
            recent = {id: features_of(*text) for id, text in texts.items()}
            self._known[topic] = Words(NO_FREQUENCIES, recent)
        return self._known[topic]
