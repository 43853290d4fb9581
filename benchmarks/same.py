"""Precision, recall and F1 of the decision on labelled pairs, and its time for a pair.

    python benchmarks/same.py [FOLDER]

Every pair is judged in both orders, which must agree. The figures are of the works that rules were
chosen on and of those held out, by a hash of the arXiv id or of the first title; preprints are also
judged without years and venues. Exits with 1 if a goal is missed by both parts together.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import labelled
from msgspec.structs import replace

from monitor.diff import Verdict, same_work

Judged = tuple[Verdict, bool]


class Measures(NamedTuple):
    """How well an answer agrees with the labels. `precision` and so on are from 0 to 1."""

    precision: float
    recall: float
    f1: float
    wrong: int


# The least F1 of a score of one half, and the least precision and recall of `.same`.
GOALS = {
    "dblp-acm": (0.984, 0.995, 0.90),
    "dblp-scholar": (0.947, 0.985, 0.80),
    "same_title": (0.0, 0.0, 0.95),
    "changed_title": (0.0, 0.0, 0.95),
    "changed_title, no venue": (0.0, 0.0, 0.9),
}
# Of different papers by the same authors.
MAX_WRONG = 2


def measure(judged: Sequence[Judged], is_same: Callable[[Verdict], bool]) -> Measures:
    hits = sum(is_same(verdict) and same for verdict, same in judged)
    answers = sum(is_same(verdict) for verdict, _ in judged)
    true = sum(same for _, same in judged)
    return Measures(
        precision=hits / answers if answers else 1.0,
        recall=hits / true if true else 1.0,
        f1=2 * hits / (answers + true) if answers + true else 1.0,
        wrong=answers - hits,
    )


def missed_goals(kind: str, score: Measures, same: Measures) -> list[str]:
    if kind.startswith("same_authors_different_paper"):
        return [f"{same.wrong} wrong"] if same.wrong > MAX_WRONG else []
    f1, precision, recall = GOALS.get(kind, (0.0, 0.0, 0.0))
    goals = (
        ("F1", score.f1, f1),
        ("precision", same.precision, precision),
        ("recall", same.recall, recall),
    )
    return [f"{name} {value:.2%} < {goal:.2%}" for name, value, goal in goals if value < goal]


def report(name: str, of: Measures) -> None:
    print(
        f"    {name:15} P {of.precision:7.2%}  R {of.recall:7.2%}  F1 {of.f1:7.2%}"
        f"  ({of.wrong} wrong)"
    )


def without_venues(pair: labelled.Pair) -> labelled.Pair:
    """A pair of preprint and published copy as a plain list has them."""
    a, b = (replace(record, venue="", year=None) for record in (pair.a, pair.b))
    return pair._replace(kind=f"{pair.kind}, no venue", a=a, b=b)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=labelled.FOLDER)
    folder = parser.parse_args().folder
    if not folder.is_dir():
        print(f"NOT CHECKED: there are no labelled pairs in {folder}")
        return 0
    pairs = list(labelled.read(folder))
    pairs += [without_venues(pair) for pair in pairs if pair.a.abstract]
    judged: dict[str, dict[bool, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    start = time.process_time()
    verdicts = [same_work(pair.a, pair.b) for pair in pairs]
    seconds = time.process_time() - start
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if same_work(pair.b, pair.a) != verdict:
            raise SystemExit(f"the order matters: {pair}")
        judged[pair.kind][pair.held_out].append((verdict, pair.same))
    missed = []
    for kind, parts in sorted(judged.items()):
        named = {"chosen on": parts[False], "held out": parts[True]}
        for part, rows in (named | {"all": parts[False] + parts[True]}).items():
            print(f"{kind}, {part}: {len(rows)} pairs")
            score = measure(rows, lambda verdict: verdict.score >= 0.5)
            same = measure(rows, lambda verdict: verdict.same)
            report("score >= 0.5", score)
            report(".same", same)
        missed += [f"{kind}: {goal}" for goal in missed_goals(kind, score, same)]
    print(f"{1e6 * seconds / len(pairs):.0f} µs of processor time for a pair")
    print("\n".join(["", "GOALS MISSED", *missed]) if missed else "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
