"""The leaves of all topics, each once, and which papers of a batch have them.

Words and phrases, authors and labels are found all at once. Leaves with further conditions (exact
words, words near each other) are found by their words, then checked by `monitor.match.evaluate`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from monitor.match.evaluate import View, fold_label, matches, matches_author
from monitor.match.idf import rarity, rarity_of_words
from monitor.match.index.abbreviation_edges import with_abbreviations
from monitor.match.index.arrays import Column, Numbers, distinct
from monitor.match.index.bit_rows import FoundLeaves, bit_rows
from monitor.match.index.lattice import Reader, ways_through
from monitor.match.index.phrases import PhraseLinks, Phrases
from monitor.match.index.scores import Counts, Hits, count_occurrences
from monitor.match.names import spellings
from monitor.match.tree import TEXT_FIELDS, Author, Label, Leaf, Near, Words

_FIELDS = {"title": 1, "abstract": 2, "venue": 4}
_MAX_REMEMBERED = 50_000


class Leaves:
    """Leaves by number, from 1."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._phrases = Phrases()
        self._links = PhraseLinks()
        self._others: dict[object, int] = {}
        self._plain = Column("i")  # by phrase: the leaf that asks for just this, anywhere
        self._checked: dict[int, Leaf] = {}
        self._costs, self._rarities = Column("f"), Column("d")
        self._costs.append(0)
        self._rarities.append(0)
        self._families: dict[str, list[tuple[int, Author]]] = defaultdict(list)
        self._family_beginnings: list[tuple[int, Author]] = []
        self._labels: dict[str, list[tuple[int, Label]]] = defaultdict(list)
        self._matching: dict[tuple[str, str], tuple[int, ...]] = {}
        self._asks_venue = False

    def __len__(self) -> int:
        """Return how many numbers there are, with 0."""
        return len(self._costs)

    @property
    def costs(self) -> Numbers:
        """By leaf: a guess of how common it is among papers."""
        return self._costs.values()

    @property
    def rarities(self) -> Numbers:
        """By leaf: how informative it is."""
        return self._rarities.values()

    # ── topics ask ──────────────────────────────────────────────────────────────────

    def number(self, leaf: Leaf) -> int:
        """Return the number of a leaf, a new one where there was none."""
        match leaf:
            case Words():
                return self._words(leaf)
            case Author() | Label():
                return self._others.get(leaf) or self._name(leaf)
            case _:
                return self._others.get(leaf) or self._check(leaf, leaf.words[0])

    def phrase(self, forms: Sequence[str]) -> int:
        """Return the number of the leaf that asks for these words anywhere in a text."""
        number = self._phrases.number([self._reader.form(form) for form in forms])
        self._plain.reach(number + 1)
        return self._plain[number] or self._plain_leaf(number, rarity_of_words(forms))

    def _plain_leaf(self, phrase: int, information: float) -> int:
        self._plain.reach(phrase + 1)
        leaf = self._plain[phrase]
        if not leaf:
            self._plain[phrase] = leaf = self._new(1, information)
            self._links.add(phrase, leaf, _mask(TEXT_FIELDS))
        return leaf

    def _new(self, cost: float, information: float) -> int:
        self._costs.append(cost)
        self._rarities.append(information)
        return len(self._costs) - 1

    def _words(self, leaf: Words) -> int:
        if leaf.exact:
            return self._others.get(leaf) or self._check(leaf, leaf)
        phrases = self._phrases_of(leaf)
        if phrases is None:
            return self._others.get(leaf) or self._check(leaf, leaf)
        if leaf.fields == TEXT_FIELDS and len(phrases) == 1:
            return self._plain_leaf(phrases[0], rarity(leaf))
        key = leaf.fields, phrases
        if key not in self._others:
            self._others[key] = self._link(phrases, leaf, rarity(leaf))
        return self._others[key]

    def _link(self, phrases: Sequence[int], leaf: Words, information: float) -> int:
        number = self._new(sum(20.0 if edge.prefix else 1.0 for edge in leaf.edges), information)
        for phrase in phrases:
            self._links.add(phrase, number, _mask(leaf.fields))
        self._asks_venue = self._asks_venue or "venue" in leaf.fields
        return number

    def _phrases_of(self, leaf: Words) -> tuple[int, ...] | None:
        """Return the phrases of which the leaf asks for one; None where they are too many."""
        number = {False: self._reader.form, True: self._reader.beginning}
        edges = ((number[edge.prefix](edge.key), edge.start, edge.end) for edge in leaf.edges)
        ways = ways_through(edges, leaf.length)
        if ways is None:
            return None
        return tuple(sorted({self._phrases.number(way) for way in ways}))

    def _check(self, leaf: Leaf, words: Words) -> int:
        """Number a leaf that is looked at in each paper that has `words`, or one of its words."""
        phrases = self._phrases_of(words)
        if phrases is None:
            first = [edge for edge in words.edges if edge.start == 0]
            alone = [Words(words.fields, (e._replace(end=1),), 1) for e in first]
            phrases = tuple(phrase for w in alone for phrase in self._phrases_of(w) or ())
        number = self._link(phrases, words, rarity(leaf))
        self._others[leaf] = number
        self._checked[number] = leaf
        return number

    def _name(self, leaf: Author | Label) -> int:
        number = self._new(50 if isinstance(leaf, Label) else 1, rarity(leaf))
        self._others[leaf] = number
        if isinstance(leaf, Label):
            self._labels[leaf.field].append((number, leaf))
        elif leaf.prefix:
            self._family_beginnings.append((number, leaf))
        else:
            for family in {name.family for name in leaf.names}:
                self._families[family].append((number, leaf))
        self._matching.clear()
        return number

    # ── papers have ─────────────────────────────────────────────────────────────────

    def find(self, views: Sequence[View]) -> FoundLeaves:
        """Return which of the leaves each paper has."""
        return self._find_leaves(self._hits(views), views)

    def count(self, views: Sequence[View]) -> tuple[FoundLeaves, Counts]:
        """Return which of the leaves each paper has, and how often."""
        hits = self._hits(views)
        found = self._find_leaves(hits, views)
        return found, count_occurrences(hits, self._plain_counts(found, views))

    def _find_leaves(self, hits: Hits, views: Sequence[View]) -> FoundLeaves:
        named = np.array(list(self._names(views)), np.int64).reshape(-1, 2)
        hit = hits.leaves.astype(np.int64) << 32 | hits.papers
        keys = distinct(np.concatenate([hit, named[:, 0] << 32 | named[:, 1]]))
        if self._checked:
            keys = self._verify(keys, views)
        return bit_rows(keys, len(self), len(views))

    def _hits(self, views: Sequence[View]) -> Hits:
        fields = ("title", "abstract", "venue") if self._asks_venue else ("title", "abstract")
        texts = [getattr(view.paper, field) for view in views for field in fields]
        day, cut = self._reader.read(texts)
        laid = with_abbreviations(day, cut, views, len(fields), self._reader)
        found = self._phrases.find(laid.day)
        at = laid.day.texts[found.firsts]
        field_of = 1 << np.arange(len(texts)) % len(fields)
        leaves, which = self._links.follow(found.phrases, field_of[at])
        return Hits(leaves, at[which] // len(fields), at[which] % len(fields), which, found, laid)

    def _plain_counts(
        self, found: FoundLeaves, views: Sequence[View]
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield (leaf, paper, in the title, in all) of leaves that the plain reading finds."""
        for leaf in self._checked.keys() & set(found.present.tolist()):
            asked = self._checked[leaf]
            assert isinstance(asked, Words | Near)
            for paper in found.papers(leaf):
                counts = {f: len(views[paper].text(f).occurrences(asked)) for f in asked.fields}
                yield leaf, paper, counts.get("title", 0), sum(counts.values())

    def _names(self, views: Sequence[View]) -> Iterator[tuple[int, int]]:
        """Yield (leaf, paper) of authors and labels."""
        asked = list(self._labels)
        if self._families or self._family_beginnings:
            asked.append("author")
        for kind in asked:
            for paper, view in enumerate(views):
                for written in view.paper.authors if kind == "author" else view.labels(kind):
                    matching = self._matching.get((kind, written))
                    if matching is None:
                        matching = self._remember(kind, written)
                    for leaf in matching:
                        yield leaf, paper

    def _remember(self, kind: str, written: str) -> tuple[int, ...]:
        if len(self._matching) >= _MAX_REMEMBERED:
            self._matching.clear()
        matching = tuple(
            self._matching_authors(written)
            if kind == "author"
            else self._matching_labels(kind, written)
        )
        self._matching[kind, written] = matching
        return matching

    def _matching_authors(self, written: str) -> Iterator[int]:
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


def _mask(fields: Sequence[str]) -> int:
    return sum(_FIELDS[field] for field in fields)
