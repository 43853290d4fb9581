"""Whether a word of one title occurs in another: inflected, mistyped, joined or abbreviated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA, Prefix

# Endings after a stem of four letters: networks, networked; optimise, optimization.
_ENDINGS = re.compile(
    r"(?:e?s|e?d|e|y|ing|ings|e?rs?|ors?|ed|ies|ied|al|ally|ly|ics?|ical|ive|ity|ate|ated|ating"
    r"|(?:i[sz])?(?:e|ed|es|ing|ations?)|ation|ations|ational|ions?|ment|ments|able|ness)?"
)
# Words that differ only in this beginning are opposites.
_CONTRARY = (
    ("hyper", "hypo"),
    ("inter", "intra"),
    ("macro", "micro"),
    ("pre", "post"),
    ("endo", "exo"),
    ("in", "ex"),
    ("over", "under"),
    ("mono", "poly"),
)
# Ueber is über, and Mueller Müller; folding leaves uber and Muller.
DIGRAPH = re.compile("(?<=[aou])e")
_DIGITS = re.compile(r"\d+")
_TO = re.compile("(?<=[a-z])2(?=[a-z])")  # P2P is peer to peer
# A run of letters without spaces occurs where most of it does, damaged or not.
_RUN = 12
_MIN_PARTIAL_RATIO = 88


def missing(ours: Set[str], own: str, theirs: Set[str], letters: str) -> list[str]:
    """Return which of our words do not occur in theirs in any form.

    `theirs` are the words that only they have; `own` and `letters` are all letters of the two
    titles, joined.
    """
    return [word for word in ours if not _occurs(word, own, theirs, letters)]


def _occurs(word: str, own: str, theirs: Set[str], letters: str) -> bool:
    if len(word) < 4:
        return False
    first, rest = word[0], word[1:5]
    within = False
    for other in theirs:
        if word in other:  # joined to words of ours; "supervised" is not met in "unsupervised"
            if other in own or near(word, other) or _occurs_with_damage(other, own):
                return True
            within = True
        elif (other[0] == first or other[1:5] == rest) and near(word, other):
            return True
    return not within and (word in letters or _occurs_with_damage(word, letters))


def _occurs_with_damage(run: str, letters: str) -> bool:
    return len(run) > _RUN and fuzz.partial_ratio(run, letters) >= _MIN_PARTIAL_RATIO


def near(a: str, b: str) -> bool:
    """Whether two words are forms of one, or differ by a typo; YOLOv7 and YOLOv8 are two."""
    if a[0] != b[0] and a[1:5] != b[1:5]:  # typos seldom change the first letter
        return False
    if a[:4] == b[:4] and len(a) > 3 < len(b):
        stem = Prefix.similarity(a, b)
        if _ENDINGS.fullmatch(a, stem) and _ENDINGS.fullmatch(b, stem):
            return True
    if not -3 < len(a) - len(b) < 3:
        return False
    if not _is_typo(a, b) and (len(a) < 4 or DIGRAPH.sub("", a) != DIGRAPH.sub("", b)):
        return False
    return not (_contrary(a, b) or _contrary(b, a)) and _DIGITS.findall(a) == _DIGITS.findall(b)


def _contrary(a: str, b: str) -> bool:
    return any(a.startswith(prefix) and b.startswith(other) for prefix, other in _CONTRARY)


def _is_typo(a: str, b: str) -> bool:
    """Whether one letter of five differs, or two of eight."""
    shorter = min(len(a), len(b))
    if shorter < 5 or (shorter < 8 and a[0] != b[0]):
        return False
    most = 1 if shorter < 8 else 2
    return OSA.distance(a, b, score_cutoff=most) <= most


def numbered_apart(ours: Iterable[str], theirs: Iterable[str]) -> bool:
    """Return whether a word of each differs from one of the other only in its digits."""
    bare = {_DIGITS.sub("", word) for word in ours if _has_both(word)}
    return not bare.isdisjoint(_DIGITS.sub("", word) for word in theirs if _has_both(word))


def _has_both(word: str) -> bool:
    return not word.isalpha() and not word.isdigit()


def initials(words: Sequence[str], firsts: str, short: Iterable[str]) -> set[str]:
    """Return the words whose `firsts` one of `short` is, of three letters or more, and that."""
    expanded: set[str] = set()
    for word in short:
        letters = word.removesuffix("s") if len(word) > 3 else word
        letters = _TO.sub("t", letters)
        if 2 < len(letters) < 7 and (place := firsts.find(letters)) >= 0:
            expanded.update((word, *words[place : place + len(letters)]))
    return expanded
