"""What a small model adds to `like:` topics: the order of papers, and papers just below the bar.

    OPENBLAS_NUM_THREADS=1 python benchmarks/embeddings.py DIRECTORY [--vectors FILE.npz]

DIRECTORY and the sets are those of `benchmarks/like.py`: six reviews by their titles, eleven areas
by their headings, and four lists by a sentence each. Numbers are chosen on every second of each
kind, and reported on the others. Of each review and of the areas the first by the hash of their
titles are read, as the packaged model (`tests/servers/minilm.py`) takes a second for two papers;
`--vectors` keeps what it said.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from like import Labelled, kind, labelled, nearness

from monitor.embeddings.server import MOST_CHARS
from monitor.match.like import JUST_BELOW, LOWEST_BAR, choose_bar, learn_words
from monitor.model import LikeText
from monitor.pipeline.embeddings import COMPARED, text_of
from monitor.pipeline.order import _beside_words
from tests.servers.minilm import MiniLM

MOST = {"review": 400, "area": 900, "list": 900}
SHARES = (0.6, JUST_BELOW, 0.8, 0.9)
QUANTILES = (0.25, 0.5, 0.75, 0.9)
# Papers that came in a day, by which the bars of topics are put.
A_DAY = 50


class Vectors:
    """The vectors of texts, each asked of the model once, in two bytes a number as in the store."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._model = file, MiniLM()
        self._rows: dict[str, np.ndarray] = {}
        if file and file.exists():
            kept = np.load(file)
            self._rows = dict(zip(kept["texts"].tolist(), kept["rows"], strict=True))

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """Return a row for each text."""
        names = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = [at for at, name in enumerate(names) if name not in self._rows]
        if new:
            rows = self._model.encode([texts[at] for at in new]).astype(np.float16)
            self._rows |= zip([names[at] for at in new], rows, strict=True)
            if self._file:
                every = np.array(list(self._rows.values()))
                np.savez(self._file, texts=list(self._rows), rows=every)
        return np.array([self._rows[name] for name in names], np.float32)


class Topic(NamedTuple):
    """A text with papers: how near each is by words and by the model, and which are wanted."""

    name: str
    words: list[float]
    near: list[float]
    wanted: list[bool]


def read(of: Labelled, vectors: Vectors) -> Topic:
    """Return how near the first papers of a set are."""
    order = sorted(range(len(of.papers)), key=lambda at: by_hash(of.papers[at].title))
    at = order[: MOST[kind(of)]]
    papers = [of.papers[i] for i in at]
    [vector] = vectors.of([of.text[:MOST_CHARS]])
    near = vectors.of([text_of(paper) for paper in papers]) @ vector
    words = nearness(learn_words(of.text), papers)
    return Topic(of.name, words.tolist(), near.tolist(), [of.wanted[i] for i in at])


def by_hash(title: str) -> str:
    return hashlib.sha256(title.encode()).hexdigest()


def average_precision(scores: Sequence[float], wanted: Sequence[bool]) -> float:
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    hits = 0
    total = 0.0
    for rank, at in enumerate(order, 1):
        if wanted[at]:
            hits += 1
            total += hits / rank
    return total / max(hits, 1)


def matched(topic: Topic) -> tuple[float, list[int]]:
    """Return the bar as a store with these papers has it, and the papers that reach it."""
    papers = len(topic.words)
    closest = sorted((near for near in topic.words if near >= LOWEST_BAR), reverse=True)
    bar = choose_bar(closest, papers, papers / A_DAY, LikeText("-"))
    return bar, [at for at, closeness in enumerate(topic.words) if closeness >= bar]


def order(topic: Topic) -> tuple[float, float, float]:
    """Return the average precision of those that match: by words, by the model, by both."""
    _, at = matched(topic)
    words = [topic.words[i] for i in at]
    near = [topic.near[i] for i in at]
    wanted = [topic.wanted[i] for i in at]
    both = _beside_words(words, near)
    ways = (words, near, both)
    return tuple(average_precision(way, wanted) for way in ways)  # type: ignore[return-value]


def add(topic: Topic, share: float, quantile: float) -> tuple[int, int, int, int, int, int]:
    """Return how many match, are near, are added; and of each how many are wanted."""
    bar, at = matched(topic)
    near = [i for i, closeness in enumerate(topic.words) if share * bar <= closeness < bar]
    compared = sorted(topic.near[i] for i in at[-COMPARED:])
    least = compared[int(quantile * len(compared))] if compared else 2.0
    added = [i for i in near if topic.near[i] >= least]
    counts = [len(at), len(near), len(added)]
    hits = [sum(topic.wanted[i] for i in which) for which in (at, near, added)]
    return (*counts, *hits)  # type: ignore[return-value]


def report(name: str, of_kinds: dict[str, list[Topic]]) -> None:
    print(f"\n## {name}\n\n| | by words | by the model | by both | match | wanted |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    topics = [topic for of_kind in of_kinds.values() for topic in of_kind]
    for label, those in (*of_kinds.items(), ("all", topics)):
        means = np.mean([order(topic) for topic in those], axis=0)
        found = [(len(at), sum(t.wanted[i] for i in at)) for t in those for at in [matched(t)[1]]]
        count, wanted = map(sum, zip(*found, strict=True))
        values = " | ".join(f"{mean:.3f}" for mean in means)
        print(f"| {label} ({len(those)}) | {values} | {count} | {wanted / max(count, 1):.0%} |")
    print("\n| share of the bar | quantile | match | wanted | near | wanted | added | wanted |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for share in SHARES:
        for quantile in QUANTILES:
            counts = [add(topic, share, quantile) for topic in topics]
            m, n, a, wm, wn, wa = map(sum, zip(*counts, strict=True))
            print(
                f"| {share} | {quantile} | {m} | {wm / max(m, 1):.0%} | {n} | "
                f"{wn / max(n, 1):.0%} | {a} | {wa / max(a, 1):.0%} |"
            )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("directory", type=Path)
    options.add_argument("--vectors", type=Path)
    chosen = options.parse_args()
    vectors = Vectors(chosen.vectors)
    parts: dict[bool, dict[str, list[Topic]]] = {True: {}, False: {}}
    for of in labelled(chosen.directory):
        parts[of.chosen_on].setdefault(kind(of), []).append(read(of, vectors))
    report("chosen on", parts[True])
    report("reported", parts[False])


if __name__ == "__main__":
    main()
