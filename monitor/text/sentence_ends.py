"""Splits a text into sentences."""

from __future__ import annotations

import re
from itertools import islice, pairwise

# A run of signs is looked at once, from its beginning: a text may be nothing but dots.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s)|[。！？]")

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:al|e\.g|i\.e|cf|vs|resp|approx|ca|viz|w\.r\.t|i\.i\.d|a\.k\.a|figs?|eqs?|eqns?"
    r"|secs?|refs?|tabs?|thm|def|alg|app|ch|no|nos|vol|pp?|dr|prof|mr|mrs|ms|st|inc|ltd|dept|univ"
    r"|(?:[a-z]\.)*[a-z]|ph\.d)\.$",
    re.IGNORECASE,
)

_OPENING = re.compile(r"\s+[\"'“‘(\[{$\\]*")

# The longest abstracts have fifty sentences; beyond this, the rest of the text is one more.
MAX_SENTENCES = 1_000


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence of `text`, without the spaces around them.

    Abbreviations (et al., e.g., Fig., Eq., vs.), initials, decimals and an ellipsis that goes
    on in lower case end no sentence.
    """
    matches = islice(_END.finditer(text), MAX_SENTENCES)
    ends = [end.end() for end in matches if _ends_sentence(text, end)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *ends, len(text)]):
        sentence = text[start:end].strip()
        if sentence:
            first = text.index(sentence, start)
            spans.append((first, first + len(sentence)))
    return spans


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    if end.group() in "。！？":
        return True
    opening = _OPENING.match(text, end.end())
    if opening is None:
        return False
    following = text[opening.end() : opening.end() + 1]
    if not following or (following.islower() and "$" not in text[end.end() : opening.end()]):
        return False
    return not _ABBREVIATION.search(text, max(0, end.start() - 12), end.start() + 1)
