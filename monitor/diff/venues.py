"""Where two records say they were published: one series or two, a journal or a conference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from monitor.diff.mend import mended
from monitor.text import plain


class Kind(StrEnum):
    PREPRINT = "preprint"
    JOURNAL = "journal"
    CONFERENCE = "conference"


# Asked in this order: a journal's name may say "conference", and many say "international".
_KINDS = (
    (
        Kind.PREPRINT,
        "technical report|tech report|tech rep|thesis|dissertation|submitted|arxiv|corr|preprint"
        "|preprints|biorxiv|medrxiv|ssrn|working paper|research report|unpublished",
    ),
    (
        Kind.JOURNAL,
        "journal|transactions|trans|letters|magazine|record|rec|bulletin|review|reviews|annals"
        "|communications|surveys|computer|systems|tods|tkde|tois|pami|tpami|jmlr|tmlr|j",
    ),
    (
        Kind.CONFERENCE,
        "conference|conf|proceedings|proc|symposium|workshop|workshops|congress|colloquium"
        "|meeting|international|intl|annual|vldb|sigmod|icde|pods|edbt|kdd|sigkdd|sigir|www|nips"
        "|neurips|icml|iclr|aaai|ijcai|acl|emnlp|naacl|coling|cvpr|iccv|eccv|aistats|colt|uai"
        "|acml|icra|iros|rss|corl|interspeech|icassp|chi|stoc|focs|soda|very large",
    ),
)
_KIND = tuple((kind, re.compile(rf"\b(?:{words})\b")) for kind, words in _KINDS)
# Series that go by a name and by letters which do not abbreviate it.
_SERIES = {
    "management of data": "sigmod",
    "very large": "vldb",
    "transactions on database": "tods",
    "trans database": "tods",
    "trans on database": "tods",
    "knowledge discovery and data mining": "kdd",
    "neural information processing": "nips",
    "neurips": "nips",
    "computer vision and pattern": "cvpr",
}
_LETTERS = re.compile(
    r"\b(?:sigmod|vldb|tods|icde|pods|edbt|kdd|sigkdd|sigir|www|nips|icml|iclr|aaai|ijcai|acl"
    r"|emnlp|naacl|coling|cvpr|iccv|eccv|aistats|colt|uai|acml|icra|iros|rss|corl|interspeech"
    r"|icassp|chi|stoc|focs|soda|tkde|tois|tpami|jmlr|tmlr)\b"
)
# Said by too many venues to tell one from another.
_GENERIC = """
acm ieee the of on in and for a an to j hellip international intl int national conference conf
proceedings proc journal transactions trans symposium workshop annual press society th st nd rd
appear vol volume no pp data database databases systems information computer science research
"""
_SAID_BY_MANY = frozenset(_GENERIC.split())


@dataclass(frozen=True, slots=True)
class Venue:
    """`series` are letters that name it, `words` the telling ones of its name."""

    kind: Kind | None
    series: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=4096)
def venue(told: str) -> Venue:
    """Return what a venue's name says; no kind and no words of an empty or unknown one."""
    folded = plain(mended(told))
    kind = next((kind for kind, pattern in _KIND if pattern.search(folded)), None)
    series = {letters for name, letters in _SERIES.items() if name in folded}
    words = {w for w in folded.split() if w not in _SAID_BY_MANY and not w.isdigit()}
    return Venue(kind, frozenset(series | set(_LETTERS.findall(folded))), frozenset(words))


def same_series(a: Venue, b: Venue) -> bool | None:
    """Say whether two venues are of one series; None where one does not say."""
    if a.series and b.series:
        return bool(a.series & b.series)
    if not a.words or not b.words:
        return None
    return True if 2 * len(a.words & b.words) >= min(len(a.words), len(b.words)) else None


def two_publications(a: Venue, b: Venue) -> bool:
    """One in the proceedings of a conference and one in a journal."""
    return {a.kind, b.kind} == {Kind.JOURNAL, Kind.CONFERENCE}
