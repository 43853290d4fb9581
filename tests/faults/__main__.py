"""`python -m tests.faults`: the whole grid, as a table.

--jobs 4            so many at once; else two for each processor, since cells mostly wait
--stores sqlite     not both
--harms kill,pairs  not all; `pairs` are two faults in one installation
--untested          not what `make test` plays: kills on SQLite
--trace             only write the list of boundaries anew
--docs              write their sums into docs/guarantees.md
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from monitor.log import set_up_logging
from tests.authorities import one_authority
from tests.compiled_once import share_compiled
from tests.faults.docs import table, write
from tests.faults.grid import (
    BOUNDARIES,
    STORES,
    Cell,
    cells,
    is_tested,
    left_out,
    traced,
)
from tests.faults.pairs import Pair, PairVerdict, pairs
from tests.faults.pairs import table as table_of_pairs
from tests.faults.points import HARMS
from tests.faults.scenes import SCENES, Stage, Verdict, stage
from tests.servers import postgres

PAIRS = "pairs"

Played = Cell | Pair
Result = Verdict | PairVerdict | str

_opened: dict[str, Stage] = {}
_stack = ExitStack()


def _begin(server: str) -> None:
    """Open the receivers of one of the processes that play, where every fault is expected."""
    set_up_logging(logging.CRITICAL)
    share_compiled()
    for store in STORES:
        folder = Path(_stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        url = server if store == "postgresql" else ""
        if url or store == "sqlite":
            _opened[store] = _stack.enter_context(stage(folder, url))


def _play(cell: Played) -> Result:
    try:
        return cell.play(_opened[cell.store])
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--harms", default=",".join((*HARMS, PAIRS)))
    parser.add_argument("--scenes", default="")
    parser.add_argument("--untested", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    if asked.trace:
        _trace()
        return
    stores = asked.stores.split(",")
    harms = asked.harms.split(",")
    wanted = list(cells(stores, [harm for harm in harms if harm != PAIRS]))
    both = list(pairs(stores)) if PAIRS in harms else []
    if asked.untested:
        wanted = [cell for cell in wanted if not is_tested(cell)]
    if asked.scenes:
        wanted = [cell for cell in wanted if cell.scene in asked.scenes.split("/")]
        both = [pair for pair in both if pair.way in asked.scenes.split("/")]
    began = time.monotonic()
    results = _all([*(cell for cell in wanted if not left_out(cell)), *both], asked.jobs)
    verdicts = [one for _, one in results if isinstance(one, Verdict)]
    of_pairs = table_of_pairs(one for _, one in results if isinstance(one, PairVerdict))
    print(_summary(verdicts), of_pairs, sep="\n\n")
    faults = [(cell, one if isinstance(one, str) else one.fault) for cell, one in results]
    wrong = [f"{cell}: {fault}" for cell, fault in faults if fault]
    print("\n".join(wrong) or "0 faults", f"in {time.monotonic() - began:.0f} s")
    if asked.docs and wanted:
        write("grid", _summary(verdicts))
    if asked.docs and both:
        write("pairs", of_pairs)
    sys.exit(1 if wrong else 0)


def _all(wanted: Sequence[Played], jobs: int) -> list[tuple[Played, Result]]:
    with ExitStack() as stack:
        stack.enter_context(one_authority())
        server = ""
        if any(cell.store == "postgresql" for cell in wanted):
            server = stack.enter_context(postgres.server())
        pool = stack.enter_context(
            ProcessPoolExecutor(jobs, initializer=_begin, initargs=(server,))
        )
        return [*zip(wanted, _report(pool.map(_play, wanted), len(wanted)), strict=True)]


def _report(results: Iterator[Result], count: int) -> Iterator[Result]:
    for n, result in enumerate(results, 1):
        if n % 50 == 0 or n == count:
            print(f"{n} of {count}", file=sys.stderr, flush=True)
        yield result


def _counts(result: Verdict) -> Counter[str]:
    return Counter(
        {
            result.store: 1,
            "lost": result.lost if not result.held else 0,
            "window" if result.window or result.under_way else "outside": result.repeated,
            "unknown": result.unknown,
            "stuck": result.stuck,
        }
    )


COLUMNS = {
    "SQLite": "sqlite",
    "PostgreSQL": "postgresql",
    "lost": "lost",
    "repeated": "outside",
    "in the window": "window",
    "unknown": "unknown",
    "stuck": "stuck",
}


def _summary(results: Sequence[Verdict]) -> str:
    """One row for each harm, for people who want to know what was tried and what came of it."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for harm in (result.harm, "all"):
            rows[harm].update(_counts(result))
    rows["all"] = rows.pop("all", Counter())
    return table(["harm"], COLUMNS, rows)


def _trace() -> None:
    set_up_logging(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, stage(Path(folder)) as opened:
        lines = [f"{scene} | {point}" for scene in SCENES for point in traced(opened, scene)]
    BOUNDARIES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
