"""Whether two records are the same work, by weighed evidence; a false merge weighs most.

The score balances all evidence of `features` by the table in `weights`. The decision that ingest
uses is stricter: enough odds, and no rule of `RULES` against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from monitor.identity.compare_texts import Comparison, compare_texts, same_title
from monitor.identity.features import Evidence, compare_identifiers, gather
from monitor.identity.keys import identifiers
from monitor.identity.notices import contradicts, is_about
from monitor.identity.reasons import words_of
from monitor.identity.weights import balance
from monitor.model import Finding, Paper, Reason, Reasons

# A wrong merge hides a paper permanently, and so weighs ten misses: ln 10 = 2.3, less the share
# that the rules below prevent already.
SURE = 0.6
# Odds that a contradiction takes away.
CONTRADICTED = -1.0
# Three rare words, or as much in common ones: two papers do not hit upon such a title.
TELLING_TITLE = 6.5
# Titles this distinctive do not recur within a year.
UNIQUE_TITLE = 8.5
# The minimum weight of title and shared authors together: a rare word and two people.
TELLING_TOGETHER = 4.0
REVISED_TITLE = 0.8
# Each title has a rare word of its own ("in Kenya", "in Ghana"); two of them; a common one.
SWAPPED = 2.0
SWAPPED_TWICE = 4.0
SWAPPED_COMMON = 1.0
# One title has one more rare word; three words of its own, or as much in rare ones.
ANOTHER_WORD = 2.0
OWN_WORDS = 3.0
# Any two abstracts of one field share this much.
UNLIKE_ABSTRACT = 0.04
# From this share of the shorter abstract on, it is one text, reworked at most.
SAME_ABSTRACT = 0.6
# The share of an abstract that is kept when a draft is retitled and reworked, when hardly a word of
# the title stays, and when a paper is printed under another title: groups reuse their abstracts for
# their next paper.
ALIKE_ABSTRACT = 0.3
KEPT_ABSTRACT = 0.4
PRINTED_AGAIN = 0.75
# The abstract of a revision, except for some words; one that is equal but for its typography.
REVISED_ABSTRACT = 0.9
# The share of a draft's abstract that has hardly a pair of words in common with the final one.
MAX_NEW_PASSAGES = 0.25

# Registries that give a paper one id. OpenAlex and Semantic Scholar, which cluster records, and
# dblp give some papers two; a paper has a DOI for each version and publisher.
ONE_ID_A_PAPER = ("arxiv", "pmid", "pmcid")

Keys = Collection[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` from 0 to 1, balanced at 0.5; `same`, the stricter decision; its `reasons`."""

    score: float
    same: bool
    reasons: Reasons

    @property
    def why(self) -> tuple[str, ...]:
        """The words of each reason."""
        return tuple(map(words_of, self.reasons))


def same_work(a: Paper, b: Paper, abstracts: float | None = None) -> Verdict:
    """Return whether two records are one work, and why. Their order does not matter.

    `abstracts` is how far their abstracts agreed, from 0 to 1, if they are not stored any more;
    anything else unknown about them counts for one work.
    """
    shared = compare_identifiers(a, b)
    if is_about(a, b):
        return _two(Reason(Finding.ABOUT_THE_OTHER))
    other = conflicting_scheme(identifiers(a), identifiers(b))
    if shared.proof:
        same = Reason(Finding.SAME_IDENTIFIER, shared.proof)
        if other and not texts_agree(a, b):
            different = Reason(Finding.DIFFERENT_IDENTIFIER, (other,))
            return _two(same, different, Reason(Finding.TEXTS_DISAGREE))
        if compare_texts(a, b) is Comparison.DIFFER:
            return _two(same, Reason(Finding.NOTHING_ELSE_AGREES))
        return Verdict(1.0, True, (same,))
    if shared.mention and not other and same_title(a, b) and not contradicts(a, b):
        return Verdict(1.0, True, (Reason(Finding.SAME_IDENTIFIER, shared.mention),))
    if finding := contradicts(a, b):
        return _two(Reason(finding))
    evidence = gather(a, b, shared.conflict)
    if evidence is None:
        return _two(Reason(Finding.TITLES_DIFFER), Reason(Finding.NO_COMMON_AUTHOR))
    if abstracts is not None:
        evidence = replace(evidence, abstract=abstracts, terms=1.0)
    return judge(evidence, balance(evidence))


