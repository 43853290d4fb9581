"""Learns from judged papers which papers a reader wants, by ridge regression on their words.

    rows   the judged papers, and the topic's own words as one more
    y      +1 for wanted papers and the topic, -1 for unwanted and unjudged ones
    a      solves (X Xᵀ + 1 + diag(1/w)) a = y, where w is how much each row counts
    f(x) = Σ aᵢ (x·xᵢ) + Σ aᵢ

f is linear in the words and in the judged papers, so that the shares of `Ranking.why` add up to
it exactly. Nothing that is learned is stored: the judgements are enough to learn it again.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.model import Paper
from monitor.rank.features import Features, counts_as_word, features, forms, place_of, weigh
from monitor.text import words

Verdict = Literal["wanted", "unwanted", "unjudged"]
Numbers = NDArray[np.float64]

_SHARE = itemgetter(1)

MAX_JUDGED = 300
MAX_UNJUDGED = 200
_WEIGHTS: dict[Verdict, float] = {"wanted": 1.0, "unwanted": 0.1, "unjudged": 0.02}
_TOPIC_WEIGHT = 0.3
# The score of the words is worth less with every wanted paper. Its highest value is 7.5.
_LEXICAL_SHARE = 0.09
_LEXICAL_FADES = 0.3
_MAX_LEXICAL = 7.5

# A paper is called likely when of the judged ones with the nearest scores so many were wanted.
_LIKELY_FROM = 5
_NEAREST = 10
_LIKELY_OF_NEAREST = 7
# Of the wanted papers so many score lower than what is worth showing in full.
_FOLDED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Judged:
    """A paper that was shown to a reader, and the answer; "unjudged" is none."""

    paper: Paper
    verdict: Verdict


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


def learn(judged: Sequence[Judged], topic_words: Sequence[str]) -> Ranking:
    """Learn a ranking from judged papers, oldest first, and the words of a topic.

    The newest 300 judgements and the newest 200 unjudged papers count.
    """
    answered = [n for n, one in enumerate(judged) if one.verdict != "unjudged"][-MAX_JUDGED:]
    silent = [n for n, one in enumerate(judged) if one.verdict == "unjudged"][-MAX_UNJUDGED:]
    return Ranking([judged[n] for n in sorted(answered + silent)], topic_words)


class Ranking:
    """What was learned from the judgements of one topic's readers."""

    def __init__(self, judged: Sequence[Judged], topic_words: Sequence[str]) -> None:
        self.judged = tuple(judged)
        self.wanted = sum(one.verdict == "wanted" for one in judged)
        self._last: tuple[Features, float] | None = None
        self._rows = [features(one.paper) for one in judged]
        self._rows.append(weigh(form for text in topic_words for form in forms(text)))
        if self.wanted:
            self._solve()

    def score(self, paper: Paper, lexical: float = 0.0) -> float:
        """Return how far ahead a paper belongs; `lexical` is the topic's score of it.

        As long as no paper is wanted this is the lexical score.
        """
        if not self.wanted:
            return lexical
        fades = _LEXICAL_SHARE / (self.wanted + _LEXICAL_FADES)
        return self._f(features(paper)) + fades * lexical / _MAX_LEXICAL

    def likely(self, paper: Paper) -> bool:
        """Return whether readers wanted most of the judged papers with scores like this one's.

        A paper in the lower half of the judged ones never is: what scored low was not shown in
        full, so that few such papers are judged, and of those many that were wanted.
        """
        if not self.calibrated:
            return False
        score = self._f(features(paper))
        if score < self._median:
            return False
        scores, wanted = self._left_out
        nearest = np.argsort(np.abs(scores - score), kind="stable")[:_NEAREST]
        return int(wanted[nearest].sum()) >= _LIKELY_OF_NEAREST

    def folds(self, paper: Paper) -> bool:
        """Return whether a paper scores lower than nearly all that readers wanted."""
        return self.calibrated and self._f(features(paper)) < self._lowest_wanted

    @cached_property
    def calibrated(self) -> bool:
        """Whether there are enough answers of both kinds to speak of a single paper."""
        unwanted = sum(one.verdict == "unwanted" for one in self.judged)
        return min(self.wanted, unwanted) >= _LIKELY_FROM

    def why(self, paper: Paper) -> Why:
        """Return what the score of a paper is made of, but for the lexical part."""
        if not self.wanted:
            return Why((), (), 0.0, 0.0)
        found = features(paper)
        shares = (self._a * self._products_with(found)).tolist()
        papers = map(PaperShare, self.judged, shares[:-1])
        by_place = dict(zip(found.places.tolist(), self._shares(found).tolist(), strict=True))
        written = _written(paper.title, paper.abstract).items()
        words = (WordShare(word, by_place[place]) for place, word in written if by_place[place])
        return Why(
            papers=tuple(sorted((one for one in papers if one.share), key=_SHARE, reverse=True)),
            words=tuple(sorted(words, key=_SHARE, reverse=True)),
            topic=shares[-1],
            base=self._base,
        )

    def reason(self, paper: Paper, shown: Container[str], most: int) -> Reason:
        """Return what speaks most for a paper, as `why` does, in a fraction of its time.

        `words` are at most so many of those that are `shown`.
        """
        if not self.wanted:
            return Reason(None, ())
        found = features(paper)
        shares = self._wanted_shares(found)
        best = int(shares.argmax())
        of_words = self._shares(found)
        order = np.argsort(-of_words, kind="stable")[: int((of_words > 0).sum())]
        written = _written(paper.title, paper.abstract)
        words = (written[place] for place in found.places[order].tolist())
        return Reason(
            self.judged[best] if shares[best] > 0 else None,
            tuple(islice((word for word in words if word in shown), most)),
        )

    def _solve(self) -> None:
        """Solve for `a`; note what each word weighs, and the sum of `a`."""
        lengths = [len(row.places) for row in self._rows]
        places = np.concatenate([row.places for row in self._rows])
        self._places, self._columns = np.unique(places, return_inverse=True)
        self._weights = np.concatenate([row.weights for row in self._rows]).astype(np.float64)
        self._row_of = np.repeat(np.arange(len(self._rows)), lengths)
        self._matrix = _products(self._row_of, self._columns, self._weights, lengths) + 1.0
        self._matrix[np.diag_indices(len(lengths))] += 1 / self._row_weights()
        self._a = np.linalg.solve(self._matrix, self._answers())
        self._beta = np.bincount(
            self._columns, self._weights * self._a[self._row_of], len(self._places)
        )
        self._base = float(self._a.sum())

    def _row_weights(self) -> Numbers:
        return np.array([*(_WEIGHTS[one.verdict] for one in self.judged), _TOPIC_WEIGHT])

    def _answers(self) -> Numbers:
        return np.array([*(1.0 if one.verdict == "wanted" else -1.0 for one in self.judged), 1.0])

    def _f(self, found: Features) -> float:
        """Return f(x). The last one is kept: each paper is asked about three times in a row."""
        if self._last is None or self._last[0] is not found:
            self._last = found, float(self._shares(found).sum()) + self._base
        return self._last[1]

    def _shares(self, found: Features) -> Numbers:
        """Return what each word of a paper adds to its score."""
        if not len(self._places):
            return np.zeros(len(found.places))
        at = np.minimum(np.searchsorted(self._places, found.places), len(self._places) - 1)
        shares: Numbers = self._beta[at] * (self._places[at] == found.places) * found.weights
        return shares

    def _products_with(self, found: Features) -> Numbers:
        """Return the products of a paper with all rows."""
        here = np.zeros(len(self._places))
        at = np.minimum(np.searchsorted(self._places, found.places), len(self._places) - 1)
        shared = self._places[at] == found.places
        here[at[shared]] = found.weights[shared]
        shares = here[self._columns] * self._weights
        return np.bincount(self._row_of, shares, len(self._rows)).astype(np.float64)

    def _wanted_shares(self, found: Features) -> Numbers:
        """Return what each row adds to the score of a paper, 0 for all but wanted papers."""
        columns, weights, rows = self._wanted_words
        here = np.zeros(len(self._places))
        at = np.minimum(np.searchsorted(self._places, found.places), len(self._places) - 1)
        shared = self._places[at] == found.places
        here[at[shared]] = found.weights[shared]
        products = np.bincount(rows, here[columns] * weights, len(self._rows))
        return np.asarray(self._a * products, np.float64)

    @cached_property
    def _wanted_words(self) -> tuple[NDArray[np.int64], Numbers, NDArray[np.int64]]:
        """The columns, weights and rows of the words of wanted papers."""
        of_wanted = np.append(self._is_wanted, False)[self._row_of]
        return self._columns[of_wanted], self._weights[of_wanted], self._row_of[of_wanted]

    @cached_property
    def _left_out(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """What each judged paper would score had it not been judged, and whether it is wanted.

        In closed form: yᵢ - aᵢ / (A⁻¹)ᵢᵢ, with A the matrix that was solved.
        """
        inverse = np.linalg.inv(self._matrix).diagonal()
        scores = (self._answers() - self._a / inverse)[:-1]
        answered = np.array([one.verdict != "unjudged" for one in self.judged])
        return scores[answered], self._is_wanted[answered]

    @cached_property
    def _is_wanted(self) -> NDArray[np.bool_]:
        return np.array([one.verdict == "wanted" for one in self.judged], dtype=bool)

    @cached_property
    def _median(self) -> float:
        return float(np.median(self._left_out[0]))

    @cached_property
    def _lowest_wanted(self) -> float:
        scores, wanted = self._left_out
        return float(np.quantile(scores[wanted], _FOLDED_SHARE))


def _products(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: Numbers, lengths: Sequence[int]
) -> Numbers:
    """Return the products of all rows with each other.

    A word that only one row has counts in no product but that of the row with itself, which is 1.
    """
    shared = (np.bincount(columns) > 1)[columns]
    used, columns = np.unique(columns[shared], return_inverse=True)
    dense = np.zeros((len(lengths), len(used)))
    dense[rows[shared], columns] = weights[shared]
    products: Numbers = dense @ dense.T
    products[np.diag_indices(len(lengths))] = np.array(lengths) > 0
    return products


# The papers of a day are explained to many readers; about ten kilobytes each.
@lru_cache(maxsize=1_024)
def _written(title: str, abstract: str) -> dict[int, str]:
    """Return the places of a paper, each with the word that stands there first."""
    found: dict[int, str] = {}
    for text in (title, abstract):
        for word in words(text):
            if word.end - word.start == 1 and counts_as_word(word.form):
                found.setdefault(place_of(word.form), text[slice(*word.span)])
    return found
