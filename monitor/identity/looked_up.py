"""Judging the answer of a service about a paper: whether one of its records is the paper's.

A wrong link is worse than none, so a record counts only if it has the paper's title, if nothing
that both have speaks against it, and if both have something else in common: an identifier, authors,
or an abstract. Rules and thresholds are those of `same_work`, and these, which are stricter:

1. Records under another title, of another kind of publication or in another language never count.
2. What contradicts the paper, or the record of another service that counts, does not count.
3. A record without evidence counts if another service names the same identifier, and the title is
   one that two works do not hit upon.
4. Of two works that both may be the paper, none counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations

from monitor.identity.compare_texts import compare_persons, may_be_namesakes, same_title
from monitor.identity.features import (
    abstract_agreement,
    compare_identifiers,
    is_archived,
    years_apart,
)
from monitor.identity.folded_record import FoldedRecord, fold_record
from monitor.identity.keys import claims_of, group_by_scheme, identifiers
from monitor.identity.notices import is_about, notice
from monitor.identity.same_work import (
    ALIKE_ABSTRACT,
    ONE_ID_A_PAPER,
    REVISED_ABSTRACT,
    SAME_ABSTRACT,
    TELLING_TITLE,
    Verdict,
    conflicting_scheme,
    same_work,
    texts_agree,
)
from monitor.identity.venues import Kind
from monitor.model import Claim, Finding, Paper, Reason, Reasons, arxiv_month
from monitor.model.look_up import Evidence, LookUpOutcome
from monitor.text.spelling import american

# Of 570 labelled pairs of copies with one title, one pair is more than two years apart.
MOST_YEARS = 2
# Of 662 labelled pairs of copies with one title, 22 share less of the shorter list of authors.
LEAST_AUTHORS = 0.5
# The share of the rare words of the shorter abstract, and how many words both have in a row, beside
# `SAME_ABSTRACT`: abstracts are made of the same phrases. Of labelled copies whose abstracts agree,
# 4% lack this in their first 30 words; of the 50 million pairs of 10,000 papers by other authors,
# four have a run of this many words.
SAME_TERMS = 0.5
RUN = 14
# Groups begin the abstracts of their papers alike, so that beginnings of fewer words have to agree
# more: (words, share). Of labelled copies whose abstracts agree, 1% of such beginnings do not.
SAME_BEGINNINGS = ((40, 0.8), (80, 0.72))
# The schemes in which two services that name the same value mean the same paper. Others are those
# of one service, which no other assigns.
REGISTRIES = frozenset((*ONE_ID_A_PAPER, "doi"))

# Types of papers; preprints, and records of services that give no type, have any of them. All
# other types (dissertation, dataset, book, component, editorial) are of other publications, even
# if these have the title, the authors and the abstract of a paper.
_PAPER_TYPES = frozenset(
    {
        "",
        "article",
        "book chapter",
        "conference paper",
        "inproceedings",
        "journal article",
        "letter",
        "posted content",
        "preprint",
        "proceedings article",
        "report",
        "review",
    }
)
# A record of type `review` is a survey or the review of a book; a paper with one of these words in
# its title is one, too.
_REVIEW = frozenset(("survey", "surveys", "review", "reviews", "overview", "tutorial"))
_THESIS = frozenset(("thesis", "theses", "dissertation", "dissertations"))
_LECTURE_NOTES = frozenset(("lecture", "notes"))

# Findings of `same_work` that speak against one work. The others only say that nothing speaks for
# it.
_AGAINST = frozenset(
    {
        Finding.DIFFERENT_IDENTIFIER,
        Finding.TEXTS_DISAGREE,
        Finding.NOTHING_ELSE_AGREES,
        Finding.RECURRING_TITLE,
        Finding.TITLE_MAY_RECUR,
        Finding.OTHER_PART,
        Finding.SAYS_IT_IS_ANOTHER,
        Finding.WORDS_BEFORE_TITLE,
        Finding.ABOUT_THE_OTHER,
        Finding.TWO_NOTICES,
        Finding.NOTICES_ABOUT_DIFFERENT_PAPERS,
        Finding.NO_COMMON_AUTHOR,
        Finding.JOURNAL_AND_CONFERENCE,
        Finding.OTHER_VENUES,
        Finding.ONE_CONFERENCE_IN_TWO_YEARS,
        Finding.ABSTRACTS_SUPPORT_THEIR_TITLES,
    }
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of an answer about a paper.

    `record` is the one that counts, of `FOUND` and `UNCONFIRMED`; `evidence` what it has in common
    with the paper, beside the title, of `FOUND`. `reasons` are why a record is `CONTRADICTED`, and
    `service` whose record contradicts it, "" for the paper itself.
    """

    outcome: LookUpOutcome
    record: Paper | None = None
    evidence: tuple[Evidence, ...] = ()
    reasons: Reasons = ()
    service: str = ""


