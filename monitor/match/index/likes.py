"""How near papers are to texts, for all topics of a batch at once.

The words that a batch has are multiplied with the weights that texts give them, as two sparse
matrices. In whole numbers, so that the sums are those of `meaning.closeness`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monitor.match.index.arrays import Numbers, ranges
from monitor.match.language.tree import Like
from monitor.match.meaning.closeness import PARTS, whole

# Sums of texts and papers at once: what a processor's cache holds.
_CELLS = 1 << 18


class Closeness(NamedTuple):
    """By sorted keys, leaf << 32 | paper: how near a paper is that reaches the bar."""

    keys: Numbers
    closeness: Numbers

    def at(self, leaves: Numbers, papers: Numbers) -> Numbers:
        """Return how near papers are that reach the bar of leaves."""
        found: Numbers = self.closeness[np.searchsorted(self.keys, leaves << 32 | papers)]
        return found


NO_LIKES = Closeness(np.zeros(0, np.int64), np.zeros(0))


class _Columns(NamedTuple):
    """Of each text its leaf, bar and whole; of each word where its rows are, (text, weight)."""

    leaves: Numbers
    bars: Numbers
    wholes: Numbers
    firsts: Numbers
    sizes: Numbers
    texts: Numbers
    weights: Numbers


class Likes:
    """The texts that topics are like, by the numbers of their leaves and words."""

    def __init__(self) -> None:
        self._likes: dict[int, tuple[Like, Sequence[int]]] = {}
        self._columns: _Columns | None = None

    def __bool__(self) -> bool:
        return bool(self._likes)

    def add(self, leaf: int, like: Like, words: Sequence[int]) -> None:
        """Add a text by the number of its leaf, with the numbers of its words."""
        self._likes[leaf] = like, words
        self._columns = None

    def is_word(self, count: int) -> Numbers:
        """Return of the first `count` leaves whether each is a word of a text."""
        sizes = self._read(count).sizes
        found: Numbers = sizes > 0
        return found

    def closeness(
        self, keys: Numbers, in_title: Numbers, in_all: Numbers, papers: int
    ) -> Closeness:
        """Return which of the papers are near enough, by how often they have each word.

        `keys` are those of words, word << 32 | paper.
        """
        columns = self._read(0)
        found = [NO_LIKES, *self._blocks(columns, keys, in_title + in_all, papers)]
        near, closeness = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(near)
        return Closeness(near[order], closeness[order])

    def _blocks(
        self, columns: _Columns, keys: Numbers, counts: Numbers, papers: int
    ) -> Iterator[Closeness]:
        order = np.argsort(keys & 0xFFFFFFFF, kind="stable")
        words = keys[order] >> 32
        of = keys[order] & 0xFFFFFFFF
        parts = PARTS * counts[order] // (counts[order] + 1)
        texts = len(columns.leaves)
        block = max(1, _CELLS // texts)
        for first in range(0, papers, block):
            start, end = np.searchsorted(of, (first, first + block))
            sizes = columns.sizes[words[start:end]]
            rows = ranges(columns.firsts[words[start:end]], sizes)
            cells = np.repeat((of[start:end] - first) * texts, sizes) + columns.texts[rows]
            summed = columns.weights[rows] * np.repeat(parts[start:end], sizes)
            size = min(block, papers - first)
            sums = np.bincount(cells, summed, size * texts).reshape(size, texts)
            closeness = np.minimum(sums / columns.wholes, 1.0)
            paper, text = np.nonzero(closeness >= columns.bars)
            near = columns.leaves[text] << 32 | (paper + first)
            yield Closeness(near, closeness[paper, text])

    def _read(self, count: int) -> _Columns:
        columns = self._columns
        if columns is None or len(columns.sizes) < count:
            columns = self._columns = self._make(count)
        return columns

    def _make(self, count: int) -> _Columns:
        rows = np.array(
            [
                (word, text, weight)
                for text, (like, words) in enumerate(self._likes.values())
                for word, (_, weight) in zip(words, like.words, strict=True)
            ],
            np.int64,
        )
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        sizes = np.bincount(rows[:, 0], minlength=count)
        likes = [like for like, _ in self._likes.values()]
        return _Columns(
            np.fromiter(self._likes, np.int64, len(likes)),
            np.array([like.bar for like in likes]),
            np.array([whole(like) for like in likes], np.float64),
            np.cumsum(sizes) - sizes,
            sizes,
            rows[:, 1],
            rows[:, 2],
        )
