"""How well two records are told to be one: precision, recall, F1 and µs on labelled pairs.

    python benchmarks/same.py [FOLDER]

Every pair is asked in both orders, which must answer alike.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import labelled

from monitor.diff import Verdict, same_work

Judged = tuple[Verdict, bool]


def figures(judged: Sequence[Judged], says: Callable[[Verdict], bool]) -> str:
    hits = sum(says(verdict) and same for verdict, same in judged)
    said = sum(says(verdict) for verdict, _ in judged)
    true = sum(same for _, same in judged)
    wrong = said - hits
    if not true:
        return f"{wrong} of {len(judged)} wrongly"
    precision, recall = hits / said if said else 0.0, hits / true
    f1 = 2 * hits / (said + true)
    return f"P {precision:7.2%}  R {recall:7.2%}  F1 {f1:7.2%}  ({wrong} wrongly)"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=labelled.FOLDER)
    pairs = list(labelled.read(options.parse_args().folder))
    judged: dict[str, list[Judged]] = defaultdict(list)
    began = time.process_time()
    verdicts = [same_work(pair.a, pair.b) for pair in pairs]
    seconds = time.process_time() - began
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if same_work(pair.b, pair.a) != verdict:
            raise SystemExit(f"the order matters: {pair}")
        judged[pair.kind].append((verdict, pair.same))
    for kind, them in sorted(judged.items()):
        print(f"{kind}: {len(them)} pairs")
        print("    score >= 0.5   ", figures(them, lambda verdict: verdict.score >= 0.5))
        print("    .same          ", figures(them, lambda verdict: verdict.same))
    print(f"{1e6 * seconds / len(pairs):.0f} µs of processor a pair, seen for the first time")


if __name__ == "__main__":
    main()
