"""Which topics match which papers of a batch, computed on rows of bits.

    texts ─> lattice of numbered words ─> phrases ─> leaves ─> rows of bits, one bit a paper
    topics that one of these leaves triggers ─> evaluated shape by shape ─> pairs

The batch is inverted, so that the work for each topic does not grow with the words of the papers.
Only topics with a required leaf that was found are evaluated; with many papers all are, which is
then cheaper (benchmarks/match.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from monitor.match.evaluate import View, matches_topic
from monitor.match.index.arrays import Column, Numbers
from monitor.match.index.bit_rows import FoundLeaves, set_bits
from monitor.match.index.parse_cache import ParseCache
from monitor.match.index.query_shapes import (
    MAX_PLACES,
    Group,
    Tree,
    evaluate,
    may_match,
    needs,
    shape_of,
    tree_of,
)
from monitor.match.index.scores import Counts, score_pairs
from monitor.match.index.terms import Leaves
from monitor.match.index.triggers import Triggers
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.tree import Query, leaves

MAX_SHAPES = 300
_WORDS_PER_BLOCK = 1 << 17  # words of bits at once: what a processor's cache holds
_SCORE_BLOCK = 1 << 17  # pairs scored at once


class Engine:
    """Topics by number, from 0, in the order they were added."""

    def __init__(self, synonyms: Synonyms) -> None:
        self._synonyms = synonyms
        self._leaves = Leaves()
        self._parse_cache = ParseCache(self._leaves, synonyms)
        self._groups: list[Group] = []
        self._group_of_shape: dict[Tree, int] = {}
        # By topic: its group and row there. Group -1: its tree is in `_single`, or it is gone.
        self._group, self._row = Column("h"), Column("i")
        self._single: dict[int, Tree] = {}
        self._with_threshold: dict[int, Query] = {}  # topics with a threshold
        self._weighted: set[int] = set()  # topics whose clauses are not just their leaves
        self._triggers: Triggers | None = None

    def put(self, topic: int, topic_query: str | Query) -> None:
        """Add a topic, or change it. Raises QueryError, and then nothing was changed."""
        tree, weighed = self._tree(topic_query)
        while len(self._group) <= topic:
            self._group.append(-1)
            self._row.append(0)
        self.remove(topic)
        shape, placed = shape_of(tree)
        number = self._group_number(shape, placed)
        self._group[topic] = number
        if number < 0:
            self._single[topic] = tree
        else:
            self._row[topic] = self._groups[number].add(topic, placed)
        if isinstance(topic_query, Query) and topic_query.threshold:
            self._with_threshold[topic] = topic_query
        if weighed:
            self._weighted.add(topic)
        if self._triggers:
            self._add_trigger(topic, tree)

    def _tree(self, topic_query: str | Query) -> tuple[Tree, bool]:
        """Return a topic's tree, and whether leaves of it have weights or share a clause."""
        if isinstance(topic_query, str):
            found = self._parse_cache.tree(topic_query)
            if found is not None:
                return found
            topic_query = parse_query(topic_query, self._synonyms)
        clauses = [leaf.position for leaf in leaves(topic_query.root)]
        weighed = bool(topic_query.weights) or len(set(clauses)) < len(clauses)
        return tree_of(topic_query.root, self._leaves.number), weighed

    def read(self, text: str) -> Query:
        """Return a topic as the parser reads it. Raises QueryError."""
        return self._parse_cache.query(text)

    def _group_number(self, shape: Tree, leaves: list[int]) -> int:
        number = self._group_of_shape.get(shape, -1)
        if number < 0 and len(leaves) <= MAX_PLACES and len(self._groups) < MAX_SHAPES:
            number = len(self._groups)
            self._group_of_shape[shape] = number
            self._groups.append(Group(shape, len(leaves)))
        return number

    def remove(self, topic: int) -> None:
        """Let a topic match nothing any more."""
        number = self._group[topic]
        if number >= 0:
            self._group[topic] = -1
            group = self._groups[number]
            if group.remove(self._row[topic]):
                topics = group.close_gaps()
                self._row.values()[topics] = np.arange(len(topics))
        self._single.pop(topic, None)
        self._with_threshold.pop(topic, None)
        self._weighted.discard(topic)

    def _add_trigger(self, topic: int, tree: Tree) -> None:
        assert self._triggers is not None
        costs = self._leaves.costs
        choices = needs(tree)
        best = min(choices, key=lambda choice: sum(costs[leaf] for leaf in choice), default=(0,))
        self._triggers.add(topic, best)
        if self._triggers.is_stale:
            self._triggers = None

    def match(self, views: Sequence[View]) -> tuple[Numbers, Numbers]:
        """Return the pairs (paper, topic), sorted: two columns."""
        return self._matching_pairs(self._leaves.find(views), views)

    def score(self, views: Sequence[View]) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs and how well each paper matches its topic: three columns.

        NaN stands for what `explain.score` has to compute.
        """
        found, counts = self._leaves.count(views)
        papers, topics = self._matching_pairs(found, views)
        scores = np.full(len(papers), np.nan)
        plain = ~np.isin(papers, list(counts.hard)) & ~np.isin(topics, list(self._weighted))
        at = np.flatnonzero(plain)
        groups = self._group.values()[topics[at]]
        at = at[np.argsort(groups, kind="stable")]
        groups, rows = np.sort(groups), self._row.values()
        firsts = np.flatnonzero(np.diff(groups, prepend=-2))
        for first, end in pairwise([*firsts.tolist(), len(at)]):
            if groups[first] < 0:
                continue
            group = self._groups[groups[first]]
            for start in range(first, end, _SCORE_BLOCK):
                some = at[start : min(start + _SCORE_BLOCK, end)]
                scores[some] = self._scores(group, rows[topics[some]], papers[some], found, counts)
        return papers, topics, scores

    def _scores(
        self, group: Group, rows: Numbers, papers: Numbers, found: FoundLeaves, counts: Counts
    ) -> Numbers:
        placed, paper = group.leaves()[rows], papers[:, np.newaxis]
        words = found.rows[found.row_of[placed], paper >> 6]
        has = (words >> (paper & 63).astype(np.uint64) & np.uint64(1)).astype(bool)
        information = self._leaves.rarities[placed]
        return score_pairs(group.shape, placed, has, counts.at(placed, paper), information)

    def _matching_pairs(self, found: FoundLeaves, views: Sequence[View]) -> tuple[Numbers, Numbers]:
        self._triggers = self._triggers or self._choose_triggers()
        triggered = self._triggers.topics(found.present)
        work = _Work(found, len(views))
        if triggered is None:
            for group in self._groups:
                work.match_group(group, _may_match(group, found))
            singles = list(self._single)
        else:
            singles = self._match_triggered(work, triggered)
        for topic in singles:
            work.match_tree(topic, self._single[topic])
        papers, topics = work.pairs()
        if self._with_threshold:
            return self._above_threshold(papers, topics, views)
        return papers, topics

    def _above_threshold(
        self, papers: Numbers, topics: Numbers, views: Sequence[View]
    ) -> tuple[Numbers, Numbers]:
        """Leave out papers whose points stay below the threshold of a topic."""
        with_threshold = np.fromiter(self._with_threshold, np.int64, len(self._with_threshold))
        doubtful = np.flatnonzero(np.isin(topics, with_threshold))
        wrong = [
            at
            for at in doubtful.tolist()
            if not matches_topic(self._with_threshold[topics[at]], views[papers[at]])
        ]
        return np.delete(papers, wrong), np.delete(topics, wrong)

    def _match_triggered(self, work: _Work, triggered: Numbers) -> list[int]:
        """Match the triggered topics in groups and return those without a group."""
        groups = self._group.values()[triggered]
        order = np.argsort(groups, kind="stable")
        groups, triggered = groups[order], triggered[order]
        firsts = np.flatnonzero(np.diff(groups, prepend=-2))
        rows = self._row.values()
        singles: list[int] = []
        for first, end in pairwise([*firsts.tolist(), len(triggered)]):
            topics = triggered[first:end]
            if groups[first] < 0:
                singles = [topic for topic in topics.tolist() if topic in self._single]
            else:
                work.match_group(self._groups[groups[first]], rows[topics])
        return singles

    def _choose_triggers(self) -> Triggers:
        """Choose for each topic the leaves that trigger it: rare ones of which it needs one."""
        usage = np.ones(len(self._leaves))
        for group in self._groups:
            usage += np.bincount(group.leaves().ravel(), minlength=len(usage))
        costs = self._leaves.costs * usage
        costs[0] = 0
        trigger_leaves, topics = [], []
        for group in self._groups:
            leaf, row = group.needs(costs)
            topic = group.topics.values()[row]
            trigger_leaves.append(leaf[topic >= 0])
            topics.append(topic[topic >= 0])
        for number, tree in self._single.items():
            choices = needs(tree)
            best = min(choices, key=lambda choice: costs[list(choice)].sum(), default=(0,))
            trigger_leaves.append(np.array(best))
            topics.append(np.full(len(best), number))
        return Triggers(trigger_leaves, topics, len(self._leaves), len(self._group))


def _may_match(group: Group, found: FoundLeaves) -> Numbers:
    leaves = group.leaves()
    there = may_match(group.shape, lambda place: found.row_of[leaves[:, place - 1]] > 0)
    return np.flatnonzero(there & (group.topics.values() >= 0))


class _Pairs(NamedTuple):
    papers: Numbers
    topics: Numbers


class _Work:
    """The pairs of one batch, as they are found."""

    def __init__(self, found: FoundLeaves, papers: int) -> None:
        self._rows = found.rows
        self._row_of = found.row_of
        self._papers = papers
        width = found.rows.shape[1]
        self._all_papers = np.full(width, 0xFFFFFFFFFFFFFFFF, np.uint64)
        if papers % 64:
            self._all_papers[-1] = (1 << papers % 64) - 1
        self._block = max(1, _WORDS_PER_BLOCK // max(1, width))
        self._found: list[_Pairs] = []

    def match_group(self, group: Group, rows: Numbers) -> None:
        """Find the papers that match the topics in these rows of a group."""
        for first in range(0, len(rows), self._block):
            block = rows[first : first + self._block]
            places = self._row_of[group.leaves()[block]]
            matching = evaluate(group.shape, partial(self._of_places, places), self._all_papers)
            at, papers = set_bits(matching)
            self._found.append(_Pairs(papers, group.topics.values()[block[at]]))

    def _of_places(self, rows: Numbers, place: int) -> Numbers:
        return self._rows[rows[:, place - 1]]

    def match_tree(self, topic: int, tree: Tree) -> None:
        """Find the papers that match one topic."""
        matching = evaluate(
            tree, lambda leaf: self._rows[self._row_of[leaf]].copy(), self._all_papers.copy()
        )
        at, papers = set_bits(matching.reshape(1, -1))
        self._found.append(_Pairs(papers, at + topic))

    def pairs(self) -> tuple[Numbers, Numbers]:
        if not self._found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        papers = np.concatenate([pair.papers for pair in self._found])
        topics = np.concatenate([pair.topics for pair in self._found])
        # Numbers of half the length are sorted in half the time.
        span = int(topics.max(initial=0)) + 1
        kind = np.dtype(np.uint32 if self._papers * span < 1 << 32 else np.uint64)
        keys: Numbers = papers.astype(kind) * kind.type(span)
        keys += topics.astype(kind)
        keys.sort()
        return (keys // kind.type(span)).astype(np.int64), (keys % kind.type(span)).astype(np.int64)
