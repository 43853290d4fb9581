"""What words of titles mean by convention: numbers, columns, notices, leftovers.

`COLUMN` and `LEFT_BEHIND` were gathered from titles of database research, and know only the
societies, venues and places of that field. They only select the evidence that counts: no two
records are joined or kept apart by these lists alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

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
# What numbers something wherever it stands, and what only counts the word that follows.
_NUMBERING = {w: n for w, n in NUMBER.items() if w not in ("i", "v", "first") and w < "一"}
_COUNTING_WORDS = frozenset("one two three four five six seven eight nine ten".split())  # noqa: SIM905
_DIMENSIONAL = frozenset(("d", "dimension", "dimensions", "dimensional"))
_YEAR = re.compile(r"(?:19|20)\d\d")


def numbers(words: Iterable[str]) -> frozenset[str]:
    """Return what numbers something among folded words: digits, ordinals and Roman numerals.

    Years do not: a catalogue adds them.
    """
    return frozenset(
        _NUMBERING.get(word, word)
        for word in words
        if (word in _NUMBERING and word not in _COUNTING_WORDS)
        or (word.isdigit() and not _YEAR.fullmatch(word))
    )


def find_counts(words: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Return each number of folded words with what it counts: (arms, 2) of "two arms".

    3D, 3-D and three-dimensional are (d, 3).
    """
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
# What only bounds something, and may be tightened by a revision: "<1MB model size".
BOUND = re.compile(r"[<>≤≥]\s?(\d[\d.,]*\w*)")
# Words of which one on each side makes another work of it.
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
    """Say whether each says a word that is the contrary of one of the other."""
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
# Nor does a work say so of itself that is not another one, unless it has the same abstract.
ANOTHER = frozenset("appendix not protocol revisited sequel supporting without".split())  # noqa: SIM905
# What is noted behind a title: "(extended abstract)", "(slides available at ...)".
NOTE = re.compile(
    r"[(\[][^()\[\]]{0,100}\b(?:abstract|available|demo|demonstration|draft|invited|keynote|panel"
    r"|paper|poster|preprint|report|slides|talk|tutorial|version)\b[^()\[\]]{0,100}[)\]][.\s]*$",
    re.IGNORECASE,
)
# What catalogues leave in a title: the form it was given in, and where it came from.
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
