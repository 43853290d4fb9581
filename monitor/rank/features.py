"""A paper as weights of its words: repeated words count more, words of most papers less.

A weight is (1 + log count) x idf, where words of the title count twice. A word is known by a hash
of its form (`monitor.text`), and the weights of a paper are scaled to a vector of length 1, so
that long abstracts count no more than short ones.

Counting the words of a paper takes longer than all else that is done with it. So its counts are
kept, four bytes a word, under a hash of its text; weights are made from the counts of many at once.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

from monitor.kept import kept
from monitor.match.too_broad import STOP_WORDS
from monitor.model import Paper
from monitor.text import cut, form_of, words, words_of_piece

PLACES = 1 << 18
# How many papers the shipped counts are from.
COUNTED_PAPERS = 10_000
# A word and its count are one number of 31 bits.
_COUNT_BITS = 13
_MAX_COUNT = (1 << _COUNT_BITS) - 1
# About 500 bytes each, so some 65 MB: the papers judged by all readers of an installation.
MAX_KEPT = 131_072
# The papers of a day, which each of many readers' orders looks at; about a kilobyte each.
MAX_WEIGHED = 4_096

# A word of a paper: the place of its hash, and what it weighs there.
WORD = np.dtype([("place", np.int32), ("weight", np.float32)])

# The words of a paper, ascending by place, as packed `WORD`s of length 1 together. One object a
# paper: reading a hundred papers from all over memory takes longer than multiplying them.
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


@kept(MAX_WEIGHED)
def _features(title: str, abstract: str) -> Features:
    return weigh([count_words(title, abstract)])[0]


def features(paper: Paper) -> Features:
    """Return the words of a paper as weights; those of recent papers are kept."""
    return _features(paper.title, paper.abstract)


_kept: dict[bytes, bytes] = {}


def count_words(title: str, abstract: str) -> bytes:
    """Return how often each word of a paper counts, packed for `weigh`; recent ones are kept."""
    text = f"{title}\0{abstract}".encode("utf-8", "surrogatepass")
    key = blake2b(text, digest_size=16).digest()
    if (counts := _kept.get(key)) is None:
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        counts = _kept[key] = pack([*_places_in(title)] * 2 + [*_places_in(abstract)])
    return counts


def pack(places: Iterable[int]) -> bytes:
    """Return places of words, each as often as it counts, as counts for `weigh`."""
    codes = [
        place << _COUNT_BITS | min(count, _MAX_COUNT) for place, count in Counter(places).items()
    ]
    return np.array(sorted(codes), np.int32).tobytes()


def weigh(counts: Sequence[bytes]) -> list[Features]:
    """Return the words of papers as weights, those of each paper of length 1 together."""
    sizes = [len(one) // 4 for one in counts]
    # Here and in `join`: looking up by 32-bit numbers takes NumPy three times as long as by 64-bit.
    codes = np.frombuffer(b"".join(counts), np.int32).astype(np.int64)
    numbers = np.repeat(np.arange(len(counts)), sizes)
    idf, of_count = _tables()
    places = codes >> _COUNT_BITS
    weights = of_count.take(codes & _MAX_COUNT) * idf.take(places)
    lengths = np.sqrt(np.bincount(numbers, weights * weights, len(counts)))
    # A paper may have words that are in all papers alone: they weigh nothing.
    lengths[lengths == 0] = 1
    words = np.empty(len(codes), WORD)
    words["place"], words["weight"] = places, weights / lengths.take(numbers)
    packed = words.tobytes()
    ends = [size * WORD.itemsize for size in accumulate(sizes)]
    return [Features(packed[start:end]) for start, end in pairwise([0, *ends])]


def join(found: Sequence[Features]) -> Rows:
    """Return the words of several papers, one paper after the other."""
    words = np.frombuffer(b"".join(found), WORD)
    sizes = [len(one) // WORD.itemsize for one in found]
    places, weights = words["place"].astype(np.int64), np.ascontiguousarray(words["weight"])
    numbers = np.repeat(np.arange(len(found)), sizes)
    return Rows(numbers, places, weights, list(accumulate(sizes)))


def places_of(texts: Iterable[str]) -> list[int]:
    """Return the places of the words of some texts in order."""
    return [place for text in texts for place in _places_in(text)]


def _places_in(text: str) -> Iterator[int]:
    for piece in cut(text).lower().split():
        yield from _places_of_piece(piece)


@kept(65_536)
def _places_of_piece(piece: bytes) -> tuple[int, ...]:
    return tuple(map(place_of, forms_of_piece(piece)))


def forms_of_piece(piece: bytes) -> tuple[str, ...]:
    """Return the words of a piece of a text, in the singular, without stop words and letters."""
    if piece.isalnum():
        found: tuple[str, ...] = (form_of(piece.decode()),)
    else:
        found = tuple(word.form for word in words_of_piece(piece) if word.end - word.start == 1)
    return tuple(form for form in found if counts_as_word(form))


def counts_as_word(form: str) -> bool:
    return len(form) > 1 and form not in STOP_WORDS


def place_of(form: str) -> int:
    return zlib.crc32(form.encode("utf-8", "surrogatepass")) % PLACES


class Shown(NamedTuple):
    """The words of a paper that stand in the text shown of it.

    `written` has them by place, as they are first written there. `among` has a byte for each word
    of the paper's `Features`: 1 for one of them, else 0.
    """

    written: dict[int, str]
    among: bytes


# The papers of a day are explained to many readers; about five kilobytes each.
@kept(2_048)
def _shown_words(title: str, abstract: str, *shown: str) -> Shown:
    written = written_words(*shown)
    places = np.frombuffer(_features(title, abstract), WORD)["place"].tolist()
    return Shown(written, bytes(place in written for place in places))


def shown_words(paper: Paper, *shown: str) -> Shown:
    """Return which words of a paper stand in the texts `shown` of it."""
    return _shown_words(paper.title, paper.abstract, *shown)


def written_words(*texts: str) -> dict[int, str]:
    """Return the places of the words of some texts, each with the word as first written."""
    found: dict[int, str] = {}
    for text in texts:
        for word in words(text):
            if word.end - word.start == 1 and counts_as_word(word.form):
                found.setdefault(place_of(word.form), text[slice(*word.span)])
    return found


@cache
def _tables() -> tuple[Numbers, Numbers]:
    """Return the idf of each place, and what each count of a word in a paper counts."""
    packed = files("monitor.rank").joinpath("word_counts.z").read_bytes()
    in_papers = np.frombuffer(zlib.decompress(packed), "<u2")
    idf = np.log((1 + COUNTED_PAPERS) / (1.0 + in_papers))
    return idf, np.concatenate([[0.0], 1 + np.log(np.arange(1, _MAX_COUNT + 1))])
