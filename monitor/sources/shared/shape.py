"""Title or abstract? Decided by the shape of a block, and in doubt by its neighbours.

Every block has a price as a title and a price as an abstract: how surprising its shape would
be. Two titles or two abstracts in a row cost too, so the cheapest reading of the whole list
leaves a missing block missing, instead of shifting all that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum, auto

# To call a title an abstract can save two odd neighbours (4.0) where abstracts are missing one
# after the other: what has the shape of a title costs more than that as an abstract.
SAME_AGAIN = 2.0  # two titles, or two abstracts, in a row
BEGINS_WITH_ABSTRACT = 1.0
ENDS_WITH_TITLE = 2.0

_SENTENCE_END = re.compile(r"""[.!?。！？…]["'”’)\]]*$""")
_NEXT_SENTENCE = re.compile(r"""\w{3}[.!?]["'”’)\]]*\s+["'“(\[]?[A-Z]""")
_LINK = re.compile(r"https?://|www\.")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


class Shape(Enum):
    TITLE = auto()
    ABSTRACT = auto()


def shapes(texts: Sequence[str]) -> list[Shape]:
    """Return one shape for each block: the cheapest reading of the whole list."""
    if not texts:
        return []
    told = [_prices(text) for text in texts]
    told[-1][Shape.ABSTRACT] -= _as_stub(texts[-1])  # a document that was cut may end anywhere
    costs = told[0] | {Shape.ABSTRACT: told[0][Shape.ABSTRACT] + BEGINS_WITH_ABSTRACT}
    steps = []
    for prices in told[1:]:
        step = {shape: _cheapest_before(shape, costs) for shape in Shape}
        steps.append(step)
        costs = {s: prices[s] + costs[step[s]] + _neighbours(step[s], s) for s in Shape}
    costs[Shape.TITLE] += ENDS_WITH_TITLE
    return _walk_back(min(Shape, key=costs.__getitem__), steps)


def _cheapest_before(shape: Shape, costs: Mapping[Shape, float]) -> Shape:
    return min(Shape, key=lambda before: costs[before] + _neighbours(before, shape))


def _neighbours(before: Shape, shape: Shape) -> float:
    return SAME_AGAIN if before is shape else 0.0


def _walk_back(last: Shape, steps: Sequence[Mapping[Shape, Shape]]) -> list[Shape]:
    path = [last]
    for step in reversed(steps):
        path.append(step[path[-1]])
    return path[::-1]


def _prices(text: str) -> dict[Shape, float]:
    return {Shape.TITLE: _as_title(text), Shape.ABSTRACT: _as_abstract(text)}


def _as_title(text: str) -> float:
    """Titles are short, of one sentence, and without a full stop."""
    price = 0.0
    price += 1.0 if len(text) > 160 else 0.0
    price += 1.0 if len(text) > 250 else 0.0
    price += 4.0 if len(text) > 350 else 0.0
    price += 1.0 if text.endswith((".", "。")) else 0.0
    price += 1.0 if text.endswith(".") and _NEXT_SENTENCE.search(text) else 0.0
    return price


def _as_abstract(text: str) -> float:
    """Abstracts are long, end as sentences do, and do not capitalise every word."""
    price = 0.0
    price += 1.0 if len(text) < 250 else 0.0
    price += 1.0 if len(text) < 120 else 0.0
    price += 1.0 if unfinished(text) else 0.0
    price += 1.5 if _title_case(text) else 0.0
    return price + _as_stub(text)


def _as_stub(text: str) -> float:
    """Short and without a full stop: hardly ever an abstract."""
    return 2.5 if len(text) < 250 and not text.endswith((".", "。", ".)")) else 0.0


def unfinished(text: str) -> bool:
    """Say whether a text stops where no sentence and no link ends."""
    return not (_SENTENCE_END.search(text) or _LINK.search(text.rsplit(maxsplit=1)[-1]))


def continues(before: str, text: str) -> bool:
    """Say whether a sentence that a blank line broke goes on here, as no title would."""
    return min(len(before), len(text)) > 160 and text[0].islower() and unfinished(before)


def _title_case(text: str) -> bool:
    """Most longer words begin with a capital (a text of capitals only counts too)."""
    words = _LONG_WORD.findall(text[:400])
    return len(words) > 1 and sum(word[0].isupper() for word in words) > 0.6 * len(words)
