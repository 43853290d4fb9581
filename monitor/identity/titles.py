"""Reading a title: its words, numbers and parts, without what catalogues add at its ends.

`COLUMN` and `LEFT_BEHIND` were gathered from titles of database research, and know only the
societies, venues and places of that field. They only select the evidence that counts: no two
records are joined or kept apart by these lists alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum

from monitor.identity.word_rarity import rarity
from monitor.text import plain
from monitor.text.spelling import american

# ── conventions ─────────────────────────────────────────────────────────────────────

_COUNTING = (
    ("1", "i one first 1st 一"),
    ("2", "ii two second 2nd 二"),
    ("3", "iii three third 3rd 三"),
    ("4", "iv four fourth 4th 四"),
    ("5", "v five fifth 5th 五"),
    ("6", "vi six sixth 6th 六"),
    ("7", "vii seven seventh 7th 七"),
    ("8", "viii eight eighth 8th 八"),
    ("9", "ix nine ninth 9th 九"),
    ("10", "ten tenth 10th"),
)
NUMBER = {word: number for number, words in _COUNTING for word in words.split()}
# Words that number something anywhere, and words that only count the next one.
_NUMBERING = {w: n for w, n in NUMBER.items() if w not in ("i", "v", "first") and w < "一"}
_COUNTING_WORDS = frozenset("one two three four five six seven eight nine ten".split())  # noqa: SIM905
_DIMENSIONAL = frozenset(("d", "dimension", "dimensions", "dimensional"))
_YEAR = re.compile(r"(?:19|20)\d\d")


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return digits, ordinals and Roman numerals, but no years: a catalogue adds them."""
    return frozenset(
        _NUMBERING.get(word, word)
        for word in words
        if (word in _NUMBERING and word not in _COUNTING_WORDS)
        or (word.isdigit() and not _YEAR.fullmatch(word))
    )


