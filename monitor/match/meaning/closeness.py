"""How near a paper is to a text, by weighted words: plain sums, in whole numbers.

A word that a paper has `n` times, where words of the title count twice, counts n / (n + 1) of its
weight. The closeness is the sum of these over the sum of the `WHOLE_WORDS` heaviest weights, 1 at
most: no paper has all of forty words. It depends on the paper and the words only, not on how long
the paper is or what else is stored.

    browser 40, phone 35, agent 25; "Agents in the browser" / "An agent clicks."
    browser 2 times: 2/3 of 40; agent 3 times: 3/4 of 25; closeness (26.6 + 18.7) / 100 = .45

Sums of whole numbers are the same in any order, so that the index and the plain evaluation agree to
the last digit, also at the bar.
"""

from __future__ import annotations

from collections.abc import Callable

from monitor.match.language.tree import Like, Words

# A share of a word's weight is in these parts.
PARTS = 1_000
WHOLE_WORDS = 8


def share(in_title: int, in_all: int) -> int:
    """Return how much a word counts, in `PARTS`, by how often the title and the paper have it."""
    count = in_title + in_all
    return PARTS * count // (count + 1)


def closeness(like: Like, count: Callable[[Words], tuple[int, int]]) -> float:
    """Return how near a paper is, from 0 to 1; `count` gives the counts of a word in it."""
    return as_closeness(sum(weight * share(*count(word)) for word, weight in like.words), like)


def whole(like: Like) -> int:
    return PARTS * sum(weight for _, weight in like.words[:WHOLE_WORDS])


def as_closeness(parts: int, like: Like) -> float:
    return min(parts / whole(like), 1.0)


def least_words(like: Like) -> list[Words]:
    """Return words of which a paper must have one: all others together do not reach the bar."""
    needed = []
    left = PARTS * sum(weight for _, weight in like.words)
    for word, weight in like.words:
        if left < like.bar * whole(like):
            break
        needed.append(word)
        left -= PARTS * weight
    return needed
