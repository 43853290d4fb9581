"""The memory of `serve` under a steady load, by the hour of a calendar that is moved for it.

    python benchmarks/steady.py [--hours 8] [--papers FILE --topics FILE]

`serve` runs in a process of its own, with another calendar and ticks of a quarter of a second.
Every ten minutes of the calendar 40 new papers come in and are matched with 1,000 topics; 50
subscribers of 20 topics each get a mail every hour. It prints one line an hour. The goal is a
level: under 200 MB, and at most five percent above the memory of half the time.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from corpus import Made, Read
from day import paper_rows
from sink import sink, taken

START = datetime(2026, 11, 21, 8, 0, 30, tzinfo=UTC)
STEP = timedelta(minutes=10)
TICK = timedelta(seconds=0.25)
PAPERS, TOPICS, READERS, TOPICS_EACH = 40, 1_000, 50, 20
MOST_MB, GROWTH = 200, 1.05
# Seconds of the clock within which a step must be done.
PATIENCE = 120


class FileClock:
    """A calendar in a file, which another process moves."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def now(self) -> datetime:
        return datetime.fromisoformat(self.path.read_text(encoding="ascii"))

    def set(self, at: datetime) -> None:
        written = self.path.with_suffix(".new")
        written.write_text(at.isoformat(), encoding="ascii")
        written.replace(self.path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--hours", type=int, default=8)
    options.add_argument("--papers", type=Path)
    options.add_argument("--topics", type=Path)
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve(chosen.serve)
        return
    corpus = Read(chosen.papers, chosen.topics) if chosen.papers else Made(1)
    memory = list(memory_by_hour(corpus, chosen.hours))
    level = memory[-1] <= GROWTH * memory[len(memory) // 2 - 1]
    if not level or memory[-1] > MOST_MB:
        sys.exit(f"the goal is a level under {MOST_MB} MB")


def serve(folder: Path) -> None:
    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging(logging.WARNING)
    Service(folder / "monitor.yaml", FileClock(folder / "calendar"), TICK, with_pages=False).run()


def memory_by_hour(corpus: Made | Read, hours: int) -> Iterator[float]:
    """Print and yield the MB that the service takes after each hour."""
    steps = int(timedelta(hours=1) / STEP)
    rows = paper_rows(corpus, hours * steps * PAPERS)
    with sink() as port, serving(corpus, port) as (folder, process):
        calendar = FileClock(folder / "calendar")
        for hour in range(hours):
            for step in range(steps):
                calendar.set(START + (hour * steps + step + 0.5) * STEP)
                read_papers(folder, hour * steps + step, list(islice(rows, PAPERS)))
            calendar.set(START + timedelta(hours=hour + 1))
            wait(folder, "SELECT count(*) FROM digest", (hour + 1) * READERS)
            wait(folder, "SELECT count(*) FROM delivery WHERE state <> 'sent'", 0)
            used = resident(process.pid)
            print(
                f"hour {hour + 1:2}: {(hour + 1) * steps * PAPERS:6,} papers read, "
                f"{taken(port):5,} mails sent, {used:6.1f} MB",
                flush=True,
            )
            yield used


def read_papers(folder: Path, number: int, papers: list[Any]) -> None:
    """Put papers where the service reads them, and wait until they are matched."""
    written = folder / "next"
    written.write_text("".join(f"{json.dumps(paper)}\n" for paper in papers), encoding="utf-8")
    written.replace(folder / "dumps" / f"{number:05}.jsonl")
    wait(folder, "SELECT count(DISTINCT document) FROM run WHERE outcome = 'ok'", number + 1)
    wait(folder, "SELECT count(*) FROM change WHERE matched_at IS NULL", 0)


def wait(folder: Path, query: str, wanted: int) -> None:
    found = None
    for _ in range(PATIENCE * 20):
        with closing(sqlite3.connect(folder / "monitor.db", timeout=PATIENCE)) as store:
            [(found,)] = store.execute(query)
        if found == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"{query}: {found}, not {wanted}")


def resident(pid: int) -> float:
    """Return the MB of memory that a process takes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@contextmanager
def serving(corpus: Made | Read, port: int) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dumps").mkdir()
        (folder / "monitor.yaml").write_text(configuration(corpus, port), encoding="utf-8")
        FileClock(folder / "calendar").set(START)
        command = [sys.executable, __file__, "--serve", name]
        with subprocess.Popen(command) as process:
            try:
                wait_for_store(folder)
                yield folder, process
            finally:
                process.terminate()


def wait_for_store(folder: Path) -> None:
    """Wait until all subscriptions are in force."""
    for _ in range(PATIENCE * 20):
        try:
            wait(folder, "SELECT count(*) FROM subscription", READERS)
        except sqlite3.OperationalError:
            time.sleep(0.05)  # no tables yet
        else:
            return
    raise AssertionError("the service has not started")


def configuration(corpus: Made | Read, port: int) -> str:
    topics = {f"t{n}": {"query": topic.text} for n, topic in enumerate(corpus.topics(TOPICS))}
    chosen = random.Random(1)
    values = {
        "store": "sqlite:///monitor.db",
        "sources": {
            "dumps": {"kind": "jsonl", "path": "dumps/*.jsonl", "first_run": "deliver"},
        },
        "topics": topics,
        "subscriptions": {
            f"reader-{n}": {
                "topics": chosen.sample(list(topics), TOPICS_EACH),
                "email": f"reader-{n}@example.org",
                "schedule": "0 * * * *",
                "timezone": "UTC",
                "quiet": "send",
            }
            for n in range(READERS)
        },
        "smtp": {"host": "127.0.0.1", "port": port, "tls": "none", "from": "papers@example.org"},
    }
    return yaml.safe_dump(values)


if __name__ == "__main__":
    main()
