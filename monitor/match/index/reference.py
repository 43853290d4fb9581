"""Evaluates every topic on every paper: slow, and simple enough to be obviously correct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.match.evaluate import View, matches_topic
from monitor.match.explain import score
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.tree import Query

if TYPE_CHECKING:
    from monitor.match.index.arrays import Numbers


class ReferenceEngine:
    """Topics by number, in the order of their numbers."""

    def __init__(self, synonyms: Synonyms) -> None:
        self._synonyms = synonyms
        self._queries: dict[int, Query] = {}

    def put(self, topic: int, query: str | Query) -> None:
        """Add a topic, or change it. Raises QueryError, and then nothing was changed."""
        self._queries[topic] = self.read(query) if isinstance(query, str) else query

    def read(self, text: str) -> Query:
        """Return a topic as the parser reads it. Raises QueryError."""
        return parse_query(text, self._synonyms)

    def remove(self, topic: int) -> None:
        """Let a topic match nothing any more."""
        self._queries.pop(topic, None)

    def score(self, views: Sequence[View]) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs, and how well each paper matches its topic: three columns."""
        import numpy as np

        papers, topics = self.match(views)
        scores = [
            score(self._queries[topic], views[paper])
            for paper, topic in zip(papers.tolist(), topics.tolist(), strict=True)
        ]
        return papers, topics, np.array(scores, np.float64)

    def match(self, views: Sequence[View]) -> tuple[Numbers, Numbers]:
        """Return the pairs (paper, topic), sorted: two columns."""
        import numpy as np

        found = [
            (paper, topic)
            for paper, view in enumerate(views)
            for topic, query in sorted(self._queries.items())
            if matches_topic(query, view)
        ]
        return np.array([p for p, _ in found], np.int64), np.array([t for _, t in found], np.int64)
