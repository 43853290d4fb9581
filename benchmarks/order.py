"""What readers' answers add to a compose: the same digests by words and in the order they teach.

    python benchmarks/order.py [--runs 5] [--subscriptions 1000] [--judged 100] [--shown 0]
    python benchmarks/order.py --papers papers.jsonl.gz

Each subscription has a topic with 20 new papers, and answers to `--judged` papers drawn from
9,000, half of them wanted; `--shown` more were shown without an answer. All digests are composed
and frozen, none is sent, each time in a process of its own and with a copy of the same store, by
`order: words` and `order: learned` in turn:

    cold   in a process that has seen no paper yet
    kept   after a compose of the same subscriptions in the same process

Printed are the medians of all runs: seconds of processor and the peak of memory by words, and what
answers add to them in the same run; of the seconds also the least and the most.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import sqlalchemy as sa
import yaml
from corpus import Made, Read
from day import paper_rows
from letters import AT, SENDER

from monitor.app import open_app
from monitor.cli import GC_THRESHOLD
from monitor.clocks import FixedClock
from monitor.config import load
from monitor.log import set_up_logging
from monitor.model import UNWANTED, WANTED
from monitor.pipeline.compose import compose
from monitor.store.engine import schema
from monitor.store.engine.database import Database

OLD_PAPERS = 9_000
TOPICS = 40
PAPERS = 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--subscriptions", type=int, default=1_000)
    options.add_argument("--judged", type=int, default=100)
    options.add_argument("--shown", type=int, default=0)
    options.add_argument("--papers", type=Path)
    options.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--compose", type=Path, nargs="+", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    set_up_logging(logging.ERROR)
    if chosen.compose:
        print_compose(chosen.compose)
        return
    if chosen.prepare:
        prepare(chosen.prepare, chosen)
        return
    with tempfile.TemporaryDirectory() as name:
        prepared = Path(name) / "prepared"
        # Elsewhere: the peak of a process begins with that of the one that starts it.
        command = [sys.executable, __file__, "--prepare", str(prepared), *sys.argv[1:]]
        subprocess.run(command, check=True)
        print_table(Path(name), prepared, chosen.runs)


def print_table(folder: Path, prepared: Path, runs: int) -> None:
    measured = [measure_all(folder, prepared) for _ in range(runs)]
    for name in ("cold", "kept"):
        by_words = [run[name, "words"] for run in measured]
        learned = [run[name, "learned"] for run in measured]
        more = [after[0] - before[0] for before, after in zip(by_words, learned, strict=True)]
        memory = [after[1] - before[1] for before, after in zip(by_words, learned, strict=True)]
        seconds, peak = map(median, zip(*by_words, strict=True))
        print(
            f"{name}{seconds:8.2f} s {peak:6.0f} MB  {median(more):+.2f} s"
            f" ({min(more):.2f} to {max(more):.2f})  {median(memory):+.0f} MB"
        )


def measure_all(folder: Path, prepared: Path) -> dict[tuple[str, str], tuple[float, float]]:
    return {
        (name, order): measure(folder, prepared, *[order] * composed)
        for name, composed in (("cold", 1), ("kept", 2))
        for order in ("words", "learned")
    }


def measure(folder: Path, prepared: Path, *orders: str) -> tuple[float, float]:
    """Compose copies of a store in one new process; return the last one's seconds, and the peak."""
    copies = []
    for number, order in enumerate(orders):
        copy = folder / f"copy-{number}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(prepared, copy)
        text = (copy / "monitor.yaml").read_text(encoding="utf-8")
        written = text.replace(str(prepared), str(copy)).replace("order: words", f"order: {order}")
        (copy / "monitor.yaml").write_text(written, encoding="utf-8")
        copies.append(str(copy))
    command = [sys.executable, __file__, "--compose", *copies]
    # As `monitor.cli` sets it.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.check_output(command, text=True, env=environment)
    seconds, memory = map(float, found.split())
    return seconds, memory


