"""Fit the weights of `monitor/identity/weights.py` to labelled pairs, and print the table.

    python benchmarks/weigh.py [--folds N] [--times N] [--sets] [FOLDER]

Logistic regression over steps: each step of a scale that a pair has reached adds a weight that
is never negative, so that more agreement never counts for less (Newton's method, with what
would fall below zero held there). Pairs that `similar.contradicted` settles are not fitted to.
With `--folds`, the score and `.same` are cross-validated: judged on works that the weights were
not fitted to, dealt out `--times` times, all pairs of a work in one part. With `--sets`, on whole
sets of which they have seen no pair.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import labelled
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from same import measure

from monitor.identity.features import Evidence, gather
from monitor.identity.same_work import RULES, Verdict, judge
from monitor.identity.weights import SCALES, measures
from monitor.model import Paper

# Few, or they tell the noise of the labels.
STEPS: dict[str, tuple[float, ...]] = {
    "letters": (0.6, 0.68, 0.75, 0.85, 0.97, 0.999),
    "sorted": (0.7, 0.78, 0.999),
    "core": (0.75, 0.8, 0.85, 0.9, 0.97),
    "ends": (0.75, 0.85, 0.92, 0.97),
    "covered": (0.6, 0.75, 0.88, 0.97),
    "shared": (2.5, 4.5, 6.5, 9, 12),
    "alone": (-4.1, -1.1, -0.1),
    "either": (-4.1, -2.1, -0.1),
    "authors": (0.01, 0.7),
    "named": (0.4, 0.99),
    "met": (1, 2, 3),
    "first": (0.5,),
    "series": (0.5,),
    "years": (-3, -2, -1, 0),
    "abstract": (0.04, 0.08, 0.13, 0.2, 0.3, 0.5),
    "terms": (0.2, 0.35, 0.5, 0.65),
}
FLAG = (-0.5,)
# The smaller benchmark has the cleaner records, and counts for more.
COUNTS_FOR = {"dblp-acm": 2}
# Sets of their own; the other kinds are parts of one.
STANDING_ALONE = ("dblp-acm", "dblp-scholar")
PENALTY = 0.2
# On works held out, F1 is best where even odds are asked for a little more: of the pairs that
# are close, labels call more one work by mistake than two.
STRICTER = 0.5
SETTLED = 1e-5

Feature = tuple[str, float | None]
Record = tuple[str, tuple[str, ...], str, int | None]


Numbers = npt.NDArray[np.float64]


class Row(NamedTuple):
    """A pair; `work` names what its first record is of, one for all that are said to be one.

    `found` is None where the records have nothing in common; `judged` is False of copies with
    less in them, which are only fitted to.
    """

    kind: str
    features: tuple[int, ...]
    same: bool
    work: Record
    found: Evidence | None
    judged: bool = True


class Figures(NamedTuple):
    """F1 of the score at one half; precision and recall of `.same`, and how many are wrong."""

    f1: float
    precision: float
    recall: float
    wrong: float


FEATURES: list[Feature] = [("", None)] + [
    (name, step) for name in SCALES for step in (None, *STEPS.get(name, FLAG))
]


def row(kind: str, a: Paper, b: Paper, same: bool, work: Record, judged: bool = True) -> Row:
    found = gather(a, b)
    if found is None:
        return Row(kind, (), same, work, None, judged)
    values = measures(found)
    reached = (
        place
        for place, (name, step) in enumerate(FEATURES)
        if place and _reached(values[name], step)
    )
    return Row(kind, (0, *reached), same, work, found, judged)


def _reached(value: float | None, step: float | None) -> bool:
    if value is None or step is None:
        return value is None and step is None
    return value >= step


def _is_contradicted(found: Evidence) -> bool:
    return any(rule.contradicts(found) for rule in RULES if rule.holds(found))


def fit(rows: Sequence[Row]) -> list[float]:
    """Return the weight of each feature; the first, which every row has, is the bias."""
    counted: Counter[tuple[tuple[int, ...], bool]] = Counter()
    for one in rows:
        if one.found is None or _is_contradicted(one.found):
            continue
        counted[one.features, one.same] += COUNTS_FOR.get(one.kind, 1)
    having = np.zeros((len(counted), len(FEATURES)))
    for number, (features, _) in enumerate(counted):
        having[number, list(features)] = 1
    same = np.array([same for _, same in counted], dtype=float)
    weights = _settled(having, same, np.array(list(counted.values()), dtype=float))
    weights[0] -= STRICTER
    return list(map(float, weights))


def _settled(having: Numbers, same: Numbers, often: Numbers) -> Numbers:
    """Return where the penalised likelihood is best: Newton's steps, halved until they help."""
    free = np.array([step is None for _, step in FEATURES])
    penalty = np.where(np.arange(len(FEATURES)) > 0, 2 * PENALTY, 0.0)

    def loss(weights: Numbers) -> float:
        odds = having @ weights
        unlikely = often @ (np.logaddexp(0, odds) - same * odds)
        return float(unlikely + penalty @ weights**2 / 2)

    weights = np.zeros(len(FEATURES))
    now = loss(weights)
    while True:
        share = 1 / (1 + np.exp(-(having @ weights)))
        slope = having.T @ (often * (share - same)) + penalty * weights
        moving = free | (weights > 0) | (slope < 0)
        some = having[:, moving]
        bend = (some.T * (often * share * (1 - share))) @ some
        bend += np.diag(penalty[moving] + 1e-6)
        step = np.zeros(len(FEATURES))
        step[moving] = np.linalg.solve(bend, -slope[moving])
        further = weights
        then = now
        for _ in range(20):
            further = np.where(free, weights + step, np.maximum(weights + step, 0))
            then = loss(further)
            if then < now:
                break
            step /= 2
        if now - then < SETTLED:
            return weights
        weights = further
        now = then


