"""New, revised, withdrawn, older or known: a table of arrivals against what the store holds."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from monitor.diff.decide import DecisionContext, count_undated, decide_chunk
from monitor.identity.keys import with_keys
from monitor.identity.withdrawals import Standing
from monitor.model import (
    Authority,
    Candidate,
    ChangeKind,
    Claim,
    FirstRun,
    Paper,
    Sighting,
    StoredPaper,
)

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
TITLE = "Learning to Plan with Language Agents in Open Worlds"
ABSTRACT = (
    "We study how language agents learn to plan in open worlds. Our method searches over "
    "programs and reuses what it finds. On three benchmarks it halves the number of steps."
)
REWORKED = (
    "We study how language agents learn to plan in open worlds. Our method now searches over "
    "proofs and reuses what it finds. On five benchmarks it halves the number of steps."
)
OTHER = (
    "Protein folding remains a challenge for molecular dynamics. We present a sampler that "
    "respects symmetries and show that it reaches equilibrium in a tenth of the time."
)


def candidate(paper: Paper, *found_by: str, same_source: bool = True) -> Candidate:
    """The stored paper, as the store offers it to an incoming one."""
    known = with_keys(paper)
    sighting = Sighting(
        "s", known.raw_id, paper.version, paper.announce, known.fingerprint, NOW, NOW
    )
    stored = StoredPaper(7, paper, NOW, NOW, 1)
    keys = dict.fromkeys(known.keys, Claim.FIELD)
    return Candidate(stored, keys, frozenset(found_by), (sighting,) if same_source else ())


def decide(paper: Paper, *found: Candidate, **context: object):
    [decision] = decide_chunk([with_keys(paper)], [found], DecisionContext(NOW, **context))
    return decision


def test_the_same_text_again_is_known():
    decision = decide(Paper(TITLE, ABSTRACT), candidate(Paper(TITLE, ABSTRACT), "title"))
    assert (decision.kind, decision.paper_id) == (None, 7)
    unlike = decide(Paper(TITLE, ABSTRACT))
    assert (unlike.kind, unlike.paper_id, unlike.news) == (ChangeKind.NEW, None, True)
    assert decision.why == "same title, authors not given, abstracts agree to 100%"


ADA = ("Ada Lovelace",)
GRACE = ("Grace Hopper",)
LEGS = "Damping Load Swing on Walking Machines"


def entry(title: str, authors: tuple[str, ...] = ADA, year: int = 2006, **more: str) -> Paper:
    return Paper(title, authors=authors, venue="ICRA", year=year, raw_id="item-1", **more)


@pytest.mark.parametrize(
    "new",
    [
        entry(f"{LEGS}: Experimental Results", year=2007),
        entry(f"{LEGS}: Theory of Results", GRACE),
        entry("Damping the Sway of Loads on Walking Machines", year=2007, abstract=ABSTRACT),
    ],
    ids=["one conference, in two years", "by other people", "the abstract used again"],
)
def test_F08_a_guid_of_last_year_does_not_hide_a_paper_like_its_old_one(new: Paper):
    old = entry(f"{LEGS}: Simulation Results", abstract=new.abstract)
    assert decide(new, candidate(old, "raw_id")).kind is ChangeKind.NEW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (entry("Damping Load Swings on Walkign Machine"), entry(LEGS, year=2007)),
        (entry(f"{LEGS}: Simulation Results"), entry(f"{LEGS}: Experimental Results")),
        (entry(LEGS, ("admin",)), entry(f"{LEGS}.", GRACE)),
        (entry(f"{LEGS}, Part 1", abstract=ABSTRACT), entry(f"{LEGS}, Part 2", abstract=ABSTRACT)),
    ],
    ids=["spelling and year", "a word of the title", "the authors", "the number"],
)
def test_F08_what_a_source_corrects_of_one_entry_is_one_paper(old: Paper, new: Paper):
    assert decide(new, candidate(old, "raw_id")).paper_id == 7


def test_a_higher_version_is_a_revision_and_a_lower_one_is_known():
    old = Paper(TITLE, ABSTRACT, keys={"arxiv": "2401.01234"}, version=2)
    third = Paper(TITLE, ABSTRACT, keys={"arxiv": "2401.01234"}, version=3)
    first = Paper(TITLE, REWORKED, keys={"arxiv": "2401.01234"}, version=1)
    assert decide(third, candidate(old, "key")).kind is ChangeKind.REVISED
    assert decide(third, candidate(old, "key")).why == "version 3 after 2"
    assert decide(first, candidate(old, "key")).kind is None


def test_another_sources_wording_is_no_revision():
    old = candidate(Paper(TITLE, ABSTRACT), "title", same_source=False)
    assert decide(Paper(TITLE, REWORKED), old).kind is None


PAGE_OF_TODAY = "https://example.org/today"
VOLUME = "https://example.org/proceedings"
MISSPELT = "Learning to Plan with Langauge Agents in Open Worlds"


@pytest.mark.parametrize(
    ("old", "new", "found_by", "kind"),
    [
        (Paper("Editorial", ABSTRACT), Paper("Editorial", OTHER), "title", ChangeKind.NEW),
        (
            Paper(TITLE, ABSTRACT, raw_id="item-1"),
            Paper("Sampling Proteins", OTHER, raw_id="item-1"),
            "raw_id",
            ChangeKind.NEW,
        ),
        (Paper(MISSPELT, raw_id="item-1"), Paper(TITLE, raw_id="item-1"), "raw_id", "revised"),
        (
            Paper(f"{LEGS}, Part I", authors=ADA, url=VOLUME, raw_id="I"),
            Paper(f"{LEGS}, Part II", authors=ADA, url=VOLUME, raw_id="II"),
            "raw_id",
            ChangeKind.NEW,
        ),
        (
            Paper(TITLE, ABSTRACT, url=PAGE_OF_TODAY),
            Paper("Sampling Proteins", OTHER, url=PAGE_OF_TODAY),
            "key",
            ChangeKind.NEW,
        ),
        (Paper(TITLE, ABSTRACT), Paper(TITLE, REWORKED), "title", ChangeKind.REVISED),
        (Paper(TITLE, raw_id="1"), Paper(TITLE, ABSTRACT, raw_id="1"), "raw_id", None),
    ],
    ids=["title", "guid", "mended title", "volume", "link", "reworked", "abstract added"],
)
def test_F08_a_record_is_the_paper_that_its_texts_prove(old: Paper, new: Paper, found_by, kind):
    decision = decide(new, candidate(old, found_by))
    assert decision.kind == kind
    assert decision.paper_id == (None if kind is ChangeKind.NEW else 7)


def test_a_withdrawal_is_announced_once():
    gone = Paper(TITLE, ABSTRACT, raw_id="item-1", withdrawn=True)
    keeps = Standing(Authority.EVERY)
    assert not decide(gone, standing=keeps).news  # never seen before
    here = Paper(TITLE, ABSTRACT, raw_id="item-1")
    assert decide(gone, candidate(here, "raw_id")).kind is ChangeKind.WITHDRAWN
    assert decide(gone, candidate(gone, "raw_id")).kind is None


def test_a_repeat_within_one_reading_is_known():
    one = with_keys(Paper(TITLE, ABSTRACT, keys={"arxiv": "2401.01234v1"}))
    two = with_keys(Paper(TITLE, ABSTRACT, url="https://example.org/x"))
    three = with_keys(Paper("Retitled", keys={"arxiv": "2401.01234"}))
    decisions = decide_chunk([one, two, three], [(), (), ()], DecisionContext(NOW))
    assert [(d.kind, d.earlier_in_chunk) for d in decisions] == [
        (ChangeKind.NEW, None),
        (None, 0),
        (None, 0),
    ]


def test_a_repeat_of_a_stored_paper_within_one_reading_is_that_paper():
    stored = candidate(Paper(TITLE, ABSTRACT), "title")
    one = with_keys(Paper(TITLE, ABSTRACT, url="https://e.org/1"))
    two = with_keys(Paper(TITLE, ABSTRACT))
    decisions = decide_chunk([one, two], [(stored,), ()], DecisionContext(NOW))
    assert [(d.paper_id, d.earlier_in_chunk) for d in decisions] == [(7, None), (7, None)]


@pytest.mark.parametrize(
    ("first_run", "age", "news"),
    [
        (None, timedelta(days=30), True),
        (FirstRun.DELIVER, timedelta(days=30), True),
        (FirstRun.RECENT, timedelta(days=6), True),
        (FirstRun.RECENT, timedelta(days=8), False),
        (FirstRun.BASELINE, timedelta(days=0), False),
    ],
)
def test_what_a_first_reading_is_worth(first_run, age, news):
    paper = Paper(TITLE, ABSTRACT, announced=NOW - age)
    assert decide(paper, first_run=first_run, dated=True).news is news


def test_of_undated_papers_a_first_reading_tells_the_newest_twenty_over_all_chunks():
    papers = [with_keys(Paper(f"Paper {number}", raw_id=str(number))) for number in range(30)]
    first = decide_chunk(papers[:15], [()] * 15, DecisionContext(NOW, FirstRun.RECENT))
    rest = DecisionContext(NOW, FirstRun.RECENT, undated_before=count_undated(first))
    second = decide_chunk(papers[15:], [()] * 15, rest)
    assert [d.news for d in (*first, *second)] == [True] * 20 + [False] * 10


@pytest.mark.parametrize(
    ("dated", "days", "kind"),
    [(True, 91, ChangeKind.OLDER), (True, 89, ChangeKind.NEW), (False, 91, ChangeKind.NEW)],
)
def test_older_goes_by_a_date_that_the_source_vouches_for(dated, days, kind):
    paper = Paper(TITLE, ABSTRACT, published=NOW - timedelta(days=days))
    assert decide(paper, dated=dated).kind is kind


PAGE = f"Menu {TITLE} {ABSTRACT} Ada Lovelace Article 21 Nov 2026"


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (Paper(TITLE, ABSTRACT), Paper(f"{TITLE}: A Study", ABSTRACT), None),
        (Paper(f"{TITLE}: A Study", ABSTRACT), Paper(TITLE, ABSTRACT), None),
        (Paper(TITLE, PAGE), Paper(TITLE, ABSTRACT), None),
        (Paper(TITLE, f"<!DOCTYPE html> {ABSTRACT}"), Paper(TITLE, ABSTRACT), None),
        (Paper(TITLE, ABSTRACT), Paper(TITLE, f"{ABSTRACT} LEVEL OF EVIDENCE: IV"), None),
        (Paper(TITLE, ABSTRACT), Paper(f"{TITLE} and Elsewhere", ABSTRACT), "revised"),
        (Paper(TITLE, ABSTRACT), Paper(f"{TITLE}: A Study", REWORKED), "revised"),
        (Paper(TITLE, ABSTRACT), Paper(TITLE, f"{ABSTRACT} It also works at night."), "revised"),
        (Paper(TITLE, ABSTRACT), Paper(TITLE, ABSTRACT.replace("three", "nine")), "revised"),
    ],
)
def test_a_record_that_says_something_else_is_a_revision_and_one_that_is_read_better_none(
    before: Paper, now: Paper, kind: str | None
):
    before, now = (replace(one, keys={"doi": "10.1000/1"}) for one in (before, now))
    decision = decide(now, candidate(before, "key"))
    assert (decision.kind, decision.text_changed_silently) == (kind, kind is None)
