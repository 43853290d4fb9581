"""A paper as weights of its words: repeated words count more, words of most papers less.

A weight is (1 + log count) x idf, where words of the title count twice. A word is known by a hash
of its form (`monitor.text`), and the weights of a paper are scaled to a vector of length 1, so
that long abstracts count no more than short ones.

Reading the words of a paper takes longer than all else that is done with it. So its words are kept
with their weights, eight bytes a word.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

from monitor.match.meaning.word_counts import (
    COUNTED_PAPERS,
    CountedIn,
    counts_as_word,
    packed_counts,
    place_of,
)
from monitor.model import Paper
from monitor.text import cut, sign_pattern, words, words_of_piece

# How many papers the shipped counts stand for beside a topic's own.
TABLE_WEIGHT = 2_000
# Words as common as these say nothing about a single paper.
COMMONEST = 1_000
# A word of the trade is in such a share of a topic's papers: alone it does not make two alike.
TRADE_SHARE = 0.03
# Papers rated by the readers of an installation; with their texts about two kilobytes each.
MAX_KEPT = 16_384

# A word of a paper: the place of its hash, and what it weighs there.
WORD = np.dtype([("place", np.int32), ("weight", np.float32)])

# The words of a paper, ascending by place, as packed `WORD`s; the vector has length 1.
Features = NewType("Features", bytes)
Places = NDArray[np.int64]
Weights = NDArray[np.float32]
Numbers = NDArray[np.float64]


class Rows(NamedTuple):
    """The words of several papers, one paper after the other, each with the paper's number."""

    numbers: NDArray[np.int64]
    places: Places
    weights: Weights
    ends: list[int]


class Frequencies(NamedTuple):
    """In how many of a topic's papers each word is, ascending by place."""

    papers: int
    places: Places
    counts: Places

    def plus(self, papers: Sequence[Features]) -> Frequencies:
        """Return these frequencies with more papers counted."""
        added = join(papers).places
        places, columns = np.unique(np.append(self.places, added), return_inverse=True)
        each = np.append(self.counts, np.ones_like(added))
        counts = np.bincount(columns, each, len(places)).astype(np.int64)
        return Frequencies(self.papers + len(papers), places, counts)

    def factors(self) -> Weights | None:
        """Return by how much the word of each place weighs more than by the shipped counts alone.

        None if no paper was counted.
        """
        if not self.papers:
            return None
        table = _in_papers()
        factors = self._factors(np.arange(COUNTED_PAPERS + 1), 0).take(table)
        factors[self.places] = self._factors(table.take(self.places), self.counts)
        return factors

    def trade(self) -> frozenset[int]:
        """Return the places of the words of the trade.

        In a small topic the two papers that are compared may be such a share by themselves.
        """
        least = max(TRADE_SHARE * self.papers, 3)
        return frozenset(self.places[self.counts >= least].tolist())

    def _factors(self, in_table: NDArray[np.integer], in_topic: Places | int) -> Weights:
        # Most papers of a topic have its words, which still say something.
        of_table = in_table * (TABLE_WEIGHT / COUNTED_PAPERS)
        idf = np.log((1 + self.papers + TABLE_WEIGHT) / (1 + in_topic + of_table)) + 1
        # A word of all papers weighs nothing by the shipped counts, and stays so.
        alone = np.log((1 + COUNTED_PAPERS) / (1.0 + in_table))
        factors: Numbers = idf / np.maximum(alone, 1e-6)
        return factors.astype(np.float32)


NO_FREQUENCIES = Frequencies(0, np.zeros(0, np.int64), np.zeros(0, np.int64))


def pack(counted: set[int], frequencies: Frequencies) -> bytes:
    """Pack the ids of papers and their word frequencies; what ascends as differences."""
    ids = np.sort(np.fromiter(counted, np.int64, len(counted)))
    parts = (
        np.array([len(ids)], "<i8"),
        np.diff(ids, prepend=0).astype("<i8"),
        np.diff(frequencies.places, prepend=0).astype("<i4"),
        frequencies.counts.astype("<i4"),
    )
    return zlib.compress(b"".join(part.tobytes() for part in parts), 1)


