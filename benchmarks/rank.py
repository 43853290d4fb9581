"""How many wanted papers a reader is shown when the order is learned from the reader's answers.

    python -m benchmarks.rank DIRECTORY [--seeds N]

DIRECTORY has `topics.json` and the labelled papers of its sets, as NAME.jsonl.gz: screened reviews
(`wanted`), and one stream of papers with areas. Two simulations:

days      20 papers come a day in a random order, the first 5 are shown, and only those are judged:
          `both` thumbs, or `half` of the wanted ones and never "less". Printed is which share of
          the wanted papers was shown, and how many of those called likely before were wanted.
examples  1 to 20 papers of an area are marked, and no other answer: the average precision of the
          order of all other papers.

`learned` weighs words also by the papers that came so far, `table` by the shipped counts alone.
Beside it are the order by the words of the topic (`words`), chance, and, after `pip install
asreview`, the classes and settings of ASReview's default, `elas_u4`: TF-IDF of words and pairs with
a linear SVM, fitted on all papers of the set, which ours is not; it starts from the order by words,
too. The learned order may be worse than it by .03.

The settings of `monitor.rank` were chosen on other reviews, so that all sets here are held out but
for two rules, what is likely and how much the shipped counts weigh: see
docs/decisions/0013-ranking.md. Exit status 1: worse than the order by words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monitor.match import TopicIndex
from monitor.model import Paper
from monitor.rank import Judged, Ranking, Verdict, learn
from monitor.rank.features import features

PER_DAY = 20
SHOWN = 5
EXAMPLES = (1, 2, 5, 10, 20)


class Labelled(NamedTuple):
    """A set of papers: which are wanted, the words of its topic, and the scores by those."""

    papers: list[Paper]
    wanted: list[bool]
    words: list[str]
    lexical: list[float]


Shown = list[tuple[int, Verdict]]
# Scores papers of a set after the answers so far, and after all papers that came.
Order = Callable[[Labelled, Shown, Sequence[int], Sequence[int]], Sequence[float]]


def labelled(papers: list[Paper], wanted: list[bool], words: list[str]) -> Labelled:
    index = TopicIndex({"topic": " OR ".join(f'"{word}"' for word in words)})
    scores = {id(match.paper): match.score for match in index.match(papers)}
    return Labelled(papers, wanted, words, [scores.get(id(paper), 0.0) for paper in papers])


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def reviews(directory: Path) -> Iterator[tuple[str, Labelled]]:
    for name, topic in json.loads((directory / "topics.json").read_text()).items():
        if "words" in topic:
            found = rows(directory / f"{name}.jsonl.gz")
            papers = [Paper(row["title"], abstract=row["abstract"]) for row in found]
            yield name, labelled(papers, [row["wanted"] for row in found], topic["words"])


def areas(directory: Path) -> Iterator[tuple[str, Labelled]]:
    topics = json.loads((directory / "topics.json").read_text())["areas"]["areas"]
    found = rows(directory / "areas.jsonl.gz")
    papers = [Paper(row["title"], abstract=row["abstract"]) for row in found]
    for area in topics:
        words = [word for word in area.split() if word not in ("and", "II", "III")]
        yield area, labelled(papers, [area in (row.get("areas") or ()) for row in found], words)


def by_chance(
    papers: Labelled, answers: Shown, today: Sequence[int], came: Sequence[int]
) -> Sequence[float]:
    return [random.Random(f"{n}").random() for n in today]


def by_words(
    papers: Labelled, answers: Shown, today: Sequence[int], came: Sequence[int]
) -> Sequence[float]:
    return [papers.lexical[n] for n in today]


def by_table(
    papers: Labelled, answers: Shown, today: Sequence[int], came: Sequence[int]
) -> Sequence[float]:
    return learned(papers, answers, today, ())


def learned(
    papers: Labelled, answers: Shown, today: Sequence[int], came: Sequence[int]
) -> Sequence[float]:
    ranking = ranking_of(papers, answers, came)
    return [ranking.score(papers.papers[n], papers.lexical[n]) for n in today]


def ranking_of(papers: Labelled, answers: Shown, came: Sequence[int]) -> Ranking:
    judged = [Judged(papers.papers[n], verdict) for n, verdict in answers]
    return learn(judged, papers.words, matched=[papers.papers[n] for n in came])


def as_asreview(papers: Labelled) -> Order | None:
    """Return ASReview's default model over the papers of a set; None where it is not installed."""
    try:
        from asreview.models.balancers import Balanced
        from asreview.models.classifiers import SVM
        from asreview.models.feature_extractors import Tfidf
        from asreview.models.models import get_ai_config
        from pandas import DataFrame
    except ImportError:
        return None
    settings = get_ai_config("elas_u4")["value"]
    texts = [{"title": one.title, "abstract": one.abstract} for one in papers.papers]
    rows = Tfidf(**settings.feature_extractor_param).fit_transform(DataFrame(texts))
    balancer = Balanced(**settings.balancer_param)

    def order(
        papers: Labelled, answers: Shown, today: Sequence[int], came: Sequence[int]
    ) -> Sequence[float]:
        answer = np.array([int(verdict == "wanted") for _, verdict in answers])
        if not answer.any() or answer.all():
            return by_words(papers, answers, today, came)
        model = SVM(**settings.classifier_param)
        weights = balancer.compute_sample_weight(answer)
        model.fit(rows[[n for n, _ in answers]], answer, sample_weight=weights)
        scores: Sequence[float] = model.decision_function(rows[list(today)])
        return scores

    return order


