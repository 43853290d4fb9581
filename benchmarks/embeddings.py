"""What a small model adds to `like:` topics: the order of papers, and papers just below the bar.

    OPENBLAS_NUM_THREADS=1 python benchmarks/embeddings.py FOLDER

FOLDER has labelled sets, as JSON lines with `title`, `abstract` and `wanted`, and `topics.json`
with the title of each: systematic reviews, whose titles are the texts. And `areas.jsonl.gz`, papers
of conferences by area, whose names are texts, of which the first `AREAS` by their hash are read.
The packaged model (`tests/servers/minilm.py`) takes some minutes. Numbers are chosen on `CHOSEN_ON`
and half of the areas, and reported on the others.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from monitor.embeddings.server import MOST_CHARS
from monitor.match.language.tree import Like
from monitor.match.like import LOWEST_BAR, choose_bar, learn_words, like_leaf
from monitor.match.meaning.evaluate import View
from monitor.model import LikeText, LikeWords, Paper
from monitor.pipeline.embeddings import COMPARED, text_of
from monitor.pipeline.order import _beside_words
from tests.servers.minilm import MiniLM

CHOSEN_ON = ("Yang-2016", "Nelson_2002")
REPORTED_ON = ("Shahin-2017", "van_der_Valk_2021")
AREAS = 900
SHARES = (0.6, 0.7, 0.8, 0.9)
QUANTILES = (0.25, 0.5, 0.75, 0.9)
# Papers that came in a day, by which the bars of topics are put.
A_DAY = 50


class Topic(NamedTuple):
    """A text with papers: how near each is by words and by the model, and which are wanted."""

    name: str
    words: list[float]
    near: list[float]
    wanted: list[bool]


def by_hash(title: str) -> int:
    return int(hashlib.sha256(title.encode()).hexdigest(), 16)


def read(file: Path) -> list[dict[str, object]]:
    with gzip.open(file) as lines:
        return [json.loads(line) for line in lines]


def measure(
    name: str,
    text: str,
    papers: Sequence[Paper],
    vectors: object,
    wanted: list[bool],
    model: MiniLM,
) -> Topic | None:
    words = learn_words(text)
    if not words or not any(wanted):
        return None
    leaf: Like = like_leaf(LikeWords(words, 0.0))
    closeness = [View(paper, ()).closeness(leaf) for paper in papers]
    [vector] = model.encode([text[:MOST_CHARS]])
    near = [float(number) for number in vectors @ vector]
    return Topic(name, closeness, near, wanted)


def average_precision(scores: Sequence[float], wanted: Sequence[bool]) -> float:
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    hits, total = 0, 0.0
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
    words, near = [topic.words[i] for i in at], [topic.near[i] for i in at]
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


def report(name: str, topics: Sequence[Topic]) -> None:
    print(f"\n## {name}: {', '.join(topic.name for topic in topics)}\n")
    orders = [order(topic) for topic in topics]
    means = [sum(column) / len(orders) for column in zip(*orders, strict=True)]
    print("average precision by words {:.3f}, by the model {:.3f}, by both {:.3f}".format(*means))
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


def main(folder: Path) -> None:
    model = MiniLM()
    names: Mapping[str, dict[str, object]] = json.loads((folder / "topics.json").read_text())
    parts: dict[str, list[Topic]] = {"chosen on": [], "reported on": []}
    for part, sets in (("chosen on", CHOSEN_ON), ("reported on", REPORTED_ON)):
        for name in sets:
            rows = read(folder / f"{name}.jsonl.gz")
            papers = [Paper(str(row["title"]), abstract=str(row["abstract"] or "")) for row in rows]
            wanted = [bool(row["wanted"]) for row in rows]
            vectors = model.encode([text_of(paper) for paper in papers])
            topic = measure(name, str(names[name]["title"]), papers, vectors, wanted, model)
            parts[part] += [topic] if topic else []
    rows = sorted(read(folder / "areas.jsonl.gz"), key=lambda row: by_hash(str(row["title"])))
    rows = rows[:AREAS]
    papers = [Paper(str(row["title"]), abstract=str(row["abstract"] or "")) for row in rows]
    vectors = model.encode([text_of(paper) for paper in papers])
    for area in names["areas"]["areas"]:  # type: ignore[attr-defined]
        wanted = [area in row["areas"] for row in rows]  # type: ignore[operator]
        topic = measure(area, area, papers, vectors, wanted, model)
        part = "chosen on" if by_hash(area) % 2 else "reported on"
        parts[part] += [topic] if topic else []
    for part, topics in parts.items():
        report(part, topics)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
