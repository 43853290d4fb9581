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
    twice = found.two_publications and bool(years) and not found.cut
    bare = authors is None and (years is None or years > 1)
    # A column returns with every issue: only its year and all its authors tell which.
    returned = title.column and (years != 0 or authors is None or authors.share < 1)
    return {
        "letters": title.letters,
        "sorted": title.sorted,
        "core": title.core,
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
        "bare": -bare,
        "series": False if found.two_publications else found.series,
        "years": None if years is None else -years,
        "twice": -twice,
        "returned": -returned,
        "abstract": found.abstract,
        "terms": found.terms,
    }


BIAS = -32.95

SCALES: Mapping[str, Scale] = {
    # Letters of the titles, in order: a typo costs little, another word much.
    "letters": Scale(0.0, ((0.6, 0.82), (0.68, 1.26), (0.97, 3.08), (0.999, 3.15))),
    # The same with the words sorted: a retitled copy often only turns its title round.
    "sorted": Scale(0.0, ((0.7, 0.29), (0.999, 0.92))),
    # The same of the pieces between signs that agree best: subtitles and leftovers come and go.
    "core": Scale(0.0, ((0.75, 0.32), (0.8, 1.17), (0.85, 2.14), (0.9, 2.75))),
    # How much of the shorter title the longer has, by rarity: subtitles come and go.
    "covered": Scale(0.0, ((0.6, 1.22), (0.75, 1.55), (0.88, 2.57))),
    # How much they share, by rarity: five rare words in common are no chance.
    "shared": Scale(0.0, ((2.5, 0.12), (4.5, 0.52), (6.5, 0.85), (9, 1.28), (12, 1.58))),
    # What one title says alone, and what both say against each other.
    "alone": Scale(0.0, ((-4.1, 0.39), (-1.1, 0.76), (-0.1, 0.8))),
    "either": Scale(0.0, ((-4.1, 0.36),)),
    # No column (Editorial, Chair's Message); the same about another; no other part or number.
    "column": Scale(0.0, ((-0.5, 5.08),)),
    "about": Scale(0.0, ((-0.5, 1.99),)),
    "part": Scale(0.0, ((-0.5, 1.12),)),
    # Nor the same with words before it ("Overview of ...").
    "preceded": Scale(0.0, ((-0.5, 1.31),)),
    # Of all the authors, of the shorter list, how many, and the first.
    "authors": Scale(0.87, ((0.01, 0.93), (0.7, 1.38))),
    "named": Scale(0.87, ((0.4, 0.4),)),
    "met": Scale(0.87, ((1, 0.93), (2, 1.27), (3, 1.39))),
    "first": Scale(0.87, ((0.5, 1.65),)),
    # Without authors, the year at least must agree.
    "bare": Scale(0.0, ((-0.5, 2.15),)),
    # One series of venues, and one year; above all not one in a journal and one at a conference in
    # other years: an extended version is another work.
    "series": Scale(1.32, ((0.5, 2.26),)),
    "years": Scale(1.62, ((-2, 0.49), (0, 1.67))),
    "twice": Scale(0.0, ((-0.5, 5.05),)),
    "returned": Scale(0.0, ((-0.5, 1.06),)),
    # Abstracts: neighbouring words, and rare words. The strongest evidence of a retitled copy.
    "abstract": Scale(0.92, ((0.13, 0.28), (0.2, 2.13), (0.3, 5.15), (0.5, 6.88))),
    "terms": Scale(0.92, ((0.2, 0.08), (0.35, 1.58), (0.5, 4.2), (0.65, 5.2))),
}


def balance(found: Evidence) -> float:
    """Return the logarithm of the odds that two records are one work."""
    return BIAS + sum(SCALES[name].weigh(value) for name, value in measures(found).items())
