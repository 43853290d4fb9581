"""Are two records the same work? Evidence for and against, weighed; a false merge weighs most.

A title alone never proves it: authors or the abstract must bear it out. Identifiers of one
scheme that differ speak against it, unless everything else agrees to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz import fuzz

from monitor.diff.keys import LINK, identifiers
from monitor.model import Paper
from monitor.text import plain, title_key

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")
_ET_AL = re.compile(r"\bet\.? al\.?|\band others\b", re.IGNORECASE)

SAME_AUTHORS = 0.5
SAME_ABSTRACT = 0.6
NEAR_TITLE = 0.9
# Words that an abstract must have before its agreement says anything.
TELLING_WORDS = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` from 0 to 1, balanced at 0.5; `same`, the stricter decision; `why`, in words."""

    score: float
    same: bool
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What two records have in common; None where one of them does not say."""

    shared_key: str
    conflict: str
    title: float
    title_key: bool
    other_number: bool
    authors: float | None
    abstract: float | None


def same_work(a: Paper, b: Paper) -> Verdict:
    """Say whether two records are one work, and why. The order of the two does not matter."""
    evidence = _evidence(a, b)
    return Verdict(_score(evidence), _same(evidence), tuple(_words(evidence)))


def _evidence(a: Paper, b: Paper) -> Evidence:
    ours, theirs = _by_scheme(a), _by_scheme(b)
    both = sorted(ours.keys() & theirs.keys() - {LINK})
    shared = [
        f"{scheme} {min(ours[scheme] & theirs[scheme])}"
        for scheme in both
        if ours[scheme] & theirs[scheme]
    ]
    conflicts = [scheme for scheme in both if not ours[scheme] & theirs[scheme]]
    return Evidence(
        shared_key=shared[0] if shared else "",
        conflict=conflicts[0] if conflicts else "",
        title=fuzz.ratio(plain(a.title).casefold(), plain(b.title).casefold()) / 100,
        title_key=title_key(a.title) == title_key(b.title),
        other_number=_numbers(a.title) != _numbers(b.title),
        authors=author_agreement(a.authors, b.authors),
        abstract=abstract_agreement(a.abstract, b.abstract),
    )


def _numbers(title: str) -> list[str]:
    """Parts, years and versions: titles that differ in these are of different works."""
    return _NUMBER.findall(plain(title).casefold())


def _by_scheme(paper: Paper) -> dict[str, set[str]]:
    schemes: dict[str, set[str]] = {}
    for scheme, value in identifiers(paper):
        schemes.setdefault(scheme, set()).add(value)
    return schemes


def _same(found: Evidence) -> bool:
    if found.shared_key:
        return True
    borne_out = _borne_out(found)
    if found.conflict:
        return found.title_key and borne_out and _agree_to_the_letter(found)
    return found.title_key and borne_out


def _borne_out(found: Evidence) -> bool:
    """Authors decide where both name them; the abstract where they do not, or as well."""
    if found.authors is not None and found.authors < SAME_AUTHORS:
        return False
    if found.abstract is not None and found.abstract < SAME_ABSTRACT:
        return found.authors is not None and found.authors == 1.0
    return found.authors is not None or found.abstract is not None


def _agree_to_the_letter(found: Evidence) -> bool:
    return found.authors == 1.0 and (found.abstract is None or found.abstract > 0.9)


def _score(found: Evidence) -> float:
    if found.shared_key:
        return 1.0
    if _same(found):
        told = [x for x in (found.title, found.authors, found.abstract) if x is not None]
        return 0.6 + 0.4 * sum(told) / len(told)
    title = max(0.0, (found.title - 0.5) * 2)
    support = [x for x in (found.authors, found.abstract) if x is not None]
    score = title * (sum(support) / len(support) if support else 0.45)
    if found.conflict:
        score *= 0.5
    against = found.conflict or found.other_number
    near = found.title >= NEAR_TITLE and bool(support) and min(support) >= SAME_ABSTRACT
    return min(score, 0.95 if near and not against else 0.49)


def _words(found: Evidence) -> Iterable[str]:
    if found.shared_key:
        yield f"same {found.shared_key}"
    if found.conflict:
        yield f"different {found.conflict}"
    yield "same title" if found.title_key else f"titles agree to {found.title:.0%}"
    yield "authors not given" if found.authors is None else f"authors agree to {found.authors:.0%}"
    if found.abstract is None:
        yield "abstracts not comparable"
    else:
        yield f"abstracts agree to {found.abstract:.0%}"


def abstract_agreement(a: str, b: str) -> float | None:
    """Return the share of the shorter abstract that the longer has; None if one is too short.

    Feeds cut abstracts, so the shorter is asked for; in neighbouring pairs of words, which
    two papers of one field do not share by chance.
    """
    ours, theirs = _pairs(a), _pairs(b)
    if min(len(ours), len(theirs)) < TELLING_WORDS:
        return None
    return len(ours & theirs) / min(len(ours), len(theirs))


def _pairs(text: str) -> set[tuple[str, str]]:
    words = _WORD.findall(plain(text).casefold())
    return set(pairwise(words))


def author_agreement(a: tuple[str, ...], b: tuple[str, ...]) -> float | None:
    """Return the share of the shorter author list found in the longer; None if one is empty.

    A list cut by "et al." is compared by those it names. Family names must agree, and given
    names or initials must not contradict each other.
    """
    ours, theirs = _people(a), _people(b)
    if not ours or not theirs:
        return None
    shorter, longer = sorted((ours, theirs), key=len)
    cut = any(_ET_AL.search(name) for name in (*a, *b))
    found = sum(any(_same_person(x, y) for y in longer) for x in shorter)
    return found / (len(shorter) if cut else len(longer))


def _people(authors: tuple[str, ...]) -> list[frozenset[str]]:
    names = (_ET_AL.sub(" ", plain(name)).casefold() for name in authors)
    return [frozenset(words) for name in names if (words := _WORD.findall(name))]


def _same_person(a: frozenset[str], b: frozenset[str]) -> bool:
    """Compare names as sets of words, since orders differ: each word must be met or abbreviated."""
    full = {word for word in a & b if len(word) > 1}
    if not full:
        return False
    rest_a, rest_b = a - full, b - full
    fewer, more = sorted((rest_a, rest_b), key=len)
    return all(any(_abbreviates(x, y) for y in more) for x in fewer)


def _abbreviates(a: str, b: str) -> bool:
    return a == b or (min(len(a), len(b)) == 1 and a[0] == b[0])
