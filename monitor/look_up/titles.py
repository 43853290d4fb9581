"""How a title is sent to a service: no mark-up, no formulas as LaTeX, no longer than is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.text import clean, title_lengths
from monitor.text.folding import folded_text
from monitor.text.latex import unlatex

# Titles of fewer words are in thousands of others: such a title is asked about alone.
DISTINCT_WORDS = 4

_FORMULA = re.compile(r"\$[^$]+\$")
# With the signs that may be within a word: it's, GPT-3.5, 10,000, l_1.
_WORD = re.compile(r"\$|[^\W_]+(?:(?:['’._]|,(?=\d))[^\W_]+)*")


def plain_title(title: str) -> str:
    r"""Return a title for a search that ranks by words: `$\alpha$-stable` is `alpha-stable`."""
    source = unlatex(title[: title_lengths.SHOWN])
    return _cut(clean(_FORMULA.sub(lambda formula: folded_text(formula.group()), source)))


def phrases(title: str) -> tuple[str, ...]:
    """Return the runs of plain words of a title, which a search finds in it word for word.

    They are in small letters: services read AND, OR and NOT in capitals as operators.
    A formula, and a word with an accent, apostrophe or point, is written in several ways, or as
    more than one word: it parts runs.
    Runs of one word say little beside longer ones, and are left out.
    """
    source = _FORMULA.sub(" $ ", unlatex(title[: title_lengths.SHOWN]))
    runs = tuple(_runs(_WORD.findall(_cut(clean(source)))))
    return tuple(run for run in runs if " " in run) or runs


def is_distinct(title: str) -> bool:
    """Return whether a search for the words of a title finds hardly another one."""
    return sum(len(phrase.split()) for phrase in phrases(title)) >= DISTINCT_WORDS


def _runs(words: list[str]) -> Iterator[str]:
    run: list[str] = []
    for word in (*words, "$"):
        if word.isascii() and word.isalnum():
            run.append(word.lower())
        elif run:
            yield " ".join(run)
            run = []


def _cut(title: str) -> str:
    """Return a title, or its whole words up to the length that services take."""
    if len(title) <= title_lengths.ASKED:
        return title
    begin = title[: title_lengths.ASKED + 1]
    return begin.rpartition(" ")[0] or begin[:-1]
