"""How well topics that are like a text find what is wanted, what they cost, and the wrong papers.

    python benchmarks/like.py DIRECTORY            average precision, chosen on one half
    python benchmarks/like.py DIRECTORY --tried    what was tried and not taken
    python benchmarks/like.py --bar PAPERS [--show]
    python benchmarks/like.py --cost PAPERS

DIRECTORY has labelled sets as for `benchmarks.rank`: six screened reviews by their titles, eleven
areas of one stream by their headings, and, beside them, the four lists of `seeds/` by a sentence
for each. Every second set of each kind was chosen on, and the others are reported. Examples are
drawn from the wanted papers, three times; these are then left out. `--tried` simulates ways to
score papers by the text alone, without abbreviations: `words` is what was taken. It has stems where
the package snowballstemmer is installed.

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
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain, pairwise
from math import log, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rank import rows

from monitor.cli.read import read_files
from monitor.match import Query, TopicIndex, choose_bar, learn_words
from monitor.match.like import BAR, EXAMPLE_WORDS, EXAMPLES_WEIGHT, MAX_WORDS, like_leaf
from monitor.match.meaning.explain import MOST
from monitor.match.meaning.idf import COMMON
from monitor.match.meaning.word_counts import counts_as_word, information
from monitor.model import LikeText, LikeWord, LikeWords, Paper
from monitor.resources import resource
from monitor.text import words

EXAMPLES = (0, 1, 3, 10)
DRAWS = 3
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


def average_precision(of: Labelled, examples: int) -> float:
    """Return the average precision of a set, over the draws of examples."""
    values = []
    for draw in range(DRAWS if examples else 1):
        wanted = [at for at, is_wanted in enumerate(of.wanted) if is_wanted]
        drawn = random.Random(f"{of.name} {draw}").sample(wanted, examples)
        near = nearness(learn_words(of.text, [of.papers[at] for at in drawn]), of.papers)
        left = np.ones(len(of.papers), bool)
        left[drawn] = False
        values.append(precision_of(near[left], np.array(of.wanted)[left]))
    return statistics.mean(values)


def precision_of(scores: np.ndarray, wanted: np.ndarray) -> float:
    """Return the average precision of the order by some scores."""
    hits = wanted[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def precision(directory: Path) -> None:
    sets = list(labelled(directory))
    print(f"examples have {EXAMPLE_WORDS} words, {EXAMPLES_WEIGHT} times the weight of the text\n")
    print(HEAD)
    for examples in EXAMPLES:
        label = f"words, {examples} examples" if examples else "words"
        row(label, [(each, average_precision(each, examples)) for each in sets])


HEAD = (
    "| | reviews | areas | lists | all | reported: reviews | areas | lists | all |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def row(label: str, values: Sequence[tuple[Labelled, float]]) -> None:
    """Print the means of the kinds of sets, and of all."""
    cells = []
    for chosen_on in (True, False):
        of_kinds = [
            [value for each, value in values if (each.chosen_on, kind(each)) == (chosen_on, name)]
            for name in ("review", "area", "list")
        ]
        cells += [*map(statistics.mean, of_kinds), statistics.mean(chain.from_iterable(of_kinds))]
    print(f"| {label} | {' | '.join(f'{value:.3f}' for value in cells)} |", flush=True)


class Counted(NamedTuple):
    """The forms of a paper in order, title and abstract apart, and how often it has each.

    Words of the title count twice, as in `monitor.match.meaning.closeness`.
    """

    texts: tuple[list[str], ...]
    counts: Counter[str]
    length: int


def counted(paper: Paper) -> Counted:
    texts = [
        [word.form for word in words(text) if word.word and counts_as_word(word.form)]
        for text in (paper.title, paper.abstract)
    ]
    counts = Counter(chain(texts[0], *texts))
    return Counted(tuple(texts), counts, counts.total())


Weights = Mapping[str, float]


def saturated(weights: Weights, papers: Sequence[Counted]) -> np.ndarray:
    return np.array(
        [sum(w * p.counts[f] / (p.counts[f] + 1) for f, w in weights.items()) for p in papers]
    )


def cosine(weights: Weights, papers: Sequence[Counted]) -> np.ndarray:
    def score(paper: Counted) -> float:
        of_paper = {form: (1 + log(n)) * information(form) for form, n in paper.counts.items()}
        length = sqrt(sum(weight * weight for weight in of_paper.values())) or 1.0
        return sum(weight * of_paper.get(form, 0.0) for form, weight in weights.items()) / length

    return np.array([score(paper) for paper in papers])


def bm25(
    weights: Weights, papers: Sequence[Counted], k: float = 1.2, b: float = 0.75
) -> np.ndarray:
    mean = statistics.mean(paper.length for paper in papers)

    def score(paper: Counted) -> float:
        of_length = k * (1 - b + b * paper.length / mean)
        return sum(w * paper.counts[f] / (paper.counts[f] + of_length) for f, w in weights.items())

    return np.array([score(paper) for paper in papers])


def with_pairs(weights: Weights, text: str, papers: Sequence[Counted]) -> np.ndarray:
    """Let two words that are neighbours in the text count again where a paper has them so."""
    forms = [word.form for word in words(text) if word.form in weights]
    pairs = {pair: (weights[pair[0]] + weights[pair[1]]) / 2 for pair in pairwise(forms)}

    def score(paper: Counted) -> float:
        there = Counter(chain.from_iterable(map(pairwise, (paper.texts[0], *paper.texts))))
        return sum(w * there[pair] / (there[pair] + 1) for pair, w in pairs.items())

    of_pairs = np.array([score(paper) for paper in papers])
    of_both: np.ndarray = saturated(weights, papers) + of_pairs
    return of_both


def with_feedback(weights: Weights, of: Labelled, papers: Sequence[Counted]) -> np.ndarray:
    """Take the words of the ten nearest papers, too, with half the weight of the text."""
    nearest = np.argsort(-saturated(weights, papers), kind="stable")[:10]
    added = learn_words("", [of.papers[at] for at in nearest.tolist()])
    whole = sum(weights.values())
    whole_added = sum(word.weight for word in added)
    both = Counter(dict(weights))
    for word in added:
        both[word.form] += whole * word.weight / whole_added / 2  # type: ignore[assignment]
    return saturated(dict(both.most_common(MAX_WORDS)), papers)


def with_stems(
    weights: Weights, papers: Sequence[Counted], stem: Callable[[str], str], others: float
) -> np.ndarray:
    """Let other words of a stem count, too, with `others` of the weight."""

    def score(paper: Counted) -> float:
        stems: dict[str, int] = {}
        for form, count in paper.counts.items():
            stems[stem(form)] = stems.get(stem(form), 0) + count
        total = 0.0
        for form, weight in weights.items():
            same = paper.counts[form]
            of_stem = same + others * (stems.get(stem(form), 0) - same)
            total += weight * of_stem / (of_stem + 1)
        return total

    return np.array([score(paper) for paper in papers])


def tried(directory: Path) -> None:
    values: dict[str, list[tuple[Labelled, float]]] = {}
    before: Sequence[Paper] = ()
    papers: list[Counted] = []
    stem = _stemmer()
    for of in labelled(directory):
        if of.papers is not before:  # the areas share theirs
            before = of.papers
            papers = [counted(paper) for paper in of.papers]
        weights: Weights = {word.form: word.weight for word in learn_words(of.text)}
        halved = {form: w / 2 if form in COMMON else w for form, w in weights.items()}
        scores = {
            "words": saturated(weights, papers),
            "the words of the ten nearest papers": with_feedback(weights, of, papers),
            "pairs of words": with_pairs(weights, of.text, papers),
            "cosine": cosine(weights, papers),
            "BM25": bm25(weights, papers),
            "half the weight for common words": saturated(halved, papers),
        }
        if stem:
            scores["stems"] = with_stems(weights, papers, stem, 1.0)
            scores["stems, with half the weight"] = with_stems(weights, papers, stem, 0.5)
        for name, near in scores.items():
            values.setdefault(name, []).append((of, precision_of(near, np.array(of.wanted))))
    print(HEAD)
    for name, of_sets in values.items():
        row(name, of_sets)


def _stemmer() -> Callable[[str], str] | None:
    try:
        snowball = import_module("snowballstemmer")
    except ImportError:
        return None
    stem = snowball.stemmer("english").stemWord
    return cache(stem)


def kind(of: Labelled) -> str:
    first = of.name.partition(" ")[0]
    return first if first in ("area", "list") else "review"


def bars(path: Path, *, show: bool) -> None:
    papers = _papers(rows(path))
    days = len(papers) / A_DAY
    passing = []
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
        (tried if chosen.tried else precision)(chosen.directory)


if __name__ == "__main__":
    main()
