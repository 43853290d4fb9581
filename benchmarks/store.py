"""What the next papers cost a store that is full: which are known, and what is decided of all.

    python benchmarks/store.py --papers 3000000
    python benchmarks/store.py --papers 1000000 --store postgresql+psycopg://monitor@db/empty

The store is grown by what an ingest writes of papers that are all new, in a folder that is
removed at the end; one that is named is grown when it is empty, keeps what it was given, and is
used as it is the next time. Then, in one run and beside each other, in processor time (on
PostgreSQL, of the clock):

    look-up   100,000 identifiers, half of them stored: ours, one select a row, IN of 900
    decide    in chunks of 1,000, as an ingest does it: the next 1,000 papers, all new; the next
              100,000, of which 95 in 100 are known and told as before; what is known of another
              version or another source
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from monitor.diff.decide import Circumstances
from monitor.diff.keys import keyed
from monitor.model import Decision, Kind, Paper
from monitor.pipeline.arrivals import decide
from monitor.store import lookups, papers, schema
from monitor.store.database import Database, open_store

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SOURCE = "dump"
BATCH = 5_000
COMMIT = 500_000
ASKED = 100_000
NEW = 1_000
CHUNK = 1_000
FRESH_IN_100 = 5

_random = random.Random(7)
_SOUNDS = ["".join(s) for s in itertools.product("bdfglmnprstvk", "aeiou", ("", "n", "r", "s"))]
_COMMON = "learning neural networks deep model data analysis language robust adaptive".split()  # noqa: SIM905
_MADE = [
    "".join(_random.choices(_SOUNDS, k=_random.choice((2, 2, 3, 3, 4)))) for _ in range(90_000)
]
_WORDS = list(dict.fromkeys([*_COMMON, *_MADE]))
# As in languages, the n-th word is said 1/n as often.
_UPTO = list(itertools.accumulate(1 / (n + 20) for n in range(len(_WORDS))))


def paper(number: int) -> Paper:
    """Paper `number`, the same in every run: a title of eight words, an abstract of ninety."""
    rng = random.Random(number)
    words = rng.choices(_WORDS, cum_weights=_UPTO, k=32)
    title = f"{' '.join(words[:4])} of {' '.join(words[4:7])}".capitalize()
    names = [f"{rng.choice(_WORDS)} {rng.choice(_WORDS)}".title() for _ in range(3)]
    return Paper(
        title,
        f"We study {title}. " + " ".join(words * 3),
        tuple(names),
        year=2026,
        url=f"https://papers.example.org/{number}",
        keys={"arxiv": paper_key(number)},
        raw_id=f"oai:{number}",
    )


def paper_key(number: int) -> str:
    return f"{2001 + number // 100_000}.{number % 100_000:05}"


def grow(store: Database, count: int) -> float:
    """Fill an empty store with papers 1 to `count`; return papers a second."""
    began = time.perf_counter()
    for start in range(1, count + 1, COMMIT):
        with store.ingesting() as tx:
            if tx.dialect.name == "sqlite":
                tx.exec_driver_sql("PRAGMA cache_size = -2000000")
            for first in range(start, min(start + COMMIT, count + 1), BATCH):
                numbers = range(first, min(first + BATCH, start + COMMIT, count + 1))
                told = [Decision(keyed(paper(n)), Kind.NEW, news=False) for n in numbers]
                papers.apply(tx, SOURCE, told, NOW)
            tx.execute(sa.delete(schema.unsearched))  # what the service does meanwhile
    return count / (time.perf_counter() - began)


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
    unknown = range(told + 1, told + 1 + len(known))
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


def _in_chunks(tx: Any, pairs: Sequence[tuple[str, str]]) -> Iterator[Any]:
    one = schema.paper_key.c
    for start in range(0, len(pairs), 900):
        values = [value for _, value in pairs[start : start + 900]]
        wanted = sa.select(one.value, one.paper_id)
        yield tx.execute(wanted.where(one.scheme == "arxiv", one.value.in_(values))).all()


def decisions(store: Database, told: int) -> None:
    circumstances = Circumstances(NOW)
    new = [paper(told + number) for number in range(1, NEW + 1)]
    near = [replace(one, title=one.title[:-2] + "x", keys={}, raw_id=one.url) for one in new]
    known = [paper(number) for number in random.Random(2).choices(range(1, told + 1), k=ASKED)]
    fresh = ASKED * FRESH_IN_100 // 100
    mixed = [*known[fresh:], *(paper(told + number) for number in range(NEW + 1, NEW + 1 + fresh))]
    random.Random(4).shuffle(mixed)
    again = [replace(one, version=2) for one in known[:10_000]]

    def decided(source: str, some: Sequence[Paper]) -> float:
        chunks = [some[start : start + CHUNK] for start in range(0, len(some), CHUNK)]
        with store.ingesting() as tx:
            return timed(
                store, lambda: [decide(tx, source, chunk, circumstances) for chunk in chunks]
            )

    for what, source, some, goal in (
        ("the next 1,000, all new", SOURCE, new, "goal: 0.3 s"),
        ("the same without identifiers", "other", near, "goal: 0.3 s"),
        ("the next 100,000, 95 in 100 known", SOURCE, mixed, "goal: 60,000"),
        ("of those, the known alone", SOURCE, known[fresh:], ""),
        ("10,000 known, of another version", SOURCE, again, ""),
        ("10,000 known, from another source", "other", known[:10_000], ""),
    ):
        took = decided(source, some)
        rate = len(some) / took
        print(f"  {what:42} {took:9.3f} s {rate:12,.0f} papers a second   {goal}")


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
        told = there or asked.papers
        print("\nlook-up")
        look_up(store, told)
        print("\ndecide")
        decisions(store, told)
        store.close()


if __name__ == "__main__":
    main()
