"""Reading a title: its words, numbers and parts, without what catalogues add at its ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import fsum

from monitor.identity.mojibake import repair
from monitor.identity.title_conventions import (
    ABOUT,
    BOUND,
    COLUMN,
    COUNTED_OFF,
    LEFT_BEHIND,
    NOTE,
    NUMBER,
    PART,
    RESPONSE,
    find_counts,
    numbers,
)
from monitor.identity.word_rarity import rarity
from monitor.kept import kept
from monitor.text import plain
from monitor.text.spelling import american

WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Title:
    """A title prepared for comparison: folded words in order, as a set, and joined.

    `part` is its number as a part; `number` is one that only signs set off ("Agents, II").
    """

    words: tuple[str, ...]
    distinct: frozenset[str]
    letters: str
    firsts: str
    sorted: str
    weight: float
    numbers: frozenset[str]
    amounts: frozenset[tuple[str, str]]
    years: frozenset[str]
    bounds: frozenset[str]
    part: str
    number: str
    column: bool
    about: bool
    text: str


@kept(8192)
def title(text: str) -> Title:
    whole = _without_notes(repair(text))
    folded = plain(whole)
    words = tuple(map(american, WORD.findall(folded)))
    distinct = frozenset(words)
    part = PART.search(folded)
    off = COUNTED_OFF.search(whole.lower())
    return Title(
        words=words,
        distinct=distinct,
        letters="".join(words),
        firsts="".join(word[0] for word in words),
        sorted="".join(sorted(words)),
        weight=fsum(map(rarity, distinct)),
        numbers=numbers(distinct),
        amounts=find_counts(words),
        years=frozenset(filter(_YEAR.fullmatch, distinct)),
        bounds=frozenset(BOUND.findall(whole)),
        part=number_of(part[1]) if part else "",
        number=number_of(off[off.lastindex or 0]) if off else "",
        column=bool(words)
        and all(word in COLUMN or word.isdigit() or rarity(word) < 1 for word in words),
        about=not ABOUT.isdisjoint(distinct)
        or ("response" in distinct and RESPONSE.match(whole.lower()) is not None),
        text=whole,
    )


def _without_notes(text: str) -> str:
    """Remove notes about form and place, between signs at the ends of a title.

    "Tutorial: Agents", "Agents (extended abstract)", "Agents, in Proc. SIGMOD" are "Agents".
    """
    whole = NOTE.sub("", text) if text.rstrip(". ").endswith((")", "]")) else text
    if _may_end_in_note(whole, -1):
        *_, last = (None, *SIGN.finditer(whole))
        if last and _is_all_note(whole[last.end() :]):
            whole = whole[: last.start()]
    first = SIGN.search(whole) if _may_end_in_note(whole, 0) else None
    return whole[first.end() :] if first and _is_all_note(whole[: first.start()]) else whole


def _may_end_in_note(text: str, end: int) -> bool:
    """Whether the first or last word may belong to a note. Most titles have no such word."""
    words = text.split(None, 1) if end == 0 else text.rsplit(None, 1)
    return bool(words) and words[end].strip(".:;,()[]?! ").lower() in LEFT_BEHIND


def _is_all_note(text: str) -> bool:
    words = plain(text).split()
    return bool(words) and all(len(word) > 1 and word in LEFT_BEHIND for word in words)


def number_of(word: str) -> str:
    return NUMBER.get(word, word)


# A sign with a space on one side, so not within words or numbers. A run of signs is matched only
# from its beginning.
SIGN = re.compile(
    r"(?<![.:;,()\[\]?!])[.:;,()\[\]?!]++(?: |$)|(?:^| )[-\u2013\u2014.:;,()\[\]?!]++"
)
# Pieces of less weight, such as two rare words, may be any title's.
MIN_PIECE_WEIGHT = 3.5
MAX_SIGNS = 5


@kept(4096)
def pieces(title: str) -> tuple[str, ...]:
    """Return the letters of a title up to each of its first signs, and from each sign on.

    Pieces of too few words are left out. "Data Cubes, Efficiently. In: Proc. SIGMOD 1996" begins
    with the whole title, and "Lomet, D.: Data Cubes" ends with it.
    """
    parts = [_trim(words) for part in SIGN.split(repair(title)) if (words := plain(part).split())]
    heads: dict[str, None] = {}
    for place in range(min(MAX_SIGNS, len(parts))):
        for some in (parts[: place + 1], parts[place:]):
            words = [word for part in some for word in part]
            if fsum(map(rarity, set(words))) >= MIN_PIECE_WEIGHT:
                heads["".join(words)] = None
    return tuple(heads)


def _trim(words: list[str]) -> list[str]:
    start, end = 0, len(words)
    while start < end and _is_no_title_word(words[start]):
        start += 1
    while end > start and _is_no_title_word(words[end - 1]):
        end -= 1
    return words[start:end]


def _is_no_title_word(word: str) -> bool:
    return word in LEFT_BEHIND or word.isdigit()
