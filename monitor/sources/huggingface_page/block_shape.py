"""Title or abstract? Decided by the shape of a block, and in doubt by its neighbours.

Every block has a cost as a title and a cost as an abstract: how surprising its shape would be. Two
titles or two abstracts in a row cost too, so the cheapest reading of the whole list leaves a
missing block missing, instead of shifting all that follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

# To call a title an abstract can save two odd neighbours (4.0) where several abstracts are missing
# in a row: what has the shape of a title must cost more than that as an abstract.
COST_OF_REPETITION = 2.0  # two titles, or two abstracts, in a row
COST_OF_FIRST_ABSTRACT = 1.0
COST_OF_LAST_TITLE = 2.0
IMPOSSIBLE = 1000.0

_SENTENCE_END = re.compile(r"""[.!?。！？…]["'”’)\]]*$""")
_NEXT_SENTENCE = re.compile(r"""\w{3}[.!?]["'”’)\]]*\s+["'“(\[]?[A-Z]""")
_LINK = re.compile(r"https?://|www\.")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


class Shape(Enum):
    TITLE = auto()
    ABSTRACT = auto()


def decide_shapes(texts: Sequence[str], known: Sequence[Shape | None] = ()) -> list[Shape]:
    """Return a shape for each block: the cheapest reading of the whole list.

    `known` has the shapes that links and headings decide.
    """
    if not texts:
        return []
    costs = [(_as_title(text), _as_abstract(text)) for text in texts]
    last = costs[-1]  # a document that was cut may end anywhere
    costs[-1] = (last[0], last[1] - _as_stub(texts[-1]))
    for number, shape in enumerate(known):
        if shape:
            costs[number] = (0.0, IMPOSSIBLE) if shape is Shape.TITLE else (IMPOSSIBLE, 0.0)
    title, abstract = costs[0]  # cost so far, if the last is a title or an abstract
    abstract += COST_OF_FIRST_ABSTRACT
    steps: list[tuple[bool, bool]] = []  # whether a title precedes a title, an abstract
    for as_title, as_abstract in costs[1:]:
        steps.append(
            (title + COST_OF_REPETITION <= abstract, title <= abstract + COST_OF_REPETITION)
        )
        title, abstract = (
            as_title + min(title + COST_OF_REPETITION, abstract),
            as_abstract + min(title, abstract + COST_OF_REPETITION),
        )
    return _walk_back(title + COST_OF_LAST_TITLE <= abstract, steps)


def _walk_back(is_title: bool, steps: Sequence[tuple[bool, bool]]) -> list[Shape]:
    path = [is_title]
    for before_title, before_abstract in reversed(steps):
        path.append(before_title if path[-1] else before_abstract)
    return [Shape.TITLE if title else Shape.ABSTRACT for title in reversed(path)]


def _as_title(text: str) -> float:
    """Titles are short, of one sentence, and without a full stop."""
    cost = 0.0
    cost += 1.0 if len(text) > 160 else 0.0
    cost += 1.0 if len(text) > 250 else 0.0
    cost += 4.0 if len(text) > 350 else 0.0
    cost += 1.0 if text.endswith((".", "。")) else 0.0
    cost += 1.0 if text.endswith(".") and _NEXT_SENTENCE.search(text) else 0.0
    return cost


def _as_abstract(text: str) -> float:
    """Abstracts are long, end as sentences do, and do not capitalise every word."""
    cost = 0.0
    cost += 1.0 if len(text) < 250 else 0.0
    cost += 1.0 if len(text) < 120 else 0.0
    cost += 1.0 if is_unfinished(text) else 0.0
    cost += 1.5 if _is_title_case(text) else 0.0
    return cost + _as_stub(text)


def _as_stub(text: str) -> float:
    """Short and without a full stop: hardly ever an abstract."""
    return 2.5 if len(text) < 250 and not text.endswith((".", "。", ".)")) else 0.0


def is_unfinished(text: str) -> bool:
    """Whether a text ends neither as a sentence nor with a link."""
    return not (_SENTENCE_END.search(text) or _LINK.search(text.rsplit(maxsplit=1)[-1]))


def continues(before: str, text: str) -> bool:
    """Whether a sentence that a blank line broke goes on here, as no title would."""
    return min(len(before), len(text)) > 160 and text[0].islower() and is_unfinished(before)


def _is_title_case(text: str) -> bool:
    """Most longer words begin with a capital (a text of capitals only counts too)."""
    words = _LONG_WORD.findall(text[:400])
    return len(words) > 1 and sum(word[0].isupper() for word in words) > 0.6 * len(words)
