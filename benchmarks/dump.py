"""A large gzipped dump, read by `paper-monitor ingest`, killed twice, and read to its end.

    python benchmarks/dump.py [--lines N] [--folder DIR]

Makes a dump of N lines (two million) of which one in a thousand is broken or repeated, kills the
ingest with SIGKILL at a third and at two thirds, and lets the third one end. Prints lines a second
and the peak memory of each; fails when a paper is missing or stands twice, or over 300 MB are
needed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import accumulate
from pathlib import Path

SEED = 20260101
MOST_MB = 300
POLLED = 0.5  # seconds between two looks at the store, which cost a millisecond each
CONFIG = """store: sqlite:///store.db
sources: {all: {kind: jsonl, path: dump.jsonl.gz}}
topics: {some: {query: learning}}
channels: {pages: {kind: file, path: pages/}}
subscriptions: {me: {topics: [some], channels: [pages]}}
"""
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "on")]


def make(path: Path, lines: int) -> tuple[int, int]:
    """Write the dump; return how many papers are in it, and how many bytes it unpacks to."""
    pick = random.Random(SEED)
    words = ["".join(pick.choices(SYLLABLES, k=pick.choice((2, 3, 3, 4)))) for _ in range(100_000)]
    # As in any language, the second word is half as frequent as the first, the third a third;
    # names are as many, and none of them is in every paper.
    often = list(accumulate(1 / (rank + 10) for rank in range(len(words))))
    size = papers = 0
    last = b""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for number in range(lines):
            chosen = pick.choices(words, cum_weights=often, k=60)
            record = {
                "id": f"p{number}",
                "title": f"{' '.join(chosen[:8]).capitalize()} {number}",
                "abstract": " ".join(chosen[8:]),
                "authors": [" ".join(pick.choices(words, k=2)).title() for _ in range(3)],
                "doi": f"10.1000/{number}",
                "year": 2025,
            }
            line = json.dumps(record).encode()
            if number % 1_000 == 999:
                line = line[:50] if number % 2_000 == 999 else last
            else:
                papers += 1
            last = line
            size += file.write(line + b"\n")
    return papers, size


def read_to(store: Path) -> int:
    if not store.exists():
        return 0
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)) as database:
        try:
            return int(database.execute("SELECT max(offset) FROM dump").fetchone()[0] or 0)
        except sqlite3.OperationalError:  # its tables are being made
            return 0


def ingest(folder: Path, until: int | None) -> tuple[float, float]:
    """Run an ingest until the dump is read to a byte, or to its end; return seconds and peak MB."""
    began = time.monotonic()
    command = [sys.executable, "-m", "monitor", "ingest", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    while until is not None and read_to(folder / "store.db") < until:
        time.sleep(POLLED)
        if process.poll() is not None:
            raise SystemExit("it ended before it could be killed")
    if until is not None:
        process.send_signal(signal.SIGKILL)
    _, status, used = os.wait4(process.pid, 0)
    if until is None and status:
        raise SystemExit("the ingest failed")
    return time.monotonic() - began, used.ru_maxrss / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=2_000_000)
    options.add_argument("--folder", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        (folder / "monitor.yaml").write_text(CONFIG, encoding="utf-8")
        papers, size = make(folder / "dump.jsonl.gz", chosen.lines)
        packed = (folder / "dump.jsonl.gz").stat().st_size
        print(f"{chosen.lines:,} lines, {size / 1e6:,.0f} MB, {packed / 1e6:,.0f} MB packed")
        took, most = 0.0, 0.0
        for until in (size // 3, 2 * size // 3, None):
            seconds, peak = ingest(folder, until)
            took, most = took + seconds, max(most, peak)
            at = read_to(folder / "store.db")
            end = "read to its end" if until is None else "killed"
            print(f"{end:15} at byte {at:,} after {seconds:,.0f} s, peak {peak:,.0f} MB")
        with closing(sqlite3.connect(folder / "store.db")) as database:
            found, distinct = database.execute(
                "SELECT count(*), count(DISTINCT title) FROM paper"
            ).fetchone()
        print(f"{chosen.lines / took:,.0f} lines a second in all, peak memory {most:,.0f} MB")
        print(f"{found:,} papers of {papers:,}, {distinct:,} different titles")
        if not found == distinct == papers or read_to(folder / "store.db") != size:
            raise SystemExit("papers are missing or stand twice")
        if most > MOST_MB:
            raise SystemExit(f"more than {MOST_MB} MB were needed")


if __name__ == "__main__":
    main()