@dataclass(frozen=True, slots=True)
class _Compared:
    """A record with the title or an identifier of a paper: what speaks for it, and against it."""

    record: Paper
    evidence: tuple[Evidence, ...] = ()
    against: Reasons = ()
    service: str = ""


def judge(paper: Paper, records: Sequence[Paper], others: Mapping[str, Paper] = {}) -> Judgement:
    """Return what a service's answer says about a paper, whatever the order of its records.

    `others` are the records that counted, or were unconfirmed, of other services, by service.
    """
    counting, unconfirmed = _split(paper, others)
    # Records of an answer may repeat.
    distinct = {repr(record): record for record in records}
    compared = [
        _beside(one, counting)
        for _, record in sorted(distinct.items())
        if (one := _compare(paper, record))
    ]
    fitting = [one for one in compared if one.evidence]
    named = [one for one in fitting if Evidence.IDENTIFIER in one.evidence]
    if candidates := named or fitting:
        if not _are_one_work(candidates):
            return _contradicted(Reason(Finding.SEVERAL_WORKS))
        best = _best(paper, candidates)
        return Judgement(LookUpOutcome.FOUND, best.record, best.evidence)
    if possible := [one for one in compared if not one.against]:
        if not _are_one_work(possible):
            return _contradicted(Reason(Finding.SEVERAL_WORKS))
        record = _best(paper, possible).record
        if _is_confirmed(record, unconfirmed.values()):
            return Judgement(LookUpOutcome.FOUND, record, (Evidence.OTHER_SERVICE,))
        return Judgement(LookUpOutcome.UNCONFIRMED, record)
    if compared:
        return _contradicted(*compared[0].against, service=compared[0].service)
    return Judgement(LookUpOutcome.NOT_FOUND)


def _contradicted(*reasons: Reason, service: str = "") -> Judgement:
    return Judgement(LookUpOutcome.CONTRADICTED, reasons=reasons, service=service)


# ── a record and the paper ──────────────────────────────────────────────────────────


def _compare(paper: Paper, record: Paper) -> _Compared | None:
    """Compare a record with a paper, None if it has neither its title nor an identifier of it."""
    titled = same_title(paper, record)
    named = _has_identifier_of(paper, record)
    if not (titled or named):
        return None
    verdict = same_work(paper, record)
    if against := _against(paper, record, verdict, titled and named):
        return _Compared(record, against=against)
    evidence = _evidence(paper, record, named) if verdict.same else ()
    if not titled and not (evidence and _is_retitled(paper, record, evidence)):
        return None
    return _Compared(record, evidence) if evidence or _is_title_alike(paper, record) else None


def _is_retitled(paper: Paper, record: Paper, evidence: Collection[Evidence]) -> bool:
    """Whether a record with an identifier of a paper, under another title, is of its work."""
    persons = compare_persons(paper.authors, record.authors)
    same_people = persons is not None and persons.share == 1
    return (Evidence.ABSTRACT in evidence or same_people) and texts_agree(paper, record)


def _has_identifier_of(paper: Paper, record: Paper) -> bool:
    """Whether a record has an identifier of a paper as its own, in a field."""
    shared = compare_identifiers(paper, record)
    if shared.proof:
        return True
    return shared.mention is not None and claims_of(record)[shared.mention] <= Claim.FIELD


def _against(paper: Paper, record: Paper, verdict: Verdict, both: bool) -> Reasons:
    """Return what speaks against a record that has the title or an identifier of a paper, or both.

    Of a work with both, an abstract may be rewritten, and the year may be that of a later edition.
    """
    reasons = {reason.finding: reason for reason in _objections(paper, record, both)}
    if not verdict.same:
        for reason in verdict.reasons:
            if reason.finding in _AGAINST:
                reasons.setdefault(reason.finding, reason)
    return tuple(reasons.values())


def _objections(paper: Paper, record: Paper, both: bool) -> Iterator[Reason]:
    if notice(paper) or notice(record) or record.about or paper.about or is_about(paper, record):
        yield Reason(Finding.ABOUT_THE_OTHER)
    if not _same_type(paper, record):
        yield Reason(Finding.OTHER_TYPE, (record.type or paper.type or "thesis",))
    if not _same_language(paper, record):
        yield Reason(Finding.OTHER_LANGUAGE)
    yield from _two_identifiers(record)
    if scheme := conflicting_scheme(identifiers(paper), identifiers(record)):
        yield Reason(Finding.DIFFERENT_IDENTIFIER, (scheme,))
    persons = compare_persons(paper.authors, record.authors)
    if persons and not persons.met:
        yield Reason(Finding.NO_COMMON_AUTHOR)
    if both:
        return
    ours = fold_record(paper)
    theirs = fold_record(record)
    agreed, _ = abstract_agreement(ours, theirs)
    if agreed is not None and (
        agreed < ALIKE_ABSTRACT or (agreed <= REVISED_ABSTRACT and _lacks_title(ours, theirs))
    ):
        yield Reason(Finding.ABSTRACTS_AGREE, (agreed,))
    apart = years_apart(paper, record) or 0
    if apart > MOST_YEARS and not _is_same_text(paper, record):
        yield Reason(Finding.YEARS_APART, (apart,))


