"""How well topics that are like a text find what is wanted, what they cost, and the wrong papers.

    python benchmarks/like.py DIRECTORY            average precision, chosen on one half
    python benchmarks/like.py DIRECTORY --tried    and with what was tried and not taken
    python benchmarks/like.py --bar PAPERS [--show]
    python benchmarks/like.py --cost PAPERS

DIRECTORY has labelled sets as for `benchmarks.rank`: six screened reviews by their titles, eleven
areas of one stream by their headings, and, beside them, the four lists of `seeds/` by a sentence
for each. Every second set of each kind was chosen on, and the others are reported. Examples are
drawn from the wanted papers, three times; these are then left out.

`--bar`: how many of the papers reach the bar of each of thirty sentences, which were written before
any was tried; `--show` prints the titles, to judge them. `--cost`: milliseconds of processor a
paper takes more with a thousand and with ten thousand such topics.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rank import rows

from monitor.cli.read import read_files
from monitor.match import Query, TopicIndex, choose_bar, learn_words
from monitor.match.like import BAR, EXAMPLE_WORDS, EXAMPLES_WEIGHT, like_leaf
from monitor.match.meaning.explain import MOST
from monitor.model import LikeText, LikeWord, LikeWords, Paper
from monitor.resources import resource

EXAMPLES, DRAWS = (0, 1, 3, 10), 3
# As many papers a day come to somebody who reads all of a field's preprints.
A_DAY = 300
SENTENCES = (
    "agents that use a web browser or a phone for people",
    "how language models can check and correct their own reasoning",
    "training large models with little memory on a single graphics card",
    "robots that learn to grasp objects they have never seen",
    "protein structure prediction and design with neural networks",
    "federated learning that keeps the data of patients private",
    "watermarks for text and images made by generative models",
    "why deep networks generalise although they have more parameters than data",
    "finding the cause of an effect from observational data",
    "self-driving cars that predict where pedestrians will walk",
    "reconstructing a three-dimensional scene from a few photographs",
    "making text-to-image diffusion models faster",
    "attacks that make classifiers fail with small changes of a picture",
    "graph neural networks for molecules and drugs",
    "translation for languages with few texts",
    "speech recognition for children or people with an accent",
    "bandits and exploration with guarantees on regret",
    "reinforcement learning from a fixed data set without interaction",
    "removing what a trained model has learned about a person",
    "fairness of decisions about loans and jobs",
    "forecasting weather and climate with machine learning",
    "counting and tracking animals in videos",
    "summaries of long documents that invent nothing",
    "benchmarks that test whether models can write computer programs",
    "brain signals decoded into images or speech",
    "games in which several agents must cooperate without communication",
    "compressing neural networks by pruning and quantization",
    "music generated from a description in words",
    "learning from labels that are wrong or noisy",
    "optimal transport for comparing distributions",
)
LISTS = (
    "policies of agents",
    "agents that cooperate, collaborate or live together in a society",
    "agents that read and write: language models for text, the web and dialogue",
    "training of agents",
)


class Labelled(NamedTuple):
    name: str
    text: str
    papers: Sequence[Paper]
    wanted: Sequence[bool]
    chosen_on: bool


def labelled(directory: Path) -> Iterator[Labelled]:
    topics = json.loads((directory / "topics.json").read_text())
    reviews = [name for name, topic in topics.items() if "words" in topic]
    for number, name in enumerate(reviews):
        found = rows(directory / f"{name}.jsonl.gz")
        wanted = [row["wanted"] for row in found]
        yield Labelled(name, topics[name]["title"], _papers(found), wanted, number % 2 == 0)
    found = rows(directory / "areas.jsonl.gz")
    papers = _papers(found)
    areas = [area for area in topics["areas"]["areas"] if area != "Research Papers"]
    for number, area in enumerate(areas):
        wanted = [area in (row.get("areas") or ()) for row in found]
        yield Labelled(f"area {area}", area, papers, wanted, number % 2 == 0)
    files = sorted(Path(str(f)) for f in resource("seeds").iterdir() if f.name.endswith(".txt"))
    lists = [
        {p.title: p for p in reading.papers} for _, reading in read_files("huggingface-page", files)
    ]
    every = {title: paper for papers_of in lists for title, paper in papers_of.items()}
    for number, (text, listed) in enumerate(zip(LISTS, lists, strict=True)):
        wanted = [title in listed for title in every]
        yield Labelled(f"list {number}", text, [*every.values()], wanted, number % 2 == 0)


def _papers(found: Sequence[dict[str, str]]) -> list[Paper]:
    return [Paper(row["title"], abstract=row["abstract"] or "") for row in found]


def nearness(words: Sequence[LikeWord], papers: Sequence[Paper]) -> np.ndarray:
    """Return how near each paper is."""
    index = TopicIndex({"": Query("", like_leaf(LikeWords(tuple(words), 0.0)))})
    at, _, scores = index.scores(papers)
    near = np.zeros(len(papers))
    near[at] = scores / MOST
    return near


Learn = Callable[[str, Sequence[Paper], Sequence[Paper]], Sequence[LikeWord]]


def by_words(text: str, examples: Sequence[Paper], _: Sequence[Paper]) -> Sequence[LikeWord]:
    return learn_words(text, examples)


def with_feedback(
    text: str, examples: Sequence[Paper], papers: Sequence[Paper]
) -> Sequence[LikeWord]:
    """Take the ten nearest papers for examples, too."""
    nearest = np.argsort(-nearness(learn_words(text, examples), papers), kind="stable")[:10]
    return learn_words(text, [*examples, *(papers[at] for at in nearest.tolist())])


def average_precision(of: Labelled, learn: Learn, examples: int) -> float:
    """Return the average precision of a set, over the draws of examples."""
    values = []
    for draw in range(DRAWS if examples else 1):
        wanted = [at for at, is_wanted in enumerate(of.wanted) if is_wanted]
        drawn = random.Random(f"{of.name} {draw}").sample(wanted, examples)
        words = learn(of.text, [of.papers[at] for at in drawn], of.papers)
        near = nearness(words, of.papers)
        left = np.ones(len(of.papers), bool)
        left[drawn] = False
        order = np.argsort(-near[left], kind="stable")
        hits = np.array(of.wanted)[left][order]
        values.append(float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()))
    return statistics.mean(values)


def precision(directory: Path, *, tried: bool) -> None:
    sets = list(labelled(directory))
    print(f"examples have {EXAMPLE_WORDS} words, {EXAMPLES_WEIGHT} times the weight of the text\n")
    print("| | reviews | areas | lists | all | reported: reviews | areas | lists | all |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ways: list[tuple[str, Learn]] = [("words", by_words)]
    ways += [("feedback", with_feedback)] if tried else []
    for name, learn in ways:
        for examples in EXAMPLES:
            row = []
            for chosen_on in (True, False):
                of_kinds = [
                    [
                        average_precision(each, learn, examples)
                        for each in sets
                        if each.chosen_on is chosen_on and kind(each) == name_of_kind
                    ]
                    for name_of_kind in ("review", "area", "list")
                ]
                row += [
                    *map(statistics.mean, of_kinds),
                    statistics.mean(chain.from_iterable(of_kinds)),
                ]
            label = f"{name}, {examples} examples" if examples else name
            values = " | ".join(f"{value:.3f}" for value in row)
            print(f"| {label} | {values} |", flush=True)


def kind(of: Labelled) -> str:
    first = of.name.partition(" ")[0]
    return first if first in ("area", "list") else "review"


def bars(path: Path, *, show: bool) -> None:
    papers = _papers(rows(path))
    days, passing = len(papers) / A_DAY, []
    for sentence in SENTENCES:
        near = nearness(learn_words(sentence), papers)
        closest = np.sort(near)[::-1]
        # Of the newest 4,000, as an installation has them.
        sample = np.sort(near[-4_000:])[::-1].tolist()
        bar = choose_bar(sample, 4_000, 4_000 / A_DAY, LikeText(sentence))
        order = [at for at in np.argsort(-near, kind="stable").tolist() if near[at] >= bar]
        passing.append(len(order) / days)
        print(f"{passing[-1]:6.2f} a day, bar {bar:.3f}, nearest {closest[0]:.2f}  {sentence}")
        for at in order if show else ():
            print(f"        {near[at]:.2f} {papers[at].title[:100]}")
    print(f"{statistics.mean(passing):.2f} a day on average, at most {max(passing):.2f}")


def cost(path: Path) -> None:
    papers = _papers(rows(path))
    least = 0.0
    for count in (0, 1_000, 10_000):
        topics: dict[Hashable, Query | str] = {"query": "robot"}
        for number, paper in enumerate(papers[:count]):
            words = learn_words(f"{paper.title}. {paper.abstract[:100]}")
            topics[number] = Query("", like_leaf(LikeWords(words, BAR)))
        index = TopicIndex(topics)
        index.scores(papers[:1_024])
        begin = time.process_time()
        matched = len(index.scores(papers[1_024:5_120])[0])
        milliseconds = (time.process_time() - begin) * 1_000 / 4_096
        least = least or milliseconds
        more = milliseconds - least
        print(f"{count:6,} topics: {milliseconds:.3f} ms a paper, {more:.3f} more ({matched:,})")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("directory", type=Path, nargs="?")
    options.add_argument("--tried", action="store_true")
    options.add_argument("--bar", type=Path)
    options.add_argument("--show", action="store_true")
    options.add_argument("--cost", type=Path)
    chosen = options.parse_args()
    if chosen.bar:
        bars(chosen.bar, show=chosen.show)
    if chosen.cost:
        cost(chosen.cost)
    if chosen.directory:
        precision(chosen.directory, tried=chosen.tried)


if __name__ == "__main__":
    main()
