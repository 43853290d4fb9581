"""Comparing two titles: the words and letters that both have, and those of only one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from math import fsum

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA, Indel, Prefix

from monitor.identity.titles import (
    ANOTHER,
    LEFT_BEHIND,
    MAX_SIGNS,
    MIN_PIECE_WEIGHT,
    SIGN,
    WORD,
    Title,
    contrary,
    number_of,
)
from monitor.identity.word_rarity import rarity
from monitor.text import plain
from monitor.text.function_words import LEADING_WORDS

_SIGN = re.compile(r"[.:;,)\]?!]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
MISTYPED = 0.85  # "Book Rewiev" is a column as well
NEARLY = 0.97  # more similar titles are compared no further
_LEADING = frozenset(("for", "of", "on", "to"))


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two titles are.

    Shares are from 0 to 1; weights are sums of the rarities of words. The defaults, but for
    `shared`, are those of equal titles.
    """

    # They have the same letters in order, whatever signs and spaces are between them.
    equal: bool
    # One is the other with a subtitle added.
    subtitled: bool = False

    # The share of letters that agree, in order.
    letters: float = 1.0
    # The share of letters that agree with the words of both sorted.
    sorted: float = 1.0
    # The share of letters that agree in the most alike pieces, each up to or from a sign.
    core: float = 1.0
    # The share of letters that the shorter title has in common with as much of the longer one's
    # beginning or end.
    ends: float = 1.0
    # The share, by weight, of a title's words that the other has, for the title with the higher
    # share.
    covered: float = 1.0
    # The weight of a title's words that the other has, for the title with the higher weight.
    shared: float = 0.0
    # The weight of the words that the other title lacks, for the title with the higher weight.
    # Words of authors and venue and of notes do not count.
    alone: float = 0.0
    # The same for the title with the lower weight: both have words of their own, so some were
    # swapped.
    either: float = 0.0

    # They are two parts of a series, or one is a part whose number the other lacks.
    other_part: bool = False
    # Each has a number, count or year that the other lacks.
    other_number: bool = False
    # Both name years, and no year in common.
    other_year: bool = False
    # Both name limits ("<1MB"), and different ones.
    other_bound: bool = False
    # One alone is about another work ("Comment on ...").
    about: bool = False
    # A word or number says that one is another work: "revisited", "offline" for "online", "II".
    another: bool = False
    # Both return with every issue ("Editorial"), or one does and the other is nearly the same.
    column: bool = False
    # One is the other with something before it ("Overview of ...").
    preceded: bool = False

    @property
    def agreement(self) -> float:
        return max(self.letters, self.sorted)


def letters_agree(a: Title, b: Title) -> float:
    """Return the share of letters that two titles have in common, in order."""
    return Indel.normalized_similarity(a.letters, b.letters)


def likeness(a: Title, b: Title, explained: Set[str]) -> Likeness:
    """Compare two titles; `explained` are words that come from authors or venue."""
    is_column = a.column or b.column
    if a.letters == b.letters:
        return Likeness(equal=True, shared=max(a.weight, b.weight), column=is_column)
    just_a = a.distinct - b.distinct
    just_b = b.distinct - a.distinct
    short = initials(a.words, a.firsts, just_b) | initials(b.words, b.firsts, just_a)
    ours = missing(just_a - short, a.letters, just_b, b.letters)
    theirs = missing(just_b - short, b.letters, just_a, a.letters)
    shared_a = a.weight - fsum(map(rarity, ours))
    shared_b = b.weight - fsum(map(rarity, theirs))
    lonely = sorted((_weight_of(ours, explained), _weight_of(theirs, explained)))
    letters = letters_agree(a, b)
    shared = max(shared_a, shared_b)
    subtitled = _adds_subtitle(a, b) or _adds_subtitle(b, a)
    compared = letters < NEARLY and shared >= MIN_PIECE_WEIGHT
    return Likeness(
        equal=False,
        subtitled=subtitled,
        letters=letters,
        sorted=Indel.normalized_similarity(a.sorted, b.sorted),
        core=max(letters, _pieces_agree(a, b)) if compared else letters,
        ends=_ends_agree(a.letters, b.letters) if compared else letters,
        covered=max(shared_a / max(a.weight, 0.1), shared_b / max(b.weight, 0.1)),
        shared=shared,
        alone=lonely[1],
        either=lonely[0],
        other_part=_other_part(a, b),
        other_number=_other_number(a, b) or numbered_apart(ours, theirs) or _other_year(a, b),
        other_year=_other_year(a, b),
        other_bound=bool(a.bounds and b.bounds) and a.bounds != b.bounds,
        about=a.about != b.about,
        another=not (just_a | just_b).isdisjoint(ANOTHER)
        or contrary(just_a, just_b)
        or _counted_on(a, b),
        column=(a.column and b.column) or (is_column and (subtitled or letters > MISTYPED)),
        preceded=_adds_beginning(a, b, explained) or _adds_beginning(b, a, explained),
    )


