"""`python -m tests.faults`: the whole grid, as a table.

--jobs 2            so many at once
--stores sqlite     not both
--harms kill,raise  not all
--trace             only write the list of boundaries anew
--docs              write the tables into docs/delivery.md
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from monitor.log import set_up_logging
from tests.faults.docs import write
from tests.faults.grid import BOUNDARIES, STORES, Cell, boundaries, cells, meaningless, traced
from tests.faults.points import HARMS
from tests.faults.scenes import SCENES, Stage, Verdict, stage
from tests.servers import postgres

_opened: dict[str, Stage] = {}
_stack = ExitStack()


def _begin(server: str) -> None:
    """Open the receivers of one of the processes that play, where every fault is expected."""
    set_up_logging(logging.CRITICAL)
    for store in STORES:
        folder = Path(_stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        url = server if store == "postgresql" else ""
        if url or store == "sqlite":
            _opened[store] = _stack.enter_context(stage(folder, url))


def _play(cell: Cell) -> Verdict | str:
    try:
        return cell.play(_opened[cell.store])
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--stores", default=",".join(STORES))
    parser.add_argument("--harms", default=",".join(HARMS))
    parser.add_argument("--scenes", default="")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args()
    if asked.trace:
        _trace()
        return
    wanted = list(cells(asked.stores.split(","), asked.harms.split(",")))
    if asked.scenes:
        wanted = [cell for cell in wanted if cell.scene in asked.scenes.split("/")]
    began = time.monotonic()
    results = _all([cell for cell in wanted if not meaningless(cell)], asked.jobs)
    table = _tables(wanted, results)
    print(table)
    faults = [f"{cell}: {_fault(result)}" for cell, result in results if _fault(result)]
    print("\n".join(faults) or "0 faults", f"in {time.monotonic() - began:.0f} s")
    if asked.docs:
        write("grid", table)
    sys.exit(1 if faults else 0)


def _all(wanted: Sequence[Cell], jobs: int) -> list[tuple[Cell, Verdict | str]]:
    with ExitStack() as stack:
        server = ""
        if any(cell.store == "postgresql" for cell in wanted):
            server = stack.enter_context(postgres.server())
        pool = stack.enter_context(
            ProcessPoolExecutor(jobs, initializer=_begin, initargs=(server,))
        )
        return [*zip(wanted, _told(pool.map(_play, wanted), len(wanted)), strict=True)]


def _told(results: Iterator[Verdict | str], count: int) -> Iterator[Verdict | str]:
    watched = sys.stderr.isatty()
    for n, result in enumerate(results, 1):
        if watched or n % 50 == 0 or n == count:
            begin, end = ("\r", "\n" if n == count else "") if watched else ("", "\n")
            print(f"{begin}{n} of {count}", end=end, file=sys.stderr, flush=True)
        yield result


def _fault(result: Verdict | str) -> str:
    return result if isinstance(result, str) else result.fault or _unharmed(result)


def _unharmed(verdict: Verdict) -> str:
    killed = verdict.harm == "kill"
    return "it was not killed there" if killed and verdict.status != -9 else ""


def _tables(wanted: Sequence[Cell], results: Sequence[tuple[Cell, Verdict | str]]) -> str:
    rows: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for _, result in results:
        if not isinstance(result, str):
            row = rows[result.store, result.scene, result.harm]
            row["cells"] += 1
            row["lost"] += result.lost if not result.held else 0
            row["window" if result.window else "outside"] += result.repeated
            row["unknown"] += result.unknown
            row["stuck"] += result.stuck
    lines = [
        "| store | scene | harm | cells | lost | repeated | in the window | unknown | stuck |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total: Counter[str] = Counter()
    columns = ("cells", "lost", "outside", "window", "unknown", "stuck")
    for (store, scene, harm), row in rows.items():
        total += row
        told = " | ".join(str(row[name]) for name in columns)
        lines.append(f"| {store} | {scene} | {harm} | {told} |")
    lines.append(f"| all | | | {' | '.join(str(total[name]) for name in columns)} |")
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for cell in wanted:
        if meaningless(cell):
            reasons[cell.harm, meaningless(cell)][cell.store] += 1
    lines += [
        "",
        "| cells without a meaning | why | SQLite | PostgreSQL |",
        "| --- | --- | ---: | ---: |",
    ]
    for (harm, why), count in sorted(reasons.items()):
        lines.append(f"| {harm} | {why} | {count['sqlite']} | {count['postgresql']} |")
    lines += ["", "| scene | its boundaries |", "| --- | --- |"]
    for scene, points in boundaries().items():
        grouped: dict[str, list[str]] = {}
        for point in points:
            thing, _, step = point.rpartition(": ")
            grouped.setdefault(thing or step, []).extend([step] if thing else [])
        said = "; ".join(
            f"{thing}: {', '.join(steps)}" if steps else thing for thing, steps in grouped.items()
        )
        lines.append(f"| {scene} | {said} |")
    return "\n".join(lines)


def _trace() -> None:
    set_up_logging(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, stage(Path(folder)) as opened:
        lines = [f"{scene} | {point}" for scene in SCENES for point in traced(opened, scene)]
    BOUNDARIES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
