"""Which topics match which papers of a batch, computed on rows of bits.

    texts ─> lattice of numbered words ─> phrases ─> leaves ─> rows of bits, one bit a paper
    topics whose leaves were found ─> evaluated shape by shape ─> pairs

The batch is inverted, so that the work for each topic does not grow with the words of the papers.
Words and phrases, authors and labels are found all at once. Leaves with further conditions (exact
words, words near each other) are found by their words, then checked by the reference evaluation.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.abbreviations import Expanded, with_abbreviations
from monitor.match.index.arrays import Numbers, bit_rows, distinct, set_bits
from monitor.match.index.likes import NO_LIKES, Closeness, Likes
from monitor.match.index.phrases import Occurrences, PhraseLinks, Phrases
from monitor.match.index.shapes import Tree, evaluate, score_pairs, shape_of, tree_of
from monitor.match.index.texts import Vocabulary, readings_of
from monitor.match.language.tree import (
    Author,
    Label,
    Leaf,
    Like,
    Near,
    Number,
    Query,
    Words,
    leaves,
)
from monitor.match.meaning.evaluate import (
    View,
    fold_label,
    matches,
    matches_author,
    matches_number,
    matches_topic,
)
from monitor.match.meaning.explain import MOST
from monitor.match.meaning.idf import rarity
from monitor.match.meaning.names import spellings

_FIELDS = {"title": 1, "abstract": 2, "venue": 4}
_MAX_NAMES = 50_000
_TITLE = 0
_WORDS_PER_BLOCK = 1 << 17  # words of bits at once: what a processor's cache holds
_CELLS_PER_BLOCK = 1 << 20  # leaves of pairs that are scored at once


# ── leaves of all topics ────────────────────────────────────────────────────────────


class Hits(NamedTuple):
    """Leaves found in the fields of papers, each by one of the `occurrences` of phrases."""

    leaves: Numbers
    papers: Numbers
    fields: Numbers
    which: Numbers
    occurrences: Occurrences
    expanded: Expanded


class Counts(NamedTuple):
    """By sorted keys, leaf << 32 | paper: how often the paper has it in its title, and in all."""

    keys: Numbers
    in_title: Numbers
    in_all: Numbers

    def at(self, leaves: Numbers, papers: Numbers) -> tuple[Numbers, Numbers]:
        """Return the two counts of leaves in papers, 0 where there is none."""
        if not len(self.keys):
            return np.zeros(leaves.shape, np.int64), np.zeros(leaves.shape, np.int64)
        keys = leaves.astype(np.int64) << 32 | papers
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = self.keys[at] == keys
        return self.in_title[at] * there, self.in_all[at] * there


def count_occurrences(hits: Hits, checked: Iterable[tuple[int, int, int, int]]) -> Counts:
    """Count the different places in which each paper writes what a leaf asks for.

    What stands inside an abbreviation is written where the abbreviation is. `checked` are rows
    of (leaf, paper, in the title, in all) from the reference evaluation.
    """
    (lattices, inner, inner_starts, inner_ends) = hits.expanded
    occurrences = hits.occurrences
    last = max(int(lattices.ends.max(initial=0)), int(inner.max(initial=0)))
    begins = np.arange(last + 1)
    stops = begins.copy()
    begins[inner] = inner_starts
    stops[inner] = inner_ends
    starts = begins[lattices.starts[occurrences.firsts[hits.which]]]
    ends = stops[occurrences.ends[hits.which]]
    keys = hits.leaves.astype(np.int64) << 32 | hits.papers
    places = starts.astype(np.int64) << 32 | ends
    order = np.lexsort((places, keys))
    keys = keys[order]
    places = places[order]
    fields = hits.fields[order]
    new = (np.diff(keys, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0)
    keys = keys[new]
    in_title = fields[new] == _TITLE
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    in_all = np.diff(np.append(firsts, len(keys)))
    titles = np.add.reduceat(in_title.astype(np.int64), firsts) if len(firsts) else in_all
    keys = keys[firsts]
    for leaf, paper, title, every in checked:
        at = int(np.searchsorted(keys, leaf << 32 | paper))
        titles[at] = title
        in_all[at] = every
    return Counts(keys, titles, in_all)


class PresentLeaves(NamedTuple):
    """Which leaves the papers of a batch have, as rows of bits, one bit a paper.

    `row_of` gives the row of each leaf; row 0 is that of leaves that no paper has. `near` has how
    near papers are to texts, for the leaves that ask so.
    """

    row_of: Numbers
    rows: Numbers
    near: Closeness = NO_LIKES

    def papers(self, leaf: int) -> list[int]:
        papers: list[int] = set_bits(self.rows[self.row_of[leaf]][np.newaxis])[1].tolist()
        return papers


class Leaves:
    """Leaves by number, from 1."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._phrases = Phrases()
        self._links = PhraseLinks()
        # By leaf, and for words and phrases also by their fields and phrases.
        self._numbers: dict[object, int] = {}
        self._checked: dict[int, Words | Near] = {}
        self.rarities = array("d", [0.0])  # by leaf: how informative it is
        self._families: dict[str, list[tuple[int, Author]]] = defaultdict(list)
        self._family_beginnings: list[tuple[int, Author]] = []
        self._labels: dict[str, list[tuple[int, Label]]] = defaultdict(list)
        self._matching_names: dict[tuple[str, str], tuple[int, ...]] = {}
        self._amounts: list[tuple[int, Number]] = []
        self._likes = Likes()
        self._asks_venue = False

    # ── topics ask ──────────────────────────────────────────────────────────────────

    def number(self, leaf: Leaf) -> int:
        """Return the number of a leaf, a new one where there was none."""
        key: object = leaf
        if isinstance(leaf, Words) and not leaf.exact:
            phrases = self._phrases_of(leaf)
            if phrases is not None:
                key = leaf.fields, phrases
                if key not in self._numbers:
                    self._numbers[key] = self._link(phrases, leaf.fields, rarity(leaf))
        if key not in self._numbers:
            match leaf:
                case Words():
                    self._numbers[key] = self._number_checked(leaf, leaf)
                case Near(_, words):
                    self._numbers[key] = self._number_checked(leaf, words[0])
                case Like():
                    self._numbers[key] = number = self._new_number(rarity(leaf))
                    self._likes.add(number, leaf, [self.number(word) for word, _ in leaf.words])
                case _:
                    self._numbers[key] = self._number_name(leaf)
        return self._numbers[key]

    def _new_number(self, information: float) -> int:
        self.rarities.append(information)
        return len(self.rarities) - 1

    def _link(self, phrases: Sequence[int], fields: Sequence[str], information: float) -> int:
        number = self._new_number(information)
        mask = sum(_FIELDS[field] for field in fields)
        for phrase in phrases:
            self._links.add(phrase, number, mask)
        self._asks_venue = self._asks_venue or "venue" in fields
        return number

    def _phrases_of(self, leaf: Words) -> tuple[int, ...] | None:
        """Return the phrases that each satisfy a leaf, or None if there are too many."""
        ask = {False: self._vocabulary.ask_for, True: self._vocabulary.ask_for_beginning}
        edges = ((ask[edge.prefix](edge.key), edge.start, edge.end) for edge in leaf.edges)
        readings = readings_of(edges, leaf.length)
        if readings is None:
            return None
        return tuple(sorted({self._phrases.number(forms) for forms in readings}))

    def _number_checked(self, leaf: Words | Near, words: Words) -> int:
        """Number a leaf that is looked at in each paper that has `words`, or one of its words."""
        phrases = self._phrases_of(words)
        if phrases is None:
            first = [edge for edge in words.edges if edge.start == 0]
            alone = [Words(words.fields, (edge._replace(end=1),), 1) for edge in first]
            phrases = tuple(phrase for word in alone for phrase in self._phrases_of(word) or ())
        number = self._link(phrases, words.fields, rarity(leaf))
        self._checked[number] = leaf
        return number

    def _number_name(self, leaf: Author | Label | Number) -> int:
        number = self._new_number(rarity(leaf))
        if isinstance(leaf, Number):
            self._amounts.append((number, leaf))
        elif isinstance(leaf, Label):
            self._labels[leaf.field].append((number, leaf))
        elif leaf.prefix:
            self._family_beginnings.append((number, leaf))
        else:
            for family in {name.family for name in leaf.names}:
                self._families[family].append((number, leaf))
        self._matching_names.clear()
        return number

    # ── papers have ─────────────────────────────────────────────────────────────────

    def find(self, views: Sequence[View]) -> tuple[PresentLeaves, Hits]:
        """Return which of the leaves each paper has, and where words and phrases stand."""
        hits = self._hits(views)
        named = np.array(list(self._names(views)), np.int64).reshape(-1, 2)
        hit = hits.leaves.astype(np.int64) << 32 | hits.papers
        near = self._near(hits, len(views))
        keys = distinct(np.concatenate([hit, named[:, 0] << 32 | named[:, 1], near.keys]))
        if self._checked:
            keys = self._verify(keys, views)
        leaves = keys >> 32
        new = np.diff(leaves, prepend=-1) != 0
        rows = np.cumsum(new)
        row_of = np.zeros(len(self.rarities), np.int32)
        row_of[leaves[new]] = rows[new]
        width = -(-len(views) // 64)
        return PresentLeaves(row_of, bit_rows(rows, keys & 0xFFFFFFFF, width), near), hits

    def _near(self, hits: Hits, papers: int) -> Closeness:
        """Return which papers are near enough to texts, by how often they have the words."""
        if not self._likes:
            return NO_LIKES
        of_words = self._likes.is_word(len(self.rarities))[hits.leaves]
        leaves, at, fields, which = (column[of_words] for column in hits[:4])
        words = count_occurrences(
            hits._replace(leaves=leaves, papers=at, fields=fields, which=which), ()
        )
        return self._likes.closeness(words.keys, words.in_title, words.in_all, papers)

    def _hits(self, views: Sequence[View]) -> Hits:
        fields = ("title", "abstract", "venue") if self._asks_venue else ("title", "abstract")
        texts = [getattr(view.paper, field) for view in views for field in fields]
        lattices, pieces = self._vocabulary.read(texts)
        expanded = with_abbreviations(lattices, pieces, views, len(fields), self._vocabulary)
        occurrences = self._phrases.find(expanded.lattices)
        at = expanded.lattices.texts[occurrences.firsts]
        leaves, which = self._links.follow(occurrences.phrases, 1 << at % len(fields))
        at = at[which]
        return Hits(leaves, at // len(fields), at % len(fields), which, occurrences, expanded)

    def checked_counts(
        self, present: PresentLeaves, views: Sequence[View]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield (leaf, paper, in the title, in all) of leaves that were checked."""
        for leaf, asked in self._checked.items():
            for paper in present.papers(leaf):
                counts = {f: len(views[paper].text(f).occurrences(asked)) for f in asked.fields}
                yield leaf, paper, counts.get("title", 0), sum(counts.values())

    def _names(self, views: Sequence[View]) -> Iterator[tuple[int, int]]:
        """Yield (leaf, paper) of authors, labels and numbers."""
        for leaf, amount in self._amounts:
            for paper, view in enumerate(views):
                if matches_number(amount, view.number(amount.field)):
                    yield leaf, paper
        asked = list(self._labels)
        if self._families or self._family_beginnings:
            asked.append("author")
        for field in asked:
            for paper, view in enumerate(views):
                for written in view.paper.authors if field == "author" else view.labels(field):
                    for leaf in self._leaves_of_name(field, written):
                        yield leaf, paper

    def _leaves_of_name(self, field: str, written: str) -> tuple[int, ...]:
        matching = self._matching_names.get((field, written))
        if matching is None:
            if len(self._matching_names) >= _MAX_NAMES:
                self._matching_names.clear()
            matching = self._matching_names[field, written] = self._match_name(field, written)
        return matching

    def _match_name(self, field: str, written: str) -> tuple[int, ...]:
        if field == "author":
            names = spellings(written)
            words = {word for name in names for word in name.words}
            asked = [pair for word in words for pair in self._families.get(word, ())]
            authors = {*asked, *self._family_beginnings}
            return tuple(number for number, leaf in authors if matches_author(leaf, names))
        value = fold_label(written)
        return tuple(
            number
            for number, leaf in self._labels[field]
            if value == leaf.value or (leaf.prefix and value.startswith(leaf.value))
        )

    def _verify(self, keys: Numbers, views: Sequence[View]) -> Numbers:
        """Leave out what the reference evaluation does not find."""
        checked = np.fromiter(self._checked, np.int64, len(self._checked))
        doubtful = np.flatnonzero(np.isin(keys >> 32, checked))
        wrong = [
            at
            for at, key in zip(doubtful.tolist(), keys[doubtful].tolist(), strict=True)
            if not matches(self._checked[key >> 32], views[key & 0xFFFFFFFF])
        ]
        return np.delete(keys, wrong)


# ── topics ──────────────────────────────────────────────────────────────────────────


class Engine:
    """Topics by number, in the order they were added."""

    def __init__(self) -> None:
        self._leaves = Leaves()
        # By shape: its topics, each with the leaves in its places, and the same as two columns.
        self._groups: dict[Tree, dict[int, tuple[int, ...]]] = {}
        self._columns: dict[Tree, tuple[Numbers, Numbers]] = {}
        self._with_threshold: dict[int, Query] = {}
        self._weighted: set[int] = set()  # topics whose clauses are not just their leaves
        self._like_leaves: dict[int, int] = {}  # by topic that is like a text

    def put(self, topic: int, query: Query) -> None:
        """Add a topic; one that is there has to be removed first."""
        shape, placed = shape_of(tree_of(query.root, self._leaves.number))
        self._groups.setdefault(shape, {})[topic] = placed
        self._columns.pop(shape, None)
        if query.threshold:
            self._with_threshold[topic] = query
        for leaf in leaves(query.root):
            if isinstance(leaf, Like):
                self._like_leaves[topic] = self._leaves.number(leaf)
        clauses = [leaf.position for leaf in leaves(query.root)]
        if query.weights or len(set(clauses)) < len(clauses):
            self._weighted.add(topic)

    def remove(self, topic: int) -> None:
        """Let a topic match nothing any more."""
        for shape, group in list(self._groups.items()):
            if group.pop(topic, None):
                self._columns.pop(shape, None)
            if not group:
                del self._groups[shape]
        self._with_threshold.pop(topic, None)
        self._weighted.discard(topic)
        self._like_leaves.pop(topic, None)

    def match(self, views: Sequence[View], *, scored: bool) -> tuple[Numbers, Numbers, Numbers]:
        """Return the pairs (paper, topic), sorted, and how well each matches: three columns.

        NaN stands for what `explain.score` has to compute: topics in which a leaf occurs twice, or
        leaves share a clause or have weights, and some papers. Unless `scored`, scores are 0.
        """
        present, hits = self._leaves.find(views)
        checked = self._leaves.checked_counts(present, views)
        counts = count_occurrences(hits, checked) if scored else None
        columns = []
        for shape, papers, rows in self._matching(present, len(views)):
            scores = np.zeros(len(papers))
            if counts:
                scores = self._scores(shape, papers, rows, present, counts)
            columns.append((papers, self._columns[shape][0][rows], scores))
        papers, topics, scores = self.concatenate(columns)
        if counts:
            scores[np.isin(topics, list(self._weighted))] = np.nan
            self._score_near(papers, topics, scores, present.near)
        order = np.argsort(papers << 32 | topics)
        papers = papers[order]
        topics = topics[order]
        scores = scores[order]
        kept = self._above_threshold(papers, topics, views)
        return papers[kept], topics[kept], scores[kept]

    def _score_near(
        self, papers: Numbers, topics: Numbers, scores: Numbers, near: Closeness
    ) -> None:
        """Score the papers of topics that are like a text by how near they are to it."""
        if self._like_leaves:
            pairs = np.flatnonzero(np.isin(topics, list(self._like_leaves)))
            leaf = [self._like_leaves[topic] for topic in topics[pairs].tolist()]
            scores[pairs] = MOST * near.at(np.array(leaf, np.int64), papers[pairs])

    @staticmethod
    def concatenate(
        columns: Iterable[tuple[Numbers, Numbers, Numbers]],
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return papers, topics and scores of several batches or groups as three columns."""
        empty = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        papers, topics, scores = map(np.concatenate, zip(empty, *columns, strict=True))
        return papers, topics, scores

    def _matching(
        self, present: PresentLeaves, count: int
    ) -> Iterator[tuple[Tree, Numbers, Numbers]]:
        """Yield the shapes of topics, and the papers that rows of their columns match."""
        width = present.rows.shape[1]
        every = np.full(width, 0xFFFFFFFFFFFFFFFF, np.uint64)
        if count % 64:
            every[-1] = (1 << count % 64) - 1
        block = max(1, _WORDS_PER_BLOCK // max(1, width))
        for shape, group in self._groups.items():
            if shape not in self._columns:
                topics = np.fromiter(group, np.int64, len(group))
                self._columns[shape] = topics, np.array(list(group.values()), np.int32)
            placed = present.row_of[self._columns[shape][1]]
            possible = np.flatnonzero(evaluate(shape, _may_have(placed)))
            for first in range(0, len(possible), block):
                rows = possible[first : first + block]
                at, papers = set_bits(evaluate(shape, _have(placed[rows], present, every)))
                yield shape, papers, rows[at]

    def _scores(
        self,
        shape: Tree,
        papers: Numbers,
        rows: Numbers,
        present: PresentLeaves,
        counts: Counts,
    ) -> Numbers:
        scores = np.empty(len(papers))
        leaves_of = self._columns[shape][1]
        rarities = np.asarray(self._leaves.rarities)
        block = max(1, _CELLS_PER_BLOCK // leaves_of.shape[1])
        for first in range(0, len(papers), block):
            at = slice(first, first + block)
            placed = leaves_of[rows[at]]
            paper = papers[at, np.newaxis]
            words = present.rows[present.row_of[placed], paper >> 6]
            has = (words >> (paper & 63).astype(np.uint64) & np.uint64(1)).astype(bool)
            at_places = counts.at(placed, paper)
            scores[at] = score_pairs(shape, placed, has, at_places, rarities[placed])
        return scores

    def _above_threshold(
        self, papers: Numbers, topics: Numbers, views: Sequence[View]
    ) -> Numbers | slice:
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