class Days(NamedTuple):
    hits: float
    likely: int
    likely_and_wanted: int


def days(papers: Labelled, order: Order, half: bool, seed: int, count_likely: bool) -> Days:
    """Simulate the days of a reader; return what share of the wanted papers was shown."""
    dice = random.Random(seed)
    coming = list(range(len(papers.papers)))
    dice.shuffle(coming)
    marks = [dice.random() < 0.5 for _ in coming]
    answers: Shown = []
    hits = likely = right = 0
    for first in range(0, len(coming), PER_DAY):
        came = coming[: first + PER_DAY]
        today = came[first:]
        if count_likely:
            ranking = ranking_of(papers, answers, came)
            called = [n for n in today if ranking.likely(papers.papers[n])]
            likely = likely + len(called)
            right = right + sum(papers.wanted[n] for n in called)
        scores = order(papers, answers, today, came)
        best = sorted(range(len(today)), key=lambda at: -scores[at])[:SHOWN]
        hits += sum(papers.wanted[today[at]] for at in best)
        answers += [
            (today[at], _answer(papers.wanted[today[at]], half, marks[today[at]])) for at in best
        ]
    return Days(hits / sum(papers.wanted), likely, right)


def _answer(wanted: bool, half: bool, marked: bool) -> Verdict:
    if half:
        return "wanted" if wanted and marked else "unjudged"
    return "wanted" if wanted else "unwanted"


def average_precision(papers: Labelled, order: Order, examples: int, seed: int) -> float:
    """Mark some wanted papers; return the average precision of the order of all others."""
    wanted = [n for n, is_wanted in enumerate(papers.wanted) if is_wanted]
    marked = random.Random(seed).sample(wanted, examples)
    others = [n for n in range(len(papers.papers)) if n not in set(marked)]
    scores = order(papers, [(n, "wanted") for n in marked], others, ())
    found = 0
    precisions = []
    for place, at in enumerate(sorted(range(len(others)), key=lambda at: -scores[at]), 1):
        if papers.wanted[others[at]]:
            found += 1
            precisions.append(found / place)
    return statistics.fmean(precisions)


