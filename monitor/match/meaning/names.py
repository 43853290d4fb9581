"""When two ways of writing an author are the same name: initials, commas, order, hyphens."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from monitor.text import GENERATIONS, given_name_first, plain

_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u2011'’](?=\w)")
# Folding turns Müller into muller; without umlauts it is spelled Mueller.
_WRITTEN_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ø": "oe", "ü": "ue", "å": "aa"}
    | {"Ä": "AE", "Ö": "OE", "Ø": "OE", "Ü": "UE", "Å": "AA"}
)
_OUT = re.compile("(?<=[aou])e|(?<=a)a")


class PersonName(msgspec.Struct, frozen=True):
    """A name by its folded words: `given_names` may hold initials, `family` is the last name."""

    given_names: tuple[str, ...]
    family: str

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.given_names, self.family)


@lru_cache(4_096)
def spellings(written: str) -> tuple[PersonName, ...]:
    """Return the name as written, without hyphens (Xiaoming), and without umlauts (Mueller)."""
    ways = [written, _HYPHEN.sub("", written)]
    if not written.isascii():
        ways += [unicodedata.normalize("NFC", way).translate(_WRITTEN_OUT) for way in ways]
    names = map(_parse, dict.fromkeys(ways))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def folded_spellings(word: str) -> tuple[str, ...]:
    """Return a folded word of a name, and what folding may have made of it: mueller, muller."""
    letters = [match.span() for match in _OUT.finditer(word)]
    shorter = (word[:start] + word[end:] for start, end in letters)
    return tuple(dict.fromkeys((word, *shorter, _OUT.sub("", word))))


def _parse(written: str) -> PersonName | None:
    words = _words(given_name_first(written))
    if "," not in written and len(words) > 1 and len(words[-1]) == 1:
        words = _initials_first(words)
    return PersonName(tuple(words[:-1]), words[-1]) if words else None


def _words(written: str) -> list[str]:
    """Fold the words of a name; capitals in a row beside other words are initials (Hinton GE)."""
    raw = written.split()
    shouting = all(word.isupper() for word in raw)
    parts = []
    for word in raw:
        initials = not shouting and word.isalpha() and word.isupper() and 1 < len(word) < 4
        parts += list(word) if initials else [word]
    words = plain(" ".join(parts)).split()
    return [word for word in words if word not in GENERATIONS] or words


def _initials_first(words: list[str]) -> list[str]:
    """Turn `Bengio Y` and `Hinton G E` round."""
    count = next((i for i, word in enumerate(words) if len(word) == 1), len(words))
    return [*words[count:], *words[:count]]


def matches_name(asked: PersonName, author: PersonName) -> bool:
    """Whether `author` may be the person whom a query names.

    Not `same_person` of `identity/authors`, which compares two damaged lists of one paper: a query
    is spelled right, and another spelling is another author.

    One word matches any whole word of the name. Otherwise the family name must be the same and
    each given name that is wanted must be there, in full or as an initial; a middle initial may
    be missing. Full names also match in another order.
    """
    if not asked.given_names:
        return asked.family in author.words
    if asked.family == author.family and _given_names_agree(asked.given_names, author.given_names):
        return True
    full = all(len(word) > 1 for word in asked.words)
    return full and set(asked.words) <= set(author.words)


def _given_names_agree(wanted: Sequence[str], author: Sequence[str]) -> bool:
    left = list(author)
    missing = []
    for name in sorted(wanted, key=len, reverse=True):
        agreeing = next((other for other in left if _same_name(name, other)), None)
        if agreeing is None:
            missing.append(name)
        else:
            left.remove(agreeing)
    return (
        len(missing) < len(wanted)
        and all(len(name) == 1 for name in missing)
        and not (missing and wanted[0] in missing)
    )


def _same_name(name: str, other: str) -> bool:
    shorter, longer = sorted((name, other), key=len)
    return name == other or (len(shorter) == 1 and longer.startswith(shorter))
