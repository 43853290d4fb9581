"""Exports read by other programs: papers read, and faults of types, years and authors (must be 0).

    python -m tests.exports [--papers papers.jsonl.gz] [--count 1271]

PAPERS has `title`, `abstract`, `authors`, `venue` and `year` of each paper. Without it, only the
papers of the dumps and hostile ones are read. A program that is not installed is named.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

import structlog

from monitor.commands.export import export
from monitor.digest.citation import cite
from tests.exports.papers import OF_EACH_KIND, found, hostile, of_dumps, with_odd_letters
from tests.exports.readers import READERS, bibliography
from tests.exports.test_readers import faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--papers", type=Path)
    parser.add_argument("--count", type=int, default=1271)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    papers = [*of_dumps(), *OF_EACH_KIND.values(), *hostile()]
    if options.papers:
        papers += with_odd_letters(options.papers, options.count - len(papers))
    records = found(papers)
    wrong = 0
    years = sum(cite(paper).year is not None for paper in papers)
    sys.stdout.write(f"{len(papers)} papers, {years} with a year\n")
    with tempfile.TemporaryDirectory() as folder:
        for reader in READERS:
            if not reader.is_installed:
                sys.stdout.write(f"{reader.name:<22} DID NOT RUN: {reader.program} is missing\n")
                continue
            text = "".join(export(records, reader.format))
            begun = time.monotonic()
            seen = reader.read(text, Path(folder))
            found_faults = faults(reader, papers, seen)
            wrong += len(found_faults)
            seconds = time.monotonic() - begun
            sys.stdout.write(
                f"{reader.name:<22}{len(seen):>6} read{len(found_faults):>6} faults"
                f"{seconds:>8.1f} s\n"
            )
            sys.stdout.writelines(f"    {fault}\n" for fault in found_faults[:10])
        if READERS[-1].is_installed:
            printed = bibliography("".join(export(records, "csl-json")), Path(folder))
            sys.stdout.write(f"{'pandoc, printed':<22}{len(printed):>6} references\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
