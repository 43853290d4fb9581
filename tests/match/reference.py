"""Every topic evaluated on every paper: slow, and simple enough to be obviously correct."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from monitor.errors import QueryError
from monitor.match import Query, Synonyms, parse_query
from monitor.match.meaning.evaluate import View, matches_topic
from monitor.match.meaning.explain import score
from monitor.model import Paper


class ReferenceIndex:
    """What `TopicIndex` has to find."""

    def __init__(
        self, topics: Mapping[Hashable, str | Query], *, synonyms: Synonyms | None = None
    ) -> None:
        self.errors: dict[Hashable, QueryError] = {}
        self._queries: dict[Hashable, Query] = {}
        for name, topic in topics.items():
            try:
                is_text = isinstance(topic, str)
                query = parse_query(topic, synonyms or Synonyms()) if is_text else topic
            except QueryError as error:
                self.errors[name] = error
            else:
                self._queries[name] = query

    def scores(
        self, papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None = None
    ) -> dict[tuple[int, Hashable], float]:
        """Return the score of each pair of a paper's position and a topic that match, in order."""
        batch = list(papers)
        seen_in = [()] * len(batch) if sources is None else list(sources)
        views = [View(paper, seen) for paper, seen in zip(batch, seen_in, strict=True)]
        return {
            (position, name): score(query, view)
            for position, view in enumerate(views)
            for name, query in self._queries.items()
            if matches_topic(query, view)
        }
