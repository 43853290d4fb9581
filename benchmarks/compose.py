"""What each subscription costs: at a tick at which nothing is due, and a digest that is composed.

    python benchmarks/compose.py
    python benchmarks/compose.py --store postgresql+psycopg://monitor@db/empty
    python benchmarks/compose.py --tick --subscriptions 100000

Subscriptions with a digest of twenty papers each morning by mail, in processor time of this
process (the server's own is not in it) and of the clock:

    tick      match with nothing new, and look whose time has come: nobody's
    compose   match is done; read what is unsent, say why, compose, render, freeze
    store     bytes that the store grew by for each digest and its delivery

All have the same twenty papers by one topic, so that the reasons of a match are known from the
digest before. With --apart each has a topic and papers of its own, and no reason is known.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from letters import AT, SENDER, SYLLABLES

from monitor.app import App, open_app
from monitor.config import load
from monitor.log import set_up_logging
from monitor.pipeline.compose import compose
from monitor.pipeline.match import match
from monitor.store.engine.database import Database

SUBSCRIPTIONS = 500
PAPERS = 20


class Moved:
    """A calendar that stands still until it is moved."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--store", default="")
    options.add_argument("--subscriptions", type=int, default=SUBSCRIPTIONS)
    options.add_argument("--apart", action="store_true")
    options.add_argument("--tick", action="store_true", help="compose nothing")
    result = options.parse_args()
    count = result.subscriptions
    clock = Moved(AT - timedelta(hours=1))
    set_up_logging(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = configured(Path(folder), result.store, count, apart=result.apart)
        with open_app(load(path), clock) as app:
            app.ingest()
            app.match()
            # What is made once is made, with one digest ahead of the others.
            compose(app.runtime, ["reader-0"], early=True)
            print(f"{count} subscriptions, each a digest of {PAPERS} papers; of one subscription")
            tick(app)  # the first looks at each subscription
            cpu = tell("tick", count, lambda: tick(app))
            if result.tick:
                print(f"all      {cpu * 1e3:8.1f} ms of processor")
            else:
                compose_all(app, clock, count)


def tick(app: App) -> None:
    match(app.runtime)
    compose(app.runtime)


def compose_all(app: App, clock: Moved, count: int) -> None:
    before = size(app.runtime.database)
    clock.at = AT
    match(app.runtime)
    done: list[Any] = []
    tell("compose", count - 1, lambda: compose(app.runtime, on_digest=done.append))
    assert [digest.papers for digest in done] == [PAPERS] * (count - 1)
    grown = size(app.runtime.database) - before
    print(f"store    {grown / (count - 1) / 1024:8.1f} KiB")


def tell(name: str, count: int, work: Callable[[], object]) -> float:
    """Print what work takes for each of so many subscriptions; return its processor time."""
    cpu, began = time.process_time(), time.perf_counter()
    work()
    cpu, clock = time.process_time() - cpu, time.perf_counter() - began
    print(f"{name:8} {cpu / count * 1e3:8.3f} ms of processor {clock / count * 1e3:8.3f} ms")
    return cpu


def size(database: Database) -> int:
    with database.reading() as tx:
        if database.path:
            pages = tx.exec_driver_sql("PRAGMA page_count").scalar()
            return int(pages or 0) * 4096
        return int(tx.exec_driver_sql("SELECT pg_database_size(current_database())").scalar() or 0)


def configured(folder: Path, store: str, count: int, *, apart: bool = False) -> Path:
    chosen = random.Random(9)

    def words(number: int) -> str:
        return " ".join("".join(chosen.choices(SYLLABLES, k=3)) for _ in range(number))

    topics = [f"agents{n}" for n in range(count)] if apart else ["agents"]
    papers = [
        {
            "title": f"{words(6).title()} {topic}",
            "abstract": ". ".join(words(14) for _ in range(8)),
        }
        for topic in topics
        for _ in range(PAPERS)
    ]
    dump = folder / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, papers)), encoding="utf-8")
    entries: list[dict[str, Any]] = [{"topic": topic, "query": topic} for topic in topics]
    entries += [
        {
            "subscription": f"reader-{n}",
            "topics": [topics[n % len(topics)]],
            "email": f"reader-{n}@example.org",
        }
        for n in range(count)
    ]
    (folder / "readers.jsonl").write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    result = {
        "store": store or f"sqlite:///{folder / 'monitor.db'}",
        "sources": {"dump": {"kind": "jsonl", "path": str(dump), "first_run": "deliver"}},
        "include": ["readers.jsonl"],
        "smtp": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": SENDER},
    }
    path = folder / "monitor.yaml"
    path.write_text(yaml.safe_dump(result), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
