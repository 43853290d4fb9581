"""The match stage whole: from changes in the store to matches in the store, with their scores.

    python benchmarks/match_stage.py [--sizes 1k,10k,100k] [--papers-count N] [--seed N]
                                     [--papers FILE --topics FILE]

The topics are in force and indexed; then N papers come in, and `pipeline.match` reads them from a
SQLite store, matches and scores them, and writes what it found. Prints µs a paper and a match,
and how the time is spent beside the engine's own `pairs` on the same papers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from corpus import Made, PlainPaper, Read
from match import _count

from monitor import config
from monitor.app import App, open_app
from monitor.clocks import SystemClock
from monitor.diff.decide import DecisionContext
from monitor.model import Topic
from monitor.pipeline.match import match
from monitor.pipeline.store_chunk import store_chunk

_CONFIG = """\
store: sqlite:///monitor.db
sources: {page: {kind: jsonl, path: "*.none"}}
topics: {first: {query: agents}}
channels: {pages: {kind: file, path: out/}}
subscriptions: {lab: {topics: [first], channels: [pages]}}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--sizes", default="1k,10k,100k")
    options.add_argument("--papers-count", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--papers", type=Path)
    options.add_argument("--topics", type=Path)
    given = options.parse_args()
    corpus: Made | Read = Read(given.papers, given.topics) if given.papers else Made(given.seed)
    print("| topics | matches a paper | µs a paper | µs a match | the engine alone, µs a paper |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for size in map(_count, given.sizes.split(",")):
        _stage(corpus, size, given.papers_count)


def _stage(corpus: Made | Read, size: int, count: int) -> None:
    topics = tuple(Topic(f"t{n}", one.text) for n, one in enumerate(corpus.topics(size)))
    result = list(corpus.papers(2 * count))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "monitor.yaml"
        file.write_text(_CONFIG, encoding="utf-8")
        with open_app(config.load(file), SystemClock()) as app:
            object.__setattr__(app.runtime, "topics", topics)
            match(app.runtime)  # puts the topics in force
            _come_in(app, result[:count])
            match(app.runtime)  # the words of papers become known
            _come_in(app, result[count:])
            began = time.process_time()
            found = match(app.runtime)
            taken = time.process_time() - began
            index = app.runtime.in_force.index(topics)
            began = time.process_time()
            index.pairs([one.paper for one in result[count:]])
            engine = time.process_time() - began
    print(
        f"| {size:,} | {found / count:,.1f} | {taken / count * 1e6:,.0f}"
        f" | {taken / max(found, 1) * 1e6:,.1f} | {engine / count * 1e6:,.0f} |"
    )


def _come_in(app: App, result: Sequence[PlainPaper]) -> None:
    papers = [one.paper for one in result]
    with app.runtime.database.ingesting() as tx:
        store_chunk(tx, "page", papers, DecisionContext(datetime.now(UTC), None, dated=False))


if __name__ == "__main__":
    main()
