"""The parts of a person's name: given names, family name, suffix."""

from __future__ import annotations

import re

from monitor.text.tables import word_set

SUFFIX = re.compile(r"^(?:jr|sr|ii|iii|iv|v|phd|md)\.?$", re.IGNORECASE)

# Words that begin a family name of several: Ludwig van Beethoven.
PARTICLES = word_set(
    "af al av bin da dal das de degli dei del della den der des di do dos du el ibn la las le los "
    "ten ter van vom von y zu zum zur"
)
# Words of organisations, and of large groups of authors that sign as one.
_ORGANISATION = word_set(
    "AI Association Center Centre Collaboration Committee Consortium Foundation GmbH Group Inc "
    "Inc. Institute Lab Laboratory Labs Ltd Network Project Research Society Team University"
)


def split_person(name: str) -> tuple[str, str, str] | None:
    """Return the family name, the given names and the suffix of a name written in this order:
    given names, family name, suffix ("" if there is none).

    None for organisations, and where the family name cannot be known: a single word, a comma
    that precedes no suffix, scripts without capitals (which may have the family name first).
    """
    unsuffixed, _, suffix = (part.strip() for part in name.partition(","))
    words = unsuffixed.split()
    if not suffix and len(words) > 2 and SUFFIX.match(words[-1]):
        suffix = words.pop()
    if len(words) < 2 or (suffix and not SUFFIX.match(suffix)):
        return None
    if not _is_person(words):
        return None
    inner = range(1, len(words) - 1)
    begin = next((n for n in inner if words[n] in PARTICLES), len(words) - 1)
    return " ".join(words[begin:]), " ".join(words[:begin]), suffix


def _is_person(words: list[str]) -> bool:
    """Whether all words may be those of a person."""
    return all(
        word in PARTICLES
        or (word[0].isalpha() and word != word.lower() and word not in _ORGANISATION)
        for word in words
    )
