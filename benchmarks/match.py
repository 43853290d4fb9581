"""The same papers and topics through Paper Monitor and what a user would pick instead, in one run.

    python benchmarks/match.py [--sizes 1k,10k,100k,1M] [--papers-counts 1,1000,10000] [--runs N]
                               [--engines ours,tantivy,fts5,postgres,regex] [--seed N]
                               [--papers FILE --topics FILE] [--no-memory]

Prints µs a paper, from papers to pairs, and how many times as long each other engine takes; the
time to build; and the memory that topics take, each in a process of its own, topics streamed in.
All engines must give the same pairs, or the exit status is 1. Ours reads each paper as it is
written; the others are given its words in the singular, with nothing left to fold. Every round
has other papers. tantivy is an extra (`pip install '.[bench]'`); PostgreSQL is started
where it is installed.

Files are JSON lines: `{"title", "abstract"}`, and `{"r": [[phrase, ...], ...], "n": [phrase]}`.
Then all are given plain words, and "as written" is ours on the papers as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Made, PlainPaper, Read
from cost import resident
from peers import Engine, Fts5, Ours, Pairs, Postgres, Regex, Tantivy, postgres_server

ENGINES = ("ours", "tantivy", "fts5", "postgres", "regex")
# What takes longer than a reader waits for is measured on fewer papers, or left out.
MOST_REGEX = 200_000
MOST_POSTGRES = 300_000_000


def main() -> None:
    options = _options()
    if options.memory:
        print(json.dumps(_memory(options)))
        return
    same = True
    with postgres_server() as connection:
        for size in map(_count, options.sizes.split(",")):
            same &= _size(options, size, connection)
    sys.exit(not same)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--sizes", default="1k,10k,100k")
    options.add_argument("--papers-counts", default="1,1000")
    options.add_argument("--engines", default=",".join(ENGINES))
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--papers", type=Path)
    options.add_argument("--topics", type=Path)
    options.add_argument("--no-memory", action="store_true", help="leave out what topics take")
    options.add_argument("--memory", default="", help=argparse.SUPPRESS)
    return options.parse_args()


def _count(text: str) -> int:
    return int(text.lower().replace("k", "000").replace("m", "000000"))


def _corpus(options: argparse.Namespace) -> Made | Read:
    return Read(options.papers, options.topics) if options.papers else Made(options.seed)


def _size(options: argparse.Namespace, size: int, connection: Any) -> bool:
    """Measure all engines with so many topics; return whether they agreed."""
    corpus = _corpus(options)
    print(f"\n{size:,} topics\n  {'built in':>24}   {'memory a topic':>14}")
    engines: dict[str, Engine] = {}
    for name, make in _makers(options, corpus, size, connection).items():
        began = time.perf_counter()
        engines[name] = make()
        built = time.perf_counter() - began
        unknown = options.no_memory or name == "postgres"
        memory = 0 if unknown else _measure_memory(options, name, size)
        shown = f"{memory / size:8.0f} bytes" if memory else ""
        print(f"  {name:12} {built:9.2f} s   {shown:>14}")
    _print_change(engines["ours"], corpus, size)
    counts = map(int, options.papers_counts.split(","))
    agreed = [_papers(options, corpus, engines, size, count) for count in counts]
    return all(agreed)


def _makers(
    options: argparse.Namespace, corpus: Made | Read, size: int, connection: Any
) -> dict[str, Callable[[], Engine]]:
    wanted = options.engines.split(",")
    makers: dict[str, Callable[[], Engine]] = {"ours": lambda: Ours(corpus.topics(size))}
    if "tantivy" in wanted and find_spec("tantivy"):
        makers["tantivy"] = lambda: Tantivy(corpus.topics(size))
    if "fts5" in wanted:
        makers["fts5"] = lambda: Fts5(corpus.topics(size))
    if "postgres" in wanted and connection:
        makers["postgres"] = lambda: Postgres(corpus.topics(size), connection)
    if "regex" in wanted and size <= MOST_REGEX // 20:
        makers["regex"] = lambda: Regex(corpus.topics(size))
    return makers


def _papers(
    options: argparse.Namespace,
    corpus: Made | Read,
    engines: dict[str, Engine],
    size: int,
    count: int,
) -> bool:
    """Measure engines on rounds of so many papers; return whether they agreed."""
    if count == 1:
        return _one_by_one(options, corpus, engines)
    drawn = list(corpus.papers(count * (options.runs + 1)))
    rounds = [drawn[at : at + count] for at in range(0, len(drawn), count)]
    engines["ours"].pairs(rounds[0])
    times: dict[str, list[float]] = {name: [] for name in engines}
    same = True
    matched = 0
    for papers in rounds[1:]:
        expected: Pairs | None = None
        for name, engine in engines.items():
            some = _bearable(name, size, papers)
            if some:
                taken, pairs = _time(engine, some)
                times[name].append(taken / len(some))
                expected = _sort(pairs) if expected is None else expected
                same &= _agree(name, expected[expected[:, 0] < len(some)], _sort(pairs))
                matched = len(expected)
    print(f"  {count:,} papers, each matches {matched / count:,.1f} topics")
    _print_times(times)
    if isinstance(corpus, Read):
        written = [list(corpus.papers(count, simply=False))] * 2
        taken = min(_time(engines["ours"], papers)[0] for papers in written)
        print(f"    {'as written':12} {taken / count * 1e6:11,.1f} µs a paper")
    return same


def _bearable(name: str, size: int, papers: Sequence[PlainPaper]) -> Sequence[PlainPaper]:
    most = {"regex": MOST_REGEX, "postgres": MOST_POSTGRES}.get(name)
    return papers if most is None else papers[: most // size]


def _time(engine: Engine, papers: Sequence[PlainPaper]) -> tuple[float, Pairs]:
    began = engine.clock()
    pairs = engine.pairs(papers)
    return engine.clock() - began, pairs


def _sort(pairs: Pairs) -> Pairs:
    return pairs[np.lexsort(pairs.T[::-1])]


def _agree(name: str, expected: Pairs, pairs: Pairs) -> bool:
    if np.array_equal(expected, pairs):
        return True
    print(f"    {name} gives other pairs: {len(pairs):,}, not {len(expected):,}")
    return False


def _print_times(times: dict[str, list[float]]) -> None:
    ours = statistics.median(times["ours"])
    for name, taken in times.items():
        if taken:
            median = statistics.median(taken)
            print(f"    {name:12} {median * 1e6:11,.1f} µs a paper {median / ours:9.1f} x")


def _one_by_one(
    options: argparse.Namespace, corpus: Made | Read, engines: dict[str, Engine]
) -> bool:
    """Measure one paper at a time, in ours; the others index each paper as if it were a day."""
    drawn = list(corpus.papers(50 * options.runs))
    times = [_time(engines["ours"], [one])[0] for one in drawn]
    whole = _sort(engines["ours"].pairs(drawn))
    single = [
        [at, topic] for at, one in enumerate(drawn) for _, topic in engines["ours"].pairs([one])
    ]
    same = _agree("one paper at a time", whole, _sort(np.array(single, np.int64).reshape(-1, 2)))
    print(
        f"  1 paper at a time\n    {'ours':12} {statistics.median(times) * 1e6:11,.1f} µs a paper"
    )
    return same


def _print_change(ours: Engine, corpus: Made | Read, size: int) -> None:
    assert isinstance(ours, Ours)
    ours.pairs(list(corpus.papers(1)))
    taken = []
    for number, topic in enumerate(corpus.topics(20)):
        began = time.process_time()
        ours.change(number, topic)
        taken.append(time.process_time() - began)
    print(f"  one topic changed in {statistics.median(taken) * 1e6:,.0f} µs")


# ── memory, in a process of its own ─────────────────────────────────────────────────


def _measure_memory(options: argparse.Namespace, name: str, size: int) -> int:
    files = [f"--papers={options.papers}", f"--topics={options.topics}"] if options.papers else []
    command = [sys.executable, __file__, f"--memory={name}", f"--sizes={size}"]
    done = subprocess.run(
        [*command, f"--seed={options.seed}", *files], capture_output=True, check=True, text=True
    )
    return int(json.loads(done.stdout))


def _memory(options: argparse.Namespace) -> int:
    """Return the growth of the resident set by topics, after a day of 100 papers."""
    corpus = _corpus(options)
    papers = list(corpus.papers(100))
    makers = _makers(
        argparse.Namespace(engines=options.memory), corpus, _count(options.sizes), None
    )
    warm = _makers(argparse.Namespace(engines=options.memory), corpus, 10, None)[options.memory]()
    warm.pairs(papers)
    before = resident(os.getpid())
    engine = makers[options.memory]()
    engine.pairs(papers)
    return int((resident(os.getpid()) - before) * 1024**2)


if __name__ == "__main__":
    main()
