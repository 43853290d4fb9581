"""Topics as the configuration has them, ready to meet papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from functools import lru_cache

from monitor.errors import QueryError
from monitor.match.index import TopicIndex
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.tree import Query
from monitor.model import Topic


def understood(topic: Topic) -> Query:
    """Read a topic with its synonyms and threshold. Raises QueryError."""
    return parse_query(topic.query, _synonyms(topic.synonyms), topic.threshold)


@lru_cache(maxsize=1_024)
def _synonyms(groups: tuple[tuple[str, ...], ...]) -> Synonyms:
    return Synonyms(groups)


def index_of(topics: Iterable[Topic]) -> TopicIndex:
    """Return an index of topics by name; one that cannot be read is in its `errors`."""
    topics = tuple(topics)
    # Nearly always all topics have the same synonyms, and then they stay in the index as text.
    common = Counter(topic.synonyms for topic in topics).most_common(1)
    shared = common[0][0] if common else ()
    asked: dict[Hashable, str | Query] = {}
    errors: dict[Hashable, QueryError] = {}
    for topic in topics:
        try:
            plain = topic.synonyms == shared and not topic.threshold
            asked[topic.name] = topic.query if plain else understood(topic)
        except QueryError as error:
            errors[topic.name] = error
    index = TopicIndex(asked, synonyms=_synonyms(shared))
    index.errors.update(errors)
    return index