def unpack(packed: bytes) -> tuple[set[int], Frequencies]:
    """Return what `pack` packed."""
    numbers = zlib.decompress(packed)
    size = int.from_bytes(numbers[:8], "little")
    ids = np.frombuffer(numbers, "<i8", size, 8).cumsum()
    places, counts = np.frombuffer(numbers, "<i4", -1, 8 * (size + 1)).reshape(2, -1)
    words = Frequencies(size, places.cumsum(dtype=np.int64), counts.astype(np.int64))
    return set(ids.tolist()), words


def features(paper: Paper) -> Features:
    """Return the words of a paper as weights; those of recent papers are kept."""
    return features_of(paper.title, paper.abstract)


@lru_cache(maxsize=MAX_KEPT)
def features_of(title: str, abstract: str) -> Features:
    """Return the words of a paper as weights, by its title and abstract."""
    # An abstract with such signs under a title without any has a translation in it.
    if not (abstract.isascii() or sign_pattern().search(title)):
        abstract = sign_pattern().sub(" ", abstract)
    return weigh(places_of((title, title, abstract)))


def weigh(places: Iterable[int]) -> Features:
    """Return words as weights, from their places, each as often as it counts."""
    counted = Counter(places)
    words = np.empty(len(counted), WORD)
    words["place"] = sorted(counted)
    counts = np.fromiter((counted[place] for place in sorted(counted)), np.int64, len(counted))
    weights = (1 + np.log(counts)) * _idf().take(words["place"])
    # A paper may have only words that are in all papers: they weigh nothing.
    words["weight"] = weights / (np.sqrt((weights * weights).sum()) or 1.0)
    return Features(words.tobytes())


def join(papers: Sequence[Features], factors: Weights | None = None) -> Rows:
    """Return the words of several papers, one paper after the other.

    With the `factors` of a topic they weigh as they do among its papers.
    """
    words = np.frombuffer(b"".join(papers), WORD)
    sizes = [len(features) // WORD.itemsize for features in papers]
    # Looking up by 32-bit numbers takes NumPy three times as long as by 64-bit.
    places = words["place"].astype(np.int64)
    weights = np.ascontiguousarray(words["weight"])
    numbers = np.repeat(np.arange(len(papers)), sizes)
    if factors is not None:
        weights = weights * factors.take(places)
        lengths = np.sqrt(np.bincount(numbers, weights * weights, len(papers)))
        lengths[lengths == 0] = 1.0
        weights = weights * (1 / lengths).astype(np.float32).take(numbers)
    return Rows(numbers, places, weights, list(accumulate(sizes)))


def places_of(texts: Iterable[str]) -> list[int]:
    """Return the places of the words of some texts in order."""
    pieces = (piece for text in texts for piece in cut(text).lower().split())
    return [place for piece in pieces for place in _places_of_piece(piece)]


@lru_cache(65_536)
def _places_of_piece(piece: bytes) -> tuple[int, ...]:
    """Return the places of the words of a piece of a text, in the singular."""
    parts = (w for w in words_of_piece(piece) if w.word and w.end - w.start == 1)
    return tuple(place_of(word.form) for word in parts if counts_as_word(word.form))


# The papers of a day are explained to many readers; about five kilobytes each.
@lru_cache(2_048)
def written_words(*texts: str) -> dict[int, str]:
    """Return the places of the words of some texts, each with the word as first written."""
    written: dict[int, str] = {}
    for text in texts:
        for word in words(text):
            if word.word and word.end - word.start == 1 and counts_as_word(word.form):
                written.setdefault(place_of(word.form), text[slice(*word.span)])
    return written


@cache
def _idf() -> Numbers:
    return np.log((1 + COUNTED_PAPERS) / (1.0 + _in_papers()))


@cache
def commonest() -> frozenset[int]:
    """Return the places of the commonest words."""
    return frozenset(_in_papers().argsort(kind="stable")[-COMMONEST:].tolist())


@cache
def _in_papers() -> NDArray[np.uint16]:
    """Return in how many papers of the shipped counts each place occurs."""
    return np.frombuffer(packed_counts(CountedIn.COMPUTING), "<u2")