def _ends_agree(a: str, b: str) -> float:
    """Compare the shorter title with as much of the longer one's beginning and end."""
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    ends = longer[: len(shorter)], longer[len(longer) - len(shorter) :]
    return max(Indel.normalized_similarity(shorter, end) for end in ends)


def _pieces_agree(a: Title, b: Title) -> float:
    best = 0.0
    for ours in a.pieces:
        for theirs in b.pieces:
            best = max(best, Indel.normalized_similarity(ours, theirs, score_cutoff=best))
    return best


def _other_part(a: Title, b: Title) -> bool:
    """Whether they are two parts, or one is a part whose number the other lacks.

    The first of a series often had no number until there was a second.
    """
    if a.part and b.part:
        return a.part != b.part
    if a.part or b.part:
        return not _has_number(b if a.part else a, a.part or b.part)
    if a.number and b.number:
        return a.number != b.number
    return "1" not in (a.number, b.number) and _counted_on(a, b)


def _counted_on(a: Title, b: Title) -> bool:
    """Whether one has a number in a series that the other lacks: the second of a series."""
    return not (_has_number(a, b.number) and _has_number(b, a.number))


def _has_number(title: Title, number: str) -> bool:
    return not number or any(number_of(word) == number for word in title.distinct)


def _other_number(a: Title, b: Title) -> bool:
    """Whether each has a number that the other lacks, or another count: two arms, three arms.

    If only one has a number, as when a title is cut, they do not differ.
    """
    if (a.numbers - b.numbers) and (b.numbers - a.numbers):
        return True
    if not (a.amounts and b.amounts):
        return False
    ours = a.amounts - b.amounts
    theirs = b.amounts - a.amounts
    return not {thing for thing, _ in ours}.isdisjoint(thing for thing, _ in theirs)


def _other_year(a: Title, b: Title) -> bool:
    """Whether both name years and share none; a catalogue may add that of publication."""
    return bool(a.years and b.years) and a.years.isdisjoint(b.years)


def _adds_subtitle(longer: Title, shorter: Title) -> bool:
    """Return whether the shorter title is the longer one up to one of its first signs."""
    if not shorter.letters or not longer.letters.startswith(shorter.letters):
        return False
    ends = (sign.start() for sign in islice(SIGN.finditer(longer.text), MAX_SIGNS))
    heads = (plain(longer.text[:end]) for end in ends)
    return any("".join(WORD.findall(head)) == shorter.letters for head in heads)


def _adds_beginning(longer: Title, shorter: Title, explained: Set[str]) -> bool:
    """Return whether the longer title has words of its own before the other: "Overview of ...".

    Words before a sign are a name ("Quartz: ..."), unless they lead on ("Data for: ...") or come
    from a catalogue.
    """
    for count in range(1, min(5, len(longer.words))):
        if "".join(longer.words[count : count + 3]) == "".join(shorter.words[:3]):
            # Words that come later in the other title are not added: it is reordered.
            ignored = LEADING_WORDS | shorter.distinct
            added = [word for word in longer.words[:count] if word not in ignored]
            named = longer.words[count - 1] not in _LEADING and _set_off(longer.text, count)
            return _weight_of(added, explained) > 0 and not named
    return False


def _set_off(text: str, count: int) -> bool:
    """Return whether a sign follows the first `count` words."""
    done = 0
    before = 0
    for sign in _SIGN.finditer(text):
        before += len(WORD.findall(plain(text[done : sign.start()])))
        if before >= count:
            return before == count
        done = sign.start()
    return False


def _weight_of(words: list[str], explained: Set[str]) -> float:
    return fsum(
        rarity(word)
        for word in words
        if len(word) > 1
        and word not in explained
        and word not in LEFT_BEHIND
        and not word.isdigit()
        and not _ORDINAL.fullmatch(word)
    )


# ── words: inflected, mistyped, joined or abbreviated ───────────────────────────────

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
    first = word[0]
    rest = word[1:5]
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
        if 2 < len(letters) < 7 and (first := firsts.find(letters)) >= 0:
            expanded.update((word, *words[first : first + len(letters)]))
    return expanded
