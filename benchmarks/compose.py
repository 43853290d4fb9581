"""What each subscription costs: at a tick at which nothing is due, and a digest that is composed.

    python benchmarks/compose.py
    python benchmarks/compose.py --store postgresql+psycopg://monitor@db/empty

Subscriptions with a digest of twenty papers each morning by mail, in processor time of this
process (the server's own is not in it) and of the clock:

    tick      match with nothing new, and look whose time has come: nobody's
    compose   match is done; read what is unsent, say why, compose, render, freeze
    store     bytes that the store grew by for each digest and its delivery
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from letters import AT, SENDER, SYLLABLES

from monitor import pipeline
from monitor.app import open_app
from monitor.config import load
from monitor.store.database import Database

SUBSCRIPTIONS = 500
PAPERS = 20


class Moved:
    """A calendar that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = AT

    def now(self) -> Any:
        return self.at


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--store", default="")
    asked.add_argument("--subscriptions", type=int, default=SUBSCRIPTIONS)
    result = asked.parse_args()
    count, clock = result.subscriptions, Moved()
    with tempfile.TemporaryDirectory() as folder:
        path = configured(Path(folder), result.store, count)
        with open_app(load(path), clock) as app:
            app.ingest()
            app.match()
            pipeline.compose(app.runtime)  # what is made once is made
            before = size(app.runtime.database)
            print(f"{count} subscriptions, each a digest of {PAPERS} papers; of one subscription")
            tell(
                "tick", count, lambda: (pipeline.match(app.runtime), pipeline.compose(app.runtime))
            )
            clock.at += timedelta(days=1)
            pipeline.match(app.runtime)
            done: list[Any] = []
            tell("compose", count, lambda: done.extend(pipeline.compose(app.runtime)))
            assert [one.digest.papers for one in done] == [PAPERS] * count
            grown = size(app.runtime.database) - before
            print(f"store    {grown / count / 1024:8.1f} KiB")


def tell(name: str, count: int, work: Callable[[], object]) -> None:
    cpu, began = time.process_time(), time.perf_counter()
    work()
    cpu, clock = time.process_time() - cpu, time.perf_counter() - began
    print(f"{name:8} {cpu / count * 1e3:8.3f} ms of processor {clock / count * 1e3:8.3f} ms")


def size(database: Database) -> int:
    with database.reading() as tx:
        if database.path:
            pages = tx.exec_driver_sql("PRAGMA page_count").scalar()
            return int(pages or 0) * 4096
        return int(tx.exec_driver_sql("SELECT pg_database_size(current_database())").scalar() or 0)


def configured(folder: Path, store: str, count: int) -> Path:
    chosen = random.Random(9)

    def words(number: int) -> str:
        return " ".join("".join(chosen.choices(SYLLABLES, k=3)) for _ in range(number))

    papers = [
        {"title": f"{words(6).title()} Agents", "abstract": ". ".join(words(14) for _ in range(8))}
        for _ in range(PAPERS)
    ]
    dump = folder / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, papers)), encoding="utf-8")
    result = {
        "store": store or f"sqlite:///{folder / 'monitor.db'}",
        "sources": {"dump": {"kind": "jsonl", "path": str(dump), "first_run": "deliver"}},
        "topics": {"agents": {"query": "agents"}},
        "subscriptions": {
            f"reader-{n}": {"topics": ["*"], "email": f"reader-{n}@example.org"}
            for n in range(count)
        },
        "smtp": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": SENDER},
    }
    path = folder / "monitor.yaml"
    path.write_text(yaml.safe_dump(result), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
