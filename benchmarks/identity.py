"""Near titles among 100,000: what is found of planted noisy copies, and how fast.

    python benchmarks/identity.py [--papers FILE] [--titles N] [--runs N]

Titles are generated from a seed in the shape of real ones, or come from a JSONL file (.gz), and
are filled up from its words. Noisy copies of 12.7% are added: equal, upper case, punctuation, a
typo, two typos, a word dropped. Each method reads the same list; times are processor time of
this process, the least of the runs, so that a busy machine changes little. Compare the ratios.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import string
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus import read_rows
from rapidfuzz import process
from rapidfuzz.distance import Indel

from monitor.diff.decide import MAX_NEIGHBOURS
from monitor.identity.blocking import blocks_of_words, words

NEAR = 0.9
# Of titles that share a block: their letters agree so far, or one has a word more, where at
# least so many are the same. Those of which more words differ are not compared by letters.
ALIKE = 0.88
SAME_WORDS = 3
OTHER_WORDS = 6
SHARE_OF_COPIES = 0.12718
Pairs = Iterable[tuple[int, int]]


class Planted(NamedTuple):
    kind: str
    original: int
    copy: int


# ── titles ──────────────────────────────────────────────────────────────────────────


def generated(count: int, rng: random.Random) -> Iterator[str]:
    """Yield titles of three to sixteen words, drawn as languages do: the n-th word 1/n as often."""
    sounds = ["".join(s) for s in itertools.product("bdfglmnprstvk", "aeiou", ("", "n", "r", "s"))]
    made = ["".join(rng.choices(sounds, k=rng.choice((1, 2, 2, 3, 3, 4)))) for _ in range(30_000)]
    small = "of for and in with on the a learning using to based model data".split()  # noqa: SIM905
    vocabulary = list(dict.fromkeys([*small, *made]))
    yield from drawn(
        vocabulary, [1 / (n + 3) for n in range(len(vocabulary))], range(3, 17), count, rng
    )


def drawn(
    words: Sequence[str],
    often: Sequence[float],
    lengths: Sequence[int],
    count: int,
    rng: random.Random,
) -> Iterator[str]:
    upto = list(itertools.accumulate(often))
    for _ in range(count):
        title = rng.choices(words, cum_weights=upto, k=rng.choice(lengths))
        yield " ".join(word.capitalize() if len(word) > 3 else word for word in title)


def titles_of(file: Path, count: int, rng: random.Random) -> Iterator[str]:
    """Yield the titles of a file, and then others of the same words and lengths."""
    titles = [row["title"] for row in itertools.islice(read_rows(file), count)]
    yield from titles
    words = Counter(word for title in titles for word in title.split())
    lengths = [len(title.split()) for title in titles]
    yield from drawn(list(words), list(words.values()), lengths, count - len(titles), rng)


def typo(title: str, rng: random.Random) -> str:
    place = rng.randrange(len(title))
    letter = rng.choice(string.ascii_lowercase)
    swapped = title[place + 1 : place + 2] + title[place]
    return title[:place] + rng.choice(
        (
            letter + title[place + 1 :],
            title[place + 1 :],
            letter + title[place:],
            swapped + title[place + 2 :],
        )
    )


def without_a_word(title: str, rng: random.Random) -> str:
    words = title.split()
    del words[rng.randrange(len(words))]
    return " ".join(words)


NOISE: dict[str, Callable[[str, random.Random], str]] = {
    "equal": lambda title, _: title,
    "upper": lambda title, _: title.upper(),
    "punctuation": lambda title, _: title.replace("-", " ").replace(":", " --") + ".",
    "typo": typo,
    "two typos": lambda title, rng: typo(typo(title, rng), rng),
    "dropped": without_a_word,
}


def planted(titles: list[str], copies: int, rng: random.Random) -> list[Planted]:
    """Add noisy copies to `titles`; titles of one word are not copied, a rest would be nothing."""
    originals = [place for place, title in enumerate(titles) if " " in title]
    found = []
    for number, original in enumerate(rng.sample(originals, copies)):
        kind = list(NOISE)[number % len(NOISE)]
        found.append(Planted(kind, original, len(titles)))
        titles.append(NOISE[kind](titles[original], rng))
    return found


# ── methods ─────────────────────────────────────────────────────────────────────────

_OTHER = re.compile(r"[^a-z0-9]+")


def normal(title: str) -> str:
    return _OTHER.sub("", unicodedata.normalize("NFKD", title).lower())


def grouped(keys: Iterable[str]) -> Iterator[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        groups[key].append(place)
    return (group for group in groups.values() if len(group) > 1)


def by_key(titles: Sequence[str]) -> Pairs:
    return {
        pair for group in grouped(map(normal, titles)) for pair in itertools.combinations(group, 2)
    }


def by_three_keys(titles: Sequence[str]) -> Pairs:
    words = [_OTHER.sub(" ", unicodedata.normalize("NFKD", t).lower()).split() for t in titles]
    letters = ["".join(one) for one in words]
    keys = (letters, [" ".join(one[:5]) for one in words], [" ".join(one[-5:]) for one in words])
    candidates = {
        pair
        for key in keys
        for group in grouped(key)
        for pair in itertools.combinations(group[:50], 2)
    }
    return {
        (i, j)
        for i, j in candidates
        if Indel.normalized_similarity(letters[i], letters[j], score_cutoff=NEAR)
    }


def by_blocks(titles: Sequence[str]) -> Pairs:
    """Compare what shares one of the blocks that ingest looks papers up by."""
    rows = list(map(words, titles))
    positions: dict[int, list[int]] = defaultdict(list)
    pairs: set[tuple[int, int]] = set()
    for place, row in enumerate(rows):
        for block in blocks_of_words(row):
            pairs.update((earlier, place) for earlier in positions[block][-MAX_NEIGHBOURS:])
            positions[block].append(place)
    distinct = list(map(frozenset, rows))
    near = [(i, j) for i, j in pairs if len(distinct[i] ^ distinct[j]) <= OTHER_WORDS]
    letters = {place: "".join(rows[place]) for pair in near for place in pair}
    agree = process.cpdist(
        [letters[i] for i, _ in near],
        [letters[j] for _, j in near],
        scorer=Indel.normalized_similarity,
        score_cutoff=ALIKE,
    )
    return [
        (i, j)
        for (i, j), alike in zip(near, agree.tolist(), strict=True)
        if alike or one_word_more(rows[i], rows[j])
    ]


def one_word_more(a: Sequence[str], b: Sequence[str]) -> bool:
    if abs(len(a) - len(b)) != 1:
        return False
    fewer, more = (set(a), set(b)) if len(a) < len(b) else (set(b), set(a))
    return len(fewer) >= SAME_WORDS and fewer <= more


def one_set(titles: Sequence[str]) -> Pairs:
    len(set(map(normal, titles)))
    return ()


# ── the table ───────────────────────────────────────────────────────────────────────


def planted_share(plants: Sequence[Planted], pairs: set[tuple[int, int]]) -> float:
    """Return how many of the pairs were planted; of real titles, some others are right, too."""
    return len(pairs & {(plant.original, plant.copy) for plant in plants}) / max(1, len(pairs))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--papers", type=Path)
    options.add_argument("--titles", type=int, default=100_000)
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    rng = random.Random(7)
    copies = round(chosen.titles * SHARE_OF_COPIES)
    first = chosen.titles - copies
    titles = list(titles_of(chosen.papers, first, rng) if chosen.papers else generated(first, rng))
    plants = planted(titles, copies, rng)
    methods: dict[str, Callable[[Sequence[str]], Pairs]] = {
        "limit: normalise, one set": one_set,
        "normalised-key hash": by_key,
        "three keys, Indel": by_three_keys,
        "blocks (ours)": by_blocks,
    }
    columns = [*NOISE, "all"]
    print(
        f"{'':28}{'rows/s':>9}{'of key':>8}{'pairs':>9}{'planted':>8}  recall: "
        + " / ".join(columns)
    )
    base = 0.0
    for name, method in methods.items():
        seconds, pairs = timed(method, titles, chosen.runs)
        rate = len(titles) / seconds
        base = rate if name == "normalised-key hash" else base
        share = f"{base / rate:7.1f}x" if base else " " * 8
        found = set(pairs)
        print(
            f"{name:28}{rate:9,.0f}{share}{len(found):9,}{planted_share(plants, found):8.1%}  "
            + " / ".join(recalls(plants, found))
        )


def timed(
    method: Callable[[Sequence[str]], Pairs], titles: Sequence[str], runs: int
) -> tuple[float, Pairs]:
    best = float("inf")
    pairs = method(titles[:1000])
    for _ in range(runs):
        began = time.process_time()
        pairs = method(titles)
        best = min(best, time.process_time() - began)
    return best, pairs


def recalls(plants: Sequence[Planted], found: set[tuple[int, int]]) -> list[str]:
    hits = Counter(plant.kind for plant in plants if (plant.original, plant.copy) in found)
    every = Counter(plant.kind for plant in plants)
    one = [f"{hits[kind] / every[kind]:.2f}" for kind in NOISE]
    return [*one, f"{sum(hits.values()) / len(plants):.3f}"]


if __name__ == "__main__":
    main()
