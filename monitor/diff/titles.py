"""What two titles have in common, and what one says that the other does not."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from monitor.diff.blocks import rarity
from monitor.diff.mend import mended
from monitor.text import plain

_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"[.:;,)\]?!]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_COUNTING = (
    ("1", "i one first 1st"),
    ("2", "ii two second 2nd"),
    ("3", "iii three third 3rd"),
    ("4", "iv four fourth 4th"),
    ("5", "v fifth 5th"),
    ("6", "vi sixth 6th"),
    ("7", "vii seventh 7th"),
    ("8", "viii eighth 8th"),
    ("9", "ix ninth 9th"),
)
_NUMBER = {word: number for number, words in _COUNTING for word in words.split()}
# What counts wherever it stands; "one" and "first" say nothing outside "part one".
_COUNTED = {w: n for w, n in _NUMBER.items() if w not in ("i", "v", "one", "two", "three", "four")}
_PART = re.compile(r"\b(?:part|volume|vol|chapter|lecture) (\d+|[ivx]+|one|two|three|four)\b")

# Titles that return with every issue: nothing in them tells one from the next.
_COLUMN_WORDS = """
abstract abstracts address announcement announcements article articles back board book books call
calendar chair chairs charter column columns comments committee contents contributors correction
corrections correspondence cover directions discussion distinguished editor editorial editorials
editors errata erratum first foreword from front guest in index industry influential international
interview introduction invited issue issues keynote letter letters matter memoriam message messages
news note notes obituary page panel paper papers perspectives preface preliminary president
proceedings profiles program record reminiscences report reports research review reviewers reviews
scope secretary section session special standards practice summary table talk title treasurer
tutorial welcome workshop
"""
_COLUMN = frozenset(_COLUMN_WORDS.split())
# A work about a work bears its title.
_ABOUT_WORDS = """
addendum comment comments commentary corrigendum correction corrections discussion errata erratum
rejoinder reply response retracted retraction
"""
_ABOUT = frozenset(_ABOUT_WORDS.split())
# What catalogues leave in a title: the form it was given in, and where it came from.
_LEFT_BEHIND_WORDS = """
abstract acm addison almaden appear appendix april august award best c ca conf conference corp
corporation corr december demo demonstration department dept description ed edbt eds experience
extended february full hellip icde ieee in inc int international intl j jan january journal july
june lab laboratory labs lncs m march may nd no november october of on page pages panel paper pods
poster pp preliminary preprint press proc proceeding proceedings publication rd record rep report
sept september session short sigkdd sigmod st submitted summary symposium syst tech technical th
the thesis to tods tr trans transactions tutorial univ university v version vldb vol volume
washington workshop
"""
_LEFT_BEHIND = frozenset(_LEFT_BEHIND_WORDS.split())


_ARTICLES = frozenset(("a", "an", "the", "on"))


@dataclass(frozen=True, slots=True)
class Title:
    """A title made ready for comparing: folded words in order, as a set, and run together."""

    words: tuple[str, ...]
    distinct: frozenset[str]
    letters: str
    sorted: str
    weight: float
    numbers: frozenset[str]
    years: frozenset[str]
    part: str
    column: bool
    told: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two titles are.

    `letters` and `sorted` are shares of letters that agree, in order and with the words sorted;
    `covered` the share of the shorter title's words, by rarity, that the other has. `alone` is
    what one says and the other does not, by rarity, `either` what both do: words swapped.
    `preceded`: one is the other with something before it ("Overview of ...").
    """

    equal: bool
    letters: float
    sorted: float
    covered: float
    shared: float
    alone: float
    either: float
    other_part: bool
    other_number: bool
    about: bool
    column: bool
    preceded: bool


@lru_cache(maxsize=8192)
def title(told: str) -> Title:
    folded = plain(mended(told))
    words = tuple(_WORD.findall(folded))
    distinct = frozenset(words)
    part = _PART.search(folded)
    return Title(
        words=words,
        distinct=distinct,
        letters="".join(words),
        sorted="".join(sorted(words)),
        weight=fsum(map(rarity, distinct)),
        numbers=frozenset(
            _COUNTED.get(word, word)
            for word in distinct
            if word in _COUNTED or (word.isdigit() and not _YEAR.fullmatch(word))
        ),
        years=frozenset(filter(_YEAR.fullmatch, distinct)),
        part=_NUMBER.get(part[1], part[1]) if part else "",
        column=bool(words)
        and all(word in _COLUMN or word.isdigit() or rarity(word) < 1 for word in words),
        told=told,
    )