def print_days(sets: Sequence[tuple[str, Labelled]], seeds: int) -> dict[str, float]:
    print(
        f"{'hits: both thumbs, half':32}"
        + "".join(f"{title:>14}" for title in ("chance", "words", "asreview", "table", "learned"))
    )
    columns: dict[str, list[tuple[float, float]]] = {}
    likely = right = 0
    for name, papers in sets:
        orders: dict[str, Order | None] = {
            "chance": by_chance,
            "words": by_words,
            "asreview": as_asreview(papers),
            "table": by_table,
            "learned": learned,
        }
        line = f"{name:32}"
        for title, order in orders.items():
            if order is None:
                line += f"{'-':>14}"
                continue
            pair = []
            for half in (False, True):
                counted = title == "learned" and not half
                runs = [days(papers, order, half, seed, counted) for seed in range(seeds)]
                pair.append(statistics.fmean(run.hits for run in runs))
                likely += sum(run.likely for run in runs)
                right += sum(run.likely_and_wanted for run in runs)
            columns.setdefault(title, []).append((pair[0], pair[1]))
            line += f"{pair[0]:8.3f} {pair[1]:5.3f}"
        print(line, flush=True)
    means = {t: tuple(map(statistics.fmean, zip(*p, strict=True))) for t, p in columns.items()}
    print(f"{'mean':32}" + "".join(f"{a:8.3f} {b:5.3f}" for a, b in means.values()))
    print(f"called likely: {likely}, of which wanted: {right / max(likely, 1):.3f}")
    print_comparison(means)
    return {"words": means["words"][0], "learned": means["learned"][0]}


def print_comparison(means: dict[str, tuple[float, ...]]) -> None:
    if "asreview" not in means:
        print("not compared with ASReview, which is not installed\n")
        return
    pairs = zip(means["learned"], means["asreview"], strict=True)
    apart = [ours - theirs for ours, theirs in pairs]
    print(f"against ASReview: {apart[0]:+.3f} with both thumbs, {apart[1]:+.3f} half judged\n")


def print_examples(sets: Sequence[tuple[str, Labelled]], seeds: int) -> bool:
    """Print average precisions by words and as learned; return whether no mean is worse."""
    print(f"{'average precision: words, learned':40}" + "".join(f"{n:13}" for n in EXAMPLES))
    rows: list[list[float]] = []
    for name, papers in sets:
        if sum(papers.wanted) <= max(EXAMPLES):
            continue
        row = [
            statistics.fmean(average_precision(papers, order, n, seed) for seed in range(seeds))
            for n in EXAMPLES
            for order in (by_words, learned)
        ]
        rows.append(row)
        print(_line(name, row), flush=True)
    means = list(map(statistics.fmean, zip(*rows, strict=True)))
    print(_line("mean", means) + "\n")
    return all(ours >= words - 0.005 for words, ours in zip(means[::2], means[1::2], strict=True))


def _line(name: str, row: Sequence[float]) -> str:
    pairs = zip(row[::2], row[1::2], strict=True)
    return f"{name:40}" + "".join(f"{words:7.3f} {ours:5.3f}" for words, ours in pairs)


def print_cost(papers: Labelled) -> None:
    judged = [
        Judged(paper, "wanted" if wanted else "unwanted")
        for paper, wanted in zip(papers.papers[:100], papers.wanted, strict=False)
    ]
    judged[0] = Judged(judged[0].paper, "wanted")
    learn(judged, papers.words)
    began = time.process_time()
    for _ in range(20):
        ranking = learn(judged, papers.words)
    each = (time.process_time() - began) / 20
    others = [one for one in papers.papers[100:1100] if features(one)]
    began = time.process_time()
    for paper in others:
        ranking.score(paper, 1.0)
    score = (time.process_time() - began) / len(others)
    print(f"learning from 100 judgements {each * 1e3:.2f} ms, a paper {score * 1e6:.1f} µs")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    screened = list(reviews(arguments.directory))
    streams = list(areas(arguments.directory))
    hits = print_days(screened, arguments.seeds)
    better = [print_examples(sets, arguments.seeds) for sets in (screened, streams)]
    print_cost(streams[0][1])
    return 0 if all(better) and hits["learned"] > hits["words"] else 1


if __name__ == "__main__":
    sys.exit(main())
