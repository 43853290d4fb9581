"""The leaves of all topics, each once, and which papers of a batch have them.

Words and phrases, authors and labels are found all at once. Leaves with further conditions (exact
words, words near each other) are found by their words, then checked by the reference evaluation.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.abbreviations import with_abbreviations
from monitor.match.index.arrays import Numbers, bit_rows, distinct
from monitor.match.index.phrases import PhraseLinks, Phrases
from monitor.match.index.scores import Counts, Hits, count_occurrences
from monitor.match.index.texts import Vocabulary, readings_of
from monitor.match.language.tree import Author, Label, Leaf, Near, Words
from monitor.match.meaning.evaluate import View, fold_label, matches, matches_author
from monitor.match.meaning.idf import rarity
from monitor.match.meaning.names import spellings

_FIELDS = {"title": 1, "abstract": 2, "venue": 4}
_MAX_NAMES = 50_000


class PresentLeaves(NamedTuple):
    """Which leaves the papers of a batch have, as rows of bits, one bit a paper.

    `row_of` gives the row of each leaf; row 0 is that of leaves that no paper has.
    """

    row_of: Numbers
    rows: Numbers

    def papers(self, leaf: int) -> list[int]:
        """Return the papers that have a leaf."""
        bits = np.unpackbits(self.rows[self.row_of[leaf]].view(np.uint8), bitorder="little")
        papers: list[int] = np.flatnonzero(bits).tolist()
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
        self._rarities = array("d", [0.0])
        self._families: dict[str, list[tuple[int, Author]]] = defaultdict(list)
        self._family_beginnings: list[tuple[int, Author]] = []
        self._labels: dict[str, list[tuple[int, Label]]] = defaultdict(list)
        self._matching_names: dict[tuple[str, str], tuple[int, ...]] = {}
        self._asks_venue = False

    @property
    def rarities(self) -> Numbers:
        """By leaf: how informative it is."""
        return np.asarray(self._rarities)

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
            self._numbers[key] = self._number_other(leaf)
        return self._numbers[key]

    def _number_other(self, leaf: Leaf) -> int:
        match leaf:
            case Words():
                return self._number_checked(leaf, leaf)
            case Near(_, words):
                return self._number_checked(leaf, words[0])
            case _:
                return self._number_name(leaf)

    def _new_number(self, information: float) -> int:
        self._rarities.append(information)
        return len(self._rarities) - 1

    def _link(self, phrases: Sequence[int], fields: Sequence[str], information: float) -> int:
        number = self._new_number(information)
        mask = sum(_FIELDS[field] for field in fields)
        for phrase in phrases:
            self._links.add(phrase, number, mask)
        self._asks_venue = self._asks_venue or "venue" in fields
        return number

    def _phrases_of(self, leaf: Words) -> tuple[int, ...] | None:
        """Return the phrases of which the leaf asks for one; None where they are too many."""
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

    def _number_name(self, leaf: Author | Label) -> int:
        number = self._new_number(rarity(leaf))
        if isinstance(leaf, Label):
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
        keys = distinct(np.concatenate([hit, named[:, 0] << 32 | named[:, 1]]))
        if self._checked:
            keys = self._verify(keys, views)
        leaves = keys >> 32
        new = np.diff(leaves, prepend=-1) != 0
        rows = np.cumsum(new)
        row_of = np.zeros(len(self._rarities), np.int32)
        row_of[leaves[new]] = rows[new]
        width = -(-len(views) // 64)
        return PresentLeaves(row_of, bit_rows(rows, keys & 0xFFFFFFFF, width)), hits

    def count(self, present: PresentLeaves, hits: Hits, views: Sequence[View]) -> Counts:
        """Return how often each paper has the words and phrases that it has."""
        return count_occurrences(hits, self._checked_counts(present, views))

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

    def _checked_counts(
        self, present: PresentLeaves, views: Sequence[View]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield (leaf, paper, in the title, in all) of leaves that were checked."""
        for leaf, asked in self._checked.items():
            for paper in present.papers(leaf) if present.row_of[leaf] else ():
                counts = {f: len(views[paper].text(f).occurrences(asked)) for f in asked.fields}
                yield leaf, paper, counts.get("title", 0), sum(counts.values())

    def _names(self, views: Sequence[View]) -> Iterator[tuple[int, int]]:
        """Yield (leaf, paper) of authors and labels."""
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
            match_names = self._matching_authors if field == "author" else self._matching_labels
            matching = self._matching_names[field, written] = tuple(match_names(field, written))
        return matching

    def _matching_authors(self, _: str, written: str) -> Iterator[int]:
        names = spellings(written)
        words = {word for name in names for word in name.words}
        asked = [pair for word in words for pair in self._families.get(word, ())]
        for number, leaf in dict((*asked, *self._family_beginnings)).items():
            if matches_author(leaf, names):
                yield number

    def _matching_labels(self, field: str, written: str) -> Iterator[int]:
        value = fold_label(written)
        for number, leaf in self._labels[field]:
            if value == leaf.value or (leaf.prefix and value.startswith(leaf.value)):
                yield number

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
