"""A paper as weights of its words: repeated words count more, words of most papers less.

A weight is (1 + log count) x idf, where words of the title count twice. A word is known by a hash
of its form (`monitor.text`), and the weights of a paper are scaled to a vector of length 1, so
that long abstracts count no more than short ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.match.too_broad import STOP_WORDS
from monitor.model import Paper
from monitor.text import cut, form_of, words_of_piece

PLACES = 1 << 18
# How many papers the shipped counts are from.
COUNTED_PAPERS = 10_000
# About 800 bytes each, so some 50 MB: the papers judged by all readers of an installation, and
# those of a day.
MAX_KEPT = 65_536

Places = NDArray[np.int32]
Weights = NDArray[np.float32]


class Features(NamedTuple):
    """The places of a paper's words, ascending, and the weights there, of length 1 together."""

    places: Places
    weights: Weights


def features(paper: Paper) -> Features:
    """Return the words of a paper as weights; those of recent papers are kept."""
    return _of_text(paper.title, paper.abstract)


@lru_cache(maxsize=MAX_KEPT)
def _of_text(title: str, abstract: str) -> Features:
    return weigh([*forms(title) * 2, *forms(abstract)])


def weigh(found: Iterable[str]) -> Features:
    """Return words, each as often as it counts, as weights of length 1 together."""
    counts: dict[int, int] = {}
    for form in found:
        place = place_of(form)
        counts[place] = counts.get(place, 0) + 1
    idf = _idf()
    weights = {place: (1 + log(count)) * idf[place] for place, count in counts.items()}
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    places = sorted(weights)
    return Features(
        np.array(places, np.int32),
        np.array([weights[place] / length for place in places], np.float32),
    )


def forms(text: str) -> list[str]:
    """Return the words of a text in order, in the singular, without stop words and letters."""
    pieces = cut(text).lower().decode("utf-8", "surrogatepass").split()
    return [form for piece in pieces for form in _of_piece(piece)]


@lru_cache(maxsize=65_536)
def _of_piece(piece: str) -> tuple[str, ...]:
    if piece.isascii() and piece.isalnum():
        found: tuple[str, ...] = (form_of(piece),)
    else:
        read = words_of_piece(piece.encode("utf-8", "surrogatepass"))
        found = tuple(word.form for word in read if word.end - word.start == 1)
    return tuple(form for form in found if counts_as_word(form))


def counts_as_word(form: str) -> bool:
    return len(form) > 1 and form not in STOP_WORDS


@lru_cache(maxsize=65_536)
def place_of(form: str) -> int:
    return zlib.crc32(form.encode("utf-8", "surrogatepass")) % PLACES


@cache
def _idf() -> list[float]:
    packed = files("monitor.rank").joinpath("word_counts.z").read_bytes()
    counts = np.frombuffer(zlib.decompress(packed), "<u2")
    idf: list[float] = np.log((1 + COUNTED_PAPERS) / (1.0 + counts)).tolist()
    return idf
