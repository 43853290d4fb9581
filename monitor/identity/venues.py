"""Comparing venues: one series or two, a journal or a conference.

The series that go by two names, and the general words, were gathered from venues of database
research and robotics. An unknown venue is compared by its own words and letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from monitor.identity.mojibake import repair
from monitor.text import plain
from monitor.text.registrants import REGISTRANTS


class Kind(StrEnum):
    PREPRINT = "preprint"
    JOURNAL = "journal"
    CONFERENCE = "conference"


_CONFERENCES = (
    "vldb|sigmod|icde|pods|edbt|kdd|sigkdd|sigir|www|nips|icml|iclr|aaai|ijcai|acl|emnlp|naacl"
    "|coling|cvpr|iccv|eccv|aistats|colt|uai|acml|icra|iros|rss|corl|interspeech|icassp|chi|stoc"
    "|focs|soda"
)
_SERVERS = "|".join(
    sorted({plain(name) for row in REGISTRANTS if row.holds_drafts for name in row.names})
)
# Checked in this order: a journal's name may contain "conference".
_KINDS = (
    (
        Kind.PREPRINT,
        "technical report|tech report|tech rep|thesis|dissertation|submitted|corr|preprint"
        f"|preprints|working paper|research report|unpublished|{_SERVERS}",
    ),
    (
        Kind.JOURNAL,
        "journal|transactions|trans|letters|magazine|record|rec|bulletin|review|reviews|annals"
        "|communications|surveys|information systems|tods|tkde|tois|pami|tpami|jmlr|tmlr|j",
    ),
    (
        Kind.CONFERENCE,
        "conference|conf|proceedings|proc|symposium|workshop|workshops|congress|colloquium"
        f"|meeting|international|intl|annual|neurips|very large|{_CONFERENCES}",
    ),
)
_KIND = tuple((kind, re.compile(rf"\b(?:{words})\b")) for kind, words in _KINDS)
# Series with a name and with letters that do not abbreviate it.
_SERIES = {
    "management of data": "sigmod",
    "very large": "vldb",
    "transactions on database": "tods",
    "trans database": "tods",
    "trans on database": "tods",
    "principles of database": "pods",
    "extending database": "edbt",
    "knowledge discovery and data mining": "kdd",
    "transactions on knowledge and data": "tkde",
    "development in information retrieval": "sigir",
    "neural information processing": "nips",
    "neurips": "nips",
    "conference on machine learning": "icml",
    "learning representations": "iclr",
    "journal of machine learning research": "jmlr",
    "mach learn res": "jmlr",
    "pattern analysis and machine": "tpami",
    "computer vision and pattern": "cvpr",
    "international conference on computer vision": "iccv",
    "european conference on computer vision": "eccv",
    "association for computational linguistics": "acl",
    "empirical methods in natural": "emnlp",
    "joint conference on artificial": "ijcai",
    "artificial intelligence and statistics": "aistats",
    "uncertainty in artificial": "uai",
    "learning theory": "colt",
    "robotics and automation": "icra",
    "acoustics speech": "icassp",
    "human factors in computing": "chi",
    "symposium on theory of computing": "stoc",
    "foundations of computer science": "focs",
    "discrete algorithms": "soda",
}
_LETTERS = re.compile(rf"\b(?:{_CONFERENCES}|tods|tkde|tois|tpami|jmlr|tmlr)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CUT = re.compile(r",\s*$|& ?hellip ?;|…|\.\.\.")
# Words of too many venues to distinguish them. Not `FUNCTION_WORDS`: IT is a subject of some, and
# names of venues have hardly any of the others.
_GENERIC = """
acm ieee the of on in and for a an to j hellip international intl int national conference conf
proceedings proc journal transactions trans symposium workshop annual press society th st nd rd
appear vol volume no pp data database databases systems information computer science research
"""
_SAID_BY_MANY = frozenset(_GENERIC.split())


@dataclass(frozen=True, slots=True)
class Venue:
    """`series` are letters that name it, `words` the telling ones of its name.

    `cut`: a machine cut it out of a citation, and what it cites may be any version of a work.
    `year` is the one that it says, if just one. `workshop`: beside a conference of that name.
    """

    kind: Kind | None
    series: frozenset[str]
    words: frozenset[str]
    cut: bool
    year: int | None
    workshop: bool


# Reading one takes 40 µs, and most records are of a venue that others have.
@lru_cache(4096)
def venue(text: str) -> Venue:
    """Return what a venue's name says; no kind and no words of an empty or unknown one."""
    folded = plain(repair(text))
    kind = next((kind for kind, pattern in _KIND if pattern.search(folded)), None)
    series = {letters for name, letters in _SERIES.items() if name in folded}
    words = {w for w in folded.split() if w not in _SAID_BY_MANY and not w.isdigit()}
    years = set(_YEAR.findall(folded))
    return Venue(
        kind,
        frozenset(series | set(_LETTERS.findall(folded))),
        frozenset(words),
        cut=_CUT.search(text) is not None,
        year=int(years.pop()) if len(years) == 1 else None,
        workshop="workshop" in folded,
    )


def same_series(a: Venue, b: Venue) -> bool | None:
    """Say whether two venues are of one series; None where one does not say.

    A conference and a journal may share their letters, and are not one.
    """
    if two_publications(a, b) and a.series & b.series:
        return None
    if a.series and b.series:
        return bool(a.series & b.series)
    if not a.words or not b.words:
        return None
    fewer, more = sorted((a.words, b.words), key=len)
    shared = sum(any(map(partial(_abbreviates, word), more)) for word in fewer)
    return True if 2 * shared >= len(fewer) else None


def _abbreviates(a: str, b: str) -> bool:
    """Phys. Rev. Lett. is Physical Review Letters."""
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    return a == b or (len(shorter) > 2 and longer.startswith(shorter))


def two_publications(a: Venue, b: Venue) -> bool:
    """One in the proceedings of a conference and one in a journal."""
    return {a.kind, b.kind} == {Kind.JOURNAL, Kind.CONFERENCE}


def one_conference(a: Venue, b: Venue) -> bool:
    """Say whether two venues are one series of conferences, by its letters or its whole name."""
    if {a.kind, b.kind} != {Kind.CONFERENCE} or a.workshop != b.workshop:
        return False
    return bool(a.series & b.series) or (bool(a.words) and a.words == b.words)


def two_conferences(a: Venue, b: Venue) -> bool:
    """Say whether two venues are conferences of two series that list only what they print.

    What a workshop prints may be printed at a conference later.
    """
    if {a.kind, b.kind} != {Kind.CONFERENCE} or a.workshop or b.workshop:
        return False
    # The catalogue of ICLR also lists what was submitted and not printed there.
    return not same_series(a, b) and "iclr" not in a.series | b.series


def both_published(a: Venue, b: Venue) -> bool:
    """Say whether neither may be a draft of the other: both printed, or both of no known place."""
    return Kind.PREPRINT not in (a.kind, b.kind) and has_name(a) == has_name(b)


def has_name(venue: Venue) -> bool:
    return bool(venue.kind or venue.series or venue.words)
