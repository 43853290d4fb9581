"""Measuring the evidence for and against two records being one work, without weighing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from msgspec import structs

from monitor.identity import authors, title_likeness, venues
from monitor.identity.authors import Agreement
from monitor.identity.folded_record import FoldedAbstract, FoldedRecord, fold_record
from monitor.identity.keys import LINK, claims_of, group_by_scheme
from monitor.identity.title_likeness import Likeness, near
from monitor.identity.titles import Title
from monitor.model import Claim, Paper
from monitor.text.registrants import may_be_draft
from monitor.text.spelling import american

# An abstract with fewer words is not compared.
TELLING_WORDS = 20
# How many pairs of neighbouring words a passage of an abstract has.
PASSAGE = 12
# How many words a title has before names that were run into it.
MIN_WORDS = 2
# Less similar titles are compared no further if no author is shared.
UNLIKE = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for and against one work; None where one of two records gives no value."""

    # The likeness of the titles.
    title: Likeness
    # None if one record names none.
    authors: Agreement | None

    # True if the venues are of one series, False if of two, None if that is not clear.
    series: bool | None
    # One venue is a conference, the other a journal.
    two_publications: bool
    # The venues are of one series of conferences.
    one_conference: bool
    # The venues are of two series of conferences; workshops do not count.
    two_conferences: bool
    # Neither record may be a draft of the other.
    published: bool
    # Neither record has a venue or the identifier of a preprint.
    no_place: bool
    # A venue was cut out of a citation, which may cite any version of the work.
    cut: bool
    # The difference of the years of the records, else of their venues.
    years_apart: int | None

    # The share of the shorter abstract's pairs of neighbouring words that the longer has; None if
    # one has fewer than `TELLING_WORDS`.
    abstract: float | None
    # The share of the rare words of the abstract with fewer that the other has; None as `abstract`.
    terms: float | None
    # The share of the shorter abstract's passages that the longer lacks; 0 unless `no_place`.
    new_passages: float
    # The abstracts have the same numbers; False unless those of the titles differ.
    same_numbers: bool
    # Each title has a rare word that is in its abstract, too, and nowhere in the other record.
    other_subject: bool
    # A scheme in which the records have only different identifiers, "" for none.
    conflict: str = ""


def gather(a: Paper, b: Paper, conflict: str = "") -> Evidence | None:
    """Return the evidence, None if two records clearly have nothing in common."""
    a, b = _restore_authors(a, b), _restore_authors(b, a)
    one = fold_record(a)
    other = fold_record(b)
    ours = one.title
    theirs = other.title
    agreed = authors.agreement(one.names, other.names)
    met = agreed.met if agreed else 0
    if not met and title_likeness.letters_agree(ours, theirs) < UNLIKE:
        return None
    here = one.venue
    there = other.venue
    text = one.abstract
    other_text = other.abstract
    pairs, terms = _agreement(text, other_text)
    # Catalogues mix the names of authors and venue into titles.
    names = here.words.union(there.words, *one.people, *other.people)
    explained = set(map(american, names))
    title = title_likeness.likeness(ours, theirs, explained)
    printed = venues.both_published(here, there) and not (is_archived(a) or is_archived(b))
    no_place = printed and not venues.has_name(here)
    return Evidence(
        title=title,
        authors=agreed,
        series=venues.same_series(here, there),
        two_publications=venues.two_publications(here, there),
        one_conference=venues.one_conference(here, there),
        two_conferences=venues.two_conferences(here, there),
        published=printed,
        no_place=no_place,
        cut=here.cut or there.cut,
        years_apart=years_apart(a, b),
        abstract=pairs,
        terms=terms,
        new_passages=_new_passages(text, other_text) if no_place and pairs else 0.0,
        same_numbers=title.other_number and one.abstract_numbers == other.abstract_numbers,
        other_subject=pairs is not None
        and _subject(ours, text, theirs, other_text)
        and _subject(theirs, other_text, ours, text),
        conflict=conflict,
    )


def years_apart(a: Paper, b: Paper) -> int | None:
    """Return by how many years two records differ, None if one does not say its year."""
    year, other = (_year(one) or fold_record(one).venue.year for one in (a, b))
    return abs(year - other) if year and other else None


def is_archived(paper: Paper) -> bool:
    """Whether a preprint server has it, whatever its venue is."""
    return "arxiv" in paper.keys or _preprint(paper.identifiers("doi"))


def _subject(title: Title, text: FoldedAbstract, other: Title, other_text: FoldedAbstract) -> bool:
    """Whether one record has a rare word in title and abstract that the other lacks."""
    own = (title.distinct - other.distinct) & text.terms
    words = other.distinct | other_text.terms
    return any(not any(near(word, there) for there in words) for word in own - words)


