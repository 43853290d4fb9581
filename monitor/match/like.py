"""Words of a text and of examples, with weights, and the bar: the least closeness of a match.

1. A word of the text weighs (1 + log n) times its inverse document frequency, n being how often
   the text has it. Common words and those of sentences ("that", "together") are left out.
2. The words of an example are weighted in the same way; its title is counted twice. The weights of
   each example are scaled to a vector of length 1, so that long abstracts count no more than short
   ones, and added. The `EXAMPLE_WORDS` heaviest are taken.
3. If there are a text and examples, the examples count `EXAMPLES_WEIGHT` times the text.
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

from monitor.errors import QueryError, Remedy
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
# The position of the first generated leaf, each a clause: larger than any position in a query.
_POSITION = 100_000
MAX_TEXT = 20_000
# The most examples that are read from a file: its last ones.
MOST_EXAMPLES = 300

# The default bar, and the lowest that is chosen.
BAR = 0.38
LOWEST_BAR = 0.25
# Papers count as just below the bar from this share of it.
JUST_BELOW = 0.7
# A chosen bar lets through at most ten papers a day, unless `at_most` is set, and at least one in
# three days, unless it would be below `LOWEST_BAR`.
MAX_MATCHES_A_DAY = 10
MIN_MATCHES_A_DAY = 1 / 3
# With fewer stored papers, the bar is the default.
ENOUGH = 500
# An archive may bring years of papers in one day. No source brings more than this in a real day.
MAX_PAPERS_A_DAY = 500


def is_bar(value: float) -> bool:
    """Return whether a number can be a bar."""
    return 0 < value <= 1


def days_covered(papers: int, days: float) -> float:
    """Return the number of days in which papers appeared, at least 1.

    `days` is the time between the first and the last that was seen. No more than `MAX_PAPERS_A_DAY`
    papers count for one day.
    """
    return max(days, papers / MAX_PAPERS_A_DAY, 1.0)


def learn_words(text: str, examples: Iterable[Paper] = ()) -> tuple[LikeWord, ...]:
    """Return the words of a text and of examples, the heaviest first; () if none says anything."""
    written: dict[str, str] = {}
    of_text = _of_texts((text,), written)
    of_sentences = {form for form in of_text if is_of_sentences(written[form], form)}
    of_text = {form: weight for form, weight in of_text.items() if form not in of_sentences}
    sums: Counter[str] = Counter()
    for paper in examples:
        weights = _of_texts((paper.title, paper.title, paper.abstract), written)
        # Numbers, such as results, are dropped: other papers do not share them.
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
    """Return the bar of a topic, from 0 to 1, rounded down to thousandths.

    `closest` are the closeness values of the stored papers that reach `LOWEST_BAR`, in falling
    order; the store has `papers` of `days`. The bar is `at_least` if that is set, else `BAR`, and

    - lower, down to `LOWEST_BAR`, until one paper in three days reaches it,
    - higher, until no more than `at_most` a day do.
    """
    if like.at_least is not None:
        return like.at_least
    if papers < ENOUGH:
        return BAR
    days = days_covered(papers, days)
    at = floor(MIN_MATCHES_A_DAY * days)
    few = closest[at] if at < len(closest) else 0.0
    bar = min(BAR, max(LOWEST_BAR, few))
    most = floor((like.at_most or MAX_MATCHES_A_DAY) * days)
    if len(closest) > most:
        bar = max(bar, closest[most] + 0.001)
    return min(floor(bar * 1_000) / 1_000, 1.0)


def with_lower_bar(topic: Topic, words: LikeWords) -> Topic:
    """Return a `like:` topic with a bar so low that papers just below its own bar match."""
    return structs.replace(topic, words=structs.replace(words, bar=words.bar * JUST_BELOW))


def like_leaf(words: LikeWords) -> Like:
    """Return the leaf of a query that matches papers close to these words."""
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
                Remedy.CORRECT_EXAMPLES,
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


# With fewer papers that are wanted, or unwanted, no words are proposed.
_MIN_PAPERS = 3
_MAX_PROPOSED = 6


def propose_words(
    current: Sequence[LikeWord], wanted: Sequence[Paper], unwanted: Sequence[Paper]
) -> tuple[WordChange, ...]:
    """Return words to add and to drop, by the papers that readers want and those they do not.

    A word to add is one of the heaviest of the wanted papers, in at least 30% of them and in at
    least twice the share of the unwanted ones. A word to drop is in more than 30% of the unwanted
    papers, and in more than twice the share of the wanted ones.
    """
    here = {word.form for word in current}
    in_wanted = _shares(wanted)
    in_unwanted = _shares(unwanted)
    changes = []
    if len(wanted) >= _MIN_PAPERS:
        new = [word for word in learn_words("", wanted) if word.form not in here]
        telling = [w for w in new if in_wanted[w.form] >= max(0.3, 2 * in_unwanted[w.form])]
        changes += [WordChange(word.written, True) for word in telling[:_MAX_PROPOSED]]
    if len(unwanted) >= _MIN_PAPERS:
        worse = [w for w in current if in_unwanted[w.form] > max(0.3, 2 * in_wanted[w.form])]
        changes += [WordChange(word.written, False) for word in worse[:_MAX_PROPOSED]]
    return tuple(changes)


def _shares(papers: Sequence[Paper]) -> Counter[str]:
    """Return the share of papers that have each word."""
    shares: Counter[str] = Counter()
    for paper in papers:
        forms = {word.form for text in (paper.title, paper.abstract) for word in words(text)}
        for form in forms:
            shares[form] += 1 / len(papers)  # type: ignore[assignment]
    return shares
