"""Title or abstract? Decided by the shape of a block, and in doubt by its neighbours.

Every block has a price as a title and a price as an abstract: how surprising its shape would
be. Two titles or two abstracts in a row cost too, so the cheapest reading of the whole list
leaves a missing block missing, instead of shifting all that follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    prices = [(_as_title(text), _as_abstract(text)) for text in texts]
    last = prices[-1]  # a document that was cut may end anywhere
    prices[-1] = (last[0], last[1] - _as_stub(texts[-1]))
    title, abstract = prices[0]  # what all costs so far, should the last be a title or an abstract
    abstract += BEGINS_WITH_ABSTRACT
    steps: list[tuple[bool, bool]] = []  # whether a title goes before a title, before an abstract
    for as_title, as_abstract in prices[1:]:
        steps.append((title + SAME_AGAIN <= abstract, title <= abstract + SAME_AGAIN))
        title, abstract = (
            as_title + min(title + SAME_AGAIN, abstract),
            as_abstract + min(title, abstract + SAME_AGAIN),
        )
    return _walk_back(title + ENDS_WITH_TITLE <= abstract, steps)


def _walk_back(is_title: bool, steps: Sequence[tuple[bool, bool]]) -> list[Shape]:
    path = [is_title]
    for before_title, before_abstract in reversed(steps):
        path.append(before_title if path[-1] else before_abstract)
    return [Shape.TITLE if title else Shape.ABSTRACT for title in reversed(path)]


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
