"""Indexes of the topics of a configuration."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from threading import Lock

from monitor.errors import QueryError
from monitor.match.index import TopicIndex
from monitor.match.language.query import parse_topic
from monitor.match.language.tree import Query
from monitor.match.meaning.evaluate import RecentViews
from monitor.match.meaning.explain import explain
from monitor.model import MatchReason, Paper, Topic

# Topics that a reader keeps parsed, of about two kilobytes each.
_MOST_PARSED = 2_000


class TopicIndexCache:
    """An index that outlives a reload: of the next configuration only changed topics are parsed.

    Safe to use from several threads, as long as all use the same topics.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: tuple[Topic, ...] | None = None
        self._topics: Mapping[str, Topic] = {}
        self._index = TopicIndex({})

    def index(self, topics: tuple[Topic, ...]) -> TopicIndex:
        """Return an index of these topics by name; one that cannot be parsed is in its `errors`."""
        with self._lock:
            if topics is not self._current:
                self._update(topics)
            return self._index

    def _update(self, topics: tuple[Topic, ...]) -> None:
        wanted = {topic.name: topic for topic in topics}
        for name in self._topics.keys() - wanted.keys():
            self._index.discard(name)
        for topic in topics:
            if self._topics.get(topic.name) != topic:
                self._index.replace(topic.name, topic)
        self._current, self._topics = topics, wanted


class TopicReader:
    """Topics that are parsed when they are asked for. It has no index: NumPy takes long to load."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._views = RecentViews()
        self._parsed = lru_cache(maxsize=_MOST_PARSED)(self._parse)

    def error(self, name: str) -> QueryError | None:
        """Return why a topic cannot be parsed, None for one that can."""
        parsed = self._parsed(name)
        return parsed if isinstance(parsed, QueryError) else None

    def why(self, name: str, paper: Paper, sources: Sequence[str] = ()) -> tuple[MatchReason, ...]:
        """Return why a topic matches a paper, as `TopicIndex.why` does."""
        parsed = self._parsed(name)
        if not isinstance(parsed, Query):
            return ()
        return explain(parsed, self._views.view(paper, sources))

    def _parse(self, name: str) -> Query | QueryError | None:
        topic = self._topics.get(name)
        try:
            return parse_topic(topic) if topic else None
        except QueryError as error:
            return error


def find_errors(topics: Iterable[Topic]) -> dict[Hashable, QueryError]:
    """Return why topics cannot be parsed, by name."""
    errors: dict[Hashable, QueryError] = {}
    for topic in topics:
        try:
            parse_topic(topic)
        except QueryError as error:
            errors[topic.name] = error
    return errors


def build_index(topics: Iterable[Topic]) -> TopicIndex:
    """Return an index of topics by name; one that cannot be parsed is in its `errors`."""
    return TopicIndexCache().index(tuple(topics))
