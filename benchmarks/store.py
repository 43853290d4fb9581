"""What the next papers cost a store that is full: which are known, and what is decided of all.

    python benchmarks/store.py --papers 3000000
    python benchmarks/store.py --papers 1000000 --store postgresql+psycopg://monitor@db/empty

The store is grown by bulk inserts, in a folder that is removed at the end; one that is named is
grown when it is empty, keeps what it was given, and is used as it is the next time. Then, in one
run and beside each other, in processor time (on PostgreSQL, of the clock):

    look-up   100,000 identifiers, half of them stored: ours, one select a row, IN of 900
    decide    in chunks of 1,000, as an ingest does it: the next 1,000 papers, all new; the next
              100,000, of which 95 in 100 are known and told as before; what is known of another
              version or another source
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from monitor.diff.decide import Circumstances
from monitor.diff.keys import keyed
from monitor.model import Paper
from monitor.pipeline.arrivals import decide
from monitor.store import lookups, papers, schema
from monitor.store.columns import indexed
from monitor.store.database import Database, open_store

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SOURCE = "dump"
BATCH = 20_000
TOLD = 100_000
ASKED = 100_000
NEW = 1_000
CHUNK = 1_000
FRESH_IN_100 = 5

_random = random.Random(7)
_SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "po",
    "ru",
    "sa",
    "te",
    "vi",
    "zo",
    "kra",
    "ple",
    "stri",
    "tho",
    "qua",
    "nex",
]
_VOCABULARY = ["".join(_random.choices(_SYLLABLES, k=3)) for _ in range(30_000)]
_COMMON = [
    "learning",
    "neural",
    "networks",
    "deep",
    "model",
    "data",
    "analysis",
    "language",
    "robust",
    "adaptive",
]


def paper(number: int) -> Paper:
    """Paper `number`, the same in every run: a title of seven words, an abstract of ninety."""
    rng = random.Random(number)
    words = rng.choices(_VOCABULARY, k=20)
    title = " ".join((*words[:5], *rng.choices(_COMMON, k=2))).capitalize()
    names = [f"{rng.choice(_VOCABULARY)} {rng.choice(_VOCABULARY)}".title() for _ in range(3)]
    return Paper(
        title,
        f"We study {title}. " + " ".join(words * 4),
        tuple(names),
        year=2026,
        url=f"https://papers.example.org/{number}",
        keys={"arxiv": f"{2001 + number // 100_000}.{number % 100_000:05}"},
        raw_id=f"oai:{number}",
    )


def grow(store: Database, count: int) -> float:
    """Fill an empty store; return rows of papers a second.

    Up to 100,000 papers are written one by one; the database copies them as often as it takes,
    each under names of its own, so that the copies stand between them in every index.
    """
    began = time.perf_counter()
    told = min(count, TOLD)
    with store.writing() as tx:
        for start in range(1, told + 1, BATCH):
            _fill(tx, range(start, min(start + BATCH, told + 1)), copies(count))
    for table in (schema.paper, schema.paper_key, schema.title_key, schema.block, schema.sighting):
        with store.writing() as tx:
            if tx.dialect.name == "sqlite":
                tx.exec_driver_sql("PRAGMA cache_size = -500000")
            indexes = sorted(table.indexes, key=lambda index: str(index.name))
            for index in indexes:
                index.drop(tx)
            tx.execute(_copy(table, copies(count)))
            for index in indexes:
                index.create(tx)
    return count / (time.perf_counter() - began)


def copies(count: int) -> int:
    return max(1, count // TOLD)


def _copy(table: sa.Table, times: int) -> sa.Insert:
    """Copy all rows of a table; a third of the blocks stay what they are, so that some are full."""
    first = sa.select(sa.literal(1).label("nth")).cte("copy", recursive=True)
    copy = first.union_all(sa.select(first.c.nth + 1).where(first.c.nth + 1 < times))
    nth = copy.c.nth
    changed: dict[str, sa.ColumnElement[Any]] = {}
    for column in table.c:
        if column.name in ("id", "paper_id"):
            changed[column.name] = column + nth
        elif table is schema.block:
            changed[column.name] = sa.case((column % 3 == 0, column), else_=column - nth)
        elif column.name == "abstract":
            changed[column.name] = sa.func.substr(column, 1, 200)
        elif column.name in ("title", "value", "key", "raw_id"):
            changed[column.name] = column + "." + sa.cast(nth, sa.Text)
    columns = [changed.get(column.name, column) for column in table.c]
    rows = sa.select(*columns).select_from(table.join(copy, nth < times))
    primary = [changed.get(column.name, column) for column in table.primary_key]
    if table is not schema.paper:  # its texts would take long to sort
        rows = rows.order_by(*primary)
    return sa.insert(table).from_select([c.name for c in table.c], rows)


def _fill(tx: Any, numbers: Sequence[int], apart: int) -> None:
    told = [(number * apart, keyed(paper(number))) for number in numbers]
    blank = {"venue": "", "categories": [], "pdf_url": "", "revision": 1, "withdrawn": False}
    rows: dict[sa.Table, list[dict[str, Any]]] = {
        schema.paper: [
            blank
            | {
                "id": id,
                "title": one.paper.title,
                "abstract": one.paper.abstract,
                "authors": one.paper.authors,
                "year": 2026,
                "url": one.paper.url,
                "first_seen_at": NOW,
            }
            for id, one in told
        ],
        schema.paper_key: [
            {"scheme": scheme, "value": indexed(value), "paper_id": id}
            for id, one in told
            for scheme, value in one.keys
        ],
        schema.title_key: [{"key": indexed(one.title_key), "paper_id": id} for id, one in told],
        schema.block: [{"key": key, "paper_id": id} for id, one in told for key in set(one.blocks)],
        schema.sighting: [
            {
                "source": SOURCE,
                "raw_id": one.raw_id,
                "paper_id": id,
                "document": "",
                "announce": "",
                "fingerprint": one.fingerprint,
                "mark": one.mark,
                "first_seen_at": NOW,
                "last_seen_at": NOW,
            }
            for id, one in told
        ],
    }
    for table, some in rows.items():
        tx.execute(sa.insert(table), some)


def timed(store: Database, work: Callable[[], Any], times: int = 3) -> float:
    """The least of some runs, in seconds: of the processor, where the store is in this process."""
    clock = time.process_time if store.dialect == "sqlite" else time.perf_counter
    took = []
    for _ in range(times):
        began = clock()
        work()
        took.append(clock() - began)
    return min(took)


def look_up(store: Database, told: int) -> None:
    known = random.Random(1).sample(range(1, told + 1), min(ASKED // 2, told))
    unknown = range(10 * TOLD, 10 * TOLD + len(known))
    pairs = [("arxiv", paper_key(number)) for number in (*known, *unknown)]
    random.Random(3).shuffle(pairs)
    with store.reading() as tx:
        ours = timed(store, lambda: lookups.of_keys(tx, pairs))
        _row("one parameter a scheme, sorted (ours)", len(pairs), ours, ours, "goal: 250,000")
        one, some = schema.paper_key.c, pairs[:2_000]
        single = sa.select(one.paper_id).where(
            one.scheme == sa.bindparam("s"), one.value == sa.bindparam("v")
        )
        alone = timed(store, lambda: [tx.scalar(single, {"s": s, "v": v}) for s, v in some], 1)
        _row("a select a row", len(some), alone, ours * len(some) / len(pairs))
        chunks = timed(store, lambda: list(_in_chunks(tx, pairs)))
        _row("IN, 900 at a time", len(pairs), chunks, ours, "goal: 1.4x")


def paper_key(number: int) -> str:
    return f"{2001 + number // 100_000}.{number % 100_000:05}"


def _in_chunks(tx: Any, pairs: Sequence[tuple[str, str]]) -> Iterator[Any]:
    one = schema.paper_key.c
    for start in range(0, len(pairs), 900):
        values = [value for _, value in pairs[start : start + 900]]
        wanted = sa.select(one.value, one.paper_id)
        yield tx.execute(wanted.where(one.scheme == "arxiv", one.value.in_(values))).all()


def decisions(store: Database, told: int) -> None:
    circumstances = Circumstances(NOW)
    new = [paper(10 * TOLD + number) for number in range(NEW)]
    near = [replace(one, title=one.title[:-2] + "x", keys={}, raw_id=one.url) for one in new]
    known = [paper(number) for number in random.Random(2).choices(range(1, told + 1), k=ASKED)]
    fresh = ASKED * FRESH_IN_100 // 100
    mixed = [*known[fresh:], *(paper(11 * TOLD + number) for number in range(fresh))]
    random.Random(4).shuffle(mixed)
    again = [replace(one, version=2) for one in known[:10_000]]

    def decided(source: str, some: Sequence[Paper]) -> float:
        chunks = [some[start : start + CHUNK] for start in range(0, len(some), CHUNK)]
        with store.reading() as tx:
            return timed(
                store, lambda: [decide(tx, source, chunk, circumstances) for chunk in chunks]
            )

    for what, source, some, goal in (
        ("the next 1,000, all new", SOURCE, new, "goal: 0.3 s"),
        ("the same without identifiers", "other", near, "goal: 0.3 s"),
        ("the next 100,000, 95 in 100 known", SOURCE, mixed, "goal: 60,000"),
        ("of those, the known alone", SOURCE, mixed_known(mixed), ""),
        ("10,000 known, of another version", SOURCE, again, ""),
        ("10,000 known, from another source", "other", known[:10_000], ""),
    ):
        took = decided(source, some)
        rate = len(some) / took
        print(f"  {what:42} {took:9.3f} s {rate:12,.0f} papers a second   {goal}")


def mixed_known(some: Sequence[Paper]) -> list[Paper]:
    return [one for one in some if int(one.raw_id[4:]) < 10 * TOLD]


def _row(what: str, rows: int, took: float, ours: float, goal: str = "") -> None:
    ratio = f"{took / ours:7.1f}x"
    print(f"  {what:42} {took:9.3f} s {rows / took:12,.0f} rows a second {ratio}   {goal}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--papers", type=int, default=100_000)
    parser.add_argument("--store", default="")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(asked.store or f"sqlite:///{folder}/monitor.db")
        with store.reading() as tx:
            there = papers.count(tx)
        if there:
            print(f"{there:,} papers")
        else:
            print(f"{asked.papers:,} papers, grown at {grow(store, asked.papers):,.0f} a second")
        told = min(there or asked.papers, TOLD)
        print("\nlook-up")
        look_up(store, told)
        print("\ndecide")
        decisions(store, told)
        store.close()


if __name__ == "__main__":
    main()