def table(weights: Sequence[float]) -> str:
    lines = [f"BIAS = {weights[0]:.2f}"]
    for name in SCALES:
        total = 0.0
        steps = list[tuple[float, float]]()
        unknown = 0.0
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
    """Deal the works out to `folds` parts, by chance."""
    rng = random.Random(seed)
    parts = {work: f"fold {rng.randrange(folds)}" for work in dict.fromkeys(r.work for r in rows)}
    return [parts[one.work] for one in rows]


def works(pairs: Sequence[labelled.Pair]) -> list[Record]:
    """Return for each pair the work that its first record is of: one record of those joined."""
    leading: dict[Record, Record] = {}

    def first(paper: Paper) -> Record:
        record = paper.title, paper.authors, paper.venue, paper.year
        while record in leading:
            record = leading[record]
        return record

    for pair in pairs:
        a = first(pair.a)
        b = first(pair.b)
        if pair.same and a != b:
            leading[b] = a
    return [first(pair.a) for pair in pairs]


def held_out(rows: Sequence[Row], parts: Sequence[str]) -> dict[str, Figures]:
    """Fit without each part of the rows in turn and judge that part: figures by kind."""
    judged: dict[str, list[tuple[Verdict, bool]]] = defaultdict(list)
    for part in sorted(set(parts)):
        weights = fit([one for one, its in zip(rows, parts, strict=True) if its != part])
        for one in (one for one, its in zip(rows, parts, strict=True) if its == part):
            if one.judged:
                odds = sum(weights[feature] for feature in one.features)
                verdict = judge(one.found, odds) if one.found else Verdict(0.0, False, ())
                judged[one.kind].append((verdict, one.same))
    return {kind: figures(them) for kind, them in sorted(judged.items())}


def figures(judged: Sequence[tuple[Verdict, bool]]) -> Figures:
    sure = measure(judged, lambda verdict: verdict.same)
    f1 = measure(judged, lambda verdict: verdict.score >= 0.5).f1
    return Figures(f1, sure.precision, sure.recall, sure.wrong)


def report(judged: Sequence[dict[str, Figures]]) -> str:
    """The mean of each kind's figures, and the least and the greatest F1."""
    lines = []
    for kind in judged[0]:
        several = [one[kind] for one in judged]
        f1, precision, recall, wrong = (sum(one) / len(one) for one in zip(*several, strict=True))
        spread = f"({min(one.f1 for one in several):.4f} to {max(one.f1 for one in several):.4f})"
        same = f"P {precision:.4f}  R {recall:.4f}  {wrong:.1f} wrongly"
        lines.append(f"{kind:32} score F1 {f1:.4f} {spread}   .same {same}")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=labelled.FOLDER)
    options.add_argument("--folds", type=int, default=0)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--sets", action="store_true")
    chosen = options.parse_args()
    rows: list[Row] = []
    pairs = list(labelled.read(chosen.folder))
    for (kind, a, b, same, _), work in zip(pairs, works(pairs), strict=True):
        records = [(a, b)]
        if a.abstract:  # preprints come without a date or venue, too
            records.append((replace(a, year=None), replace(b, year=None, venue="")))
        rows += [row(kind, x, y, same, work, n == 0) for n, (x, y) in enumerate(records)]
    if chosen.folds:
        dealt = [folded(rows, chosen.folds, seed) for seed in range(chosen.times)]
        print(report([held_out(rows, parts) for parts in dealt]))
    if chosen.sets:
        sets = [one.kind if one.kind in STANDING_ALONE else "preprints" for one in rows]
        print(report([held_out(rows, sets)]))
    print(table(fit(rows)))


if __name__ == "__main__":
    main()