def find_counts(words: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Return numbers with what they count: (arms, 2) of "two arms", (d, 3) of "3D" and "3-D"."""
    numbers = set()
    for word, following in pairwise((*words, "")):
        number = NUMBER.get(word) or (word if word.isdigit() else "")
        if number and following:
            numbers.add(("d" if following in _DIMENSIONAL else following, number))
        elif word[-1] == "d" and word[:-1].isdigit():
            numbers.add(("d", word[:-1]))
    return frozenset(numbers)


# "Part 2" wherever it stands, and what only signs count off: "Agents, II: Acting", "Agents III".
PART = re.compile(
    r"\b(?:part|volume|vol|chapter|lecture|teil|partie|parte) (\d+|[ivx]+|one|two|three|four)\b"
)
COUNTED_OFF = re.compile(
    r"(?:[.:,] ?([ivx])|\s([ivx]{2,4}))\s?[.:]\s|\s([ivx]):\s|\s([ivx]{2,4}|[2-9])$"
    r"|[(（]([一二三四五六七八九])[)）]|\w[-\u2010\u2011]([ivx]{2,4})(?:\s?[.:]\s|$)"
)
# A bound, which a revision may tighten: "<1MB model size".
BOUND = re.compile(r"[<>≤≥]\s?(\d[\d.,]*\w*)")
# Opposites: a work is another one if its title has the one where this title has the other.
_CONTRARY = """
after before|android ios|binary ternary|bottom top|centralised centralized decentralised
decentralized distributed|classical quantum|continuous discrete|deterministic stochastic|early late
|east north south west|female male|first last|forward backward|global local|hard soft|high low
|higher lower upper|image images speech text video|indoor outdoor|inner outer|large small|left right
|linear nonlinear|long short|men women|negative positive|offline online|parametric nonparametric
|photon electron proton neutron|private public|rural urban|sequential parallel|single multiple
|static dynamic|strong weak|supervised unsupervised semisupervised|with without
"""
_QUESTION = {
    word: number for number, group in enumerate(_CONTRARY.split("|")) for word in group.split()
}


def contrary(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Return whether each has a word that is the opposite of one of the other."""
    asked = {_QUESTION[word] for word in ours if word in _QUESTION}
    return bool(asked) and any(_QUESTION.get(word) in asked for word in theirs)


# Titles that return with every issue: nothing in them tells one from the next.
_COLUMN_WORDS = """
abstract abstracts address announcement announcements article articles author authors back board
book books calendar call chair chairs charter column columns comments committee contents
contributors correction corrections correspondence cover directions discussion distinguished
editor editorial editorials editors errata erratum first foreword from front guest in index
industry influential international interview introduction invited issue issues keynote letter
letters matter memoriam message messages news note notes obituary page panel paper papers
perspectives practice preface preliminary president proceedings profiles program record
reminiscences reply report reports research review reviewers reviews scope secretary section
session special standards summary table talk title treasurer tutorial welcome workshop
"""
COLUMN = frozenset(_COLUMN_WORDS.split())
# A work about a work bears its title.
_ABOUT_WORDS = """
addendum berichtigung comment comments commentary corrigendum correction corrections discussion
errata erratum rejoinder reply retracted retraction supplement supplemental supplementary
"""
ABOUT = frozenset(_ABOUT_WORDS.split())
# A response is a reply only where a title begins so: an immune response is none.
RESPONSE = re.compile(r"(?:the )?(?:authors?['\u2019]?s?['\u2019]? )?response(?: to\b|:)")
# These words name another work, too, unless it has the same abstract.
ANOTHER = frozenset("appendix not protocol revisited sequel supporting without".split())  # noqa: SIM905
# A note after a title: "(extended abstract)", "(slides available at ...)".
NOTE = re.compile(
    r"[(\[][^()\[\]]{0,100}\b(?:abstract|available|demo|demonstration|draft|invited|keynote|panel"
    r"|paper|poster|preprint|report|slides|talk|tutorial|version)\b[^()\[\]]{0,100}[)\]][.\s]*$",
    re.IGNORECASE,
)
# Words that catalogues leave in a title: its form ("poster"), and its origin.
_LEFT_BEHIND_WORDS = """
abstract acm addison almaden appear appendix april august award best c ca conf conference corp
corporation corr december demo demonstration department dept description ed edbt eds experience
extended february full hellip icde ieee in inc int international intl j jan january journal july
june lab laboratory labs lncs m march may nd no notes november october of on page pages panel paper
pods poster pp preliminary preprint press proc proceeding proceedings publication rd record rep
report sept september session short sigkdd sigmod st submitted summary symposium syst tech technical
th the thesis to tods tr trans transactions tutorial univ university v version vldb vol volume
washington workshop
"""
LEFT_BEHIND = frozenset(_LEFT_BEHIND_WORDS.split())


# ── titles ──────────────────────────────────────────────────────────────────────────

WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Title:
    """A title prepared for comparison."""

    # The folded words in order, in American spelling.
    words: tuple[str, ...]
    # The same words as a set.
    distinct: frozenset[str]
    # The same words joined.
    letters: str
    # The first letters of the words, to find those that an abbreviation stands for.
    firsts: str
    # The same words sorted and joined.
    sorted: str
    # The sum of the rarities of `distinct`.
    weight: float

    # Digits, ordinals and Roman numerals; no years, which catalogues add.
    numbers: frozenset[str]
    # Numbers with what they count: (arms, 2) of "two arms", (d, 3) of "3D".
    amounts: frozenset[tuple[str, str]]
    # The words from "1900" to "2099".
    years: frozenset[str]
    # The limits that it names: "1MB" of "<1MB".
    bounds: frozenset[str]
    # Its number as a part, volume, chapter or lecture, "" for none.
    part: str
    # A number that only signs set off ("Agents, II"), "" for none.
    number: str

    # All of its words may be in a title that returns with every issue ("Editorial").
    column: bool
    # It has a word of a work about a work ("Comment", "Erratum").
    about: bool
    # As it was written, but for notes on form and place; `pieces` are found in it.
    text: str

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The letters of the title up to each of its first signs, and from each sign on.

        Pieces of too few words are left out. "Data Cubes, Efficiently. In: Proc. SIGMOD 1996"
        begins with the whole title, and "Lomet, D.: Data Cubes" ends with it.
        """
        parts = [_trim(words) for part in SIGN.split(self.text) if (words := plain(part).split())]
        heads: dict[str, None] = {}
        for sign in range(min(MAX_SIGNS, len(parts))):
            for side in (parts[: sign + 1], parts[sign:]):
                words = [word for part in side for word in part]
                if fsum(map(rarity, set(words))) >= MIN_PIECE_WEIGHT:
                    heads["".join(words)] = None
        return tuple(heads)


def title(repaired: str) -> Title:
    """Return a title prepared for comparison, of its text without mojibake."""
    whole = _without_notes(repaired)
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


def _trim(words: list[str]) -> list[str]:
    own = [at for at, word in enumerate(words) if word not in LEFT_BEHIND and not word.isdigit()]
    return words[own[0] : own[-1] + 1] if own else []
