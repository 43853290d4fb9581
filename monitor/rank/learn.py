"""Learns from judged papers which papers a reader wants, by ridge regression on their words.

    rows   the judged papers, and the topic's own words as one more
    y      +1 for wanted papers and the topic, -1 for unwanted and unjudged ones
    a      solves (X Xᵀ + 1 + diag(1/w)) a = y, where w is how much each row counts
    f(x) = Σ aᵢ (x·xᵢ) + Σ aᵢ

f is linear in the words and in the judged papers, so that the shares of `Ranking.why` add up to
it exactly. Nothing that is learned is stored: the judgements are enough to learn it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from monitor.kept import kept
from monitor.model import Paper
from monitor.rank.features import (
    Features,
    Places,
    features,
    join,
    pack,
    places_of,
    weigh,
    written_words,
)
from monitor.rank.products import count_places, multiply_rows
from monitor.rank.values import Judged, PaperShare, Place, Reason, Verdict, Why, WordShare

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


def learn(judged: Sequence[Judged], topic_words: Sequence[str]) -> Ranking:
    """Learn a ranking from judged papers, oldest first, and the words of a topic.

    The newest 300 judgements and the newest 200 unjudged papers count.
    """
    silent = [n for n, one in enumerate(judged) if one.verdict == "unjudged"]
    answered = sorted(set(range(len(judged))).difference(silent))
    newest = sorted(answered[-MAX_JUDGED:] + silent[-MAX_UNJUDGED:])
    return Ranking([judged[n] for n in newest], topic_words)


@kept(1_024)
def _features_of_topic(words: tuple[str, ...]) -> Features:
    return weigh([pack(places_of(words))])[0]


class Ranking:
    """What was learned from the judgements of one topic's readers."""

    def __init__(self, judged: Sequence[Judged], topic_words: Sequence[str]) -> None:
        self.judged = tuple(judged)
        verdicts = [one.verdict for one in judged]
        self.wanted = verdicts.count("wanted")
        self._unwanted = verdicts.count("unwanted")
        self._is_wanted = np.array([verdict == "wanted" for verdict in verdicts], dtype=bool)
        self._is_answered = np.array([verdict != "unjudged" for verdict in verdicts], dtype=bool)
        self._row_weights = np.array([*map(_WEIGHTS.__getitem__, verdicts), _TOPIC_WEIGHT])
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
        known, wanted = self._left_out
        apart = np.abs(known - learned[:, np.newaxis])
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :_NEAREST]
        likely = wanted[nearest].sum(axis=1) >= _LIKELY_OF_NEAREST
        likely &= learned >= self._median
        folds = learned < self._lowest_wanted
        return list(map(Place, scores, likely.tolist(), folds.tolist()))

    @cached_property
    def calibrated(self) -> bool:
        """Whether there are enough answers of both kinds to speak of a single paper."""
        return min(self.wanted, self._unwanted) >= _LIKELY_FROM

    def why(self, paper: Paper) -> Why:
        """Return what the score of a paper is made of, but for the lexical part."""
        if not self.wanted:
            return Why((), (), 0.0, 0.0)
        found = features(paper)
        shares = (self._a * self._products_with(found)).tolist()
        papers = map(PaperShare, self.judged, shares[:-1])
        at, shared = self._find(found.places)
        weighed = self._beta[at] * found.weights[shared]
        of_words = zip(found.places[shared].tolist(), weighed.tolist(), strict=True)
        written = written_words(paper.title, paper.abstract)
        words = (WordShare(written[place], share) for place, share in of_words if share)
        return Why(
            papers=tuple(sorted((one for one in papers if one.share), key=_SHARE, reverse=True)),
            words=tuple(sorted(words, key=_SHARE, reverse=True)),
            topic=shares[-1],
            base=self._base,
        )

    def reasons(
        self, papers: Sequence[Paper], shown: Sequence[Mapping[int, str]], most: int
    ) -> list[Reason]:
        """Return what speaks most for each paper, as `why` does, in a fraction of its time.

        `words` are at most so many of those that are `shown`, by `written_words`.
        """
        if not self.wanted or not papers:
            return [Reason(None, ()) for _ in papers]
        rows = join([features(paper) for paper in papers])
        at, shared = self._find(rows.places)
        numbers, weights = rows.numbers[shared], rows.weights[shared]
        likes = self._nearest_wanted(numbers, at, weights, len(papers))
        of_words = self._beta[at] * weights
        good = np.flatnonzero(of_words > 0)
        # By paper, the largest first; equal ones by their places.
        good = good[np.lexsort((-of_words[good], numbers[good]))]
        ends = np.bincount(numbers[good], minlength=len(papers)).cumsum().tolist()
        places = rows.places[shared[good]].tolist()
        return [
            Reason(like, tuple(islice(filter(None, map(words.get, places[start:end])), most)))
            for like, words, start, end in zip(likes, shown, [0, *ends[:-1]], ends, strict=True)
        ]

    def _nearest_wanted(
        self, numbers: NDArray[np.int64], at: NDArray[np.int64], weights: Numbers, count: int
    ) -> list[Judged | None]:
        """Return the wanted paper that adds most to each paper's score, if one adds anything."""
        columns = np.full(len(self._places), -1)
        columns[at] = 0
        used = np.flatnonzero(columns == 0)
        columns[used] = np.arange(len(used))
        wanted = np.flatnonzero(self._is_wanted)
        row_of = np.full(len(self.judged) + 1, -1)
        row_of[wanted] = np.arange(len(wanted))
        rows, places = row_of[self._row_of], columns[self._columns]
        here = np.flatnonzero((rows >= 0) & (places >= 0))
        table = np.zeros((len(wanted), len(used)), np.float32)
        table[rows[here], places[here]] = self._weights[here]
        found = np.zeros((count, len(used)), np.float32)
        found[numbers, columns[at]] = weights
        shares = (found @ table.T) * self._a[wanted]
        best = shares.argmax(axis=1).tolist()
        return [
            self.judged[wanted[column]] if shares[row, column] > 0 else None
            for row, column in enumerate(best)
        ]

    def _solve(self) -> None:
        """Solve for `a`; note what each word weighs, and the sum of `a`."""
        rows = join([*(one.words or features(one.paper) for one in self.judged), self._topic])
        self._row_of, self._weights = rows.numbers, rows.weights
        self._places, counts = count_places(rows.places)
        self._columns = np.repeat(np.arange(len(counts)), counts)
        self._with_end = np.append(self._places, -1)  # what is after all has no place
        size = len(self.judged) + 1
        matrix = multiply_rows(self._row_of, counts, self._weights, size) + 1.0
        matrix.flat[:: size + 1] += 1 / self._row_weights
        # Of the inverse, `_left_out` needs the columns of the answered papers.
        answered = np.flatnonzero(self._is_answered)
        asked = np.zeros((size, len(answered) + 1))
        asked[:, 0] = self._answers()
        asked[answered, np.arange(1, len(answered) + 1)] = 1.0
        solved = np.linalg.solve(matrix, asked)
        self._a = solved[:, 0]
        self._inverse_diagonal = solved[answered, np.arange(1, len(answered) + 1)]
        shares = self._weights * self._a[self._row_of]
        self._beta = np.bincount(self._columns, shares, len(self._places))
        self._base = float(self._a.sum())

    def _answers(self) -> Numbers:
        return np.append(np.where(self._is_wanted, 1.0, -1.0), 1.0)

    def _f(self, papers: Sequence[Paper]) -> Numbers:
        """Return f(x) of each paper. Words are added in order: no other paper changes a bit."""
        rows = join([features(paper) for paper in papers])
        at, shared = self._find(rows.places)
        shares = self._beta[at] * rows.weights[shared]
        sums = np.bincount(rows.numbers[shared], shares, len(papers)).astype(np.float64)
        return sums + self._base

    def _find(self, places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the columns of words that judged papers have, and which words they are."""
        at = self._places.searchsorted(places)
        shared = np.flatnonzero(self._with_end.take(at) == places)
        return at[shared], shared

    def _products_with(self, found: Features) -> Numbers:
        """Return the products of a paper with all rows."""
        at, shared = self._find(found.places)
        here = np.zeros(len(self._places))
        here[at] = found.weights[shared]
        shares = here[self._columns] * self._weights
        return np.bincount(self._row_of, shares, len(self.judged) + 1).astype(np.float64)

    @cached_property
    def _left_out(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """What each judged paper would score had it not been judged, and whether it is wanted.

        In closed form: yᵢ - aᵢ / (A⁻¹)ᵢᵢ, with A the matrix that was solved.
        """
        answered = np.flatnonzero(self._is_answered)
        scores = self._answers()[answered] - self._a[answered] / self._inverse_diagonal
        return scores, self._is_wanted[answered]

    @cached_property
    def _median(self) -> float:
        scores = np.sort(self._left_out[0])
        return float(scores[(len(scores) - 1) // 2] + scores[len(scores) // 2]) / 2

    @cached_property
    def _lowest_wanted(self) -> float:
        scores, wanted = self._left_out
        lowest = np.sort(scores[wanted])
        return float(np.interp(_FOLDED_SHARE * (len(lowest) - 1), np.arange(len(lowest)), lowest))
