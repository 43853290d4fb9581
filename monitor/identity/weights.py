"""The weight of each piece of evidence, in natural logarithms of odds; positive is for one work.

Fitted to labelled pairs by `benchmarks/weigh.py`, which prints this table; a measure is never
allowed to weigh less where it agrees more. A scale's steps are (from this value on, weight);
below the first it weighs nothing, and where a record does not say, what `unknown` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.identity.features import Evidence

# A title that shares so much with the other, has only "for" and "using" alone, and whose letters
# agree this far with the words sorted, is the other turned round: as good as in order.
TELLING_WORDS = 4.5
FORM_WORDS = 0.7
SORTED = 0.9
IN_ORDER = 0.97


@dataclass(frozen=True, slots=True)
class Scale:
    unknown: float
    steps: tuple[tuple[float, float], ...]

    def weigh(self, value: float | None) -> float:
        if value is None:
            return self.unknown
        return next((weight for start, weight in reversed(self.steps) if value >= start), 0.0)


def measures(evidence: Evidence) -> dict[str, float | None]:
    """Return the evidence as numbers, each the greater the more it speaks for one work."""
    title = evidence.title
    authors = evidence.authors
    years = evidence.years_apart
    only_form = title.alone < FORM_WORDS and title.shared >= TELLING_WORDS
    in_order = IN_ORDER if only_form and title.sorted >= SORTED else 0.0
    bare = authors is None and (years is None or years > 1)
    return {
        "letters": max(title.letters, in_order),
        "sorted": title.sorted,
        "core": max(title.core, in_order),
        "ends": max(title.ends, in_order),
        "covered": title.covered,
        "shared": title.shared,
        "alone": -title.alone,
        "either": -title.either,
        "column": -title.column,
        "preceded": -title.preceded,
        "authors": authors.share if authors else None,
        "named": authors.met / authors.fewer if authors else None,
        "met": authors.met if authors else None,
        "first": authors.first if authors else None,
        "bare": -bare,
        "series": False if evidence.two_publications else evidence.series,
        "years": None if years is None else -years,
        "abstract": evidence.abstract,
        "terms": evidence.terms,
    }


BIAS = -23.50

SCALES: Mapping[str, Scale] = {
    # Letters of the titles, in order: a typo costs little, another word much.
    "letters": Scale(0.0, ((0.6, 0.68), (0.68, 1.16), (0.85, 1.32), (0.999, 2.47))),
    # The same with the words sorted: a retitled copy often only turns its title round.
    "sorted": Scale(0.0, ((0.7, 0.24), (0.999, 1.41))),
    # The same of the pieces between signs that agree best: subtitles and leftovers come and go.
    "core": Scale(0.0, ((0.8, 0.88), (0.85, 1.7), (0.9, 2.14))),
    # The shorter title with as much of the longer one, at its beginning or end: titles are cut.
    "ends": Scale(0.0, ((0.75, 0.23), (0.85, 1.21), (0.97, 1.25))),
    # How much of the shorter title the longer has, by rarity: subtitles come and go.
    "covered": Scale(0.0, ((0.6, 1.09), (0.75, 1.52), (0.88, 2.26))),
    # How much they share, by rarity: five rare words in common are no chance.
    "shared": Scale(0.0, ((4.5, 0.68), (6.5, 1.04), (9, 1.49))),
    # The words of one title alone, and those that both have against each other.
    "alone": Scale(0.0, ((-4.1, 0.42), (-1.1, 0.7))),
    "either": Scale(0.0, ((-4.1, 0.3),)),
    # No column (Editorial, Chair's Message).
    "column": Scale(0.0, ((-0.5, 4.96),)),
    # Nor the same with words before it ("Overview of ...").
    "preceded": Scale(0.0, ((-0.5, 1.54),)),
    # Of all the authors, of the shorter list, how many, and the first.
    "authors": Scale(0.93, ((0.01, 1.2), (0.7, 1.9))),
    "named": Scale(0.93, ((0.4, 0.47),)),
    "met": Scale(0.93, ((1, 1.2), (2, 1.61))),
    "first": Scale(0.93, ((0.5, 1.13),)),
    # Without authors, the year at least must agree.
    "bare": Scale(0.0, ((-0.5, 2.26),)),
    # One series of venues, and one year.
    "series": Scale(1.18, ((0.5, 2.24),)),
    "years": Scale(0.75, ((-2, 0.31), (-1, 0.52), (0, 0.66))),
    # Abstracts: neighbouring words, and rare words. The strongest evidence of a retitled copy.
    "abstract": Scale(0.97, ((0.13, 0.36), (0.2, 2.13), (0.3, 5.12), (0.5, 6.67))),
    "terms": Scale(0.97, ((0.2, 0.07), (0.35, 1.67), (0.5, 4.25), (0.65, 5.28))),
}


def balance(evidence: Evidence) -> float:
    """Return the logarithm of the odds that two records are one work."""
    return BIAS + sum(SCALES[name].weigh(value) for name, value in measures(evidence).items())