def _two(*reasons: Reason) -> Verdict:
    return Verdict(0.0, False, reasons)


def conflicting_scheme(ours: Keys, theirs: Keys) -> str:
    """Return a scheme of which both have an identifier of their own and share none, or "".

    It contradicts a shared DOI: those are copied and mistyped (the DOI of another paper, the number
    of a whole journal as 10.5121/ijcsit, a placeholder as 10.1145/1235).
    """
    own = {scheme for scheme, value in ours if (scheme, value) not in theirs}
    shared = {scheme for scheme, value in ours if (scheme, value) in theirs}
    conflicting = own & {scheme for scheme, _ in theirs} - shared
    return next((scheme for scheme in ONE_ID_A_PAPER if scheme in conflicting), "")


def texts_agree(a: Paper, b: Paper) -> bool:
    """Return whether two texts may be of one work, regardless of identifiers.

    An equal title suffices, whoever its authors are; otherwise title, authors and abstracts must
    agree on balance. Another part or number of a series is another work. (A preprint that is
    submitted again after withdrawal has two ids.)
    """
    evidence = gather(a, b)
    if evidence is None:
        return False
    title = evidence.title
    if title.equal and not title.column:
        return True
    counted = title.other_part or title.other_number
    return not (counted and not _same_text(evidence)) and balance(evidence) >= 0


def differ_under_one_name(a: Paper, b: Paper) -> bool:
    """Whether two records with one link or entry name are of two works all the same.

    Names are reused: the page of a whole volume, numbers that start again each year. A source
    corrects the spelling, a word or the text of a work, but hardly its authors or number.
    """
    evidence = gather(a, b)
    if evidence is None:
        return False
    title = evidence.title
    reworded = title.alone >= SWAPPED_COMMON
    if _printed_in_two_years(evidence):
        return reworded
    if _same_text(evidence):
        return False
    strangers = evidence.authors is not None and not evidence.authors.met
    numbered = title.other_part or title.other_number
    column_of_another_year = title.column and bool(evidence.years_apart)
    return (strangers and reworded) or numbered or title.about or column_of_another_year


# ── the rules ───────────────────────────────────────────────────────────────────────

Condition = Callable[[Evidence], bool]


def _always(evidence: Evidence) -> bool:
    return True


