"""Finds which of many topics match which papers of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING

from monitor.errors import QueryError
from monitor.match.language.query import parse_once, parse_topic
from monitor.match.language.tree import Query
from monitor.match.meaning.evaluate import View
from monitor.match.meaning.explain import explain, score
from monitor.model import MatchReason, Paper, Topic

if TYPE_CHECKING:
    from monitor.match.index.arrays import Numbers
    from monitor.match.index.engine import Engine

BATCH = 1_024
# Papers whose words are kept for further topics: about 80 KB each for an abstract of 1.1 KB.
MAX_VIEWS = 4


@dataclass(frozen=True)
class Match:
    """A topic and a paper it matches; `position` counts the papers given, from 0."""

    topic: Hashable
    paper: Paper
    position: int
    _index: TopicIndex = field(repr=False, compare=False)
    _view: View = field(repr=False, compare=False)

    @cached_property
    def score(self) -> float:
        """How well the paper matches the topic, computed when needed."""
        return score(self._index.query(self.topic), self._view)

    @cached_property
    def why(self) -> tuple[MatchReason, ...]:
        """Which words were found in which field, computed when needed."""
        return explain(self._index.query(self.topic), self._view)


class TopicIndex:
    """Topics by name, each parsed when it is first needed. One that does not parse matches nothing.

    Topics stay as they are given, and are parsed again when they are asked for.

    Topics may be added, changed and taken away one by one; matches come in the order in which
    names were first added. Safe to use from several threads.
    """

    def __init__(self, topics: Mapping[Hashable, str | Query | Topic]) -> None:
        self._names: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._topics: dict[Hashable, str | Query | Topic] = {}
        self._errors: dict[Hashable, QueryError | None] = {}  # of topics that were parsed
        self._outdated: dict[Hashable, None] = {}  # names to be put into the engine
        self._current: tuple[Topic, ...] = ()
        self._views: tuple[View, ...] = ()
        self._lock = RLock()
        for name, topic in topics.items():
            self.replace(name, topic)

    @cached_property
    def _engine(self) -> Engine:
        """Made for the first batch: NumPy takes long to load, and often there is no batch."""
        from monitor.match.index.engine import Engine

        return Engine()

    def update(self, topics: tuple[Topic, ...]) -> None:
        """Take these topics, by name, in place of all; only changed ones are parsed again."""
        with self._lock:
            if topics is self._current:
                return
            wanted = {topic.name: topic for topic in topics}
            for name in self._topics.keys() - wanted.keys():
                self.discard(name)
            for name, topic in wanted.items():
                if self._topics.get(name) != topic:
                    self.replace(name, topic)
            self._current = topics

    def replace(self, name: Hashable, topic: str | Query | Topic) -> None:
        """Add a topic, or change the one of this name, which keeps its place."""
        with self._lock:
            self._remove(name)
            if name not in self._numbers:
                self._numbers[name] = len(self._names)
                self._names.append(name)
            self._topics[name] = topic
            self._outdated[name] = None

    def discard(self, name: Hashable) -> None:
        """Take a topic away; nothing happens where there is none of this name."""
        with self._lock:
            self._remove(name)
            if name in self._numbers:
                self._names[self._numbers.pop(name)] = None

    def _remove(self, name: Hashable) -> None:
        if self._topics.pop(name, None) is not None:
            self._errors.pop(name, None)
            if name in self._outdated:
                del self._outdated[name]
            else:
                self._engine.remove(self._numbers[name])

    def _fill_engine(self) -> None:
        outdated = self._outdated
        self._outdated = {}
        for name in outdated:
            if not self.error(name):
                self._engine.put(self._numbers[name], self.query(name))

    def name(self, number: int) -> Hashable:
        """Return the name of a topic by its number in `pairs`."""
        return self._names[number]

    def query(self, name: Hashable) -> Query:
        """Return a topic as it was parsed. Raises KeyError and QueryError."""
        with self._lock:
            return _parse(self._topics[name])

    @property
    def errors(self) -> Mapping[Hashable, QueryError]:
        """Why topics cannot be parsed, by name: all are parsed, and made ready to match."""
        with self._lock:
            self._fill_engine()
            return {name: error for name in self._topics if (error := self.error(name))}

    def error(self, name: Hashable) -> QueryError | None:
        """Return why a topic cannot be parsed, None for one that can."""
        with self._lock:
            if name in self._topics and name not in self._errors:
                self._errors[name] = None
                try:
                    self.query(name)
                except QueryError as error:
                    self._errors[name] = error
            return self._errors.get(name)

    def why(
        self, topic: Hashable, paper: Paper, sources: Sequence[str] = ()
    ) -> tuple[MatchReason, ...]:
        """Return why `topic` matches `paper` now; empty when it does not, or cannot be parsed."""
        if topic not in self._topics or self.error(topic):
            return ()
        return explain(self.query(topic), self._view(paper, tuple(sources)))

    def _view(self, paper: Paper, sources: tuple[str, ...]) -> View:
        """Return a paper as it was read for the topic before: each matches several."""
        for view in self._views:
            if view.paper == paper and view.sources == sources:
                return view
        self._views = (View(paper, sources), *self._views[: MAX_VIEWS - 1])
        return self._views[0]

    def match(
        self, papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None = None
    ) -> Iterator[Match]:
        """Yield the matches paper by paper, each in the order of the topics.

        `sources` names, for each paper, the sources it was seen in (for `source:`); ValueError
        when there are more or fewer than papers. Papers are read a thousand at a time.
        """
        for first, views in _view_batches(papers, sources):
            at, topics, _ = self._match_batch(views)
            for position, number in zip(at.tolist(), topics.tolist(), strict=True):
                view = views[position]
                yield Match(self._names[number], view.paper, first + position, self, view)

    def pairs(
        self, papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None = None
    ) -> tuple[Numbers, Numbers]:
        """Return all matches as two columns: positions of papers, and numbers of topics.

        In the order of `match`, whose arguments it takes; `name` gives the name of a topic's
        number. Use it for very many matches of which few are looked at.
        """
        at, topics, _ = self.scores(papers, sources, scored=False)
        return at, topics

    def scores(
        self,
        papers: Iterable[Paper],
        sources: Iterable[Sequence[str]] | None = None,
        *,
        scored: bool = True,
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return `pairs`, and how well each paper matches its topic: `Match.score`, but faster."""
        columns = []
        for first, views in _view_batches(papers, sources):
            at, topics, scores = self._match_batch(views, scored=scored)
            columns.append((at + first, topics, scores))
        return self._engine.concatenate(columns)

    def _match_batch(
        self, views: Sequence[View], *, scored: bool = False
    ) -> tuple[Numbers, Numbers, Numbers]:
        with self._lock:
            self._fill_engine()
            at, topics, scores = self._engine.match(views, scored=scored)
            for pair in (scores != scores).nonzero()[0].tolist():  # NaN: left to the definition
                query = self.query(self._names[topics[pair]])
                scores[pair] = score(query, views[at[pair]])
        return at, topics, scores


def build_index(topics: Iterable[Topic]) -> TopicIndex:
    return TopicIndex({topic.name: topic for topic in topics})


def _parse(topic: str | Query | Topic) -> Query:
    match topic:
        case Query():
            return topic
        case Topic(like=like) if like:
            return parse_topic(topic)
        case Topic():
            return parse_once(topic.query, topic.synonyms, topic.threshold)
        case _:
            return parse_once(topic)


def _view_batches(
    papers: Iterable[Paper], sources: Iterable[Sequence[str]] | None
) -> Iterator[tuple[int, list[View]]]:
    if sources is None:
        views = (View(paper) for paper in papers)
    else:
        views = (View(paper, seen) for paper, seen in zip(papers, sources, strict=True))
    first = 0
    while batch := list(islice(views, BATCH)):
        yield first, batch
        first += len(batch)
