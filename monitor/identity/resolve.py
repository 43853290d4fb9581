"""Which paper a record is of: by its keys, by its place in its source, by what it says."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from msgspec import structs
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from monitor.identity.authors import author_agreement
from monitor.identity.blocking import fold_title
from monitor.identity.contradiction import bears_out, contradiction
from monitor.identity.keys import LINK, doi, identifiers
from monitor.identity.notices import apart, is_about
from monitor.identity.same_work import (
    SAME_ABSTRACT,
    abstract_agreement,
    differ_under_one_name,
    same_work,
)
from monitor.model import Candidate, IncomingPaper, Paper
from monitor.text import plain, title_key

# Under one guid or link, a title this near is the same paper under a mended title.
MENDED_TITLE = 0.75
# A title less near than this, by other people, is another paper's.
NEAR_ENOUGH = 0.75
# What a candidate was found by, the strongest first.
WAYS = ("key", "raw_id", "title", "block")

_ONLY_NEAR = frozenset({"block"})
# How the reasons begin that name an identifier, an entry or a person; all others are likeness.
_BY_NAME = re.compile(r"someone ruled|same entry of its source|same (?!title\b)\S+ \S")
_NAME = re.compile(r"[^\W\d_]{2,}")

Keys = Collection[tuple[str, str]]
Handle = tuple[str, str]


def handles(keyed: IncomingPaper) -> dict[Handle, str]:
    """What names a paper and is found as it is, strongest first, and how it is then found."""
    found: dict[Handle, str] = {pair: "key" for pair in keyed.keys if pair[0] != LINK}
    found |= {pair: "raw_id" for pair in keyed.keys if pair[0] == LINK}
    found["raw_id", keyed.raw_id] = "raw_id"
    found["title", keyed.title_key] = "title"
    return found


def strength(candidate: Candidate) -> tuple[int, bool, int]:
    """Sort candidates: the strongest first; of two by key, the one that this entry was before."""
    way = min(map(WAYS.index, candidate.found_by))
    return way, "raw_id" not in candidate.found_by, candidate.stored.id


def stored_matches(
    keyed: IncomingPaper, found: Sequence[Candidate]
) -> Iterator[tuple[Candidate, str, bool]]:
    """Yield the stored papers that a record is of, why, and whether that proves them to be one.

    Names prove it, keys and the place in a source; likeness is asked for only where no name
    leads to a paper, and then the first that is like it will do.
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
    """Whether a reason that was stored with a record says that it was joined by likeness alone."""
    return bool(why) and not _BY_NAME.match(why)


def _by_ruling(keyed: IncomingPaper, candidate: Candidate) -> str:
    return "someone ruled that they are the same" if candidate.ruled == "same" else ""


def _same_entry(keyed: IncomingPaper, candidate: Candidate) -> str:
    """An entry that says of itself what it said before is of the paper that it was of before.

    So is one that a person has put there, whatever it says.
    """
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
    """Return an identifier that is no proof by itself, but borne out by an entry's place."""
    ours = any(text.raw_id == keyed.raw_id for text in candidate.sightings)
    if not ours or contradiction(keyed.keys, candidate.keys):
        return ""
    return next((f"{s} {v}" for s, v in keyed.common if (s, v) in candidate.common), "")