def _restore_authors(record: Paper, other: Paper) -> Paper:
    """Restore the authors that a catalogue ran into the title, from the other record.

    Place and year that follow them become the venue.
    """
    if record.authors or not other.authors:
        return record
    names = fold_record(other).people
    words = fold_record(record).title_words
    met = [(words.index(name[-1]), name) for name in names if name[-1] in words]
    if not met or 3 * len(met) < 2 * len(names):
        return record
    first, name = min(met)
    last = max(position for position, _ in met)
    for given in reversed(name[:-1]):
        first -= first > 0 and words[first - 1][0] == given[0]
    unmatched = sum(len(name) for name in names if name[-1] not in words)
    if first < MIN_WORDS or _count_other_words(words[first:last], names) > unmatched:
        return record
    if words[first - 1] == "by":  # a review: "... by Ada Lovelace"
        return record
    title = words[:first]
    after = words[last + 1 :]
    venue = record.venue or " ".join(after)
    return structs.replace(record, title=" ".join(title), authors=other.authors, venue=venue)


def _count_other_words(words: Sequence[str], names: Sequence[authors.Name]) -> int:
    """Count the words that belong to no list of these names, however it abbreviates them."""
    parts = {"and", *chain.from_iterable(names)}
    return sum(len(word) > 1 and not word.startswith(tuple(parts)) for word in words)


@dataclass(frozen=True, slots=True)
class SharedIdentifiers:
    """The identifiers that two records share, as (scheme, value).

    `proof` is one that both have as a field, `mention` one that either has from a link or a text;
    `conflict` is a scheme in which both have only different ones.
    """

    proof: tuple[str, str] | None = None
    mention: tuple[str, str] | None = None
    conflict: str = ""


def compare_identifiers(a: Paper, b: Paper) -> SharedIdentifiers:
    ours = claims_of(a)
    if all(scheme == LINK for scheme, _ in ours):  # as of most papers that are looked up
        return SharedIdentifiers()
    theirs = claims_of(b)
    shared = sorted(pair for pair in ours.keys() & theirs.keys() if pair[0] != LINK)
    for pair in shared:
        if max(ours[pair], theirs[pair]) <= Claim.FIELD:
            return SharedIdentifiers(proof=pair)
    own, others = (
        group_by_scheme(pair for pair in claims if pair not in shared and pair[0] != LINK)
        for claims in (ours, theirs)
    )
    conflict = next(
        (
            scheme
            for scheme in sorted(own.keys() & others.keys())
            if scheme != "doi" or _preprint(own[scheme]) == _preprint(others[scheme])
        ),
        "",
    )
    return SharedIdentifiers(mention=shared[0] if shared else None, conflict=conflict)


def _preprint(dois: Sequence[str]) -> bool:
    """Whether a paper may be published elsewhere: one such DOI beside a publisher's is common."""
    return any(map(may_be_draft, dois))


def _year(paper: Paper) -> int | None:
    if paper.year:
        return paper.year
    first = paper.published or paper.announced
    return first.year if first else None


def _agreement(ours: FoldedAbstract, theirs: FoldedAbstract) -> tuple[float | None, float | None]:
    """Return which shares of the fewer pairs of words, and of the fewer rare words, both have."""
    if min(len(ours.pairs), len(theirs.pairs)) < TELLING_WORDS:
        return None, None
    pairs = len(ours.pairs & theirs.pairs) / min(len(ours.pairs), len(theirs.pairs))
    fewest = min(len(ours.terms), len(theirs.terms))
    return pairs, len(ours.terms & theirs.terms) / fewest if fewest else None


def _new_passages(a: FoldedAbstract, b: FoldedAbstract) -> float:
    """Return the share of the shorter abstract's passages with at most one pair of the longer."""
    shorter, longer = sorted((a, b), key=lambda text: (len(text.words), text.words))
    pairs = list(pairwise(shorter.words))
    passages = [pairs[start : start + PASSAGE] for start in range(0, len(pairs), PASSAGE)]
    new = sum(sum(pair in longer.pairs for pair in passage) <= 1 for passage in passages)
    return new / len(passages)


def abstract_agreement(a: FoldedRecord, b: FoldedRecord) -> tuple[float | None, float | None]:
    """Return the shares of the shorter abstract's pairs of words, and rare words, in the longer.

    None if one is too short. Feeds cut abstracts, so the shorter one is measured, in pairs of
    neighbouring words, which two papers of one field do not share by chance.
    """
    return _agreement(a.abstract, b.abstract)
