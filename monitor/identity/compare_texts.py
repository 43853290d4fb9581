"""Whether two records that share an identifier agree in anything else.

An identifier may be another work's: copied from the paper that a page is about, a journal's, or the
placeholder of a template. Titles, authors and abstracts are compared where both records have them
in one script; two of these that differ wholly, and none that agrees, are of two works.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from monitor.identity import authors, titles
from monitor.identity.authors import Agreement, Name
from monitor.identity.features import abstract_agreement
from monitor.identity.folded_record import FoldedRecord, fold_record, scripts
from monitor.identity.mojibake import repair
from monitor.identity.title_likeness import letters_agree, missing
from monitor.identity.titles import Title
from monitor.identity.word_rarity import rarity
from monitor.model import Paper
from monitor.text import is_anonymous, is_group
from monitor.text.tables import word_set

# Of two papers of one field, one pair in a hundred has a twelfth of the shorter abstract's pairs of
# words in common, or a fifth of its rare words; of a paper and its later version, 99 have more.
SHARED_PAIRS = 0.12
SHARED_TERMS = 0.25
# Titles without a rare word are one if they share this much of the shorter one, by rarity.
MOSTLY = 0.6
# Damaged titles have hardly a whole word in common.
DAMAGED = 0.8
# Titles up to this many letters are cut anywhere, and so begin like many others.
MIN_CUT = 20
_CUT_MARKS = ("[\u2026]", "\u2026", "...")

_PLACEHOLDERS = word_set(
    "notavailable titlenotavailable untitled notitle na none null unknown title unavailable"
)

# Two strangers may share one of these family names: the most frequent ones among authors.
COMMON_FAMILY_NAMES = word_set(
    "wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo he lin gao luo zheng "
    "liang xie tang han cao deng feng xiao cheng cai pan yuan dong yu su ye lu lv lyu wei jiang "
    "tian du ding shen fan fu zhong cui meng shi peng jin xiong bai qian hou hao dai qin gu "
    "song ren yao wong chan cheung leung lam ng chang lai tsai hsu kim lee park choi jung jeong "
    "kang cho yoon jang lim oh seo shin kwon hwang ahn hong nguyen tran le pham hoang phan vu "
    "kumar singh sharma gupta patel das roy ghosh khan ali ahmed hussain rahman smith jones "
    "williams brown johnson miller davis wilson taylor anderson thomas martin thompson white "
    "moore jackson harris clark lewis young king wright scott green adams baker hall garcia "
    "rodriguez martinez lopez gonzalez hernandez perez sanchez fernandez gomez diaz silva "
    "santos oliveira souza pereira costa muller schmidt schneider fischer weber meyer wagner "
    "becker sato suzuki takahashi tanaka watanabe ito yamamoto nakamura kobayashi kato ivanov "
    "petrov rossi russo ferrari dubois bernard"
)


class Comparison(Enum):
    """How the texts of two records compare: what both have agrees, differs, or says nothing."""

    AGREE = "agree"
    DIFFER = "differ"
    UNKNOWN = "unknown"


def compare_texts(a: Paper, b: Paper) -> Comparison:
    """Compare titles, authors and abstracts, as far as both records have them in one script.

    A title that differs proves nothing by itself: records of a title and an identifier alone
    often have another one.
    """
    differing = 0
    for agree in _each_field(a, b):
        if agree:
            return Comparison.AGREE
        differing += agree is False
    return Comparison.DIFFER if differing > 1 else Comparison.UNKNOWN


def same_title(a: Paper, b: Paper) -> bool:
    """Whether two titles have the same letters, where one may be cut: "Agents that play ..."."""
    ours = _title(fold_record(a))
    theirs = _title(fold_record(b))
    if ours is None or theirs is None or ours.column or theirs.column:
        return False
    if ours.letters == theirs.letters:
        return True
    return _is_beginning(a.title, theirs) or _is_beginning(b.title, ours)


def _is_beginning(cut: str, whole: Title) -> bool:
    bare = cut.rstrip()
    mark = next(filter(bare.endswith, _CUT_MARKS), "")
    if not mark:
        return False
    words = titles.title(repair(bare.removesuffix(mark))).words
    letters = "".join(words[:-1])  # the last word may be cut, too
    return len(letters) >= MIN_CUT and whole.letters.startswith(letters)


def _each_field(a: Paper, b: Paper) -> Iterator[bool | None]:
    """Yield whether each field agrees, None where it cannot be compared; the costly one last."""
    ours = fold_record(a)
    theirs = fold_record(b)
    yield _titles_agree(ours, theirs)
    yield _authors_agree(ours.names, theirs.names)
    yield _abstracts_agree(ours, theirs)


# ── one field ───────────────────────────────────────────────────────────────────────


def _titles_agree(a: FoldedRecord, b: FoldedRecord) -> bool | None:
    ours = _title(a)
    theirs = _title(b)
    if ours is None or theirs is None or a.title_scripts.isdisjoint(b.title_scripts):
        return None
    if ours.column or theirs.column:
        return None
    just_a = ours.distinct - theirs.distinct
    just_b = theirs.distinct - ours.distinct
    alone = set(missing(just_a, ours.letters, just_b, theirs.letters))
    alone |= set(missing(just_b, theirs.letters, just_a, ours.letters))
    shared = {w for w in (ours.distinct | theirs.distinct) - alone if not w.isdigit()}
    if any(rarity(word) > 1 and len(word) > 2 for word in shared):
        return True
    fewest = min(ours.weight, theirs.weight)
    covered = sum(map(rarity, ours.distinct - alone)) >= MOSTLY * fewest
    return covered or letters_agree(ours, theirs) >= DAMAGED


def _title(record: FoldedRecord) -> Title | None:
    """Return a title without notes on its language, None for one that stands for none."""
    title = record.title_without_note
    return None if not title.letters or title.letters in _PLACEHOLDERS else title


def compare_persons(a: tuple[str, ...], b: tuple[str, ...]) -> Agreement | None:
    """Return how the persons of two lists of authors agree.

    None if one has none, or they are written in different scripts.
    """
    ours = _persons(a)
    theirs = _persons(b)
    if not ours or not theirs or scripts(" ".join(ours)).isdisjoint(scripts(" ".join(theirs))):
        return None
    return authors.agreement(ours, theirs)


def may_be_namesakes(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether a person of two lists has a family name that strangers may share."""
    return any(
        _is_common(one)
        for one in authors.people(_persons(a))
        for other in authors.people(_persons(b))
        if authors.same_person(one, other)
    )


def _authors_agree(a: tuple[str, ...], b: tuple[str, ...]) -> bool | None:
    agreed = compare_persons(a, b)
    if agreed is None:
        return None
    return agreed.met > 1 or (agreed.met == 1 and not may_be_namesakes(a, b))


def _persons(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if not (is_group(name) or is_anonymous(name)))


def _is_common(name: Name) -> bool:
    return not COMMON_FAMILY_NAMES.isdisjoint(word for word in name if len(word) > 1)


def _abstracts_agree(a: FoldedRecord, b: FoldedRecord) -> bool | None:
    pairs, terms = abstract_agreement(a, b)
    if pairs is None or a.abstract_scripts.isdisjoint(b.abstract_scripts):
        return None
    return pairs >= SHARED_PAIRS or (terms or 0.0) >= SHARED_TERMS
