"""Comparing lists of authors: abbreviated, reordered, transliterated, cut or damaged names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

from rapidfuzz import fuzz

from monitor.identity.mojibake import repair
from monitor.identity.title_likeness import DIGRAPH
from monitor.text import (
    CYRILLIC,
    DEGREES,
    GENERATIONS,
    HONORIFICS,
    ORDINALS,
    given_name_first,
    plain,
)
from monitor.text.tables import word_set

# Marks of a cut list: et al., and others, an ellipsis.
_CUT = re.compile(r"\bet\.? al\b\.?|\band others\b|…|\.\.\.|& ?hellip ?;|â ?\? ?¦", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_BESIDE_NAMES = (GENERATIONS - ORDINALS) | DEGREES | HONORIFICS | word_set("and ed eds")
_PARTING = re.compile(r"[;,&]| and ")
_VOWELS = frozenset("aeiouy")
_INITIALS = re.compile(r"(?:[A-Z]\.?[ -]?){1,3}")

# Family names this similar are the same, damaged: Gfiting and Güting, Sicui and Suciu.
NEAR_NAME = 70
NEAR_WHOLE_NAME = 82

# Longer lists are those of collaborations.
LARGE_LIST = 100

Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """`met` of the `fewer` authors of one list match one of the `more` of the other."""

    met: int
    fewer: int
    more: int
    first: bool
    cut: bool

    @property
    def share(self) -> float:
        """The share of the lists that agrees; of a cut list, the share of what it names."""
        return self.met / (self.fewer if self.cut else self.more)


def agreement(a: tuple[str, ...], b: tuple[str, ...]) -> Agreement | None:
    """Return how two lists agree, None if one of them has no names."""
    ours = people(a)
    theirs = people(b)
    if not ours or not theirs:
        return None
    # Lists of one length are sorted, so that the order of the two does not matter.
    fewer, more = sorted((ours, theirs), key=lambda names: (len(names), names))
    met = _count_matches(fewer, more) or _count_turned_matches(fewer, more)
    return Agreement(
        met, len(fewer), len(more), same_person(ours[0], theirs[0]), _cut(a) or _cut(b)
    )


def _count_matches(fewer: Sequence[Name], more: Sequence[Name]) -> int:
    """Count the names that match, each with another one.

    In lists of thousands, which would take many seconds, only names are compared that share a whole
    word.
    """
    by_word: dict[str, list[int]] = defaultdict(list)
    for position, name in enumerate(more if len(fewer) > LARGE_LIST else ()):
        for word in dict.fromkeys(name):
            by_word[word].append(position)
    matched: set[int] = set()
    for name in fewer:
        free: Iterator[int] = (p for p in range(len(more)) if p not in matched)
        if len(fewer) > LARGE_LIST:
            likely = chain.from_iterable(by_word.get(word, ()) for word in name if len(word) > 1)
            free = islice((p for p in likely if p not in matched), LARGE_LIST)
        matched.update(islice((p for p in free if same_person(name, more[p])), 1))
    return len(matched)


def _count_turned_matches(fewer: Sequence[Name], more: Sequence[Name]) -> int:
    """Match a list with abbreviated family names and full given names: "H. Grace".

    One such name may be a coincidence, so all of them have to match.
    """
    if not 1 < len(fewer) == len(more) <= LARGE_LIST:
        return 0
    left = list(more)
    for name in fewer:
        turned = next((other for other in left if _swaps_names(name, other)), None)
        if turned is None:
            return 0
        left.remove(turned)
    return len(fewer)


def _swaps_names(a: Name, b: Name) -> bool:
    """Whether the word of each name begins with an initial of the other: G. Hopper, H. Grace."""
    if not (len(a) == len(b) == 2 and len(a[1]) > 1 < len(b[1])):
        return False
    return len(a[0]) < 3 > len(b[0]) and a[1][0] in b[0] and b[1][0] in a[0]


@lru_cache(1024)
def _cut(authors: tuple[str, ...]) -> bool:
    """Whether a list is marked as cut, or ends in the middle of a name."""
    return len(authors[-1].strip(". ")) < 2 or any(map(_CUT.search, authors))


@lru_cache(1024)
def people(authors: tuple[str, ...]) -> tuple[Name, ...]:
    """Return the folded words of each name, given names first, without empty names."""
    names = (_name(name) for text in authors for name in _split_names(_CUT.sub(" ", repair(text))))
    # Some catalogues list all authors twice.
    return tuple(dict.fromkeys(name for name in names if any(len(word) > 1 for word in name)))


def _split_names(text: str) -> Iterator[str]:
    """Split a list in one string, at semicolons, or at commas and `and`."""
    if not _PARTING.search(text):
        yield text
        return
    if ";" in text:
        yield from text.split(";")
        return
    pieces = re.split(r",| and | & ", text)
    if len(pieces) < 3 and " and " not in text:
        yield text
    elif len(pieces) % 2 == 0 and all(_INITIALS.fullmatch(piece.strip()) for piece in pieces[1::2]):
        yield from (f"{given} {family}" for family, given in zip(*[iter(pieces)] * 2, strict=True))
    else:
        yield from pieces


@lru_cache(4096)
def _name(text: str) -> Name:
    folded = plain(given_name_first(text)).translate(CYRILLIC)
    words = [DIGRAPH.sub("", word) for word in _WORD.findall(folded)]
    name = tuple(
        word
        for place, word in enumerate(words)
        # The I.V. of I.V. Ramakrishnan are initials.
        if word not in _BESIDE_NAMES and not (place and word in ORDINALS)
    )
    # Scripts without spaces write each letter as a word.
    spaceless = all(len(word) == 1 and not word.isascii() for word in name)
    return ("".join(name),) if spaceless or not name[1:] else name


def same_person(a: Name, b: Name) -> bool:
    """Whether two names share a word and no given name differs, or nearly all letters agree.

    Not `matches_name` of `match/meaning/names`: here other fields of both papers agree already, so
    that letters may differ, and neither name is known to be the fuller one. With that one, labelled
    copies would part.
    """
    return a == b or (_similar(a, b) if a < b else _similar(b, a))


@lru_cache(8192)
def _similar(a: Name, b: Name) -> bool:
    whole = [word for word in a if len(word) > 1 and word in b]
    if whole and _no_contradiction(
        [word for word in a if word not in whole], [word for word in b if word not in whole]
    ):
        return True
    letters_a = "".join(a)
    letters_b = "".join(b)
    if fuzz.ratio(letters_a, letters_b, score_cutoff=NEAR_WHOLE_NAME):
        return not _other_initial(a, b)
    family_a = a[-1]
    family_b = b[-1]
    shorter = min(len(family_a), len(family_b))
    if shorter >= 5 and (family_a in letters_b or family_b in letters_a):
        return not _other_initial(a, b)
    one_initial = len(a) > 1 and len(b) > 1 and a[0][0] == b[0][0]
    return one_initial and shorter >= 4 and fuzz.ratio(family_a, family_b) >= NEAR_NAME


def _other_initial(a: Name, b: Name) -> bool:
    """Whether given names are compatible: A. Wang is not L. Wang, but L. Wang is Wang L."""
    if len(a) < 2 or len(b) < 2:
        return False
    return {word[0] for word in a} != {word[0] for word in b} and a[0][0] != b[0][0]


def _no_contradiction(a: list[str], b: list[str]) -> bool:
    fewer, more = (a, b) if len(a) <= len(b) else (b, a)
    return all(any(_abbreviates(x, y) for y in more) for x in fewer)


def _abbreviates(a: str, b: str) -> bool:
    """Whether initials agree: J and JH with Jane, H with JH. Two full given names must be equal."""
    if a == b:
        return True
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    if len(shorter) == 1 and len(longer) < 4 and _VOWELS.isdisjoint(longer):
        return shorter in longer  # initials, of more people than one where a list is damaged
    return longer[0] == shorter[0] and (len(shorter) < 4 or longer.startswith(shorter))
