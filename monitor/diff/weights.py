"""What each piece of evidence weighs. Positive speaks for one work, in natural logarithms of odds.

Fitted to labelled pairs by `benchmarks/weigh.py`, which prints this table; a measure is never
allowed to weigh less where it agrees more. A scale's steps are (from this value on, weight);
below the first it weighs nothing, and where a record does not say, what `unknown` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.diff.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Scale:
    unknown: float
    steps: tuple[tuple[float, float], ...]

    def weigh(self, value: float | None) -> float:
        if value is None:
            return self.unknown
        found = 0.0
        for start, weight in self.steps:
            if value < start:
                break
            found = weight
        return found


def measures(found: Evidence) -> dict[str, float | None]:
    """Return the evidence as numbers, each the greater the more it speaks for one work."""
    title, authors = found.title, found.authors
    years = found.years_apart
    twice = found.two_publications and bool(years)
    # A column returns with every issue: only its year and all its authors tell which.
    returned = title.column and (years != 0 or authors is None or authors.share < 1)
    return {
        "letters": title.letters,
        "sorted": title.sorted,
        "covered": title.covered,
        "shared": title.shared,
        "alone": -title.alone,
        "either": -title.either,
        "column": -title.column,
        "about": -title.about,
        "part": -(title.other_part or title.other_number),
        "preceded": -title.preceded,
        "authors": authors.share if authors else None,
        "named": authors.met / authors.fewer if authors else None,
        "met": authors.met if authors else None,
        "first": authors.first if authors else None,
        "series": found.series,
        "kinds": -found.two_publications,
        "years": None if years is None else -years,
        "twice": -twice,
        "returned": -returned,
        "abstract": found.abstract,
        "terms": found.terms,
    }


BIAS = -29.39

SCALES: Mapping[str, Scale] = {
    # Letters of the titles, in order: a typo costs little, another word much.
    "letters": Scale(
        0.0,
        (
            (0.6, 1.01),
            (0.68, 1.57),
            (0.75, 2.03),
            (0.8, 2.39),
            (0.85, 3.14),
            (0.94, 3.24),
            (0.97, 4.62),
            (0.999, 4.83),
        ),
    ),
    # The same with the words sorted: a retitled copy often only turns its title round.
    "sorted": Scale(0.0, ((0.7, 0.23), (0.78, 0.4), (0.999, 0.88))),
    # How much of the shorter title the longer has, by rarity: subtitles come and go.
    "covered": Scale(0.0, ((0.6, 1.13), (0.75, 1.4), (0.88, 2.39), (0.97, 2.58))),
    # How much they share, by rarity: five rare words in common are no chance.
    "shared": Scale(0.0, ((2.5, 0.44), (4.5, 1.15), (6.5, 1.69), (9, 1.8), (12, 2.32))),
    # What one title says alone, and what both say against each other.
    "alone": Scale(0.0, ((-4.1, 0.03), (-1.1, 0.47))),
    "either": Scale(0.0, ((-4.1, 0.6), (-0.1, 1.17))),
    # No column (Editorial, Chair's Message); the same about another; no other part or number.
    "column": Scale(0.0, ((-0.5, 4.93),)),
    "about": Scale(0.0, ((-0.5, 2.12),)),
    "part": Scale(0.0, ((-0.5, 1.14),)),
    # Nor the same with words before it ("Overview of ...").
    "preceded": Scale(0.0, ((-0.5, 1.46),)),
    # Of all the authors, of the shorter list, how many, and the first.
    "authors": Scale(0.59, ((0.01, 0.66), (0.7, 1.08))),
    "named": Scale(0.59, ((0.01, 0.68),)),
    "met": Scale(0.59, ((1, 0.63), (2, 0.88), (3, 0.92))),
    "first": Scale(0.59, ((0.5, 2.05),)),
    # One series of venues, not one in a journal and one at a conference, above all not both in
    # other years: an extended version is another work.
    "series": Scale(1.74, ((0.5, 2.54),)),
    "kinds": Scale(0.0, ((-0.5, 1.53),)),
    "years": Scale(1.78, ((-2, 0.36), (0, 2.19))),
    "twice": Scale(0.0, ((-0.5, 1.55),)),
    "returned": Scale(0.0, ((-0.5, 0.81),)),
    # Abstracts: neighbouring words, and rare words. The strongest evidence of a retitled copy.
    "abstract": Scale(1.4, ((0.04, 0.07), (0.13, 0.26), (0.2, 2.23), (0.3, 5.15), (0.5, 7.15))),
    "terms": Scale(0.85, ((0.2, 0.25), (0.35, 1.68), (0.5, 4.4), (0.65, 5.43))),
}


def balance(found: Evidence) -> float:
    """Return the logarithm of the odds that two records are one work."""
    return BIAS + sum(SCALES[name].weigh(value) for name, value in measures(found).items())
