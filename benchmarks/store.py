"""What the next papers cost a store that is full: which are known, and what is decided of all.

    python benchmarks/store.py --papers 3000000
    python benchmarks/store.py --papers 1000000 --store postgresql+psycopg://monitor@db/empty

The store is grown by what an ingest writes of papers that are all new, in a folder that is
removed at the end; one that is named is grown when it is empty, keeps what it was given, and is
used as it is the next time. Then, in one run and beside each other:

    look-up   100,000 identifiers, half of them stored: ours, one select a row, IN of 900
    decide    in chunks of 1,000, as an ingest does it: the next 1,000 papers, all new; the next
              100,000, of which 95 in 100 are known and unchanged; what is known of another
              version or another source. From a chunk of `Paper` to what is to be written of each
              (marks, look-ups, candidates, comparisons): the least of three, each with others
    take in   the same decided, written and committed, a transaction a chunk

The first two are in processor time, and on PostgreSQL by the clock; a file is read once before, so
that they do not measure the disk. The known are drawn by chance
from all of the store, the dearest order there is, but where it says otherwise.
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

from monitor.diff.decide import DecisionContext
from monitor.identity.keys import with_keys
from monitor.model import ChangeKind, Decision, Paper
from monitor.pipeline.store_chunk import Chunk, decide_changed_records, store_papers
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.papers import paper_index, papers, write_papers

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SOURCE = "dump"
BATCH = 5_000
COMMIT = 500_000
ASKED = 100_000
NEW = 1_000
CHUNK = 1_000
FRESH_IN_100 = 5
MOSTLY = "95 in 100 known"

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
                decisions = [
                    Decision(with_keys(paper(n)), ChangeKind.NEW, news=False) for n in numbers
                ]
                write_papers.apply(tx, SOURCE, decisions, NOW)
            tx.execute(sa.delete(schema.unsearched))  # what the service does meanwhile
    return count / (time.perf_counter() - began)


def warm(store: Database) -> None:
    """Let the system have read the file of a store, so that it is not the disk that is measured."""
    if store.path:
        with store.path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass


def clock_of(store: Database) -> Callable[[], float]:
    """Return what tells seconds: of the processor, where the store is in this process."""
    return time.process_time if store.dialect == "sqlite" else time.perf_counter


def timed(store: Database, work: Callable[[], Any], times: int = 3) -> float:
    """The least of some runs, in seconds."""
    clock = clock_of(store)
    took = []
    for _ in range(times):
        began = clock()
        work()
        took.append(clock() - began)
    return min(took)


def look_up(store: Database, size: int) -> None:
    known = random.Random(1).sample(range(1, size + 1), min(ASKED // 2, size))
    unknown = range(size + 1, size + 1 + len(known))
    pairs = [("arxiv", paper_key(number)) for number in (*known, *unknown)]
    random.Random(3).shuffle(pairs)
    with store.reading() as tx:
        ours = timed(store, lambda: paper_index.of_keys(tx, pairs))
        _row("one parameter a scheme, sorted (ours)", len(pairs), ours, ours)
        one = schema.paper_key.c
        some = pairs[:2_000]
        single = sa.select(one.paper_id).where(
            one.scheme == sa.bindparam("s"), one.value == sa.bindparam("v")
        )
        alone = timed(store, lambda: [tx.scalar(single, {"s": s, "v": v}) for s, v in some], 1)
        _row("a select a row", len(some), alone, ours * len(some) / len(pairs))
        chunks = timed(store, lambda: list(_in_chunks(tx, pairs)))
        _row("IN, 900 at a time", len(pairs), chunks, ours)


def _in_chunks(tx: Any, pairs: Sequence[tuple[str, str]]) -> Iterator[Any]:
    one = schema.paper_key.c
    for start in range(0, len(pairs), 900):
        values = [value for _, value in pairs[start : start + 900]]
        wanted = sa.select(one.value, one.paper_id)
        yield tx.execute(wanted.where(one.scheme == "arxiv", one.value.in_(values))).all()


def arrivals(store: Database, size: int) -> int:
    """Print what the next papers cost to decide on, and then to take in; return how many stay."""
    picked = random.Random(2)
    next_new = itertools.count(size + 1)

    def new(count: int) -> list[int]:
        return list(itertools.islice(next_new, count))

    def known(count: int) -> list[int]:
        return picked.choices(range(1, size + 1), k=count)

    def mixed(count: int) -> list[int]:
        fresh = count * FRESH_IN_100 // 100
        some = [*known(count - fresh), *new(fresh)]
        picked.shuffle(some)
        return some

    def unnamed(number: int) -> Paper:
        one = paper(number)
        return replace(one, title=one.title[:-2] + "x", keys={}, raw_id=one.url)

    print("\nfrom Paper to decision")
    for what, source, some, count, paper_of in (
        ("the next 1,000, all new", SOURCE, new, NEW, paper),
        ("the same without identifiers", "other", new, NEW, unnamed),
        (f"the next {ASKED:,}, {MOSTLY}", SOURCE, mixed, ASKED, paper),
        (f"{ASKED:,}, all known", SOURCE, known, ASKED, paper),
        ("10,000 known, of another version", SOURCE, known, ASKED // 10, _revised),
        ("10,000 known, from another source", "other", known, ASKED // 10, paper),
    ):
        took = min(_decide(store, source, some(count), paper_of) for _ in range(3))
        print(f"  {what:42} {took:9.3f} s {count / took:12,.0f} papers a second")
    print("\nfrom Paper to commit, each chunk by itself: of the processor, and by the clock")
    next_new = itertools.count(size + 1)
    for what, numbers in (
        ("the next 1,000, all new", new(NEW)),
        (f"the next {ASKED:,}, {MOSTLY}", mixed(ASKED)),
        (f"{ASKED:,} known, in the order they came in", _in_order(size)),
    ):
        spent, took = _take_in(store, numbers)
        rate = len(numbers) / took
        print(f"  {what:42} {spent:9.3f} s {took:9.3f} s {rate:12,.0f} papers a second")
    return next(next_new) - 1 - size


def _revised(number: int) -> Paper:
    return replace(paper(number), version=2)


def _in_order(size: int) -> list[int]:
    first = random.Random(5).randrange(1, max(2, size - ASKED))
    return list(range(first, min(first + ASKED, size)))


def _chunks(numbers: Sequence[int], paper_of: Callable[[int], Paper]) -> Iterator[list[Paper]]:
    """Make the papers of a chunk when its turn comes, as a source does."""
    for start in range(0, len(numbers), CHUNK):
        yield list(map(paper_of, numbers[start : start + CHUNK]))


def _decide(
    store: Database, source: str, numbers: Sequence[int], paper_of: Callable[[int], Paper]
) -> float:
    took = 0.0
    clock = clock_of(store)
    with store.ingesting() as tx:
        for chunk in _chunks(numbers, paper_of):
            began = clock()
            decide_changed_records(tx, source, chunk, DecisionContext(NOW))
            took += clock() - began
    return took


def _take_in(store: Database, numbers: Sequence[int]) -> tuple[float, float]:
    """Decide, write and commit; return the seconds of the processor, and those of the clock."""
    spent = took = 0.0
    for chunk in _chunks(numbers, paper):
        worked = time.process_time()
        began = time.perf_counter()
        with store.ingesting() as tx:
            store_papers(tx, Chunk(SOURCE, chunk, DecisionContext(NOW), NOW))
        spent += time.process_time() - worked
        took += time.perf_counter() - began
    return spent, took


def _row(what: str, rows: int, took: float, ours: float) -> None:
    ratio = f"{took / ours:7.1f}x"
    print(f"  {what:42} {took:9.3f} s {rows / took:12,.0f} rows a second {ratio}")


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
        size = there or asked.papers
        warm(store)
        print("\nlook-up")
        look_up(store, size)
        stay = arrivals(store, size)
        if asked.store:
            print(f"\n{asked.store} keeps {stay:,} papers more")
        store.close()


if __name__ == "__main__":
    main()
