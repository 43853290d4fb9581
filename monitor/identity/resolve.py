"""Entity resolution: which stored paper a record is of, by keys, source's id or likeness."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec import structs
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from monitor.identity.authors import author_agreement
from monitor.identity.blocking import fold_title
from monitor.identity.features import abstract_agreement
from monitor.identity.keys import LINK, doi, identifiers
from monitor.identity.notices import contradicts, is_about
from monitor.identity.same_work import (
    SAME_ABSTRACT,
    conflicting_scheme,
    differ_under_one_name,
    same_work,
    texts_agree,
)
from monitor.kept import kept
from monitor.model import Candidate, IncomingPaper, Paper
from monitor.text import plain, title_key

# Titles this similar under one guid or link are the same title, corrected.
MENDED_TITLE = 0.75
# Less similar titles by other people are of different papers.
NEAR_ENOUGH = 0.75
# How a candidate was found, strongest first.
WAYS = ("key", "raw_id", "title", "block")

_ONLY_NEAR = frozenset({"block"})
# The beginnings of reasons by identifier, entry or person; all others are by likeness.
_BY_NAME = re.compile(r"someone ruled|same entry of its source|same (?!title\b)\S+ \S")
_NAME = re.compile(r"[^\W\d_]{2,}")

Keys = Collection[tuple[str, str]]
Handle = tuple[str, str]


def handles(keyed: IncomingPaper) -> dict[Handle, str]:
    """The handles of a record, strongest first, and how each finds papers."""
    found: dict[Handle, str] = {pair: "key" for pair in keyed.keys if pair[0] != LINK}
    found |= {pair: "raw_id" for pair in keyed.keys if pair[0] == LINK}
    found["raw_id", keyed.raw_id] = "raw_id"
    found["title", keyed.title_key] = "title"
    return found


def strength(candidate: Candidate) -> tuple[int, bool, int]:
    """Sort candidates, strongest first; of two by key, first the one that had this entry."""
    way = min(map(WAYS.index, candidate.found_by))
    return way, "raw_id" not in candidate.found_by, candidate.stored.id


def stored_matches(
    keyed: IncomingPaper, found: Sequence[Candidate]
) -> Iterator[tuple[Candidate, str, bool]]:
    """Yield the stored papers of a record, the reason, and whether it proves they are one.

    Keys and the source's id prove it. Likeness counts only if neither leads to a paper; then the
    first similar paper is taken.
    """
    recognised = False
    for candidate in sorted(found, key=strength):
        by_name = not candidate.found_by.isdisjoint(("key", "raw_id"))
        if recognised and not by_name:
            return
        why = (
            _by_ruling(keyed, candidate)
            or matches(keyed, [candidate.stored.paper], candidate.keys, candidate.found_by)
            or _same_entry(keyed, candidate)
        )
        if why and not _ruled_out(keyed, candidate):
            yield candidate, why, by_name or candidate.ruled == "same"
            recognised = True


def by_likeness(why: str) -> bool:
    """Whether a stored reason is by likeness alone."""
    return bool(why) and not _BY_NAME.match(why)


def _by_ruling(keyed: IncomingPaper, candidate: Candidate) -> str:
    return "someone ruled that they are the same" if candidate.ruled == "same" else ""


def _same_entry(keyed: IncomingPaper, candidate: Candidate) -> str:
    """Whether an entry is unchanged, and so still of the same paper, or put there by a person."""
    if not_reread_since_split(keyed, candidate):
        return "someone ruled that it is this paper"
    if common := _in_common(keyed, candidate):
        return f"same entry of its source, same {common}"
    said = (
        (text.fingerprint, *text.past)
        for text in candidate.sightings
        if text.raw_id == keyed.raw_id
    )
    return "same entry of its source" if any(keyed.fingerprint in prints for prints in said) else ""


def _in_common(keyed: IncomingPaper, candidate: Candidate) -> str:
    """Return an identifier that proves nothing by itself, but does with the entry's id."""
    ours = any(text.raw_id == keyed.raw_id for text in candidate.sightings)
    if not ours or conflicting_scheme(keyed.keys, candidate.keys):
        return ""
    return next((f"{s} {v}" for s, v in keyed.common if (s, v) in candidate.common), "")


