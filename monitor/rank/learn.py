"""Learns from judged papers which papers a reader wants, by ridge regression on their words.

    rows   the judged papers, and the topic's own words as one more
    y      +1 for wanted papers and the topic, -1 for unwanted and unjudged ones
    a      solves (X Xᵀ + 1 + diag(1/w)) a = y, where w is how much each row counts
    f(x) = Σ aᵢ (x·xᵢ) + Σ aᵢ

f is linear in the words and in the judged papers, so that the shares of `Ranking.why` add up to
it exactly. Nothing that is learned is stored: the judgements are enough to learn it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.kept import kept
from monitor.model import Paper, Verdict
from monitor.rank.columns import find, number
from monitor.rank.features import (
    Features,
    Numbers,
    Shown,
    Weights,
    features,
    join,
    places_of,
    weigh,
    written_words,
)
from monitor.rank.products import invert, multiply_rows, tabulate
from monitor.rank.values import Judged, PaperShare, Place, Reason, Why, WordShare

_SHARE = itemgetter(1)

MAX_JUDGED = 300
MAX_UNJUDGED = 200
_WEIGHTS: dict[Verdict, float] = {"wanted": 1.0, "unwanted": 0.1, "unjudged": 0.02}
_TOPIC_WEIGHT = 0.3
_ROW_WEIGHTS = [*_WEIGHTS.values(), _TOPIC_WEIGHT]
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


def learn(judged: Sequence[Judged], topic_words: Sequence[str]) -> Ranking:
    """Learn a ranking from judged papers, oldest first, and the words of a topic.

    The newest 300 judgements and the newest 200 unjudged papers count.
    """
    answered = [one for one in judged if one.verdict != "unjudged"]
    unjudged = [one for one in judged if one.verdict == "unjudged"]
    return Ranking([*answered[-MAX_JUDGED:], *unjudged[-MAX_UNJUDGED:]], topic_words)


@kept(1_024)
def _features_of_topic(words: tuple[str, ...]) -> Features:
    return weigh([places_of(words)])[0]


class _Scale(NamedTuple):
    """What the scores of answered papers, each had it not been answered, say of a paper's score.

    `ends` are where each ten scores in a row stop being the ten that are nearest to a score, and
    `likely` says of each ten whether so many were wanted that a paper is likely.
    """

    ends: Numbers
    likely: NDArray[np.bool_]
    median: float
    lowest_wanted: float


class Ranking:
    """What was learned from the judgements of one topic's readers."""

    def __init__(self, judged: Sequence[Judged], topic_words: Sequence[str]) -> None:
        by_verdict = [[one for one in judged if one.verdict == verdict] for verdict in _WEIGHTS]
        self.judged = tuple(chain.from_iterable(by_verdict))
        # Rows follow this order, so that of each kind they are a slice.
        self.wanted, self._unwanted, unjudged = map(len, by_verdict)
        self._answered = self.wanted + self._unwanted
        self._row_weights = np.repeat(_ROW_WEIGHTS, [self.wanted, self._unwanted, unjudged, 1])
        self._answers = np.repeat([1.0, -1.0, 1.0], [self.wanted, self._unwanted + unjudged, 1])
        self._fades = _LEXICAL_SHARE / (self.wanted + _LEXICAL_FADES)
        self._topic = _features_of_topic(tuple(topic_words))
        if self.wanted:
            self._solve()

    def score(self, paper: Paper, lexical: float = 0.0) -> float:
        """Return how far ahead a paper belongs; `lexical` is the topic's score of it.

        As long as no paper is wanted this is the lexical score.
        """
        if not self.wanted:
            return lexical
        return float(self._f([paper])[0]) + self._fades * lexical / _MAX_LEXICAL

    def likely(self, paper: Paper) -> bool:
        """Return whether readers wanted most of the judged papers with scores like this one's.

        A paper in the lower half of the judged ones never is: what scored low was not shown in
        full, so that few such papers are judged, and of those many that were wanted.
        """
        return self.place([paper], [0.0])[0].likely

    def folds(self, paper: Paper) -> bool:
        """Return whether a paper scores lower than nearly all that readers wanted."""
        return self.place([paper], [0.0])[0].folds

    def place(self, papers: Sequence[Paper], lexical: Sequence[float]) -> list[Place]:
        """Return `score`, `likely` and `folds` of each paper, as if it were asked about alone."""
        if not self.wanted or not papers:
            return [Place(one, False, False) for one in lexical]
        learned = self._f(papers)
        scores = (learned + self._fades * np.array(lexical) / _MAX_LEXICAL).tolist()
        if not self.calibrated:
            return [Place(one, False, False) for one in scores]
        scale = self._scale
        likely = scale.likely.take(scale.ends.searchsorted(learned))
        likely &= learned >= scale.median
        folds = learned < scale.lowest_wanted
        return list(map(Place, scores, likely.tolist(), folds.tolist()))

    @cached_property
    def calibrated(self) -> bool:
        """Whether there are enough answers of both kinds to speak of a single paper."""
        return min(self.wanted, self._unwanted) >= _LIKELY_FROM

    def why(self, paper: Paper) -> Why:
        """Return what the score of a paper is made of, but for the lexical part."""
        if not self.wanted:
            return Why((), (), 0.0, 0.0)
        words = join([features(paper)])
        at = find(self._places, words.places)
        shares = (self._a * self._products_with(at, words.weights)).tolist()
        papers = map(PaperShare, self.judged, shares[:-1])
        weighed = self._beta.take(at) * words.weights
        of_words = zip(words.places.tolist(), weighed.tolist(), strict=True)
        written = written_words(paper.title, paper.abstract)
        known = (WordShare(written[place], share) for place, share in of_words if share)
        return Why(
            papers=tuple(sorted((one for one in papers if one.share), key=_SHARE, reverse=True)),
            words=tuple(sorted(known, key=_SHARE, reverse=True)),
            topic=shares[-1],
            base=self._base,
        )

    def reasons(self, papers: Sequence[Paper], shown: Sequence[Shown], most: int) -> list[Reason]:
        """Return what speaks most for each paper, as `why` does, in a fraction of its time.

        `words` are at most so many of those that are `shown`, by `shown_words`.
        """
        if not self.wanted or not papers:
            return [Reason(None, ()) for _ in papers]
        words = join([features(paper) for paper in papers])
        at = find(self._places, words.places)
        likes = self._nearest_wanted(words.numbers, at, words.weights, len(papers))
        shares = self._beta.take(at) * words.weights
        among = np.frombuffer(b"".join([one.among for one in shown]), np.bool_)
        good = np.flatnonzero((shares > 0) & among)
        # By paper, the largest first; equal ones by their places.
        order = good.take(np.lexsort((-shares.take(good), words.numbers.take(good))))
        ends = np.bincount(words.numbers.take(good), minlength=len(papers)).cumsum().tolist()
        places = words.places.take(order).tolist()
        return [
            Reason(like, tuple([one.written[place] for place in places[start:end][:most]]))
            for like, one, start, end in zip(likes, shown, [0, *ends[:-1]], ends, strict=True)
        ]

    def _nearest_wanted(
        self,
        numbers: NDArray[np.int64],
        at: NDArray[np.int64],
        weights: Weights,
        count: int,
    ) -> list[Judged | None]:
        """Return the wanted paper that adds most to each paper's score, if one adds anything."""
        known = np.flatnonzero(at >= 0)
        used, columns = number(at.take(known))
        found = np.zeros((count, len(used)), np.float32)
        found[numbers.take(known), columns] = weights.take(known)
        end, shape = self._ends[self.wanted - 1], (self.wanted, len(self._places))
        words = self._row_of[:end], self._columns[:end], self._weights[:end]
        shares = (found @ tabulate(*words, used, shape)) * self._a[: self.wanted]
        best = shares.argmax(axis=1).tolist()
        return [
            self.judged[column] if shares[row, column] > 0 else None
            for row, column in enumerate(best)
        ]

    def _solve(self) -> None:
        """Solve for `a`; note what each word weighs, and the sum of `a`."""
        rows = join([*(one.words or features(one.paper) for one in self.judged), self._topic])
        self._row_of, self._weights, self._ends = rows.numbers, rows.weights, rows.ends
        self._places, self._columns = number(rows.places)
        size = len(self.judged) + 1
        matrix = multiply_rows(self._row_of, self._columns, self._weights, size) + 1.0
        # The product of a row with itself is 1, of one without words 0.
        has_words = np.diff(rows.ends, prepend=0) > 0
        matrix.flat[:: size + 1] += has_words + 1 / self._row_weights
        inverse = invert(matrix)
        self._a = inverse @ self._answers
        self._inverse_diagonal = inverse.diagonal()
        shares = self._weights * self._a.take(self._row_of)
        # One more at the end, for words that no judged paper has.
        self._beta = np.bincount(self._columns, shares, len(self._places) + 1)
        self._base = float(self._a.sum())

    def _f(self, papers: Sequence[Paper]) -> Numbers:
        """Return f(x) of each paper. Words are added in order: no other paper changes a bit."""
        words = join([features(paper) for paper in papers])
        shares = self._beta.take(find(self._places, words.places)) * words.weights
        return np.bincount(words.numbers, shares, len(papers)).astype(np.float64) + self._base

    def _products_with(self, at: NDArray[np.int64], weights: Weights) -> Numbers:
        """Return the products of a paper, as columns and weights, with all rows."""
        here = np.zeros(len(self._places) + 1)
        here[at] = weights
        here[-1] = 0.0
        shares = here.take(self._columns) * self._weights
        return np.bincount(self._row_of, shares, len(self._a)).astype(np.float64)

    @cached_property
    def _left_out(self) -> Numbers:
        """What each answered paper would score had it not been, the wanted ones first.

        In closed form: yᵢ - aᵢ / (A⁻¹)ᵢᵢ, with A the matrix that was solved.
        """
        scores: Numbers = self._answers - self._a / self._inverse_diagonal
        return scores[: self._answered]

    @cached_property
    def _scale(self) -> _Scale:
        left_out = self._left_out
        order = left_out.argsort(kind="stable")
        scores, is_wanted = left_out.take(order), order < self.wanted
        wanted = np.append(0, is_wanted.cumsum())
        middle = len(scores) // 2
        lowest = scores.compress(is_wanted)
        below, share = divmod(_FOLDED_SHARE * (self.wanted - 1), 1)
        first, second = lowest[int(below)], lowest[int(below) + 1]
        return _Scale(
            ends=(scores[:-_NEAREST] + scores[_NEAREST:]) / 2,
            likely=wanted[_NEAREST:] - wanted[:-_NEAREST] >= _LIKELY_OF_NEAREST,
            median=float(scores[~middle] + scores[middle]) / 2,
            lowest_wanted=float(first + share * (second - first)),
        )
