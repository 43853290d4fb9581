"""Entity resolution: whether a record is of a known work, by keys, source's id or likeness."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from monitor.identity.authors import agreement
from monitor.identity.compare_texts import Comparison, compare_texts, same_title
from monitor.identity.features import abstract_agreement
from monitor.identity.folded_record import fold_names, fold_record, words_of_names
from monitor.identity.keys import LINK, TEXT, doi, group_by_scheme, identifiers, page
from monitor.identity.notices import contradicts, have_other_ids, is_about
from monitor.identity.same_work import (
    SAME_ABSTRACT,
    conflicting_scheme,
    differ_under_one_name,
    same_work,
    texts_agree,
)
from monitor.model import (
    Candidate,
    Claim,
    Finding,
    IncomingPaper,
    OtherTitle,
    Paper,
    Reason,
    Reasons,
    Sighting,
    SightingText,
)
from monitor.text import plain, title_key, title_lengths

# Titles this similar under one guid or link are the same title, corrected.
CORRECTED_TITLE = 0.75
# Less similar titles by other people are of different papers.
MIN_TITLE = 0.75
# The kinds of keys by which a work is found, strongest first. A "mention" is an identifier that is
# no field of both.
MATCHED_BY = ("key", "raw_id", "mention", "title", "former name", "block")
# Further titles are not shown.
MAX_OTHER_TITLES = 3

# Reasons that begin so are by identifier, entry or person; all others are by likeness.
_BY_NAME = frozenset(
    (Finding.RULED_SAME, Finding.RULED_THIS, Finding.SAME_ENTRY, Finding.SAME_IDENTIFIER)
)
_SAME_ENTRY = Reason(Finding.SAME_ENTRY)

Key = tuple[str, str]
Keys = Collection[Key]


@dataclass(frozen=True, slots=True)
class KnownWork:
    """A work that a record may be of: of a stored `candidate`, or of earlier records of its chunk.

    `paper` is the text that was found, by one or more of `MATCHED_BY`; `texts` are all, and `keys`
    the identifiers of all, each with the best claim.
    """

    paper: Paper
    texts: tuple[Paper, ...]
    keys: Mapping[Key, Claim]
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
    keys: dict[Key, str] = dict.fromkeys(record.own_keys, "key")
    keys |= {pair: "raw_id" for pair in record.keys if pair[0] == LINK}
    keys["raw_id", record.raw_id] = "raw_id"
    keys |= {pair: "mention" for pair in record.keys if pair not in keys}
    keys["title", record.title_key] = "title"
    return keys


def strength(candidate: Candidate) -> tuple[int, bool, int]:
    """Sort candidates, strongest first; of two by key, first the one that had this entry."""
    matched_by = min(map(MATCHED_BY.index, candidate.found_by))
    return matched_by, "raw_id" not in candidate.found_by, candidate.stored.id


def recognise(record: IncomingPaper, work: KnownWork) -> Reasons:
    """Return why a record is of a known work; nothing if it is not."""
    candidate = work.candidate
    if candidate is None:
        return _match(record, work)
    if candidate.ruled == "same":
        return (Reason(Finding.RULED_SAME),)
    # A shared identifier overrides the ruling, unless another one contradicts it.
    proof, _ = shared_identifiers(record, work.keys)
    if candidate.ruled == "different" and (
        not proof or conflicting_scheme(record.keys, candidate.keys)
    ):
        return ()
    return _match(record, work) or _same_entry(record, candidate)


def by_likeness(reasons: Reasons) -> bool:
    """Whether a record was recognised by likeness alone."""
    return bool(reasons) and reasons[0].finding not in _BY_NAME


def _same_entry(record: IncomingPaper, candidate: Candidate) -> Reasons:
    """Whether an entry is unchanged, and so still of the same paper, or put there by a person."""
    entries = _entries_of(record, candidate)
    if not entries:
        return ()
    if not_reread_since_split(record, candidate):
        return (Reason(Finding.RULED_THIS),)
    # An identifier that proves nothing by itself does so together with the entry's name.
    carried = {*candidate.common, *candidate.keys}
    shared = (pair for pair in record.keys if pair in carried)
    common = next((pair for pair in shared if _is_beside_name(record, pair)), None)
    if common and not conflicting_scheme(record.keys, candidate.keys):
        return _SAME_ENTRY, Reason(Finding.SAME_IDENTIFIER, common)
    # By their text alone, thousands of notices called "Correction" have one name.
    if record.raw_id.startswith(TEXT) and have_other_ids(record.own_keys, candidate.keys):
        return ()
    if any(record.fingerprint in (seen.fingerprint, *seen.past) for seen in entries):
        return (_SAME_ENTRY,)
    # A paper has the text of its first record, and this entry may be another one.
    texts = (seen.text for seen in entries if seen.text and seen.text.title)
    if any(_texts_confirm_link(record, _paper_of(text), candidate.keys) for text in texts):
        return (_SAME_ENTRY,)
    return ()


def _is_beside_name(record: IncomingPaper, pair: Key) -> bool:
    """Whether an identifier says more than the entry's name, which may be a link with it."""
    if pair[0] == LINK:
        return False
    return record.claim(pair) is Claim.ASSIGNED or pair[1] not in record.raw_id.lower()