def not_reread_since_split(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a paper was split and this entry has not been read since."""
    return any(text.raw_id == keyed.raw_id and not text.fingerprint for text in candidate.sightings)


def _ruled_out(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a ruling separates a record from a paper. A shared key overrides the ruling.

    A key that another identifier contradicts does not count.
    """
    if candidate.ruled != "different":
        return False
    shared = shared_key(keyed, candidate.keys)
    return not shared or bool(conflicting_scheme(keyed.keys, candidate.keys))


def shared_key(keyed: IncomingPaper, keys: Keys) -> str:
    """Return the first identifier that a record shares with a paper, else ""."""
    return next((f"{s} {v}" for s, v in keyed.keys if s != LINK and (s, v) in keys), "")


def without(keyed: IncomingPaper, common: AbstractSet[Handle]) -> IncomingPaper:
    """Return a record without some of its keys, which it keeps as data."""
    if common.isdisjoint(keyed.keys):
        return keyed
    kept = tuple(pair for pair in keyed.keys if pair not in common)
    data = tuple(pair for pair in keyed.keys if pair in common)
    return structs.replace(keyed, keys=kept, common=(*keyed.common, *data))


def find_disowned(
    keyed: IncomingPaper, found: Iterable[Candidate], matching: Iterable[Candidate]
) -> Iterator[Handle]:
    """Yield the identifiers that a record shares with clearly different stored papers."""
    ours = {one.stored.id for one in matching}
    for candidate in found:
        if candidate.stored.id not in ours:
            yield from (p for p in keyed.keys if p[0] != LINK and p in candidate.keys)


def matches(
    keyed: IncomingPaper, papers: Sequence[Paper], keys: Keys, found_by: frozenset[str]
) -> str:
    """Return why a record is of a paper, or "" if it is not.

    `papers` are the paper's records at hand, of which the first is compared; `keys` are the
    identifiers of all.
    """
    paper = papers[0]
    shared = shared_key(keyed, keys)
    if shared:
        return f"same {shared}" if _may_share(keyed, papers, keys) else ""
    if keyed.common:
        paper = _without_common_keys(paper, keyed.common)
        keyed = structs.replace(keyed, paper=_without_common_keys(keyed.paper, keyed.common))
    if found_by == _ONLY_NEAR and not may_match_cheaply(keyed, paper.title, paper.authors):
        return ""
    verdict = same_work(keyed.paper, paper)
    if verdict.same:
        return ", ".join(verdict.why)
    same_place = "raw_id" in found_by or any(pair in keys for pair in keyed.keys)
    if (
        same_place
        and not contradicts(keyed.paper, paper)
        and _texts_confirm_link(keyed, paper, keys)
    ):
        return "same entry of its source, " + ", ".join(verdict.why)
    return ""


def _may_share(keyed: IncomingPaper, papers: Sequence[Paper], keys: Keys) -> bool:
    """Whether a shared identifier proves that a record is of a paper.

    It does not if one is about the other (some errata have the DOI of their paper), nor if another
    identifier contradicts it and the texts differ.
    """
    for paper in papers:
        if (keyed.about or paper.about) and is_about(keyed.paper, paper):
            return False
    if not conflicting_scheme(keyed.keys, keys):
        return True
    return any(texts_agree(keyed.paper, paper) for paper in papers)


def _without_common_keys(paper: Paper, common: Keys) -> Paper:
    kept: dict[str, tuple[str, ...]] = {}
    for scheme, value in identifiers(structs.replace(paper, url="", pdf_url="")):
        if (scheme, value) not in common:
            kept[scheme] = (*kept.get(scheme, ()), value)
    pages = {
        name: "" for name in ("url", "pdf_url") if ("doi", doi(getattr(paper, name))) in common
    }
    return structs.replace(paper, keys=kept, **pages)


def may_match_cheaply(keyed: IncomingPaper, title: str, authors: tuple[str, ...]) -> bool:
    """A cheap check whether a paper may have this title, or one of these authors.

    Nearly all papers that share only a block have no word of either in common.
    """
    text = _spoken(authors)
    names = _names(keyed.paper.authors)
    # A search in the joined text is fast, and nearly always finds nothing.
    if any(map(text.__contains__, names)) and not names.isdisjoint(_NAME.findall(text)):
        return True
    key = title_key(title)
    return Indel.normalized_similarity(keyed.title_key, key, score_cutoff=NEAR_ENOUGH) > 0


def _spoken(authors: tuple[str, ...]) -> str:
    return fold_title(" ".join(authors)).casefold()


@kept(16)  # a paper's candidates follow each other
def _names(authors: tuple[str, ...]) -> frozenset[str]:
    """Return the words of names, without initials."""
    return frozenset(_NAME.findall(_spoken(authors)))


def _texts_confirm_link(keyed: IncomingPaper, paper: Paper, keys: Keys) -> bool:
    """Whether the texts confirm a shared guid or link, which may be given to another paper.

    Nothing may contradict it: other people, another part, one conference in two years.
    """
    schemes = {scheme for scheme, _ in keyed.keys} & {scheme for scheme, _ in keys}
    if schemes - {LINK}:
        return False
    title = fuzz.ratio(plain(keyed.paper.title).casefold(), plain(paper.title).casefold()) / 100
    abstract = abstract_agreement(keyed.paper.abstract, paper.abstract)
    alike = title >= MENDED_TITLE or (abstract is not None and abstract >= SAME_ABSTRACT)
    return alike and not differ_under_one_name(keyed.paper, paper)


def may_be_one(a: Paper, b: Paper) -> bool:
    """Whether nothing contradicts that two papers are one when a record has keys of both.

    A wrong DOI is easily copied: papers of other people under another title stay apart, and so do
    two ids of one scheme (except DOIs, one a version and publisher) unless the records are similar.
    """
    people = author_agreement(a.authors, b.authors)
    if people == 0 and not same_work(a, b).same:
        return False
    both = (a.keys.keys() & b.keys.keys()) - {LINK, "doi"}
    parted = any(_values(a, scheme).isdisjoint(_values(b, scheme)) for scheme in both)
    return not parted or same_work(a, b).score >= 0.5


def _values(paper: Paper, scheme: str) -> set[str]:
    text = paper.keys[scheme]
    return {text} if isinstance(text, str) else set(text)