def letters_agree(a: Title, b: Title) -> float:
    """Return the share of letters that two titles have in common, in order."""
    return Indel.normalized_similarity(a.letters, b.letters)


def likeness(a: Title, b: Title, explained: Set[str]) -> Likeness:
    """Compare two titles; `explained` are words that authors or venue account for."""
    if a.letters == b.letters:
        weight = max(a.weight, b.weight)
        column = a.column and b.column
        return Likeness(True, 1.0, 1.0, 1.0, weight, 0.0, 0.0, False, False, False, column, False)
    ours, theirs = _missing(a, b), _missing(b, a)
    shared_a = a.weight - fsum(map(rarity, ours))
    shared_b = b.weight - fsum(map(rarity, theirs))
    lonely = sorted((_told(ours, explained), _told(theirs, explained)))
    return Likeness(
        equal=False,
        letters=letters_agree(a, b),
        sorted=Indel.normalized_similarity(a.sorted, b.sorted),
        covered=max(shared_a / max(a.weight, 0.1), shared_b / max(b.weight, 0.1)),
        shared=max(shared_a, shared_b),
        alone=lonely[1],
        either=lonely[0],
        other_part=a.part != b.part,
        other_number=_other_number(a, b),
        about=bool(_ABOUT & a.distinct) != bool(_ABOUT & b.distinct),
        column=a.column and b.column,
        preceded=_preceded(a, b, explained) or _preceded(b, a, explained),
    )


def _other_number(a: Title, b: Title) -> bool:
    """Another number, or another year: the evaluations of 2016 and of 2017 are two.

    A catalogue may add the year of publication to a title that names one.
    """
    numbers = bool(a.numbers and b.numbers) and a.numbers != b.numbers
    return numbers or (bool(a.years and b.years) and a.years.isdisjoint(b.years))


def _preceded(longer: Title, shorter: Title, explained: Set[str]) -> bool:
    """Say whether one title goes on from words of its own into the other: "Overview of ...".

    What a sign sets off is a name ("Quartz: ...") or what a catalogue left in front.
    """
    for count in range(1, min(5, len(longer.words))):
        if "".join(longer.words[count : count + 3]) == "".join(shorter.words[:3]):
            added = [word for word in longer.words[:count] if word not in _ARTICLES]
            return _told(added, explained) > 0 and not _set_off(longer.told, count)
    return False


def _set_off(told: str, count: int) -> bool:
    """Say whether a sign stands behind the first `count` words."""
    signs = _SIGN.finditer(told)
    return any(len(_WORD.findall(plain(told[: sign.start()]))) == count for sign in signs)


def _missing(one: Title, other: Title) -> list[str]:
    """Return the words of one title that the other has in no form."""
    rest = other.distinct - one.distinct
    return [word for word in one.distinct - other.distinct if not _met(word, other.letters, rest)]


def _met(word: str, letters: str, others: Set[str]) -> bool:
    """Met joined to its neighbours, in another form, mistyped, or itself a run of joined words."""
    if len(word) < 4:
        return False
    if word in letters or any(_near(word, other) for other in others):
        return True
    return len(word) > 12 and fuzz.partial_ratio(word, letters) >= 88


def _near(a: str, b: str) -> bool:
    if len(b) < 4 or not -5 < len(a) - len(b) < 5:
        return False
    return a[:5] == b[:5] or fuzz.ratio(a, b, score_cutoff=76) > 0


def _told(words: list[str], explained: Set[str]) -> float:
    return fsum(
        rarity(word)
        for word in words
        if len(word) > 1
        and word not in explained
        and word not in _LEFT_BEHIND
        and not word.isdigit()
        and not _ORDINAL.fullmatch(word)
    )