def _is_same_text(paper: Paper, record: Paper) -> bool:
    """Whether abstracts of twenty words at least agree, and not in phrases that many have."""
    ours = fold_record(paper)
    theirs = fold_record(record)
    pairs, terms = abstract_agreement(ours, theirs)
    fewer = min(len(ours.abstract.words), len(theirs.abstract.words))
    least = next((share for words, share in SAME_BEGINNINGS if fewer < words), SAME_ABSTRACT)
    if pairs is None or pairs < least or (terms or 0.0) < SAME_TERMS:
        return False
    return not _runs(ours.abstract.words).isdisjoint(_runs(theirs.abstract.words))


def _lacks_title(ours: FoldedRecord, theirs: FoldedRecord) -> bool:
    """Whether an abstract that differs from ours is hardly about the title.

    It lacks most words of the title, or one that our abstract has. Under its title, the next paper
    of a group has the authors of a paper and half of its abstract. Of labelled copies, 1% lack it.
    """
    title = ours.title.distinct
    words = frozenset(theirs.abstract.words)
    own = title.intersection(ours.abstract.words)
    return not own <= words or 2 * len(title & words) < len(title)


def _runs(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {words[n : n + RUN] for n in range(len(words) - RUN + 1)}


def _evidence(paper: Paper, record: Paper, named: bool) -> tuple[Evidence, ...]:
    """Return what a record has in common with a paper, beside the title."""
    same_text = _is_same_text(paper, record)
    holding = (
        (Evidence.IDENTIFIER, named),
        (Evidence.AUTHOR, _shares_authors(paper, record, same_text or named)),
        (Evidence.ABSTRACT, same_text),
    )
    return tuple(evidence for evidence, holds in holding if holds)


def _shares_authors(paper: Paper, record: Paper, supported: bool) -> bool:
    """Whether authors of a record are the paper's, and not namesakes or those of another form.

    If both have abstracts, these must agree: a group writes other papers, too. `supported`:
    something else shows that it is one work.
    """
    persons = compare_persons(paper.authors, record.authors)
    if persons is None or persons.met < LEAST_AUTHORS * persons.fewer:
        return False
    if supported:
        return True
    if not _is_title_alike(paper, record) or _is_other_form(paper, record):
        return False
    agreed, _ = abstract_agreement(fold_record(paper), fold_record(record))
    if agreed is not None and agreed < SAME_ABSTRACT:
        return False
    coincidence = persons.met == 1 and may_be_namesakes(paper.authors, record.authors)
    return not coincidence or fold_record(paper).title.weight >= TELLING_TITLE


# ── kinds and languages of publications ─────────────────────────────────────────────


def _same_type(paper: Paper, record: Paper) -> bool:
    if paper.type != record.type and not {paper.type, record.type} <= _PAPER_TYPES:
        return False
    ours, theirs = map(_says_thesis, (paper, record))
    return ours == theirs


def _says_thesis(paper: Paper) -> bool:
    return not _THESIS.isdisjoint((*_venue_words(paper), *fold_record(paper).title_words))


def _is_other_form(paper: Paper, record: Paper) -> bool:
    """Whether one may be a survey, the review of a book, or a chapter of one, and the other not."""
    types = {paper.type, record.type}
    if len(types) < 2:
        return False
    if "review" in types and not _REVIEW & fold_record(paper).title.distinct:
        return True
    chapters = [one for one in (paper, record) if one.type == "book chapter"]
    # Proceedings are printed as books.
    return any(
        fold_record(one).venue.kind is not Kind.CONFERENCE
        and not _venue_words(one) >= _LECTURE_NOTES
        for one in chapters
    )


def _venue_words(paper: Paper) -> frozenset[str]:
    return fold_record(paper).venue.words


def _same_language(paper: Paper, record: Paper) -> bool:
    """Whether both or none are noted as translated, and abstracts are in one script."""
    ours = fold_record(paper)
    theirs = fold_record(record)
    if _is_translated(paper, ours) != _is_translated(record, theirs):
        return False
    scripts = ours.abstract_scripts, theirs.abstract_scripts
    return not all(scripts) or not scripts[0].isdisjoint(scripts[1])


def _is_translated(paper: Paper, folded: FoldedRecord) -> bool:
    """Whether a title is noted as translated: "[Title].", "Title [Article in Chinese]"."""
    bare = paper.title.strip(" .")
    in_brackets = bare.startswith("[") and bare.endswith("]")
    return in_brackets or folded.title.letters != folded.title_without_note.letters


def _is_title_alike(paper: Paper, record: Paper) -> bool:
    """Whether two titles have the same words, also those of notes ("Tutorial: ..."), uncut."""
    ours = fold_record(paper)
    theirs = fold_record(record)
    return _all_letters(ours) == _all_letters(theirs)


def _all_letters(folded: FoldedRecord) -> str:
    return "".join(map(american, folded.title_words))


# ── identifiers ─────────────────────────────────────────────────────────────────────


def may_exist(record: Paper, now: datetime) -> bool:
    """Whether arXiv may have assigned the identifiers of a record by now: each has its month."""
    latest = (now + timedelta(days=1)).date()
    months = map(arxiv_month, record.identifiers("arxiv"))
    return all(month is not None and month <= latest for month in months)


def _two_identifiers(record: Paper) -> Iterator[Reason]:
    """Yield a scheme that gives a paper one id, where a record has two: it mixes two works."""
    for scheme, values in group_by_scheme(identifiers(record)).items():
        if scheme in ONE_ID_A_PAPER and len(values) > 1:
            yield Reason(Finding.TWO_IDENTIFIERS, (scheme, *sorted(values)[:2]))


def _share_identifier(a: Paper, b: Paper) -> bool:
    """Whether two records have an identifier of a registry in common, both in a field."""
    ours = claims_of(a)
    theirs = claims_of(b)
    return any(
        scheme in REGISTRIES and max(ours[scheme, value], theirs[scheme, value]) <= Claim.FIELD
        for scheme, value in ours.keys() & theirs.keys()
    )


# ── other services ──────────────────────────────────────────────────────────────────


def _split(
    paper: Paper, others: Mapping[str, Paper]
) -> tuple[Mapping[str, Paper], Mapping[str, Paper]]:
    """Return the records of other services that count, and those that are unconfirmed.

    What the paper contradicts by now is neither.
    """
    compared = {service: _compare(paper, record) for service, record in sorted(others.items())}
    counting = {service: one.record for service, one in compared.items() if one and one.evidence}
    possible = {
        service: one.record
        for service, one in compared.items()
        if one and not (one.evidence or one.against)
    }
    for service, record in possible.items():
        if _is_confirmed(record, [r for other, r in possible.items() if other != service]):
            counting[service] = record
    return counting, {s: record for s, record in possible.items() if s not in counting}


def _beside(compared: _Compared, counting: Mapping[str, Paper]) -> _Compared:
    """Add what the records of other services that count say about a record."""
    if compared.against:
        return compared
    record = compared.record
    for service, other in counting.items():
        if against := _against_other(record, other):
            return _Compared(record, against=against, service=service)
    if compared.evidence or not any(_is_same(record, other) for other in counting.values()):
        return compared
    return _Compared(record, (Evidence.OTHER_SERVICE,))


def _against_other(record: Paper, other: Paper) -> Reasons:
    return _against(other, record, same_work(other, record), _share_identifier(other, record))


def _is_same(record: Paper, other: Paper) -> bool:
    """Whether a record is of one work with that of another service, which counts."""
    one = _compare(other, record)
    return _share_identifier(record, other) or (one is not None and bool(one.evidence))


def _is_confirmed(record: Paper, others: Collection[Paper]) -> bool:
    """Whether a record without evidence is confirmed by those of other services without any.

    Two works do not hit upon the title, one of the others names the same identifier, and none of
    them is of another work.
    """
    return (
        fold_record(record).title.weight >= TELLING_TITLE
        and any(_share_identifier(record, other) for other in others)
        and not any(_against_other(record, other) for other in others)
    )


# ── several records ─────────────────────────────────────────────────────────────────


def _are_one_work(compared: Collection[_Compared]) -> bool:
    return all(same_work(a.record, b.record).same for a, b in combinations(compared, 2))


def _best(paper: Paper, compared: Collection[_Compared]) -> _Compared:
    """Return the record of one work by which a paper is filled in.

    One with the paper's identifier, else a preprint, else one under its title without a note
    ("Extended Abstract"), else the earliest. Their `repr` decides between equal ones.
    """

    def place(one: _Compared) -> tuple[bool, bool, bool, datetime, str]:
        record = one.record
        return (
            Evidence.IDENTIFIER not in one.evidence,
            not is_archived(record),
            not _is_title_alike(paper, record),
            record.published or datetime.max.replace(tzinfo=UTC),
            repr(record),
        )

    return min(compared, key=place)