def _paper_of(text: SightingText) -> Paper:
    return Paper(text.title, authors=text.authors, venue=text.venue, year=text.year)


def not_reread_since_split(record: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a paper was split and this entry has not been read since."""
    return any(not seen.fingerprint for seen in _entries_of(record, candidate))


def _entries_of(record: IncomingPaper, candidate: Candidate) -> list[Sighting]:
    """Return the sightings of a paper under the record's name, or under a former one.

    Others had the former name, too: the title has to be the same, or the whole text.
    """
    entries = [seen for seen in candidate.sightings if seen.raw_id == record.raw_id]
    former = [seen for seen in candidate.sightings if seen.raw_id in record.former_names]
    if former and record.title_key != title_key(candidate.stored.paper.title):
        former = [s for s in former if record.fingerprint in (s.fingerprint, *s.past)]
    return [*entries, *former]


def shared_identifiers(
    record: IncomingPaper, keys: Mapping[Key, Claim]
) -> tuple[list[Key], list[Key]]:
    """Return the identifiers that a record shares with a work: those that prove, and mentions.

    One proves that they are one work if it is a field of both, and of no other work.
    """
    shared = [pair for pair in record.keys if pair[0] != LINK and pair in keys]
    proof = [
        pair
        for pair in shared
        if max(record.claim(pair), keys[pair]) <= Claim.FIELD and pair not in record.contested
    ]
    return proof, [pair for pair in shared if pair not in proof]


def names_work(record: IncomingPaper, work: KnownWork) -> bool:
    """Whether a record names a work: by an identifier that proves it, or as the same entry."""
    return "raw_id" in work.found_by or bool(shared_identifiers(record, work.keys)[0])


def contest(record: IncomingPaper, contested: Collection[Key]) -> IncomingPaper:
    """Return a record, of whose identifiers some are known to be of different works."""
    pairs = tuple(pair for pair in record.keys if pair in contested)
    return structs.replace(record, contested=(*record.contested, *pairs)) if pairs else record


def _match(record: IncomingPaper, work: KnownWork) -> Reasons:
    """Return why identifiers or texts make a record one of a work; nothing if they do not."""
    proof, mentions = shared_identifiers(record, work.keys)
    if proof:
        may_share = _may_share(record, work)
        return (Reason(Finding.SAME_IDENTIFIER, proof[0]),) if may_share else ()
    if mentions and _titles_confirm(record, work):
        return (Reason(Finding.SAME_IDENTIFIER, mentions[0]),)
    paper = work.paper
    unproven = {*record.contested, *mentions}
    if unproven:
        paper = _without_keys(paper, unproven)
        record = structs.replace(record, paper=_without_keys(record.paper, unproven))
    if work.found_by <= {"block", "former name"} and not may_match_cheaply(
        record, paper.title, paper.authors
    ):
        return ()
    verdict = same_work(record.paper, paper)
    if verdict.same:
        return verdict.reasons
    same_place = "raw_id" in work.found_by or any(pair in work.keys for pair in record.keys)
    same_place = same_place or _has_title_and_page(record, paper)
    if not same_place or contradicts(record.paper, paper):
        return ()
    if _texts_confirm_link(record, paper, work.keys):
        return (_SAME_ENTRY, *verdict.reasons)
    return ()


def _has_title_and_page(record: IncomingPaper, paper: Paper) -> bool:
    """Whether a record has the title and page of a paper, and not only other authors."""
    if record.title_key != title_key(paper.title) or not page(paper.url):
        return False
    agreed = agreement(record.paper.authors, paper.authors)
    return page(record.paper.url) == page(paper.url) and (agreed is None or agreed.met > 0)


def _may_share(record: IncomingPaper, work: KnownWork) -> bool:
    """Whether a shared identifier proves that a record is of a work.

    It does not if one is about the other (some errata have the DOI of their paper), if another
    identifier contradicts it and the texts differ, or if nothing else of the two agrees.
    """
    texts = (work.paper, *work.texts)
    if any(is_about(record.paper, text) for text in texts):
        return False
    if conflicting_scheme(record.keys, work.keys):
        return any(texts_agree(record.paper, text) for text in texts)
    comparisons = {compare_texts(record.paper, text) for text in texts}
    return Comparison.DIFFER not in comparisons or Comparison.AGREE in comparisons


def _titles_confirm(record: IncomingPaper, work: KnownWork) -> bool:
    """Whether a record that mentions an identifier of a work, or is mentioned, has its title."""
    if conflicting_scheme(record.keys, work.keys):
        return False
    return any(
        same_title(record.paper, text)
        and not (is_about(record.paper, text) or contradicts(record.paper, text))
        for text in (work.paper, *work.texts)
    )


def _without_keys(paper: Paper, unproven: Keys) -> Paper:
    pairs = identifiers(structs.replace(paper, url="", pdf_url=""))
    kept = group_by_scheme(pair for pair in pairs if pair not in unproven)
    pages = {
        name: "" for name in ("url", "pdf_url") if ("doi", doi(getattr(paper, name))) in unproven
    }
    return structs.replace(paper, keys=kept, **pages)


def may_match_cheaply(record: IncomingPaper, title: str, authors: tuple[str, ...]) -> bool:
    """A cheap check whether a paper may have this title, or one of these authors.

    Nearly all papers that share only a block have no word of either in common.
    """
    text = fold_names(authors)
    names = fold_record(record.paper).words_of_names
    # A search in the joined text is fast, and nearly always finds nothing.
    if any(map(text.__contains__, names)) and not names.isdisjoint(words_of_names(text)):
        return True
    key = title_key(title)
    return Indel.normalized_similarity(record.title_key, key, score_cutoff=MIN_TITLE) > 0


def _texts_confirm_link(record: IncomingPaper, paper: Paper, keys: Keys) -> bool:
    """Whether the texts confirm a shared guid or link, which may be given to another paper.

    Nothing may contradict it: other people, another part, one conference in two years.
    """
    if have_other_ids(record.own_keys, keys):
        return False
    title = fuzz.ratio(plain(record.paper.title).casefold(), plain(paper.title).casefold()) / 100
    abstract, _ = abstract_agreement(fold_record(record.paper), fold_record(paper))
    alike = title >= CORRECTED_TITLE or (abstract is not None and abstract >= SAME_ABSTRACT)
    return alike and not differ_under_one_name(record.paper, paper)


def may_be_same_work(a: Paper, b: Paper) -> bool:
    """Whether nothing contradicts that two papers are one when a record has keys of both.

    A wrong DOI is easily copied: papers of other people under another title stay apart, and so do
    two ids of one scheme (except DOIs, one a version and publisher) unless the records are similar.
    """
    if compare_texts(a, b) is Comparison.DIFFER:
        return False
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
    replaced = any(key in shown and by_likeness(sighting.recognised) for key, _, sighting in titles)
    others = []
    for key, other, sighting in titles:
        reasons = sighting.recognised
        if key not in shown and (by_likeness(reasons) or (replaced and not reasons)):
            others.append(OtherTitle(other, sighting.source))
            shown.add(key)
    return tuple(others[:MAX_OTHER_TITLES])


def _shown_key(title: str) -> str:
    return title_key(title[: title_lengths.SHOWN])
