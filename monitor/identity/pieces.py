"""What stands between the signs of a title, without what catalogues leave at its ends."""

from __future__ import annotations

import re
from functools import lru_cache
from math import fsum

from monitor.identity.blocking import rarity
from monitor.identity.mojibake import repaired
from monitor.identity.title_conventions import LEFT_BEHIND
from monitor.text import plain

# A sign with a space on either side: nothing within words or numbers. A run of signs is looked at
# from its beginning only.
SIGN = re.compile(
    r"(?<![.:;,()\[\]?!])[.:;,()\[\]?!]++(?: |$)|(?:^| )[-\u2013\u2014.:;,()\[\]?!]++"
)
# A piece of two rare words may be anything's title.
TELLING = 3.5
MOST_SIGNS = 5


@lru_cache(maxsize=4096)
def pieces(title: str) -> tuple[str, ...]:
    """Return the letters of a title up to each of its first signs, and from each on.

    Those that tell too little are left out. "Data Cubes, Efficiently. In: Proc. SIGMOD 1996"
    begins with the whole title, and "Lomet, D.: Data Cubes" ends with it.
    """
    parts = [
        _trimmed(words) for one in SIGN.split(repaired(title)) if (words := plain(one).split())
    ]
    found: dict[str, None] = {}
    for place in range(min(MOST_SIGNS, len(parts))):
        for some in (parts[: place + 1], parts[place:]):
            words = [word for part in some for word in part]
            if fsum(map(rarity, set(words))) >= TELLING:
                found["".join(words)] = None
    return tuple(found)


def _trimmed(words: list[str]) -> list[str]:
    start, end = 0, len(words)
    while start < end and _is_left_behind(words[start]):
        start += 1
    while end > start and _is_left_behind(words[end - 1]):
        end -= 1
    return words[start:end]


def _is_left_behind(word: str) -> bool:
    return word in LEFT_BEHIND or word.isdigit()
