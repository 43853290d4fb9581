"""Which topics match which papers of a batch, computed on rows of bits.

    texts ─> lattice of numbered words ─> phrases ─> leaves ─> rows of bits, one bit a paper
    topics whose leaves were found ─> evaluated shape by shape ─> pairs

The batch is inverted, so that the work for each topic does not grow with the words of the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from monitor.match.index.arrays import Numbers, set_bits
from monitor.match.index.leaves import Leaves, PresentLeaves
from monitor.match.index.scores import Counts, score_pairs
from monitor.match.index.shapes import Tree, evaluate, shape_of, tree_of
from monitor.match.language.tree import Query, leaves
from monitor.match.meaning.evaluate import View, matches_topic

_WORDS_PER_BLOCK = 1 << 17  # words of bits at once: what a processor's cache holds
_CELLS_PER_BLOCK = 1 << 20  # leaves of pairs that are scored at once


class _Group:
    """The topics of one shape, by number, each with the leaves in its places."""

    def __init__(self, shape: Tree) -> None:
        self.shape = shape
        self._leaves_of: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._leaves_of)

    def put(self, topic: int, leaves: tuple[int, ...]) -> None:
        self._leaves_of[topic] = leaves
        self.__dict__.pop("columns", None)

    def remove(self, topic: int) -> None:
        if self._leaves_of.pop(topic, None):
            self.__dict__.pop("columns", None)

    @cached_property
    def columns(self) -> tuple[Numbers, Numbers]:
        """The numbers of the topics, and a row of leaves for each."""
        topics = np.fromiter(self._leaves_of, np.int64, len(self._leaves_of))
        return topics, np.array(list(self._leaves_of.values()), np.int32)


class Engine:
    """Topics by number, in the order they were added."""

    def __init__(self) -> None:
        self._leaves = Leaves()
        self._groups: dict[Tree, _Group] = {}
        self._with_threshold: dict[int, Query] = {}
        self._weighted: set[int] = set()  # topics whose clauses are not just their leaves

    def put(self, topic: int, query: Query) -> None:
        """Add a topic; one that is there has to be removed first."""
        shape, placed = shape_of(tree_of(query.root, self._leaves.number))
        if shape not in self._groups:
            self._groups[shape] = _Group(shape)
        self._groups[shape].put(topic, placed)
        if query.threshold:
            self._with_threshold[topic] = query
        clauses = [leaf.position for leaf in leaves(query.root)]
        if query.weights or len(set(clauses)) < len(clauses):
            self._weighted.add(topic)

    def remove(self, topic: int) -> None:
        """Let a topic match nothing any more."""
        for shape, group in list(self._groups.items()):
            group.remove(topic)
            if not len(group):
                del self._groups[shape]
        self._with_threshold.pop(topic, None)
        self._weighted.discard(topic)

    def match(self, views: Sequence[View], *, scored: bool) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs (paper, topic), sorted, and how well each matches: three columns.

        NaN stands for what `explain.score` has to compute. Unless `scored`, scores are 0.
        """
        present, hits = self._leaves.find(views)
        counts = self._leaves.count(present, hits, views) if scored else None
        columns = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for group, papers, rows in self._matching(present, len(views)):
            scores = np.zeros(len(papers))
            if counts:
                scores = self._scores(group, papers, rows, present, counts)
            columns.append((papers, group.columns[0][rows], scores))
        papers, topics, scores = (np.concatenate(column) for column in zip(*columns, strict=True))
        if counts:
            plain = np.isin(papers, list(counts.hard)) | np.isin(topics, list(self._weighted))
            scores[plain] = np.nan
        order = np.argsort(papers << 32 | topics)
        papers, topics, scores = papers[order], topics[order], scores[order]
        kept = self._above_threshold(papers, topics, views)
        return papers[kept], topics[kept], scores[kept]

    def _matching(
        self, present: PresentLeaves, count: int
    ) -> Iterator[tuple[_Group, Numbers, Numbers]]:
        """Yield groups, each with papers and the rows of topics that they match."""
        width = present.rows.shape[1]
        every = np.full(width, 0xFFFFFFFFFFFFFFFF, np.uint64)
        if count % 64:
            every[-1] = (1 << count % 64) - 1
        block = max(1, _WORDS_PER_BLOCK // max(1, width))
        for group in self._groups.values():
            placed = present.row_of[group.columns[1]]
            possible = np.flatnonzero(evaluate(group.shape, _may_have(placed)))
            for first in range(0, len(possible), block):
                rows = possible[first : first + block]
                at, papers = set_bits(evaluate(group.shape, _have(placed[rows], present, every)))
                yield group, papers.astype(np.int64), rows[at]

    def _scores(
        self,
        group: _Group,
        papers: Numbers,
        rows: Numbers,
        present: PresentLeaves,
        counts: Counts,
    ) -> Numbers:
        """Return how well papers match the topics in these rows of a group."""
        scores = np.empty(len(papers))
        leaves_of = group.columns[1]
        block = max(1, _CELLS_PER_BLOCK // leaves_of.shape[1])
        for first in range(0, len(papers), block):
            at = slice(first, first + block)
            placed, paper = leaves_of[rows[at]], papers[at, np.newaxis]
            words = present.rows[present.row_of[placed], paper >> 6]
            has = (words >> (paper & 63).astype(np.uint64) & np.uint64(1)).astype(bool)
            information = self._leaves.rarities[placed]
            scores[at] = score_pairs(
                group.shape, placed, has, counts.at(placed, paper), information
            )
        return scores

    def _above_threshold(
        self, papers: Numbers, topics: Numbers, views: Sequence[View]
    ) -> Numbers | slice:
        """Return which papers' points reach the threshold of the topic."""
        if not self._with_threshold:
            return slice(None)
        kept = np.ones(len(papers), bool)
        for at in np.flatnonzero(np.isin(topics, list(self._with_threshold))).tolist():
            kept[at] = matches_topic(self._with_threshold[topics[at]], views[papers[at]])
        return kept


def _may_have(placed: Numbers) -> Callable[[int], Numbers]:
    """Return a function from a place to the topics whose leaf there some paper may have."""
    everywhere = np.ones(len(placed), bool)
    return lambda place: placed[:, place - 1] > 0 if place > 0 else everywhere.copy()


def _have(placed: Numbers, present: PresentLeaves, every: Numbers) -> Callable[[int], Numbers]:
    """Return a function from a place to the rows of papers that have the topics' leaf there."""

    def row(place: int) -> Numbers:
        papers: Numbers = present.rows[placed[:, abs(place) - 1]]
        return papers if place > 0 else every ^ papers

    return row
