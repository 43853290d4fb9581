"""What a service remembers to have put in force, from one configuration to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from monitor.errors import QueryError
from monitor.match import TopicIndex
from monitor.model import MatchReason, Paper, Topic
from monitor.store.engine.database import Transaction
from monitor.store.topics import matches, subscriptions
from monitor.store.topics.subscriptions import Subscribed


class ActiveConfig:
    """The topics in an index; and what the store has in force, topics and subscriptions.

    The store has a mark for each of the two. While it is the same, the store has what this
    process activated, and what differs is known without reading it.
    """

    def __init__(self) -> None:
        self._index = TopicIndex({})
        self._topics: tuple[Topic, ...] = ()
        self._explained: tuple[tuple[Topic, ...], Explain] | None = None
        self._mark: datetime | None = None
        self._subscribed: tuple[Sequence[Subscribed], datetime | None] = ((), None)

    def index(self, topics: tuple[Topic, ...]) -> TopicIndex:
        """Return the index of these topics; only those that are other are read."""
        self._index.update(topics)
        return self._index

    def errors(self, topics: tuple[Topic, ...]) -> Mapping[str, QueryError]:
        """Return why topics cannot be parsed, by name, without getting them ready to match."""
        index = self.index(topics)
        return {topic.name: error for topic in topics if (error := index.error(topic.name))}

    def explain(self, topics: tuple[Topic, ...]) -> Explain:
        """Return what says why one of these topics matches a paper."""
        if self._explained is None or self._explained[0] is not topics:
            self._explained = topics, cached_explain(self.index(topics).why)
        return self._explained[1]

    def release(self) -> None:
        """Let go of the explanations of a run: later digests have other papers."""
        self._explained = None

    def difference(
        self, tx: Transaction, topics: tuple[Topic, ...]
    ) -> tuple[Sequence[Topic], Sequence[str]]:
        """Return the topics that are new or changed to the store, and the names that are gone."""
        if self._mark is None or matches.activated_at(tx) != self._mark:
            return matches.difference(tx, topics)
        if topics is self._topics:
            return (), ()
        earlier = {topic.name: topic for topic in self._topics}
        changed = [topic for topic in topics if earlier.pop(topic.name, None) != topic]
        return changed, sorted(earlier)

    def remember(self, topics: tuple[Topic, ...], mark: datetime | None) -> None:
        """Keep what the store has in force by now: after the commit."""
        self._topics, self._mark = topics, mark

    def has_subscriptions(self, tx: Transaction, subscribed: Sequence[Subscribed]) -> bool:
        """Say whether the store has just these subscriptions in force."""
        earlier, mark = self._subscribed
        return (
            mark is not None
            and (earlier is subscribed or earlier == subscribed)
            and subscriptions.changed_at(tx) == mark
        )

    def remember_subscriptions(
        self, subscribed: Sequence[Subscribed], mark: datetime | None
    ) -> None:
        """Keep what the store has in force by now: after the commit."""
        self._subscribed = subscribed, mark


# About four kilobytes each; what a digest shows of an abstract is bounded.
MOST_KEPT = 4_096

Explain = Callable[[str, Paper, Sequence[str]], tuple[MatchReason, ...]]


def cached_explain(why: Explain) -> Explain:
    """Return `why` with its last answers kept, by all of a paper that topics look at.

    For topics that do not change meanwhile.
    """

    @lru_cache(maxsize=MOST_KEPT)
    def explain_fields(  # noqa: PLR0913 - the facts of one match
        topic: str,
        title: str,
        abstract: str,
        authors: tuple[str, ...],
        venue: str,
        categories: tuple[str, ...],
        announce: str,
        sources: tuple[str, ...],
    ) -> tuple[MatchReason, ...]:
        paper = Paper(
            title,
            abstract=abstract,
            authors=authors,
            venue=venue,
            categories=categories,
            announce=announce,
        )
        return why(topic, paper, sources)

    def explain(topic: str, paper: Paper, sources: Sequence[str]) -> tuple[MatchReason, ...]:
        looked_at = paper.title, paper.abstract, paper.authors, paper.venue, paper.categories
        return explain_fields(topic, *looked_at, paper.announce, tuple(sources))

    return explain