def not_reread_since_split(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a paper was split, and this entry of it has not been read again since."""
    return any(text.raw_id == keyed.raw_id and not text.fingerprint for text in candidate.sightings)


def _ruled_out(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """A ruling parts a record from a paper, but not from one whose key it carries.

    A key that another identifier contradicts does not count.
    """
    if candidate.ruled != "different":
        return False
    shared = shared_key(keyed, candidate.keys)
    return not shared or bool(contradiction(keyed.keys, candidate.keys))


def shared_key(keyed: IncomingPaper, keys: Keys) -> str:
    """Return the first identifier that a record shares with a paper, or ""."""
    return next((f"{s} {v}" for s, v in keyed.keys if s != LINK and (s, v) in keys), "")


def without(keyed: IncomingPaper, common: AbstractSet[Handle]) -> IncomingPaper:
    """Return a record that is recognised by none of some identifiers; it keeps them as data."""
    if common.isdisjoint(keyed.keys):
        return keyed
    kept = tuple(pair for pair in keyed.keys if pair not in common)
    data = tuple(pair for pair in keyed.keys if pair in common)
    return dataclasses.replace(keyed, keys=kept, common=(*keyed.common, *data))


def find_disowned(
    keyed: IncomingPaper, found: Iterable[Candidate], matching: Iterable[Candidate]
) -> Iterator[Handle]:
    """Yield the identifiers that a record shares with stored papers which are clearly others."""
    ours = {one.stored.id for one in matching}
    for candidate in found:
        if candidate.stored.id not in ours:
            yield from (p for p in keyed.keys if p[0] != LINK and p in candidate.keys)


def matches(
    keyed: IncomingPaper, papers: Sequence[Paper], keys: Keys, found_by: frozenset[str]
) -> str:
    """Say by what a paper is the incoming one, or "" when it is another.

    `papers` are the records of it that are at hand, of which the first is compared; `keys` are
    the identifiers of all.
    """
    paper = papers[0]
    shared = shared_key(keyed, keys)
    if shared:
        return f"same {shared}" if _may_share(keyed, papers, keys) else ""
    if keyed.common:
        paper = _without_common_keys(paper, keyed.common)
        keyed = dataclasses.replace(keyed, paper=_without_common_keys(keyed.paper, keyed.common))
    if found_by == _ONLY_NEAR and not may_match_cheaply(keyed, paper.title, paper.authors):
        return ""
    verdict = same_work(keyed.paper, paper)
    if verdict.same:
        return ", ".join(verdict.why)
    same_place = "raw_id" in found_by or any(pair in keys for pair in keyed.keys)
    if same_place and not apart(keyed.paper, paper) and _text_bears_out_link(keyed, paper, keys):
        return "same entry of its source, " + ", ".join(verdict.why)
    return ""


def _may_share(keyed: IncomingPaper, papers: Sequence[Paper], keys: Keys) -> bool:
    """Whether an identifier in common proves that a record is of a paper.

    Not where one is about the other (some errata have the DOI of their paper), nor where another
    identifier contradicts and no text bears it out.
    """
    for paper in papers:
        if (keyed.about or paper.about) and is_about(keyed.paper, paper):
            return False
    if not contradiction(keyed.keys, keys):
        return True
    return any(bears_out(keyed.paper, paper) for paper in papers)


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
    """Whether a paper may be one of this title, or by one of these authors: a word will do.

    Nearly all papers that share but a block have neither, and a full block holds many.
    """
    text = _spoken(authors)
    names = _names(keyed.paper.authors)
    # As letters they are soon looked for, and in nearly all lists in vain.
    if any(map(text.__contains__, names)) and not names.isdisjoint(_NAME.findall(text)):
        return True
    key = title_key(title)
    return Indel.normalized_similarity(keyed.title_key, key, score_cutoff=NEAR_ENOUGH) > 0


def _spoken(authors: tuple[str, ...]) -> str:
    return fold_title(" ".join(authors)).casefold()


@lru_cache(maxsize=16)  # a paper's candidates come one after another
def _names(authors: tuple[str, ...]) -> frozenset[str]:
    """Return the words of names, without initials."""
    return frozenset(_NAME.findall(_spoken(authors)))


def _text_bears_out_link(keyed: IncomingPaper, paper: Paper, keys: Keys) -> bool:
    """A guid or link may be given to another paper: the title or abstract must bear it out.

    Nothing else may speak against it: other people, another part, one conference in two years.
    """
    schemes = {scheme for scheme, _ in keyed.keys} & {scheme for scheme, _ in keys}
    if schemes - {LINK}:
        return False
    title = fuzz.ratio(plain(keyed.paper.title).casefold(), plain(paper.title).casefold()) / 100
    abstract = abstract_agreement(keyed.paper.abstract, paper.abstract)
    alike = title >= MENDED_TITLE or (abstract is not None and abstract >= SAME_ABSTRACT)
    return alike and not differ_under_one_name(keyed.paper, paper)


def may_be_one(a: Paper, b: Paper) -> bool:
    """Whether nothing speaks against two papers being one that a record's names say are one.

    A wrong DOI is copied easily: papers of other people under another title stay apart, and so
    do two ids of one scheme (a paper has one; of DOIs, one a version and a publisher) unless
    the records are like each other besides.
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