def _never(evidence: Evidence) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on the evidence, its reason, and when it separates the records.

    When it `vetoes`, they are not joined, however likely they are one work; when it `contradicts`,
    it also takes its weight off the odds. `of` is what the evidence has for the reason.
    """

    holds: Condition
    finding: Finding | None = None
    of: Callable[[Evidence], str | float | None] | None = None
    vetoes: Condition = _never
    contradicts: Condition = _never


def judge(evidence: Evidence, odds: float) -> Verdict:
    holding = [rule for rule in RULES if rule.holds(evidence)]
    if any(rule.contradicts(evidence) for rule in holding):
        odds = min(odds, 0.0) + CONTRADICTED
    same = odds >= SURE and not any(rule.vetoes(evidence) for rule in holding)
    score = 1 / (1 + math.exp(-max(-50.0, min(50.0, odds))))
    return Verdict(score, same, tuple(_reasons(holding, evidence)))


def _reasons(holding: Iterable[Rule], evidence: Evidence) -> Iterator[Reason]:
    for rule in holding:
        if rule.finding:
            of = rule.of(evidence) if rule.of else None
            yield Reason(rule.finding, () if of is None else (of,))


def _same_text(e: Evidence) -> bool:
    return e.abstract is not None and e.abstract >= SAME_ABSTRACT


def _other_text(e: Evidence) -> bool:
    return not _same_text(e)


def _lacks_support(e: Evidence) -> bool:
    """Whether neither authors, abstract, nor venue and year support the title."""
    same_place = bool(e.series) and e.years_apart == 0
    if e.authors is not None and e.authors.met:
        # With one shared author, "Agents" may be two works.
        telling = e.title.shared + e.authors.met >= TELLING_TOGETHER
        return not (telling or _same_text(e) or same_place)
    # No author matches if a list is missing or too damaged to read.
    if not e.title.equal:
        return True
    if e.abstract is not None:
        return _other_text(e)
    if e.authors is None and e.years_apart == 0 and e.title.shared >= UNIQUE_TITLE:
        return e.series is False
    # A venue does not print a distinctive title twice in a year.
    return not (same_place and e.title.shared >= TELLING_TITLE)


def _equal_to_the_letter(e: Evidence) -> bool:
    """Whether title, authors and abstract are all equal: one work with two ids."""
    authors = e.authors is not None and e.authors.met == e.authors.more
    text = e.abstract is not None and e.abstract > REVISED_ABSTRACT
    return e.title.equal and not e.title.column and authors and text


def _is_revision(e: Evidence) -> bool:
    """Whether only one number of the title differs: smaller models, more users."""
    return (
        not e.title.other_year
        and e.title.letters >= REVISED_TITLE
        and (e.abstract or 0.0) >= REVISED_ABSTRACT
        and (e.same_numbers or e.title.other_bound)
        and e.authors is not None
        and e.authors.share == 1
    )


def _printed_in_two_years(e: Evidence) -> bool:
    """Whether a conference would have printed two titles in two years: it does not do so."""
    another = not (e.title.equal or e.title.subtitled)
    return e.one_conference and bool(e.years_apart) and another


def _in_other_series(e: Evidence) -> bool:
    """Whether two series of venues printed it, and it was not submitted to one, then the other.

    Of a paper that was, all authors and a distinctive title stay, and a part of the abstract.
    """
    if e.series is not False:
        return False
    all_met = e.authors is not None and e.authors.share == 1 and e.authors.met > 1
    distinctive = e.title.equal and e.title.shared >= TELLING_TITLE
    submitted_again = distinctive and all_met and (e.abstract or 0.0) >= ALIKE_ABSTRACT
    return _other_text(e) and not submitted_again


def _may_recur(e: Evidence) -> bool:
    """Whether a short title in another year, or at one conference, lacks abstracts as proof."""
    if not (e.title.equal and e.published and e.years_apart) or e.abstract:
        return False
    return e.title.shared < TELLING_TITLE or e.one_conference


def _has_other_title(e: Evidence) -> bool:
    """Whether the titles have different words, and the abstracts do not outweigh that."""
    if e.title.equal:
        return False
    if e.abstract is not None:
        return _printed_at_two_conferences(e) or e.abstract < _least_abstract(e)
    if e.title.either < SWAPPED_COMMON:
        return False
    together = e.one_conference and e.years_apart == 0 and e.published
    elsewhere = e.title.alone >= OWN_WORDS and not e.series
    return e.title.either >= SWAPPED or elsewhere or together


def _printed_at_two_conferences(e: Evidence) -> bool:
    """Whether two conferences printed two titles: groups reuse even whole abstracts there."""
    if not e.two_conferences or not e.published:
        return False
    added = e.title.alone >= ANOTHER_WORD and not e.title.subtitled
    text = e.abstract or 0.0
    return e.title.either >= SWAPPED_COMMON or (added and text < REVISED_ABSTRACT)


def _least_abstract(e: Evidence) -> float:
    """Return the share of the abstracts that records of unequal titles must have in common."""
    title = e.title
    if not e.published:
        if title.either >= SWAPPED_TWICE:
            return KEPT_ABSTRACT
        return ALIKE_ABSTRACT if title.either >= SWAPPED else 0.0
    if e.no_place and e.authors is not None and e.authors.share == 1:
        # One may be a draft, which is reworked throughout. The next paper of a group repeats whole
        # sentences of the last one, beside others that are new.
        if title.either < SWAPPED_COMMON:
            return ALIKE_ABSTRACT
        new = title.either >= OWN_WORDS or e.new_passages > MAX_NEW_PASSAGES
        return SAME_ABSTRACT if new else KEPT_ABSTRACT
    if title.subtitled:
        return ALIKE_ABSTRACT
    if title.either >= SWAPPED_COMMON:
        return PRINTED_AGAIN
    return SAME_ABSTRACT if title.alone >= ANOTHER_WORD else ALIKE_ABSTRACT


# In the order of the reasons.
RULES = (
    Rule(_lacks_support, vetoes=_always),
    Rule(
        lambda e: bool(e.conflict),
        Finding.DIFFERENT_IDENTIFIER,
        lambda e: e.conflict,
        contradicts=lambda e: not _equal_to_the_letter(e),
    ),
    Rule(lambda e: e.title.equal, Finding.SAME_TITLE),
    Rule(lambda e: not e.title.equal, Finding.TITLES_AGREE, lambda e: e.title.agreement),
    Rule(
        lambda e: e.title.column,
        Finding.RECURRING_TITLE,
        vetoes=_other_text,
        contradicts=lambda e: bool(e.years_apart) and _other_text(e),
    ),
    Rule(
        lambda e: e.title.other_part or e.title.other_number,
        Finding.OTHER_PART,
        vetoes=lambda e: e.title.other_number and not _is_revision(e),
        contradicts=lambda e: e.title.other_part or _other_text(e),
    ),
    Rule(lambda e: e.title.another, Finding.SAYS_IT_IS_ANOTHER, vetoes=_other_text),
    Rule(
        lambda e: e.title.preceded,
        Finding.WORDS_BEFORE_TITLE,
        vetoes=lambda e: e.title.either < SWAPPED_COMMON and _other_text(e),
    ),
    Rule(lambda e: e.title.about, Finding.ABOUT_THE_OTHER, contradicts=_always),
    Rule(lambda e: e.authors is None, Finding.AUTHORS_NOT_GIVEN),
    Rule(
        lambda e: e.authors is not None,
        Finding.AUTHORS_AGREE,
        lambda e: e.authors.share if e.authors else None,
    ),
    Rule(lambda e: bool(e.years_apart), Finding.YEARS_APART, lambda e: e.years_apart),
    Rule(
        lambda e: e.two_publications,
        Finding.JOURNAL_AND_CONFERENCE,
        vetoes=lambda e: bool(e.years_apart) and _other_text(e),
        contradicts=lambda e: bool(e.years_apart) and _other_text(e) and not e.cut,
    ),
    Rule(lambda e: e.series is False and not e.two_publications, Finding.OTHER_VENUES),
    Rule(_in_other_series, vetoes=_always),
    Rule(lambda e: e.abstract is None, Finding.ABSTRACTS_NOT_COMPARABLE),
    Rule(
        lambda e: e.abstract is not None,
        Finding.ABSTRACTS_AGREE,
        lambda e: e.abstract,
        vetoes=lambda e: (e.abstract or 0.0) < UNLIKE_ABSTRACT > (e.terms or 0.0),
    ),
    Rule(lambda e: e.other_subject, Finding.ABSTRACTS_SUPPORT_THEIR_TITLES, vetoes=_always),
    Rule(
        lambda e: not e.other_subject and _has_other_title(e),
        Finding.TITLES_OUTWEIGH_ABSTRACTS,
        vetoes=_always,
    ),
    Rule(_may_recur, Finding.TITLE_MAY_RECUR, vetoes=_always),
    Rule(lambda e: e.title.other_number and _is_revision(e), Finding.REVISED_NUMBER),
    Rule(_printed_in_two_years, Finding.ONE_CONFERENCE_IN_TWO_YEARS, contradicts=_always),
)
