"""Searching a store with the language of topics, by its index and by reading every paper.

    python benchmarks/search.py [--papers N] [--store URL]

The papers are made from a seed: about 150 words each, common and rare ones as in real text. Both
ways find the same; reading every paper is measured on the newest 2,000 and said for all of them.
A store that is named is kept, and the next run takes the papers that are in it. The exit status
is 1 when a topic's newest 50 papers take a second or more.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import sqlalchemy as sa

from monitor.commands.paper_search import find_all
from monitor.commands.topic_trial import try_topic
from monitor.match import TopicIndex, parse_query
from monitor.match.language.synonyms import NO_SYNONYMS
from monitor.pipeline.cleanup import make_searchable
from monitor.pipeline.runtime import Runtime
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.papers import papers
from monitor.store.papers import search as search_index

NOW = datetime(2026, 11, 21, tzinfo=UTC)
VOCABULARY = 60_000
SAMPLE = 2_000
QUERIES = (
    "w30000",
    "w2000 w3000",
    '"w100 w200"',
    "w5000 OR w6000 OR w7000",
    "w400 w500 -w10",
    '"w300 w400"~5',
    "author:name777 w50",
    "w123*",
    "2 of (w900, w1000, w1100)",
    "w20",
)


def rows(count: int, seed: int = 7) -> Iterator[dict[str, object]]:
    """Yield papers as the store keeps them, the same for the same seed."""
    dice = random.Random(seed)
    words = [f"w{n}" for n in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    for n in range(1, count + 1):
        text = dice.choices(words, cum_weights=weights, k=150)
        yield {
            "id": n,
            "title": " ".join(text[:10]),
            "abstract": " ".join(text[10:]),
            "authors": [f"Given Name{dice.randrange(5_000)}" for _ in range(3)],
            "venue": "",
            "categories": [f"c{dice.randrange(40)}"],
            "url": f"https://example.org/{n}",
            "pdf_url": "",
            "first_seen_at": NOW - timedelta(minutes=count - n),
            "revision": 1,
            "withdrawn": False,
        }


def fill(store: Database, count: int) -> None:
    with store.reading() as tx:
        there = papers.count(tx)
    made = itertools.islice(rows(count), there, None) if there < count else iter(())
    while chunk := list(itertools.islice(made, 1_000)):
        with store.ingesting() as tx:
            tx.execute(sa.insert(schema.paper), chunk)
            search_index.queue(tx, [cast("int", row["id"]) for row in chunk])


def read_all(store: Database, query: str, count: int) -> tuple[float, set[int]]:
    """Read the newest papers one by one; return the seconds, and which met the query."""
    began = time.perf_counter()
    with store.reading() as tx:
        stored = list(papers.load(tx, range(max(1, count - SAMPLE + 1), count + 1)).values())
    index = TopicIndex({"": parse_query(query)})
    met = {stored[hit.position].id for hit in index.match([one.paper for one in stored])}
    return time.perf_counter() - began, met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--papers", type=int, default=100_000)
    parser.add_argument("--store", help="a store that is kept, on SQLite or PostgreSQL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(options.store or f"sqlite:///{Path(folder) / 'monitor.db'}")
        slow = measure(store, options.papers)
        store.close()
    return int(slow)


def measure(store: Database, count: int) -> bool:
    fill(store, count)
    stopping = threading.Event()
    parts = cast(
        "Runtime",
        SimpleNamespace(database=store, stopping=stopping, topics=(), synonyms=NO_SYNONYMS),
    )
    began = time.perf_counter()
    make_searchable(parts)
    took = time.perf_counter() - began
    size = f", {store.path.stat().st_size / count:,.0f} bytes a paper in all" if store.path else ""
    print(f"{count:,} papers put into the index: {took / count * 1e6:,.0f} µs a paper{size}\n")
    print("| topic | papers | newest 50, ms | all of them, ms | reading every paper, ms | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    slow = False
    for query in QUERIES:
        began = time.perf_counter()
        first = list(find_all(parts, query, most=51))
        newest = time.perf_counter() - began
        began = time.perf_counter()
        found = try_topic(parts, query).papers
        whole = time.perf_counter() - began
        read, met = read_all(store, query, count)
        every = read * count / min(count, SAMPLE)
        shown = {paper.stored.id for paper in first[:50]}
        last = max(count - SAMPLE, min(shown, default=0) if len(first) > 50 else 0)
        assert {id for id in met if id > last} == {id for id in shown if id > last}, query
        print(
            f"| `{query}` | {found:,} | {newest * 1e3:,.0f} | {whole * 1e3:,.0f} "
            f"| {every * 1e3:,.0f} | {every / newest:,.0f} |"
        )
        slow = slow or (found <= count / 1_000 and newest >= 1)
    return slow


if __name__ == "__main__":
    sys.exit(main())
