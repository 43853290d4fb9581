"""A wrong link is worse than none: which records of services may fill a paper in."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from monitor.identity.looked_up import Judgement, judge, may_exist
from monitor.model import COMMENT, CORRECTION, RETRACTION, Finding, Paper
from monitor.model.look_up import Evidence, LookUpOutcome
from tests.identity.lies import KINDS_OF_LIES, RUSSIAN, SPANISH, Maker, make_lies
from tests.identity.other_sets import ABSTRACT, AUTHORS, OTHER, TITLE

FOUND = LookUpOutcome.FOUND
NOT_FOUND = LookUpOutcome.NOT_FOUND
UNCONFIRMED = LookUpOutcome.UNCONFIRMED
CONTRADICTED = LookUpOutcome.CONTRADICTED
ARXIV = {"arxiv": "2401.01234"}
OTHER_ARXIV = {"arxiv": "2402.04321"}
DOI = {"doi": "10.1000/7"}
STRANGERS = ("Kwame Nkrumah", "Mei Abara")
TURNED = ". ".join([*reversed(ABSTRACT.removesuffix(".").split(". "))])
PHRASES = (
    "In this paper we propose a new method for the problem of learning a policy from data of {}."
)
COMMON_TITLE = "Deep Reinforcement Learning"

BARE = Paper(TITLE)
CUT = Paper(TITLE, " ".join(ABSTRACT.split()[:26]))
LAST_OF_CUT = CUT.abstract.split()[-1]
SIGNED = Paper(TITLE, authors=AUTHORS)
WHOLE = Paper(TITLE, ABSTRACT, AUTHORS, year=2024, keys=ARXIV)


class Case(NamedTuple):
    """`reasons` are what contradicts, as findings."""

    paper: Paper
    records: tuple[Paper, ...]
    outcome: LookUpOutcome
    evidence: tuple[Evidence, ...] = ()
    reasons: tuple[Finding, ...] = ()
    others: Mapping[str, Paper] = {}


def of_title(title: str, paper: Paper, **fields: object) -> Paper:
    return replace(paper, title=title, **fields)


FILLED = {
    "the beginning of its abstract": Case(CUT, (WHOLE,), FOUND, (Evidence.ABSTRACT,)),
    "its authors": Case(SIGNED, (WHOLE,), FOUND, (Evidence.AUTHOR,)),
    "its authors, and most of its abstract": Case(
        Paper(TITLE, " ".join([*ABSTRACT.split()[:24], *OTHER.split()[:8]]), AUTHORS),
        (WHOLE,),
        FOUND,
        (Evidence.AUTHOR,),
    ),
    "one author whose name is rare": Case(
        Paper(TITLE, authors=("A. Lovelace",)), (WHOLE,), FOUND, (Evidence.AUTHOR,)
    ),
    "authors cut by et al.": Case(
        Paper(TITLE, authors=("Lovelace et al.",)), (WHOLE,), FOUND, (Evidence.AUTHOR,)
    ),
    "one author with a common name, and a title that is none": Case(
        Paper(TITLE, authors=("Wei Wang",)),
        (replace(WHOLE, authors=("Wei Wang",)),),
        FOUND,
        (Evidence.AUTHOR,),
    ),
    "its identifier": Case(
        replace(BARE, keys=DOI), (replace(WHOLE, keys=DOI),), FOUND, (Evidence.IDENTIFIER,)
    ),
    "its identifier in its address": Case(
        replace(BARE, url="https://arxiv.org/abs/2401.01234"), (WHOLE,), FOUND,
        (Evidence.IDENTIFIER,),
    ),
    "its identifier, authors and abstract": Case(
        replace(WHOLE, year=None), (WHOLE,), FOUND, tuple(Evidence)[:3]
    ),
    "its identifier, under an earlier title": Case(
        WHOLE,
        (of_title("Planning Agents for Open Worlds", WHOLE),),
        FOUND,
        tuple(Evidence)[:3],
    ),
    "its identifier, and an abstract that was rewritten": Case(
        replace(CUT, keys=ARXIV), (replace(WHOLE, abstract=OTHER),), FOUND, (Evidence.IDENTIFIER,)
    ),
    "near misses beside it": Case(
        CUT,
        (
            of_title("Learning to Plan with Language Agents in Closed Worlds", WHOLE, keys=DOI),
            WHOLE,
            of_title(f"{TITLE}: A Survey", WHOLE, keys=OTHER_ARXIV),
        ),
        FOUND,
        (Evidence.ABSTRACT,),
    ),
    "a namesake beside it": Case(
        CUT,
        (Paper(TITLE, OTHER, STRANGERS, keys=DOI), WHOLE),
        FOUND,
        (Evidence.ABSTRACT,),
    ),
    "a preprint and what was published of it": Case(
        CUT,
        (replace(WHOLE, keys=DOI, venue="NeurIPS", year=2025), WHOLE),
        FOUND,
        (Evidence.ABSTRACT,),
    ),
    "two services with one identifier": Case(
        BARE,
        (WHOLE,),
        FOUND,
        (Evidence.OTHER_SERVICE,),
        others={"another": Paper(TITLE, keys=ARXIV)},
    ),
    "what another service has of it, by its authors": Case(
        CUT,
        (replace(WHOLE, abstract="", keys=DOI),),
        FOUND,
        (Evidence.OTHER_SERVICE,),
        others={"another": WHOLE},
    ),
    "a survey whose title says so": Case(
        of_title(f"{TITLE}: A Survey", SIGNED),
        (of_title(f"{TITLE}: A Survey", WHOLE, type="review"),),
        FOUND,
        (Evidence.AUTHOR,),
    ),
    "proceedings that are printed as a book": Case(
        SIGNED,
        (replace(WHOLE, type="book chapter", venue="Lecture Notes in Computer Science"),),
        FOUND,
        (Evidence.AUTHOR,),
    ),
}  # fmt: skip

NOT_FILLED = {
    "an empty answer": Case(CUT, (), NOT_FOUND),
    "no title": Case(Paper(""), (Paper(""),), NOT_FOUND),
    "a record without a title": Case(replace(CUT, keys=ARXIV), (of_title("", WHOLE),), NOT_FOUND),
    "another word in the title": Case(
        WHOLE,
        (of_title("Learning to Plan with Language Agents in Closed Worlds", WHOLE, keys=DOI),),
        NOT_FOUND,
    ),
    "part II": Case(SIGNED, (of_title(f"{TITLE}, Part II", WHOLE),), NOT_FOUND),
    "its abstract under another title": Case(
        CUT, (of_title("Open Worlds for Agents that Program", WHOLE),), NOT_FOUND
    ),
    "a title that is cut": Case(
        of_title("Learning to Plan with Language Agents in ...", CUT), (WHOLE,), NOT_FOUND
    ),
    "a title and nothing else": Case(BARE, (WHOLE,), UNCONFIRMED),
    "fewer than twenty words of abstract": Case(
        Paper(TITLE, "We study how language agents learn to plan."), (WHOLE,), UNCONFIRMED
    ),
    "one author with a common name": Case(
        Paper(COMMON_TITLE, authors=("Wei Wang",)),
        (Paper(COMMON_TITLE, authors=("W. Wang", "Mei Abara"), keys=DOI),),
        UNCONFIRMED,
    ),
    "one author of three": Case(
        SIGNED, (replace(WHOLE, authors=("Ada Lovelace", *STRANGERS)),), UNCONFIRMED
    ),
    "the same sentences in another order": Case(Paper(TITLE, TURNED), (WHOLE,), UNCONFIRMED),
    "the same phrases about something else": Case(
        Paper(TITLE, PHRASES.format("quokkas and numbats or wombats")),
        (Paper(TITLE, PHRASES.format("mosses and lichens or ferns"), AUTHORS, keys=DOI),),
        CONTRADICTED,
        reasons=(Finding.ABSTRACTS_AGREE,),
    ),
    "the next paper of its authors under its title, which lacks a word of it": Case(
        replace(CUT, title=f"{TITLE} at {LAST_OF_CUT}", authors=AUTHORS),
        (
            Paper(
                f"{TITLE} at {LAST_OF_CUT}",
                " ".join([*ABSTRACT.split()[:18], *OTHER.split()]),
                AUTHORS,
                keys=DOI,
            ),
        ),
        CONTRADICTED,
        reasons=(Finding.ABSTRACTS_AGREE,),
    ),
    "the next paper of a group, which begins alike": Case(
        CUT,
        (Paper(TITLE, " ".join([*ABSTRACT.split()[:20], *OTHER.split()]), keys=DOI),),
        UNCONFIRMED,
    ),
    "nothing in common with the record of another service, which counts": Case(
        CUT, (Paper(TITLE, keys=DOI),), UNCONFIRMED, others={"another": WHOLE}
    ),
    "its authors, and half of its abstract, as the next paper of a group has": Case(
        Paper(TITLE, f"{' '.join(ABSTRACT.split()[:18])} {OTHER}", AUTHORS), (WHOLE,), UNCONFIRMED
    ),
    "nobody by name": Case(
        Paper(TITLE, authors=("Anonymous Authors",)),
        (replace(WHOLE, authors=("Anonymous Authors",)),),
        UNCONFIRMED,
    ),
    "a group": Case(
        Paper(TITLE, authors=("The Planning Team",)),
        (replace(WHOLE, authors=("The Planning Team",)),),
        UNCONFIRMED,
    ),
    "a review of a book, or a survey": Case(
        SIGNED, (replace(WHOLE, type="review", abstract=""),), UNCONFIRMED
    ),
    "a chapter of a book": Case(SIGNED, (replace(WHOLE, type="book chapter"),), UNCONFIRMED),
    "one identifier of two services under a common title": Case(
        Paper(COMMON_TITLE),
        (Paper(COMMON_TITLE, authors=AUTHORS, keys=ARXIV),),
        UNCONFIRMED,
        others={"another": Paper(COMMON_TITLE, keys=ARXIV)},
    ),
    "a number of a service's own, which two have": Case(
        BARE,
        (replace(WHOLE, keys={"s2": "7"}),),
        UNCONFIRMED,
        others={"another": Paper(TITLE, keys={"s2": "7"})},
    ),
    "one identifier of two services, another work of a third": Case(
        BARE,
        (WHOLE,),
        UNCONFIRMED,
        others={"another": replace(WHOLE, abstract=""), "a third": Paper(TITLE, keys=OTHER_ARXIV)},
    ),
    "a title that returns with every issue": Case(
        Paper("Editorial", authors=AUTHORS), (Paper("Editorial", authors=AUTHORS),), NOT_FOUND
    ),
}

CONTRADICTIONS = {
    "other authors": Case(
        SIGNED, (replace(WHOLE, authors=STRANGERS),), CONTRADICTED, (), (Finding.NO_COMMON_AUTHOR,)
    ),
    "other authors of one abstract": Case(
        replace(WHOLE, keys={}),
        (replace(WHOLE, authors=STRANGERS),),
        CONTRADICTED,
        (),
        (Finding.NO_COMMON_AUTHOR,),
    ),
    "another abstract": Case(
        CUT, (replace(WHOLE, abstract=OTHER),), CONTRADICTED, (), (Finding.ABSTRACTS_AGREE,)
    ),
    "another abstract by the same authors": Case(
        replace(WHOLE, keys={}),
        (replace(WHOLE, abstract=OTHER, keys=DOI),),
        CONTRADICTED,
        (),
        (Finding.ABSTRACTS_AGREE,),
    ),
    "another arXiv id": Case(
        replace(WHOLE, keys=OTHER_ARXIV),
        (WHOLE,),
        CONTRADICTED,
        (),
        (Finding.DIFFERENT_IDENTIFIER,),
    ),
    "another DOI": Case(
        replace(SIGNED, keys=DOI),
        (replace(WHOLE, keys={"doi": "10.1000/8"}),),
        CONTRADICTED,
        (),
        (Finding.DIFFERENT_IDENTIFIER,),
    ),
    "two arXiv ids": Case(
        CUT,
        (replace(WHOLE, pdf_url="https://arxiv.org/pdf/2402.04321"),),
        CONTRADICTED,
        (),
        (Finding.TWO_IDENTIFIERS,),
    ),
    "its identifier on another work": Case(
        replace(CUT, keys=ARXIV),
        (Paper("Sampling Proteins at Equilibrium", OTHER, STRANGERS, keys=ARXIV),),
        CONTRADICTED,
        (),
        (Finding.ABSTRACTS_AGREE, Finding.NOTHING_ELSE_AGREES),
    ),
    "years later": Case(
        replace(SIGNED, year=2018), (WHOLE,), CONTRADICTED, (), (Finding.YEARS_APART,)
    ),
    "another venue": Case(
        replace(CUT, abstract="", venue="ICRA", year=2024),
        (replace(WHOLE, venue="IROS", keys=DOI),),
        CONTRADICTED,
        (),
        (Finding.OTHER_VENUES,),
    ),
    "a thesis": Case(
        WHOLE, (replace(WHOLE, type="dissertation"),), CONTRADICTED, (), (Finding.OTHER_TYPE,)
    ),
    "a thesis by its venue": Case(
        CUT, (replace(WHOLE, venue="PhD thesis, MIT"),), CONTRADICTED, (), (Finding.OTHER_TYPE,)
    ),
    "a paper of the title of a thesis": Case(
        replace(SIGNED, type="dissertation"), (WHOLE,), CONTRADICTED, (), (Finding.OTHER_TYPE,)
    ),
    "its data": Case(
        CUT, (replace(WHOLE, type="dataset"),), CONTRADICTED, (), (Finding.OTHER_TYPE,)
    ),
    "a translation by its note": Case(
        SIGNED,
        (of_title(f"{TITLE} [Article in Chinese]", WHOLE, abstract=""),),
        CONTRADICTED,
        (),
        (Finding.OTHER_LANGUAGE,),
    ),
    "a translation by its brackets": Case(
        CUT, (of_title(f"[{TITLE}].", WHOLE),), CONTRADICTED, (), (Finding.OTHER_LANGUAGE,)
    ),
    "an abstract in another script": Case(
        CUT, (replace(WHOLE, abstract=RUSSIAN),), CONTRADICTED, (), (Finding.OTHER_LANGUAGE,)
    ),
    "an abstract in another language": Case(
        WHOLE, (replace(WHOLE, abstract=SPANISH, keys=DOI),), CONTRADICTED, (),
        (Finding.ABSTRACTS_AGREE,),
    ),
    "a correction of its title": Case(
        WHOLE,
        (replace(WHOLE, type=CORRECTION, keys=DOI),),
        CONTRADICTED,
        (),
        (Finding.ABOUT_THE_OTHER, Finding.OTHER_TYPE),
    ),
    "a comment about another paper": Case(
        SIGNED,
        (replace(WHOLE, type=COMMENT, about=DOI),),
        CONTRADICTED,
        (),
        (Finding.ABOUT_THE_OTHER, Finding.OTHER_TYPE),
    ),
    "the paper is a notice": Case(
        replace(SIGNED, type=RETRACTION),
        (WHOLE,),
        CONTRADICTED,
        (),
        (Finding.ABOUT_THE_OTHER, Finding.OTHER_TYPE),
    ),
    "two works that fit": Case(
        CUT,
        (WHOLE, replace(WHOLE, authors=STRANGERS, keys=OTHER_ARXIV)),
        CONTRADICTED,
        (),
        (Finding.SEVERAL_WORKS,),
    ),
    "two works without evidence": Case(
        Paper(COMMON_TITLE),
        (
            Paper(COMMON_TITLE, OTHER, AUTHORS, keys=ARXIV),
            Paper(COMMON_TITLE, authors=STRANGERS, keys=DOI),
        ),
        CONTRADICTED,
        (),
        (Finding.SEVERAL_WORKS,),
    ),
    "another arXiv id of another service": Case(
        CUT,
        (replace(WHOLE, keys=OTHER_ARXIV),),
        CONTRADICTED,
        (),
        (Finding.DIFFERENT_IDENTIFIER,),
        {"another": WHOLE},
    ),
    "other authors than of another service": Case(
        CUT,
        (Paper(TITLE, authors=STRANGERS, keys=DOI),),
        CONTRADICTED,
        (),
        (Finding.NO_COMMON_AUTHOR,),
        {"another": WHOLE},
    ),
}  # fmt: skip
CASES = FILLED | NOT_FILLED | CONTRADICTIONS


@pytest.mark.parametrize("name", CASES)
def test_what_an_answer_says_about_a_paper(name: str) -> None:
    case = CASES[name]
    judgement = judge(case.paper, case.records, case.others)
    assert (judgement.outcome, judgement.evidence) == (case.outcome, case.evidence)
    found = {reason.finding for reason in judgement.reasons}
    assert set(case.reasons) <= found if case.reasons else not found
    assert (judgement.record is not None) == (case.outcome in (FOUND, UNCONFIRMED))


def test_the_service_that_contradicts_is_named() -> None:
    case = CONTRADICTIONS["another arXiv id of another service"]
    assert judge(case.paper, case.records, case.others).service == "another"
    case = CONTRADICTIONS["other authors"]
    assert judge(case.paper, case.records, case.others).service == ""


def test_of_one_work_the_record_with_an_identifier_of_the_paper_counts() -> None:
    published = replace(WHOLE, keys=DOI, venue="NeurIPS")
    assert judge(CUT, [published, WHOLE]).record == WHOLE
    assert judge(replace(CUT, keys=DOI), [WHOLE, published]).record == published


def test_of_one_work_the_earliest_preprint_counts() -> None:
    first, second = (
        replace(WHOLE, keys=keys, published=datetime(2024, month, 1, tzinfo=UTC))
        for month, keys in ((3, {"doi": "10.48550/arXiv.2401.01234"}), (2, DOI))
    )
    assert judge(CUT, [second, first]).record == first


def test_of_one_work_the_record_under_its_own_title_counts() -> None:
    whole = replace(WHOLE, keys=DOI, year=2024)
    note = of_title(f"{TITLE} (Extended Abstract)", whole, keys={"doi": "10.1000/2"}, year=2023)
    judgement = judge(CUT, [note, whole])
    assert (judgement.outcome, judgement.record) == (FOUND, whole)


def test_what_the_paper_contradicts_by_now_confirms_nothing() -> None:
    others = {"another": Paper(TITLE, authors=STRANGERS, keys=ARXIV)}
    bare = judge(BARE, [replace(WHOLE, authors=STRANGERS, abstract="")], others)
    assert bare.evidence == (Evidence.OTHER_SERVICE,)
    late = judge(SIGNED, [replace(WHOLE, authors=(), abstract="")], others)
    assert late.outcome is UNCONFIRMED


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("2401.01234", True),
        ("2411.01234", True),
        ("hep-th/9901001", True),
        ("2412.01234", False),
        ("9913.01234", False),
        ("9999.99999", False),
        ("2400.01234", False),
    ],
)
def test_an_arxiv_id_has_a_month_that_has_begun(name: str, may: bool) -> None:
    november = datetime(2024, 11, 29, tzinfo=UTC)
    assert may_exist(replace(WHOLE, keys={"arxiv": name}), november) is may
    assert may_exist(Paper(TITLE, keys=DOI), november)


# ── many ────────────────────────────────────────────────────────────────────────────

EACH = 500


@pytest.mark.parametrize("kind", KINDS_OF_LIES)
def test_no_lie_fills_a_paper_in(kind: str) -> None:
    assert [lie for lie in make_lies(7, kind, EACH) if judge(*lie).outcome is FOUND] == []


def test_there_are_ten_thousand_lies() -> None:
    assert EACH * len(KINDS_OF_LIES) >= 10_000


def test_the_truth_fills_a_paper_in_among_the_same_records() -> None:
    maker = Maker(random.Random(7))
    missed = []
    for _ in range(200):
        work = maker.work()
        paper = maker.stored(work)
        has_evidence = paper.authors or len(paper.abstract.split()) >= 30
        judgement = judge(paper, maker.beside(work, work))
        expected = (FOUND, work) if has_evidence else (UNCONFIRMED, work)
        if (judgement.outcome, judgement.record) != expected:
            missed.append((paper, work, judgement))
    assert missed == []


def test_the_order_of_records_and_services_does_not_matter() -> None:
    dice = random.Random(7)
    maker = Maker(dice)
    for n in range(4 * len(KINDS_OF_LIES)):
        work = maker.work()
        paper = maker.stored(work)
        copies = [maker.half(replace(work, keys=maker.keys())) for _ in range(dice.randint(0, 2))]
        records = maker.beside(work, work, maker.half(work), *copies, maker.half(maker.other(work)))
        kind = list(KINDS_OF_LIES)[n % len(KINDS_OF_LIES)]
        records += maker.lie(kind).answer
        others = {f"service {n}": maker.half(dice.choice((work, *records))) for n in range(3)}
        assert judge(paper, records, others) == shuffled(dice, paper, records, others)


def shuffled(
    dice: random.Random, paper: Paper, records: list[Paper], others: Mapping[str, Paper]
) -> Judgement:
    turned = dict(dice.sample(list(others.items()), len(others)))
    return judge(paper, dice.sample(records, len(records)), turned)
