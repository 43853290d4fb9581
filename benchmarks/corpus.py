"""Papers and topics for benchmarks: made from a seed in the shape of real ones, or read."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

from monitor.model import Paper
from monitor.text import form_of, plain

WORDS = 30_000
PHRASES = 150_000
# A phrase is made of words from here on: those before are in nearly every paper.
RARE = 1_500
# The shapes of topics, as clauses that each need one of so many phrases, and how many are
# excluded; and of a hundred topics how many have that shape.
SHAPES = (
    ((1,), 0, 30),
    ((1, 1), 0, 22),
    ((2,), 0, 12),
    ((3,), 0, 5),
    ((2, 1), 0, 13),
    ((1,), 1, 8),
    ((1, 1), 1, 5),
    ((2, 2), 0, 5),
)


@dataclass(frozen=True, slots=True)
class PlainTopic:
    """A topic as data: of each clause one phrase, and none of `none`."""

    clauses: tuple[tuple[str, ...], ...]
    none: tuple[str, ...]

    @property
    def text(self) -> str:
        """The topic in the topic language."""
        written = [" OR ".join(f'"{phrase}"' for phrase in clause) for clause in self.clauses]
        joined = " AND ".join(
            f"({clause})" if len(phrases) > 1 else clause
            for clause, phrases in zip(written, self.clauses, strict=True)
        )
        return joined + "".join(f' NOT "{phrase}"' for phrase in self.none)


@dataclass(frozen=True, slots=True)
class PlainPaper:
    """A paper, and its words in the singular, parted by spaces, as other engines are given it."""

    paper: Paper
    words: str


def singulars(text: str) -> str:
    return " ".join(map(form_of, re.findall("[a-z0-9]+", plain(text))))


# ── made from a seed ────────────────────────────────────────────────────────────────


class Made:
    """Papers of 170 words by Zipf's law, and topics of phrases that stand in such papers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        dice = random.Random(seed)
        sounds = [c + v for c in "bcdfgklmnprtvw" for v in "aeiou"]
        words: dict[str, None] = {}
        while len(words) < WORDS:
            word = "".join(dice.choices(sounds, k=dice.choice((2, 2, 3)))) + dice.choice("nrtl")
            if form_of(word) == form_of(f"{word}s") == word:
                words[word] = None
        self._words = tuple(words)
        self._weights = tuple(accumulate(1 / (rank + 2.7) for rank in range(WORDS)))
        # Phrases of two and three words come again, as in a science.
        lengths = dice.choices((2, 2, 3), k=PHRASES)
        drawn = iter(self._some(dice, sum(lengths)))
        self._phrases = [" ".join(islice(drawn, length)) for length in lengths]
        self._phrase_weights = tuple(accumulate((rank + 50) ** -0.5 for rank in range(PHRASES)))

    def _some(self, dice: random.Random, count: int) -> list[str]:
        return dice.choices(self._words, cum_weights=self._weights, k=count)

    def papers(self, count: int) -> Iterator[PlainPaper]:
        dice = random.Random(f"{self._seed} papers")
        for _ in range(count):
            parts = dice.choices(self._phrases, cum_weights=self._phrase_weights, k=30)
            parts += self._some(dice, 100)
            dice.shuffle(parts)
            words = " ".join(parts).split()
            yield PlainPaper(Paper("", _written(dice, words)), " ".join(words))

    def topics(self, count: int) -> Iterator[PlainTopic]:
        dice = random.Random(f"{self._seed} topics")
        shapes = [(clauses, none) for clauses, none, share in SHAPES for _ in range(share)]
        for _ in range(count):
            clauses, none = dice.choice(shapes)
            yield PlainTopic(
                tuple(tuple(self._phrase(dice) for _ in range(size)) for size in clauses),
                tuple(self._phrase(dice) for _ in range(none)),
            )

    def _phrase(self, dice: random.Random) -> str:
        if dice.random() < 0.4:
            rank = int(RARE * (WORDS / RARE) ** (dice.random() ** 1.5))
            return self._words[min(rank, WORDS - 1)]
        return dice.choices(self._phrases, cum_weights=self._phrase_weights)[0]


def _written(dice: random.Random, words: Sequence[str]) -> str:
    """Write words as abstracts are written; read rightly, they are the same words."""
    marked = dice.random() < 0.18
    written = []
    begins = True
    for word in words:
        shown = f"{word}s" if dice.random() < 0.1 else word
        shown = shown.capitalize() if begins else shown
        drawn = dice.random()
        begins = drawn < 0.05
        if marked and drawn > 0.98:
            shown = dice.choice((r"\emph{%s}", "“%s”", "<i>%s</i>")) % shown
        elif 0.90 < drawn < 0.91:
            shown = f"({shown.lower()})"
        written.append(f"{shown}." if begins else f"{shown}," if drawn < 0.1 else shown)
    return " ".join(written)


# ── read ────────────────────────────────────────────────────────────────────────────


class Read:
    """Papers and topics from files of JSON lines, one record a line, maybe gzipped.

    A paper has a `title` and an `abstract`; a topic `r`, a list of clauses that are each a list
    of phrases, and `n`, a list of phrases. Where more are wanted than there are, they come again.
    """

    def __init__(self, papers: Path, topics: Path) -> None:
        self.paper_file = papers
        self._topics = topics

    def papers(self, count: int, *, simply: bool = True) -> Iterator[PlainPaper]:
        """Yield papers; unless they are wanted as they are written, in their plain words."""
        for row in islice(cycle(read_rows(self.paper_file)), count):
            words = singulars(f"{row['title']} {row['abstract']}")
            paper = Paper(row["title"], row["abstract"])
            yield PlainPaper(Paper("", _bare(paper)) if simply else paper, words)

    def topics(self, count: int) -> Iterator[PlainTopic]:
        for row in islice(cycle(read_rows(self._topics)), count):
            yield PlainTopic(tuple(map(tuple, row["r"])), tuple(row["n"]))


def _bare(paper: Paper) -> str:
    return " ".join(re.findall("[a-z0-9]+", plain(f"{paper.title} {paper.abstract}")))


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)
