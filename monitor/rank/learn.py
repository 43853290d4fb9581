"""Learns from judged papers which papers a reader wants, by ridge regression on their words.

    rows   the judged papers, and the topic's own words as one more
    y      +1 for wanted papers and the topic, -1 for unwanted and unjudged ones
    a      solves (X Xᵀ + 1 + diag(1/w)) a = y, where w is how much each row counts
    f(x) = Σ aᵢ (x·xᵢ) + Σ aᵢ

Nothing that is learned is stored: it is learned again from the ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from monitor.model import Paper, Placed, Verdict
from monitor.rank.features import (
    NO_FREQUENCIES,
    Features,
    Numbers,
    Places,
    Rows,
    Weights,
    commonest,
    features,
    join,
    places_of,
    weigh,
)

MAX_JUDGED = 300
MAX_MATCHED = 2_000
MAX_UNJUDGED = 200
_WEIGHTS: dict[Verdict, float] = {"wanted": 1.0, "unwanted": 0.1, "unjudged": 0.02}
_TOPIC_WEIGHT = 0.3
_ROW_WEIGHTS = [*_WEIGHTS.values(), _TOPIC_WEIGHT]
# The topic's score of a paper counts less with every wanted paper; it is below 7.5.
_LEXICAL_SHARE = 0.09
_LEXICAL_FADES = 0.3
_MAX_LEXICAL = 7.5

# A paper is likely when 7 of the 10 rated papers with the nearest scores were wanted; with fewer
# than 5 ratings of each kind none is.
_LIKELY_FROM = 5
_NEAREST = 10
_LIKELY_OF_NEAREST = 7
# The share of the wanted papers that score lower than any paper shown in full.
_FOLDED_SHARE = 0.05
# A paper is like a wanted one if of the unrated papers this share is farther from it.
_FARTHER = 0.9
_FEWEST = 5
# A word is named if it makes such a share of what the two papers have in common.
_TELLING = 0.1
# Two equal products may differ by this much in float32.
_ROUNDING = 1e-6
# With how many unrated papers of its topic a paper is compared.
COMPARED = 100


class Judged(msgspec.Struct, frozen=True):
    """A paper that was shown to a reader, and the rating; "unjudged" is none.

    With `words`, what `features` returns of the paper, its title is enough.
    """

    paper: Paper
    verdict: Verdict
    words: Features | None = None


class Matched(NamedTuple):
    """How words weigh among the papers that a topic matched so far, by `Frequencies.factors`.

    `unrated` are the words of a few without a rating: reasons compare a paper with them. `trade`
    are the places of the words that many of them have, by `Frequencies.trade`.
    """

    factors: Weights | None
    unrated: Sequence[Features] = ()
    trade: frozenset[int] = frozenset()


def learn(
    judged: Sequence[Judged], topic_words: Sequence[str], matched: Sequence[Paper] | Matched = ()
) -> Ranking:
    """Learn a ranking from the newest of judged papers, oldest first, and a topic's words.

    Words weigh by the last papers that the topic `matched`, newest last, and reasons compare with
    the unrated ones of them; without any, by the shipped counts and with the unjudged ones.
    """
    rated = [paper for paper in judged if paper.verdict != "unjudged"]
    unjudged = [paper for paper in judged if paper.verdict == "unjudged"]
    if not isinstance(matched, Matched):
        words = [features(paper) for paper in matched[-MAX_MATCHED:]]
        of_rated = set(map(_words, rated))
        unrated = [w for w in words or map(_words, unjudged) if w not in of_rated]
        frequencies = NO_FREQUENCIES.plus(words)
        matched = Matched(frequencies.factors(), unrated[-COMPARED:], frequencies.trade())
    return Ranking([*rated[-MAX_JUDGED:], *unjudged[-MAX_UNJUDGED:]], topic_words, matched)


class _Scale(NamedTuple):
    """Which scores are likely, from what each rated paper scores without its rating.

    `ends` are the scores at which the ten nearest rated papers change, `likely` says for each ten
    whether enough of them were wanted, and `median` and `lowest_wanted` bound what is likely and
    what is shown in full.
    """

    ends: Numbers
    likely: NDArray[np.bool_]
    median: float
    lowest_wanted: float


class Ranking:
    """A ranking learned from the ratings of one topic's readers."""

    def __init__(
        self, judged: Sequence[Judged], topic_words: Sequence[str], matched: Matched
    ) -> None:
        by_verdict = [[paper for paper in judged if paper.verdict == v] for v in _WEIGHTS]
        self.judged = tuple(chain.from_iterable(by_verdict))
        # Rows follow this order, so that of each kind they are a slice.
        self.wanted, self._unwanted, unjudged = map(len, by_verdict)
        self._rated = self.wanted + self._unwanted
        self._row_weights = np.repeat(_ROW_WEIGHTS, [self.wanted, self._unwanted, unjudged, 1])
        self._targets = np.repeat([1.0, -1.0, 1.0], [self.wanted, self._unwanted + unjudged, 1])
        self._fades = _LEXICAL_SHARE / (self.wanted + _LEXICAL_FADES)
        self._topic = weigh(places_of(topic_words))
        self._factors, self._unrated, self._trade = matched
        self._products: dict[int, Numbers] = {}
        if self.wanted:
            self._solve()

    def score(self, paper: Paper, lexical: float = 0.0) -> float:
        """Return how far ahead a paper belongs; `lexical` is the topic's score of it.

        Without a wanted paper this is the lexical score.
        """
        return self.place([paper], [lexical])[0].score

    def likely(self, paper: Paper) -> bool:
        """Return whether readers wanted most of the judged papers with scores like this one's.

        Papers below the median are never likely: low scorers are rarely shown in full, so the few
        ratings we have of them are biased towards wanted.
        """
        return self.place([paper], [0.0])[0].likely

    def place(self, papers: Sequence[Paper], lexical: Sequence[float]) -> list[Placed]:
        """Return `score`, `likely` and `folded` of each paper; no other paper changes them.

        One that scores lower than nearly all that readers wanted is folded.
        """
        if not self.wanted or not papers:
            return [Placed(score=score) for score in lexical]
        learned = self._f(papers)
        scores = (learned + self._fades * np.array(lexical) / _MAX_LEXICAL).tolist()
        if min(self.wanted, self._unwanted) < _LIKELY_FROM:
            return [Placed(score=score) for score in scores]
        scale = self._scale
        likely = scale.likely.take(scale.ends.searchsorted(learned))
        likely &= learned >= scale.median
        folded = learned < scale.lowest_wanted
        return [
            Placed(score=score, likely=is_likely, folded=is_folded)
            for score, is_likely, is_folded in zip(
                scores, likely.tolist(), folded.tolist(), strict=True
            )
        ]

    def reason(
        self, paper: Paper, shown: Mapping[int, str], most: int
    ) -> tuple[Judged | None, tuple[str, ...]]:
        """Return the wanted paper that adds most to the score of a paper, and words of both.

        The words are the `most` weighty of those `shown`, by `written_words`, without the topic's
        own and common ones. Nothing is returned where there are none, or only one that is of the
        trade, or where the paper is not nearer to the wanted one than nine of ten unrated papers.
        """
        if not self.wanted:
            return None, ()
        words = join([features(paper)], self._factors)
        of_papers = self._shares_of_wanted(words)
        best = max(range(self.wanted), key=of_papers.__getitem__)
        products = self._spread(best).take(self._columns_of(words.places)) * words.weights
        if of_papers[best] <= 0 or not self._is_near(features(paper), products.sum(), best):
            return None, ()
        least = _TELLING * products.sum()
        named = [
            (-product, place)
            for place, product in zip(words.places.tolist(), products.tolist(), strict=True)
            if product > least and place in shown and place not in self._unsaid
        ]
        if len(named) < 2 and self._trade.issuperset(place for _, place in named):
            return None, ()
        return self.judged[best], tuple(shown[place] for _, place in sorted(named)[:most])

    def _spread(self, row: int) -> Numbers:
        weights = np.zeros(len(self._places) + 1)
        words = slice(self._rows.ends[row - 1] if row else 0, self._rows.ends[row])
        weights[self._columns[words]] = self._rows.weights[words]
        return weights

    def _is_near(self, paper: Features, product: float, row: int) -> bool:
        """Return whether a paper is nearer to a judged one than most unrated ones are."""
        words, columns = self._unrated_words
        if row not in self._products:
            products = self._spread(row).take(columns) * words.weights
            near = np.bincount(words.numbers, products, len(self._unrated))
            self._products[row] = near.astype(np.float64)
        itself = self._unrated.count(paper)
        nearer = np.count_nonzero(self._products[row] >= product - _ROUNDING) - itself
        others = len(self._unrated) - itself
        return others >= _FEWEST and bool(nearer <= (1 - _FARTHER) * others)

    @cached_property
    def _unrated_words(self) -> tuple[Rows, Places]:
        words = join(self._unrated, self._factors)
        return words, self._columns_of(words.places)

    @cached_property
    def _unsaid(self) -> frozenset[int]:
        """The places of words that say nothing: those of the topic, and common ones."""
        return commonest().union(join([self._topic]).places.tolist())

    def _shares_of_wanted(self, words: Rows) -> list[float]:
        """Return how much each wanted paper adds to the score of a paper with these words."""
        weights = np.zeros(len(self._places) + 1)
        weights[self._columns_of(words.places)] = words.weights
        weights[-1] = 0.0  # of words that no judged paper has
        end = self._rows.ends[self.wanted - 1]
        products = weights.take(self._columns[:end]) * self._rows.weights[:end]
        sums = np.bincount(self._rows.numbers[:end], products, self.wanted)
        shares: list[float] = (self._a[: self.wanted] * sums).tolist()
        return shares

    def _solve(self) -> None:
        """Solve for `a`; note what each word weighs, and the sum of `a`."""
        judged = [_words(paper) for paper in self.judged]
        self._rows = join([*judged, self._topic], self._factors)
        self._places, self._columns = np.unique(self._rows.places, return_inverse=True)
        matrix = _products(self._rows, self._columns) + 1.0
        matrix.flat[:: len(matrix) + 1] += 1 / self._row_weights
        inverse = np.linalg.inv(matrix)
        self._a = inverse @ self._targets
        self._inverse_diagonal = inverse.diagonal()
        shares = self._rows.weights * self._a.take(self._rows.numbers)
        # One more at the end, for words that no judged paper has.
        self._beta = np.bincount(self._columns, shares, len(self._places) + 1)
        self._base = float(self._a.sum())

    def _columns_of(self, places: Places) -> NDArray[np.int64]:
        """Return the columns of words by place; one more for those that no judged paper has."""
        columns = self._places.searchsorted(places)
        known = self._places.take(columns, mode="clip") == places
        return np.where(known, columns, len(self._places))

    def _f(self, papers: Sequence[Paper]) -> Numbers:
        """Return f(x) of each paper. Words are added in order: no other paper changes a bit."""
        words = join([features(paper) for paper in papers], self._factors)
        shares = self._beta.take(self._columns_of(words.places)) * words.weights
        return np.bincount(words.numbers, shares, len(papers)).astype(np.float64) + self._base

    @cached_property
    def _left_out(self) -> Numbers:
        """The score of each rated paper without its rating, the wanted ones first.

        In closed form: yᵢ - aᵢ / (A⁻¹)ᵢᵢ, with A the matrix that was solved.
        """
        scores: Numbers = self._targets - self._a / self._inverse_diagonal
        return scores[: self._rated]

    @cached_property
    def _scale(self) -> _Scale:
        left_out = self._left_out
        order = left_out.argsort(kind="stable")
        scores = left_out.take(order)
        is_wanted = order < self.wanted
        wanted = np.append(0, is_wanted.cumsum())
        middle = len(scores) // 2
        lowest = scores.compress(is_wanted)
        below, share = divmod(_FOLDED_SHARE * (self.wanted - 1), 1)
        first = lowest[int(below)]
        second = lowest[int(below) + 1]
        return _Scale(
            ends=(scores[:-_NEAREST] + scores[_NEAREST:]) / 2,
            likely=wanted[_NEAREST:] - wanted[:-_NEAREST] >= _LIKELY_OF_NEAREST,
            median=float(scores[~middle] + scores[middle]) / 2,
            lowest_wanted=float(first + share * (second - first)),
        )


def _words(judged: Judged) -> Features:
    return judged.words or features(judged.paper)


def _products(rows: Rows, columns: NDArray[np.int64]) -> Numbers:
    """Return the products of all papers with each other, as vectors of their words."""
    # Most words are in a single paper: they count only in its product with itself.
    is_shared = np.bincount(columns) > 1
    at = np.flatnonzero(is_shared.take(columns))
    numbers = np.cumsum(is_shared) - 1
    table = np.zeros((len(rows.ends), np.count_nonzero(is_shared)), np.float32)
    table[rows.numbers.take(at), numbers.take(columns.take(at))] = rows.weights.take(at)
    products = (table @ table.T).astype(np.float64)
    # The vectors have length 1, but for those without words.
    np.fill_diagonal(products, np.diff(rows.ends, prepend=0) > 0)
    return products
