"""Judged papers, and what a ranking says of a paper."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from monitor.model import Paper, Verdict
from monitor.rank.features import Features


class Judged(msgspec.Struct, frozen=True):
    """A paper that was shown to a reader, and the answer; "unjudged" is none.

    Whoever has weighed the words of the paper already gives them; then its title is enough.
    """

    paper: Paper
    verdict: Verdict
    words: Features | None = None


class Place(NamedTuple):
    """A paper's score, and whether it is called likely or listed by its title."""

    score: float
    likely: bool
    folds: bool


class PaperShare(NamedTuple):
    """How much a judged paper adds to a score, by the words that it shares."""

    judged: Judged
    share: float


class WordShare(NamedTuple):
    """How much a word adds to a score; `word` as the paper writes it first."""

    word: str
    share: float


class Reason(NamedTuple):
    """The wanted paper that speaks most for a paper, if any, and the words that do most."""

    like: Judged | None
    words: tuple[str, ...]


class Why(NamedTuple):
    """What a score is made of: the shares of papers, topic and base add up to f, as do those
    of words and base; the largest come first."""

    papers: tuple[PaperShare, ...]
    words: tuple[WordShare, ...]
    topic: float
    base: float