def print_compose(folders: list[Path]) -> None:
    """Compose what is due in each folder; print the seconds of the last, and the peak in MB."""
    gc.set_threshold(GC_THRESHOLD)  # as `monitor.cli` sets it
    for folder in folders:
        settings = load(folder / "monitor.yaml")
        with open_app(settings, FixedClock(AT)) as app:
            began = time.process_time()
            done = compose(app.runtime)
            seconds = time.process_time() - began
            assert len(done) == len(settings.subscriptions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, peak / (1024 if sys.platform == "linux" else 1024**2))


def prepare(home: Path, chosen: argparse.Namespace) -> None:
    """Make a store with papers, matches and answers, and its configuration."""
    home.mkdir()
    corpus = Read(chosen.papers, chosen.papers) if chosen.papers else Made(1)
    rows = list(paper_rows(corpus, OLD_PAPERS + TOPICS * PAPERS))
    for number, row in enumerate(rows[OLD_PAPERS:]):
        row["title"] += f" subject{number % TOPICS}"
    (home / "dump.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    readers = {f"reader-{n}": f"subject{n % TOPICS}" for n in range(chosen.subscriptions)}
    path = configured(home, readers)
    with open_app(load(path), FixedClock(AT - timedelta(hours=1))) as app:
        app.once.ingest()
        app.once.match()
        add_answers(app.runtime.database, readers, chosen.judged, chosen.shown)


def configured(home: Path, readers: dict[str, str]) -> Path:
    topics = sorted(set(readers.values()))
    result = {
        "store": f"sqlite:///{home / 'monitor.db'}",
        "sources": {
            "dump": {"kind": "jsonl", "path": str(home / "dump.jsonl"), "first_run": "deliver"}
        },
        "topics": {topic: {"query": topic} for topic in topics},
        "subscriptions": {
            name: {"topics": [topic], "email": f"{name}@example.org", "order": "words"}
            for name, topic in readers.items()
        },
        "smtp": {"host": "127.0.0.1", "port": 1, "tls": "none", "from": SENDER},
    }
    path = home / "monitor.yaml"
    path.write_text(yaml.safe_dump(result), encoding="utf-8")
    return path


def add_answers(store: Database, readers: dict[str, str], judged: int, shown: int) -> None:
    """Store answers to old papers, and a digest of each subscription that showed more of them."""
    dice = random.Random(1)
    with store.writing() as tx:
        ids = list(tx.execute(sa.select(schema.paper.c.id).limit(OLD_PAPERS)).scalars())
        for number, (name, topic) in enumerate(readers.items(), 1):
            drawn = dice.sample(ids, judged + shown)
            answers = [_answer(name, topic, id, at) for at, id in enumerate(drawn[:judged])]
            tx.execute(sa.insert(schema.judgement), answers)
            if shown:
                tx.execute(sa.insert(schema.digest), [_digest(number, name, shown)])
                items = [_item(number, name, topic, id) for id in drawn[judged:]]
                tx.execute(sa.insert(schema.digest_item), items)


def _answer(subscription: str, topic: str, paper_id: int, number: int) -> dict[str, Any]:
    verdict = WANTED if number % 2 else UNWANTED
    at = AT - timedelta(days=1, minutes=number)
    given = {"who": "reader", "verdict": verdict, "at": at, "how": "test"}
    return {"subscription": subscription, "topic": topic, "paper_id": paper_id} | given


def _digest(number: int, subscription: str, papers: int) -> dict[str, Any]:
    """A digest of the day before; superseded, so that the next one leaves its papers alone."""
    at = AT - timedelta(days=1)
    times = {"due_at": at, "composed_at": at, "superseded_at": at}
    named = {"id": number, "subscription": subscription, "period": "before"}
    return named | times | {"papers": papers, "content": {}}


def _item(digest_id: int, subscription: str, topic: str, paper_id: int) -> dict[str, Any]:
    shown = {"subscription": subscription, "paper_id": paper_id, "revision": 0}
    return shown | {"digest_id": digest_id, "shown_under": topic}


if __name__ == "__main__":
    main()
