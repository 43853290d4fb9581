"""Entity resolution: whether a record is of a known work, by keys, source's id or likeness."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from msgspec import structs
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from monitor.identity.authors import agreement
from monitor.identity.blocking import fold_title
from monitor.identity.features import abstract_agreement
from monitor.identity.keys import LINK, TEXT, doi, group_by_scheme, identifiers
from monitor.identity.notices import contradicts, have_other_ids, is_about
from monitor.identity.same_work import (
    SAME_ABSTRACT,
    conflicting_scheme,
    differ_under_one_name,
    same_work,
    texts_agree,
)
from monitor.model import Candidate, IncomingPaper, OtherTitle, Paper, Sighting
from monitor.text import plain, title_key

# Titles this similar under one guid or link are the same title, corrected.
CORRECTED_TITLE = 0.75
# Less similar titles by other people are of different papers.
MIN_TITLE = 0.75
# The kinds of keys by which a work is found, strongest first.
MATCHED_BY = ("key", "raw_id", "title", "block")
# Further titles are not shown.
MAX_OTHER_TITLES = 3
# Titles are compared up to this length; the longest have some five hundred characters.
MAX_TITLE_LENGTH = 2_000

# The beginnings of reasons by identifier, entry or person; all others are by likeness.
_BY_NAME = re.compile(r"someone ruled|same entry of its source|same (?!title\b)\S+ \S")
_NAME = re.compile(r"[^\W\d_]{2,}")

Key = tuple[str, str]
Keys = Collection[Key]


@dataclass(frozen=True, slots=True)
class KnownWork:
    """A work that a record may be of: of a stored `candidate`, or of earlier records of its chunk.

    `paper` is the text that was found, by one or more of `MATCHED_BY`; `texts` are all, and `keys`
    the identifiers of all.
    """

    paper: Paper
    texts: tuple[Paper, ...]
    keys: Keys
    found_by: frozenset[str]
    candidate: Candidate | None = None
    position: int | None = None

    @property
    def by_name(self) -> bool:
        return not self.found_by.isdisjoint(("key", "raw_id"))


def stored_work(candidate: Candidate) -> KnownWork:
    paper = candidate.stored.paper
    return KnownWork(paper, (paper,), candidate.keys, candidate.found_by, candidate)


def lookup_keys(record: IncomingPaper) -> dict[Key, str]:
    """Return what a record is looked up by, strongest first, each with its kind in `MATCHED_BY`."""
    keys: dict[Key, str] = {pair: "key" for pair in record.keys if pair[0] != LINK}
    keys |= {pair: "raw_id" for pair in record.keys if pair[0] == LINK}
    keys["raw_id", record.raw_id] = "raw_id"
    keys["title", record.title_key] = "title"
    return keys


def strength(candidate: Candidate) -> tuple[int, bool, int]:
    """Sort candidates, strongest first; of two by key, first the one that had this entry."""
    matched_by = min(map(MATCHED_BY.index, candidate.found_by))
    return matched_by, "raw_id" not in candidate.found_by, candidate.stored.id


def recognise(record: IncomingPaper, work: KnownWork) -> str:
    """Return why a record is of a known work, or "" if it is not."""
    candidate = work.candidate
    if candidate is None:
        return _match(record, work)
    if candidate.ruled == "same":
        return "someone ruled that they are the same"
    # A shared identifier overrides the ruling, unless another one contradicts it.
    shared = shared_keys(record, candidate.keys)
    if candidate.ruled == "different" and (
        not shared or conflicting_scheme(record.keys, candidate.keys)
    ):
        return ""
    return _match(record, work) or _same_entry(record, candidate)


def by_likeness(why: str) -> bool:
    """Whether a stored reason is by likeness alone."""
    return bool(why) and not _BY_NAME.match(why)


def _same_entry(record: IncomingPaper, candidate: Candidate) -> str:
    """Whether an entry is unchanged, and so still of the same paper, or put there by a person."""
    entries = [seen for seen in candidate.sightings if seen.raw_id == record.raw_id]
    if not entries:
        return ""
    if not_reread_since_split(record, candidate):
        return "someone ruled that it is this paper"
    # An identifier that proves nothing by itself does so together with the entry's name.
    carried = {*candidate.common, *candidate.keys}
    common = next((f"{s} {v}" for s, v in record.common if (s, v) in carried), "")
    if common and not conflicting_scheme(record.keys, candidate.keys):
        return f"same entry of its source, same {common}"
    # By their text alone, thousands of notices called "Correction" have one name.
    if record.raw_id.startswith(TEXT) and have_other_ids(record.keys, candidate.keys):
        return ""
    unchanged = any(record.fingerprint in (seen.fingerprint, *seen.past) for seen in entries)
    return "same entry of its source" if unchanged else ""


def not_reread_since_split(record: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a paper was split and this entry has not been read since."""
    entries = (seen for seen in candidate.sightings if seen.raw_id == record.raw_id)
    return any(not seen.fingerprint for seen in entries)


def shared_keys(record: IncomingPaper, keys: Keys) -> list[Key]:
    """Return the identifiers that a record shares with a paper, without links."""
    return [pair for pair in record.keys if pair[0] != LINK and pair in keys]


