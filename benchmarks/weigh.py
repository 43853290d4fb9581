"""Fit the weights of `monitor/diff/weights.py` to labelled pairs, and print the table.

    python benchmarks/weigh.py [--folds N] [--times N] [--sets] [FOLDER]

Logistic regression over steps: each step of a scale that a pair has reached adds a weight that
is never negative, so that more agreement never counts for less. One coordinate at a time is set
to its best (Newton), until nothing moves. With `--folds`, what the weights are worth on pairs
they were not fitted to, the pairs dealt out `--times` times; with `--sets`, on whole sets of
which they have seen no pair.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import labelled
from msgspec.structs import replace

from monitor.diff.evidence import gather
from monitor.diff.weights import SCALES, measures
from monitor.model import Paper

STEPS: dict[str, tuple[float, ...]] = {
    "letters": (0.6, 0.68, 0.75, 0.8, 0.85, 0.9, 0.94, 0.97, 0.999),
    "sorted": (0.6, 0.7, 0.78, 0.85, 0.9, 0.95, 0.999),
    "covered": (0.6, 0.75, 0.88, 0.97),
    "shared": (2.5, 4.5, 6.5, 9, 12),
    "alone": (-6.1, -4.1, -2.1, -1.1, -0.1),
    "either": (-4.1, -2.1, -1.1, -0.1),
    "authors": (0.01, 0.3, 0.5, 0.7, 0.99),
    "named": (0.01, 0.4, 0.6, 0.99),
    "met": (1, 2, 3),
    "first": (0.5,),
    "series": (0.5,),
    "years": (-3, -2, -1, 0),
    "abstract": (0.04, 0.08, 0.13, 0.2, 0.3, 0.5),
    "terms": (0.2, 0.35, 0.5, 0.65),
}
FLAG = (-0.5,)
# The smaller benchmark has the cleaner records, and counts for more.
COUNTS_FOR = {"dblp-acm": 2.0}
# Sets of their own; the other kinds are parts of one.
STANDING_ALONE = ("dblp-acm", "dblp-scholar")
PENALTY = 0.2
SETTLED = 0.002

Feature = tuple[str, float | None]


class Row(NamedTuple):
    kind: str
    features: tuple[int, ...]
    same: bool


FEATURES: list[Feature] = [("", None)] + [
    (name, step) for name in SCALES for step in (None, *STEPS.get(name, FLAG))
]


def row(kind: str, a: Paper, b: Paper, same: bool) -> Row | None:
    found = gather(a, b)
    if found is None:
        return None
    told = measures(found)
    reached = (
        place for place, (name, step) in enumerate(FEATURES) if place and _reached(told[name], step)
    )
    return Row(kind, (0, *reached), same)


def _reached(value: float | None, step: float | None) -> bool:
    if value is None or step is None:
        return value is None and step is None
    return value >= step


def fit(rows: Sequence[Row]) -> list[float]:
    """Return the weight of each feature; the first, which every row has, is the bias."""
    counted: dict[tuple[tuple[int, ...], bool], float] = defaultdict(float)
    for one in rows:
        counted[one.features, one.same] += COUNTS_FOR.get(one.kind, 1.0)
    cases = list(counted.items())
    having: dict[int, list[int]] = defaultdict(list)
    for number, ((features, _), _) in enumerate(cases):
        for feature in features:
            having[feature].append(number)
    weights, odds = [0.0] * len(FEATURES), [0.0] * len(cases)
    moved = 1.0
    while moved > SETTLED:
        moved = max(_settle(feature, weights, odds, cases, having[feature]) for feature in having)
    return weights


def _settle(
    feature: int,
    weights: list[float],
    odds: list[float],
    cases: Sequence[tuple[tuple[tuple[int, ...], bool], float]],
    having: Iterable[int],
) -> float:
    """Set one weight to where the likelihood is best, all others as they are."""
    penalty = PENALTY if feature else 0.0
    slope, bend = 2 * penalty * weights[feature], 2 * penalty + 1e-6
    for number in having:
        (_, same), count = cases[number]
        share = 1 / (1 + math.exp(-odds[number]))
        slope += count * (share - same)
        bend += count * share * (1 - share)
    free = FEATURES[feature][1] is None
    best = weights[feature] - max(-1.0, min(1.0, slope / bend))
    step = (best if free else max(0.0, best)) - weights[feature]
    weights[feature] += step
    for number in having:
        odds[number] += step
    return abs(step)


def table(weights: Sequence[float]) -> str:
    lines = [f"BIAS = {weights[0]:.2f}"]
    for name in SCALES:
        total, steps, unknown = 0.0, list[tuple[float, float]](), 0.0
        for (scale, step), weight in zip(FEATURES, weights, strict=True):
            if scale == name and step is None:
                unknown = weight
            elif scale == name and step is not None:
                total += weight
                if round(total, 2) > (steps[-1][1] if steps else 0):
                    steps.append((step, round(total, 2)))
        lines.append(f'    "{name}": Scale({round(unknown, 2)}, {tuple(steps)}),')
    return "\n".join(lines)


def folded(rows: Sequence[Row], folds: int, seed: int) -> list[str]:
    """Deal the rows out to `folds` parts, by chance."""
    dealt = [f"fold {place % folds}" for place in range(len(rows))]
    random.Random(seed).shuffle(dealt)
    return dealt


def held_out(rows: Sequence[Row], parts: Sequence[str]) -> dict[str, float]:
    """Fit without each part of the rows in turn and judge that part: F1 by kind."""
    hits: Counter[str] = Counter()
    said: Counter[str] = Counter()
    true: Counter[str] = Counter()
    for part in sorted(set(parts)):
        weights = fit([one for one, its in zip(rows, parts, strict=True) if its != part])
        for one in (one for one, its in zip(rows, parts, strict=True) if its == part):
            says = sum(weights[feature] for feature in one.features) >= 0
            said[one.kind] += says
            true[one.kind] += one.same
            hits[one.kind] += says and one.same
    return {kind: 2 * hits[kind] / (said[kind] + true[kind]) for kind in sorted(true) if true[kind]}


def report(judged: Sequence[dict[str, float]]) -> str:
    """The mean of each kind's F1, the least and the greatest."""
    by_kind = {kind: [one[kind] for one in judged] for kind in judged[0]}
    return "\n".join(
        f"{kind:32} F1 {sum(f1) / len(f1):.4f}  ({min(f1):.4f} to {max(f1):.4f})"
        for kind, f1 in by_kind.items()
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=labelled.FOLDER)
    options.add_argument("--folds", type=int, default=0)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--sets", action="store_true")
    chosen = options.parse_args()
    rows: list[Row] = []
    for kind, a, b, same in labelled.read(chosen.folder):
        records = [(a, b)]
        if a.abstract:  # preprints come without a date or venue, too
            records.append((replace(a, year=None), replace(b, year=None, venue="")))
        rows += filter(None, (row(kind, x, y, same) for x, y in records))
    if chosen.folds:
        dealt = [folded(rows, chosen.folds, seed) for seed in range(chosen.times)]
        print(report([held_out(rows, parts) for parts in dealt]))
    if chosen.sets:
        sets = [one.kind if one.kind in STANDING_ALONE else "preprints" for one in rows]
        print(report([held_out(rows, sets)]))
    print(table(fit(rows)))


if __name__ == "__main__":
    main()
