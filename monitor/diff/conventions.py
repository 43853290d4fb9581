"""What words of titles stand for by convention: numbers, columns, works about works, leftovers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_COUNTING = (
    ("1", "i one first 1st 一"),
    ("2", "ii two second 2nd 二"),
    ("3", "iii three third 3rd 三"),
    ("4", "iv four fourth 4th 四"),
    ("5", "v fifth 5th 五"),
    ("6", "vi sixth 6th 六"),
    ("7", "vii seventh 7th 七"),
    ("8", "viii eighth 8th 八"),
    ("9", "ix ninth 9th 九"),
)
NUMBER = {word: number for number, words in _COUNTING for word in words.split()}
# What counts wherever it stands; "one" and "first" say nothing outside "part one".
COUNTED = {
    w: n
    for w, n in NUMBER.items()
    if w not in ("i", "v", "one", "two", "three", "four") and w < "一"
}
# "Part 2" wherever it stands, and what only signs count off: "Agents, II: Acting", "Agents III".
PART = re.compile(
    r"\b(?:part|volume|vol|chapter|lecture|teil|partie|parte) (\d+|[ivx]+|one|two|three|four)\b"
)
COUNTED_OFF = re.compile(
    r"(?:[.:,] ?([ivx])|\s([ivx]{2,4}))\s?[.:]\s|\s([ivx]):\s|\s([ivx]{2,4}|[2-9])$"
    r"|[(（]([一二三四五六七八九])[)）]"
)
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
errata erratum rejoinder reply response retracted retraction supplement supplemental supplementary
"""
ABOUT = frozenset(_ABOUT_WORDS.split())
# Nor does a work say so of itself that is not another one, unless it has the same abstract.
ANOTHER = frozenset("appendix not protocol revisited sequel supporting without".split())  # noqa: SIM905
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
LEFT_BEHIND = frozenset(_LEFT_BEHIND_WORDS.split())