def drop_shared_keys(record: IncomingPaper, shared: AbstractSet[Key]) -> IncomingPaper:
    """Return a record without some of its keys, which it keeps as data."""
    if shared.isdisjoint(record.keys):
        return record
    kept = tuple(pair for pair in record.keys if pair not in shared)
    data = tuple(pair for pair in record.keys if pair in shared)
    return structs.replace(record, keys=kept, common=(*record.common, *data))


def _match(record: IncomingPaper, work: KnownWork) -> str:
    """Return why identifiers or texts make a record one of a work, or ""."""
    if shared := shared_keys(record, work.keys):
        scheme, value = shared[0]
        return f"same {scheme} {value}" if _may_share(record, work) else ""
    paper = work.paper
    if record.common:
        paper = _without_common_keys(paper, record.common)
        record = structs.replace(record, paper=_without_common_keys(record.paper, record.common))
    only_block = work.found_by == {"block"}
    if only_block and not may_match_cheaply(record, paper.title, paper.authors):
        return ""
    verdict = same_work(record.paper, paper)
    if verdict.same:
        return ", ".join(verdict.why)
    same_place = "raw_id" in work.found_by or any(pair in work.keys for pair in record.keys)
    if not same_place or contradicts(record.paper, paper):
        return ""
    if _texts_confirm_link(record, paper, work.keys):
        return "same entry of its source, " + ", ".join(verdict.why)
    return ""


def _may_share(record: IncomingPaper, work: KnownWork) -> bool:
    """Whether a shared identifier proves that a record is of a work.

    It does not if one is about the other (some errata have the DOI of their paper), nor if another
    identifier contradicts it and the texts differ.
    """
    texts = (work.paper, *work.texts)
    if any(is_about(record.paper, text) for text in texts):
        return False
    if not conflicting_scheme(record.keys, work.keys):
        return True
    return any(texts_agree(record.paper, text) for text in texts)


def _without_common_keys(paper: Paper, common: Keys) -> Paper:
    pairs = identifiers(structs.replace(paper, url="", pdf_url=""))
    kept = group_by_scheme(pair for pair in pairs if pair not in common)
    pages = {
        name: "" for name in ("url", "pdf_url") if ("doi", doi(getattr(paper, name))) in common
    }
    return structs.replace(paper, keys=kept, **pages)


def may_match_cheaply(record: IncomingPaper, title: str, authors: tuple[str, ...]) -> bool:
    """A cheap check whether a paper may have this title, or one of these authors.

    Nearly all papers that share only a block have no word of either in common.
    """
    text = _spoken(authors)
    names = _names(record.paper.authors)
    # A search in the joined text is fast, and nearly always finds nothing.
    if any(map(text.__contains__, names)) and not names.isdisjoint(_NAME.findall(text)):
        return True
    key = title_key(title)
    return Indel.normalized_similarity(record.title_key, key, score_cutoff=MIN_TITLE) > 0


def _spoken(authors: tuple[str, ...]) -> str:
    return fold_title(" ".join(authors)).casefold()


@lru_cache(16)  # a paper's candidates follow each other
def _names(authors: tuple[str, ...]) -> frozenset[str]:
    """Return the words of names, without initials."""
    return frozenset(_NAME.findall(_spoken(authors)))


def _texts_confirm_link(record: IncomingPaper, paper: Paper, keys: Keys) -> bool:
    """Whether the texts confirm a shared guid or link, which may be given to another paper.

    Nothing may contradict it: other people, another part, one conference in two years.
    """
    if have_other_ids(record.keys, keys):
        return False
    title = fuzz.ratio(plain(record.paper.title).casefold(), plain(paper.title).casefold()) / 100
    abstract = abstract_agreement(record.paper.abstract, paper.abstract)
    alike = title >= CORRECTED_TITLE or (abstract is not None and abstract >= SAME_ABSTRACT)
    return alike and not differ_under_one_name(record.paper, paper)


def may_be_same_work(a: Paper, b: Paper) -> bool:
    """Whether nothing contradicts that two papers are one when a record has keys of both.

    A wrong DOI is easily copied: papers of other people under another title stay apart, and so do
    two ids of one scheme (except DOIs, one a version and publisher) unless the records are similar.
    """
    agreed = agreement(a.authors, b.authors)
    if agreed and not agreed.met and not same_work(a, b).same:
        return False
    both = (a.keys.keys() & b.keys.keys()) - {LINK, "doi"}
    parted = any({*a.identifiers(s)}.isdisjoint(b.identifiers(s)) for s in both)
    return not parted or same_work(a, b).score >= 0.5


def other_titles(title: str, sightings: Sequence[Sighting]) -> tuple[OtherTitle, ...]:
    """Return other titles of records that were merged by likeness.

    `sightings` are those of the paper, oldest first. Titles that differ only in case, punctuation
    or markup are the same. Merges by identifier or by a person need no check.
    """
    titles = [
        (_shown_key(sighting.text.title), sighting.text.title, sighting)
        for sighting in sightings
        if sighting.text
    ]
    shown = {_shown_key(title)}
    # The title of a record merged by likeness may have replaced the first record's.
    replaced = any(key in shown and by_likeness(sighting.why) for key, _, sighting in titles)
    others = []
    for key, other, sighting in titles:
        if key not in shown and (by_likeness(sighting.why) or (replaced and not sighting.why)):
            others.append(OtherTitle(other, sighting.source))
            shown.add(key)
    return tuple(others[:MAX_OTHER_TITLES])


def _shown_key(title: str) -> str:
    return title_key(title[:MAX_TITLE_LENGTH])
