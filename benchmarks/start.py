"""Cold start and demo, timed as a user meets them: a new process each, median of several.

    python benchmarks/start.py [--runs N]

Prints `paper-monitor --help` beside a bare `python -c pass`, a demo into an empty folder beside one
into a folder that has everything already, and the processor time of commands that only look.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from cost import monitor, run

COMMAND = [sys.executable, "-m", "monitor"]


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def median(measure: Callable[[], float], runs: int) -> float:
    return statistics.median(measure() for _ in range(runs))


def command_costs(runs: int) -> dict[str, float]:
    """Return seconds of processor of commands, in the folder that `init` writes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([*COMMAND, "init", name], folder)

        def cost(*arguments: str) -> float:
            return median(lambda: monitor(folder, *arguments).seconds, runs)

        found = {"check": cost("check")}
        (folder / "templates/mail").mkdir(parents=True)
        (folder / "templates/mail/footer.html.j2").write_text("<p>Papers</p>\n")
        with (folder / "monitor.yaml").open("a") as file:
            file.write("\ntemplates: templates/\n")
        monitor(folder, "ingest")
        found["check, with store and templates"] = cost("check")
        found["status"] = cost("status")
        found["topics try"] = cost("topics", "try", "agents")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=5)
    runs = options.parse_args().runs
    seconds([*COMMAND, "--help"])  # bytecode is compiled once, at installation
    bare = median(lambda: seconds([sys.executable, "-c", "pass"]), runs)
    cold = median(lambda: seconds([*COMMAND, "--help"]), runs)
    print(f"python -c pass          {bare:6.2f} s")
    print(f"paper-monitor --help    {cold:6.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        fresh = iter(range(1_000))
        first = median(lambda: seconds([*COMMAND, "demo", f"{folder}/{next(fresh)}"]), runs)
        again = median(lambda: seconds([*COMMAND, "demo", str(Path(folder) / "0")]), runs)
    print(f"paper-monitor demo      {first:6.2f} s")
    print(f"the same again          {again:6.2f} s")
    for name, cpu in command_costs(runs).items():
        print(f"{name:32} {cpu:6.2f} s of processor")


if __name__ == "__main__":
    main()
