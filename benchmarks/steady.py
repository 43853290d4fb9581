"""The memory of `serve` under a steady load, by the hour of a calendar that is moved for it.

    python benchmarks/steady.py [--hours 8] [--papers FILE --topics FILE]
    python benchmarks/steady.py --hours 40 --readers 1000 --pages

`serve` runs in a process of its own, with another calendar and ticks of a quarter of a second.
Every ten minutes of the calendar 40 new papers come in and are matched with 1,000 topics; 50
subscribers of 20 topics each get a mail every hour. It prints one line an hour: what `serve` takes,
and with `--pages` also what its process of the pages takes, which are asked for every hour. With 50
subscribers the limit is 200 MB, and at most five percent above the memory of half the time; with
`--pages` it is 400 MB in all, and less than 1 MB an hour over the last ten.
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
from urllib.request import Request, urlopen

import yaml
from corpus import Made, Read
from cost import children, free_port, resident
from day import paper_rows
from sink import sink, taken

START = datetime(2026, 11, 21, 8, 0, 30, tzinfo=UTC)
STEP = timedelta(minutes=10)
TICK = timedelta(seconds=0.25)
PAPERS = 40
TOPICS = 1_000
READERS = 50
TOPICS_EACH = 20
MOST_MB = 200
GROWTH = 1.05
MOST_MB_WITH_PAGES = 400
MOST_MB_A_ROUND = 1.0
LAST = 11
TOKEN = "the token of the benchmark"
PAGES = (
    "/",
    "/digests",
    "/papers?q=data",
    "/topics",
    "/topics/t1",
    "/sources",
    "/deliveries",
    "/status",
)
# Seconds of the clock within which a step must be done.
PATIENCE = 600


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
    options.add_argument("--readers", type=int, default=READERS)
    options.add_argument("--pages", action="store_true")
    options.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve(chosen.serve, with_pages=chosen.pages)
        return
    corpus = Read(chosen.papers, chosen.topics) if chosen.papers else Made(1)
    memory = list(memory_by_hour(corpus, chosen.hours, chosen.readers, chosen.pages))
    if chosen.pages:
        last = memory[-LAST:]
        a_round = (last[-1] - last[0]) / max(len(last) - 1, 1)
        print(f"{a_round:+.2f} MB an hour over the last {len(last)}")
        if a_round >= MOST_MB_A_ROUND or max(memory) > MOST_MB_WITH_PAGES:
            sys.exit(f"the limit is {MOST_MB_WITH_PAGES} MB, and {MOST_MB_A_ROUND} MB an hour")
        return
    level = memory[-1] <= GROWTH * memory[len(memory) // 2 - 1]
    if not level or memory[-1] > MOST_MB:
        sys.exit(f"the goal is a level under {MOST_MB} MB")


def serve(folder: Path, with_pages: bool) -> None:
    # The process of the pages is given the clock, and cannot import it from `__main__`.
    from steady import FileClock as Clock

    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging(logging.WARNING)
    Service(folder / "monitor.yaml", Clock(folder / "calendar"), TICK, with_pages=with_pages).run()


def memory_by_hour(
    corpus: Made | Read, hours: int, readers: int, with_pages: bool
) -> Iterator[float]:
    """Print and yield the MB that the service and its pages take after each hour."""
    steps = int(timedelta(hours=1) / STEP)
    rows = paper_rows(corpus, hours * steps * PAPERS)
    pages = free_port() if with_pages else 0
    with sink() as port, serving(corpus, port, readers, pages) as (folder, process):
        calendar = FileClock(folder / "calendar")
        for hour in range(hours):
            for step in range(steps):
                calendar.set(START + (hour * steps + step + 0.5) * STEP)
                read_papers(folder, hour * steps + step, list(islice(rows, PAPERS)))
            calendar.set(START + timedelta(hours=hour + 1))
            wait(folder, "SELECT count(*) FROM digest", (hour + 1) * readers)
            wait(folder, "SELECT count(*) FROM delivery WHERE state <> 'sent'", 0)
            if pages:
                ask_pages(pages)
            used = [resident(one) for one in (process.pid, *children(process.pid))]
            print(
                f"hour {hour + 1:2}: {(hour + 1) * steps * PAPERS:6,} papers read, "
                f"{taken(port):6,} mails sent, {' + '.join(f'{one:.1f}' for one in used)} MB",
                flush=True,
            )
            yield sum(used)


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


def ask_pages(port: int) -> None:
    """Ask for the pages that somebody opens who looks at what came in."""
    for path in PAGES:
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        request = Request(f"http://127.0.0.1:{port}{path}", headers=bearer)
        with urlopen(request, timeout=PATIENCE) as answer:
            answer.read()


@contextmanager
def serving(
    corpus: Made | Read, port: int, readers: int, pages: int
) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dumps").mkdir()
        (folder / "monitor.yaml").write_text(
            configuration(corpus, port, readers, pages), encoding="utf-8"
        )
        FileClock(folder / "calendar").set(START)
        command = [sys.executable, __file__, "--serve", name, *(["--pages"] if pages else [])]
        with subprocess.Popen(command) as process:
            try:
                wait_for_store(folder, readers)
                yield folder, process
            finally:
                process.terminate()


def wait_for_store(folder: Path, readers: int) -> None:
    """Wait until all subscriptions are in force."""
    for _ in range(PATIENCE * 20):
        try:
            wait(folder, "SELECT count(*) FROM subscription", readers)
        except sqlite3.OperationalError:
            time.sleep(0.05)  # no tables yet
        else:
            return
    raise AssertionError("the service has not started")


def configuration(corpus: Made | Read, port: int, readers: int, pages: int) -> str:
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
            for n in range(readers)
        },
        "smtp": {"host": "127.0.0.1", "port": port, "tls": "none", "from": "papers@example.org"},
        "web": {"listen": f"127.0.0.1:{pages}", "token": TOKEN} if pages else "off",
    }
    return yaml.safe_dump(values)


if __name__ == "__main__":
    main()
