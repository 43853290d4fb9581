"""Words of a text and of examples, with weights, and the bar that a paper has to reach.

1. A word of the text weighs (1 + log n) times its inverse document frequency, n being how often
   the text has it. Common words and those of sentences ("that", "together") are left out.
2. The words of an example weigh so, too, those of its title twice; the weights of each example are
   scaled to a vector of length 1, so that long abstracts count no more than short ones, and added.
   The `EXAMPLE_WORDS` heaviest are taken.
3. Where there is both, the examples count `EXAMPLES_WEIGHT` times the text.
4. The `MAX_WORDS` heaviest are taken, with weights in thousandths of their sum.

The numbers were chosen by `benchmarks/like.py`; docs/topics.md has the figures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import floor, log, sqrt
from typing import NamedTuple

from msgspec import structs

from monitor.errors import QueryError
from monitor.match.language.sentences import is_of_sentences
from monitor.match.language.tree import TEXT_FIELDS, Edge, Like, Words
from monitor.match.meaning.word_counts import counts_as_word, information
from monitor.model import LikeText, LikeWord, LikeWords, Paper, Topic
from monitor.text import words

EXAMPLE_WORDS = 30
EXAMPLES_WEIGHT = 4
MAX_WORDS = 40
WHOLE = 1_000
_LETTER = re.compile(r"[^\W\d_]")
# A leaf of its own clause for each word: behind all positions of a query.
_POSITION = 100_000
MAX_TEXT = 20_000
# Of a file of thousands the last ones are enough.
MOST_EXAMPLES = 300

# The bar where the stored papers say nothing else, and the lowest that it is put at.
BAR = 0.38
LOWEST_BAR = 0.25
# A paper just below the bar has this share of it.
JUST_BELOW = 0.7
# Papers a day that a bar lets through at most, if it is not set, and at least (one in three days).
AT_MOST = 10
AT_LEAST = 1 / 3
# Fewer papers say little about how many a day reach a bar.
ENOUGH = 500
# A store that is filled from an archive has years of papers in a day: no source has more in one.
MOST_A_DAY = 500


def is_bar(value: float) -> bool:
    """Return whether a number can be a bar."""
    return 0 < value <= 1


def days_covered(papers: int, days: float) -> float:
    """Return in how many days papers came that were first seen in `days`, one at least."""
    return max(days, papers / MOST_A_DAY, 1.0)


def learn_words(text: str, examples: Iterable[Paper] = ()) -> tuple[LikeWord, ...]:
    """Return the words of a text and of examples, the heaviest first; () if none says anything."""
    written: dict[str, str] = {}
    of_text = _of_texts((text,), written)
    of_sentences = {form for form in of_text if is_of_sentences(written[form], form)}
    of_text = {form: weight for form, weight in of_text.items() if form not in of_sentences}
    sums: Counter[str] = Counter()
    for paper in examples:
        weights = _of_texts((paper.title, paper.title, paper.abstract), written)
        # Numbers of an example, such as its results, are not what others have.
        weights = {form: weight for form, weight in weights.items() if _LETTER.search(form)}
        length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        for form, weight in weights.items():
            sums[form] += weight / length  # type: ignore[assignment]
    total = _scaled(of_text, 1.0)
    for form, weight in _scaled(_heaviest(sums, EXAMPLE_WORDS), EXAMPLES_WEIGHT).items():
        total[form] = total.get(form, 0.0) + weight
    taken = _heaviest(total, MAX_WORDS)
    whole = sum(taken.values())
    return tuple(
        LikeWord(form, written[form], max(round(WHOLE * weight / whole), 1))
        for form, weight in taken.items()
    )


def _of_texts(texts: Sequence[str], written: dict[str, str]) -> dict[str, float]:
    """Return the weights of the words of some texts, and note how each was first written."""
    counts: Counter[str] = Counter()
    for text in texts:
        for word in words(text):
            if word.word and word.end - word.start == 1 and counts_as_word(word.form):
                counts[word.form] += 1
                written.setdefault(word.form, text[slice(*word.span)])
    weights = {form: (1 + log(count)) * information(form) for form, count in counts.items()}
    return {form: weight for form, weight in weights.items() if weight > 0}


def _heaviest(weights: Mapping[str, float], most: int) -> dict[str, float]:
    # Of equal weights, the alphabet decides, so that each process learns the same.
    ordered = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ordered[:most])


def _scaled(weights: Mapping[str, float], whole: float) -> dict[str, float]:
    total = sum(weights.values())
    return {form: whole * weight / total for form, weight in weights.items()}


def choose_bar(closest: Sequence[float], papers: int, days: float, like: LikeText) -> float:
    """Return the bar of a topic, in thousandths.

    `closest` has how near those stored papers are that reach `LOWEST_BAR`, the nearest first, of
    `papers` that came in `days`. It is `at_least` if that is set, else `BAR`, and

    - lower, down to `LOWEST_BAR`, until one paper in three days reaches it,
    - higher, until no more than `at_most` a day do.
    """
    if like.at_least is not None:
        return like.at_least
    if papers < ENOUGH:
        return BAR
    days = days_covered(papers, days)
    at = floor(AT_LEAST * days)
    few = closest[at] if at < len(closest) else 0.0
    bar = min(BAR, max(LOWEST_BAR, few))
    most = floor((like.at_most or AT_MOST) * days)
    if len(closest) > most:
        bar = max(bar, closest[most] + 0.001)
    return min(floor(bar * 1_000) / 1_000, 1.0)


def with_lower_bar(topic: Topic, words: LikeWords) -> Topic:
    """Return a topic that is like a text so that papers just below its bar match, too."""
    return structs.replace(topic, words=structs.replace(words, bar=words.bar * JUST_BELOW))


def like_leaf(words: LikeWords) -> Like:
    """Return the leaf of a topic that finds what is near by these words."""
    leaves = (
        (Words(TEXT_FIELDS, (Edge(word.form, 0, 1),), 1, "", _POSITION + number), word.weight)
        for number, word in enumerate(words.words)
    )
    return Like(tuple(leaves), words.bar, _POSITION - 1)


def learned_from_text(like: LikeText) -> LikeWords:
    """Return the words of a text alone, with the bar that holds where no paper is stored.

    Raises QueryError if it has no word that says anything.
    """
    learned = learn_words(like.text)
    if not learned:
        if like.text:
            raise QueryError(
                "like: has only words that nearly every paper has", 0, "add words of your subject"
            )
        if like.file and not like.papers:
            raise QueryError(
                f"no paper of {like.file} could be read for like:",
                0,
                "`paper-monitor check` says why, and `topics relearn` reads it again",
            )
        raise QueryError(
            f"like: has none of its examples yet: {_name_examples(like)}",
            0,
            "add a text, as in like: {text: ...}",
        )
    return LikeWords(learned, BAR if like.at_least is None else like.at_least)


# Examples that a message names.
_NAMED = 3


def _name_examples(like: LikeText) -> str:
    named = [*like.papers, *filter(None, [like.file])]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


class WordChange(NamedTuple):
    """A word to add to a topic, or to drop from it, by what readers answered."""

    word: str
    add: bool


# Fewer papers that are wanted, or are not, say little about a word.
_ANSWERS = 3
_PROPOSED = 6


def propose_words(
    current: Sequence[LikeWord], wanted: Sequence[Paper], unwanted: Sequence[Paper]
) -> tuple[WordChange, ...]:
    """Return words to add and to drop, by the papers that readers want and those they do not.

    A word to add is one of the heaviest of the wanted papers, and in fewer of the unwanted ones; a
    word to drop is in a larger share of the unwanted papers than of the wanted ones.
    """
    here = {word.form for word in current}
    in_wanted = _shares(wanted)
    in_unwanted = _shares(unwanted)
    changes = []
    if len(wanted) >= _ANSWERS:
        new = [word for word in learn_words("", wanted) if word.form not in here]
        telling = [w for w in new if in_wanted[w.form] >= max(0.3, 2 * in_unwanted[w.form])]
        changes += [WordChange(word.written, True) for word in telling[:_PROPOSED]]
    if len(unwanted) >= _ANSWERS:
        worse = [w for w in current if in_unwanted[w.form] > max(0.3, 2 * in_wanted[w.form])]
        changes += [WordChange(word.written, False) for word in worse[:_PROPOSED]]
    return tuple(changes)


def _shares(papers: Sequence[Paper]) -> Counter[str]:
    """Return in which share of some papers each word is."""
    shares: Counter[str] = Counter()
    for paper in papers:
        forms = {word.form for text in (paper.title, paper.abstract) for word in words(text)}
        for form in forms:
            shares[form] += 1 / len(papers)  # type: ignore[assignment]
    return shares
