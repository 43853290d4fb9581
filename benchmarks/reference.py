"""The cost of a reference list: time, memory and disk to read it, and the time of a look-up.

    python benchmarks/reference.py --rows 3000000 [--folder /large/disk]

A snapshot in the form of arXiv's on Kaggle is made from a seed: 1.5 KB a row, with title, abstract,
three to eight authors, identifiers, categories and two versions. It is ingested as the service
does it, by a store in a folder that is removed at the end. Beside it, in a store of its own, is
what SQLite alone takes to insert as many rows and keys of the same size in the same order and
transactions, and to look them up one by one. The papers looked up have only title and abstract, as
a plain list has them: half are of the list, a tenth of these with a word of the title changed.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import resource
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
import yaml
from store import _UPTO, _WORDS

from monitor.app import load_settings, open_app
from monitor.clocks import SystemClock
from monitor.identity.keys import with_keys
from monitor.model import Paper
from monitor.pipeline.ingest import ingest
from monitor.store.sources import collections

LIST = "arxiv-snapshot"
FIRST = datetime(2007, 4, 1, tzinfo=UTC)
SENTENCES = 50_000
LOOKED_UP = 20_000
CHUNK = 1_000
CATEGORIES = ("cs.LG", "cs.AI", "cs.CL", "stat.ML", "math.OC", "hep-th", "astro-ph.GA", "quant-ph")

_dice = random.Random(7)


def _say(count: int, dice: random.Random = _dice) -> str:
    return " ".join(dice.choices(_WORDS, cum_weights=_UPTO, k=count))


_SENTENCES = [f"{_say(18).capitalize()}." for _ in range(SENTENCES)]
_NAMES = [word.capitalize() for word in _WORDS[20_000:60_000]]


def title_and_abstract(number: int) -> tuple[str, str]:
    dice = random.Random(number)
    title = f"{_say(4, dice)} of {_say(5, dice)}".capitalize()
    return title, f"{_say(12, dice).capitalize()}. {' '.join(dice.choices(_SENTENCES, k=5))}"


def row(number: int) -> dict[str, Any]:
    """Return row `number` of the snapshot, the same in every run."""
    title, abstract = title_and_abstract(number)
    dice = random.Random(-number)
    people = [[dice.choice(_NAMES), dice.choice(_NAMES), ""] for _ in range(dice.randint(3, 8))]
    at = FIRST + timedelta(minutes=3 * number)
    name = f"{at:%y%m}.{number % 100_000:05}"
    return {
        "id": name,
        "submitter": people[0][0],
        "authors": ", ".join(f"{given} {family}" for family, given, _ in people),
        "title": title,
        "comments": "12 pages, 4 figures",
        "journal-ref": f"Phys. Rev. D {number % 90}, {number}" if number % 3 == 0 else None,
        "doi": f"10.1103/PhysRevD.{number % 90}.{number}" if number % 2 else None,
        "report-no": None,
        "categories": " ".join(dice.sample(CATEGORIES, dice.randint(1, 3))),
        "license": "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
        "abstract": f"  {abstract}\n",
        "versions": [
            {"version": f"v{n}", "created": f"{at + timedelta(days=n):%a, %d %b %Y %H:%M:%S} GMT"}
            for n in (1, 2)
        ],
        "update_date": f"{at:%Y-%m-%d}",
        "authors_parsed": people,
    }


def write(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            file.write(json.dumps(row(number)) + "\n")


def asked(rows: int) -> list[Paper]:
    """Return papers to look up: known ones, known ones with another word, and unknown ones."""
    dice = random.Random(3)
    papers = []
    for n in range(LOOKED_UP):
        number = dice.randrange(rows) if n % 2 else rows + n
        title, abstract = title_and_abstract(number)
        words = title.split()
        if n % 20 == 1:
            words[dice.randrange(len(words))] = dice.choice(_WORDS)
        papers.append(Paper(" ".join(words), abstract))
    return papers


def ours(folder: Path, rows: int) -> tuple[int, list[int]]:
    """Read the list and look papers up; return how many keys it has, and the sizes of records."""
    source = {"kind": "jsonl", "path": str(folder / "*.jsonl"), "role": "reference"}
    config = {
        "sources": {LIST: source, "page": {"kind": "jsonl", "path": "news/*.jsonl"}},
        "topics": {"all": {"query": "model"}},
        "channels": {"pages": {"kind": "file", "path": "pages/"}},
        "subscriptions": {"lab": {"topics": ["*"], "channels": ["pages"]}},
        "web": "off",
    }
    (folder / "monitor.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with open_app(load_settings(folder / "monitor.yaml"), SystemClock()) as app:
        database = app.runtime.database
        before = _memory()
        spent = time.process_time()
        began = time.perf_counter()
        (run,) = ingest(app.runtime, LIST)
        spent = time.process_time() - spent
        took = time.perf_counter() - began
        assert run.seen == rows, run
        size = sum(path.stat().st_size for path in (database.path or folder).parent.glob("*.db*"))
        _line("read", rows, took, f"{spent:.1f} s of the processor, {size / 1e6:,.0f} MB of disk")
        print(f"  memory: {_memory():,.0f} MB at most, {before:,.0f} MB before")
        papers = [with_keys(paper) for paper in asked(rows)]
        now = datetime.now(UTC)
        linked = 0
        with database.reading() as tx:
            spent = time.process_time()
            began = time.perf_counter()
            for start in range(0, len(papers), CHUNK):
                found = collections.find(tx, [LIST], papers[start : start + CHUNK], now)
                linked += sum(map(bool, found))
            spent = time.process_time() - spent
            took = time.perf_counter() - began
            sizes = tx.exec_driver_sql("SELECT length(packed) FROM collection_entry LIMIT 10000")
            lengths = [length for (length,) in sizes]
            keys = tx.exec_driver_sql("SELECT count(*) FROM collection_key").scalar() or 0
        _line("look up", len(papers), took, f"{spent:.1f} s of the processor, {linked:,} found")
    return keys, lengths


def bare(folder: Path, rows: int, keys: int, sizes: list[int]) -> None:
    """Do with SQLite alone what `ours` makes it do: the same tables, rows and transactions."""
    dice = random.Random(5)
    path = folder / "bare.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -8192")
        db.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, name INTEGER UNIQUE, packed BLOB)")
        db.execute(
            "CREATE TABLE key (key INTEGER, entry INTEGER, PRIMARY KEY (key, entry)) WITHOUT ROWID"
        )
        packed = dice.randbytes(max(sizes))
        each = round(keys / rows)
        spent = time.process_time()
        began = time.perf_counter()
        for start in range(0, rows, CHUNK):
            ids = range(start, min(start + CHUNK, rows))
            db.execute("BEGIN")
            db.executemany(
                "INSERT INTO entry VALUES (?, ?, ?)",
                [(id, dice.getrandbits(62), packed[: sizes[id % len(sizes)]]) for id in ids],
            )
            pairs = sorted((dice.getrandbits(62), id) for id in ids for _ in range(each))
            db.executemany("INSERT INTO key VALUES (?, ?)", pairs)
            db.execute("COMMIT")
        spent = time.process_time() - spent
        took = time.perf_counter() - began
        size = path.stat().st_size / 1e6
        _line("bare insert", rows, took, f"{spent:.1f} s of the processor, {size:,.0f} MB of disk")
        began = time.perf_counter()
        for _ in range(LOOKED_UP):
            for _ in range(each):
                db.execute(
                    "SELECT entry FROM key WHERE key = ?", (dice.getrandbits(62),)
                ).fetchall()
            db.execute("SELECT packed FROM entry WHERE id = ?", (dice.randrange(rows),)).fetchall()
        _line("bare look-up", LOOKED_UP, time.perf_counter() - began, f"{each} keys and an entry")
    path.unlink()


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _line(what: str, count: int, took: float, more: str) -> None:
    print(f"{what:14} {took:9.1f} s {took / count * 1e6:9.1f} us each  {more}", flush=True)


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write(folder / "snapshot.jsonl", options.rows)
        size = (folder / "snapshot.jsonl").stat().st_size
        print(f"{options.rows:,} rows, {size / 1e6:,.0f} MB as JSON lines")
        keys, sizes = ours(folder, options.rows)
        mean = sum(sizes) / len(sizes)
        print(f"  {keys / options.rows:.1f} keys a row, {mean:.0f} bytes a record")
        bare(folder, options.rows, keys, sizes)


if __name__ == "__main__":
    main()
