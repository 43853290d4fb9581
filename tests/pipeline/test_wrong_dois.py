"""A DOI that clearly different papers carry: each stays, is found, and shows the DOI."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from msgspec.structs import replace

from monitor.diff import same_work
from monitor.model import Paper, Reasons
from monitor.store.engine.database import Database
from monitor.store.papers import identity_rulings, merge_papers, paper_index, papers
from tests.pipeline.desk import ids, origin, read, tell
from tests.store.scenes import DAY, NOW, reading

DOI = "10.9999/1235"
GRAPHS = Paper(
    "Prints of Graphs as Features of Networks",
    "We count small subgraphs of networks and use the counts as features. On four sets of "
    "networks the features tell classes apart as well as kernels do, at a tenth of the cost.",
    ("Ada Byron", "Bo Chen"),
    keys={"arxiv": "2601.00001", "doi": DOI},
    raw_id="a1",
)
ROOTS = Paper(
    "Isolating Roots of Polynomials over Local Fields",
    "An algorithm separates the zeros of integer polynomials in discs of a local field. We bound "
    "its running time by the degree and the height, and give an implementation in Sage.",
    ("Cy Doe",),
    keys={"arxiv": "2601.00002", "doi": DOI},
    raw_id="a2",
)
ROBOTS = Paper(
    "Grasping Wet Glass with Soft Fingers",
    "Soft fingers slip on wet glass. A coating and a reflex of forty milliseconds let a hand of "
    "silicone hold glasses of nine shapes, as trials with two hundred grasps show.",
    ("Di Eck", "Flo Gray"),
    keys={"arxiv": "2601.00003", "doi": DOI},
    raw_id="a3",
)
JOURNAL = replace(ROOTS, keys={"doi": DOI}, raw_id="j1", venue="Journal of Fields")


def titles(store: Database) -> list[str]:
    return [origin(store, id).stored.paper.title for id in ids(store)]


def owner(store: Database, scheme: str, value: str) -> str | None:
    found = reading(store, papers.by_key, scheme, value)
    return found.paper.title if found else None


def carries(store: Database) -> list[str]:
    """The papers that show the DOI."""
    return [t for id, t in zip(ids(store), titles(store), strict=True) if _shows(store, id)]


def _shows(store: Database, id: int) -> bool:
    [stored] = reading(store, papers.load, [id]).values()
    assert (stored.paper.keys.get("doi") == DOI) == (("doi", DOI) in origin(store, id).keys)
    return ("doi", DOI) in origin(store, id).keys


@pytest.mark.parametrize("order", list(permutations((GRAPHS, ROOTS, ROBOTS))))
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("together", ["one source", "several"])
def test_papers_that_share_only_a_doi_stay_apart(
    store: Database, order: Sequence[Paper], at_once: bool, together: str
) -> None:
    for number, chunk in enumerate([order] if at_once else [[one] for one in order]):
        read(store, "arxiv" if together == "one source" else f"s{number}", *chunk)
    assert titles(store) == [one.title for one in order]
    assert owner(store, "doi", DOI) == order[0].title, "of equal claims the first one counts"
    assert sorted(carries(store)) == sorted(titles(store))
    assert len(tell(store)) == 3
    for one in reversed(order):
        read(store, "arxiv", replace(one, venue="seen again"), now=NOW + DAY)
        read(store, "mirror", replace(one, raw_id=f"m{one.raw_id}"), now=NOW + DAY)
    assert titles(store) == [one.title for one in order]
    assert tell(store, now=NOW + 2 * DAY) == []


def test_a_record_with_the_doi_alone_goes_by_likeness(store: Database) -> None:
    read(store, "arxiv", GRAPHS, ROOTS)
    read(store, "journal", JOURNAL, now=NOW + DAY)
    assert len(ids(store)) == 2
    assert {seen.source for seen in origin(store, 2).sightings} == {"arxiv", "journal"}
    stranger = replace(ROBOTS, keys={"doi": DOI}, raw_id="j2")
    read(store, "journal", stranger, now=NOW + DAY)
    assert titles(store) == [GRAPHS.title, ROOTS.title, ROBOTS.title]
    assert carries(store) == titles(store)


def test_a_record_with_the_doi_alone_goes_by_likeness_in_one_reading(store: Database) -> None:
    read(store, "list", GRAPHS, ROOTS, JOURNAL, replace(ROBOTS, keys={"doi": DOI}))
    assert titles(store) == [GRAPHS.title, ROOTS.title, ROBOTS.title]


def test_a_doi_that_a_reading_shows_to_be_shared_leads_to_no_stored_paper_in_it(
    store: Database,
) -> None:
    read(store, "arxiv", GRAPHS)
    read(store, "list", ROOTS, replace(ROBOTS, keys={"doi": DOI}), now=NOW + DAY)
    assert titles(store) == [GRAPHS.title, ROOTS.title, ROBOTS.title]


def test_what_was_joined_by_the_doi_before_stays_with_the_paper_and_is_known(
    store: Database,
) -> None:
    retitled = Paper("On Features of Networks", keys={"doi": DOI}, raw_id="j1")
    read(store, "arxiv", GRAPHS)
    read(store, "journal", retitled)
    assert ids(store) == [1]
    read(store, "arxiv", ROOTS, now=NOW + DAY)
    assert titles(store) == [GRAPHS.title, ROOTS.title]
    changed = replace(retitled, abstract="A text that says little, and nothing of subgraphs.")
    read(store, "journal", changed, now=NOW + 2 * DAY)
    assert ids(store) == [1, 2]
    assert {seen.raw_id for seen in origin(store, 1).sightings} == {"a1", "j1"}
    assert explained(store, changed)
    assert ids(store) == [1, 2]


def explained(store: Database, paper: Paper) -> Reasons:
    again = read(store, "journal", replace(paper, venue="once more"), now=NOW + 3 * DAY)
    return again.decisions[0].recognised


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_record_without_arxiv_id_does_not_lead_two_papers_into_one(
    store: Database, order: tuple[int, ...], at_once: bool
) -> None:
    """A record with the DOI alone is of the first paper that carries it; the other is another."""
    bare = Paper("Untitled Draft of Something", keys={"doi": DOI}, raw_id="j1")
    result = [(GRAPHS, ROOTS, bare)[place] for place in order]
    for chunk in [result] if at_once else [[one] for one in result]:
        read(store, "list", *chunk)
    assert owner(store, "arxiv", "2601.00001") != owner(store, "arxiv", "2601.00002")
    assert len(tell(store)) == len(ids(store))


def test_a_paper_that_gains_the_doi_of_another_later_stays_apart(store: Database) -> None:
    read(store, "arxiv", GRAPHS)
    read(store, "arxiv", replace(ROOTS, keys={"arxiv": "2601.00002"}))
    read(store, "mirror", replace(ROOTS, raw_id="m"), now=NOW + DAY)
    assert titles(store) == [GRAPHS.title, ROOTS.title]
    assert carries(store) == titles(store)
    assert {seen.source for seen in origin(store, 2).sightings} == {"arxiv", "mirror"}


# ── a person's word ─────────────────────────────────────────────────────────────────


def ruled(store: Database, verdict: str) -> None:
    with store.ingesting() as tx:
        names = identity_rulings.names_of(tx, [1, 2])
        identity_rulings.rule(tx, names[1], names[2], verdict, NOW)
        if verdict == identity_rulings.SAME:
            merge_papers.merge(tx, [(1, 2, "a person")], NOW)


def test_a_person_who_says_that_they_are_one_gives_the_doi_back(store: Database) -> None:
    read(store, "arxiv", GRAPHS, ROOTS)
    ruled(store, identity_rulings.SAME)
    assert ids(store) == [1]
    assert owner(store, "doi", DOI) == GRAPHS.title
    read(store, "arxiv", GRAPHS, ROOTS, now=NOW + DAY)
    read(store, "mirror", replace(ROOTS, raw_id="m"), now=NOW + DAY)
    read(store, "journal", JOURNAL, now=NOW + DAY)
    assert ids(store) == [1]


def test_the_doi_stays_data_while_a_third_paper_carries_it(store: Database) -> None:
    read(store, "arxiv", GRAPHS, ROOTS, ROBOTS)
    ruled(store, identity_rulings.SAME)
    assert titles(store) == [GRAPHS.title, ROBOTS.title]
    assert owner(store, "doi", DOI) == GRAPHS.title
    assert carries(store) == titles(store)


def test_a_person_who_says_that_they_are_two_is_heard_though_texts_agree(store: Database) -> None:
    again = replace(GRAPHS, keys={"arxiv": "2601.00009"}, raw_id="a9", abstract="")
    read(store, "arxiv", GRAPHS)
    read(store, "list", replace(again, title="Something Else Entirely", authors=()))
    ruled(store, identity_rulings.DIFFERENT)
    read(store, "mirror", replace(again, keys=again.keys | {"doi": DOI}), now=NOW + DAY)
    assert ids(store) == [1, 2]
    seen = origin(store, 2).sightings
    assert {one.source for one in seen} == {"list", "mirror"}


# ── which pairs are one ─────────────────────────────────────────────────────────────

LATER = {"arxiv": "2602.00001", "doi": DOI}
TEXT = GRAPHS.abstract
ONE = {
    "withdrawn and submitted again": replace(GRAPHS, keys=LATER),
    "with a similar title": replace(
        GRAPHS, keys=LATER, title="Prints of Graphs as Features for Network Classification"
    ),
    "under another title with the same text": replace(
        GRAPHS, keys=LATER, title="Counting Small Subgraphs Tells Networks Apart"
    ),
    "with a similar title and no text": replace(
        GRAPHS, keys=LATER, title="Prints of Graphs as Features of Large Networks", abstract=""
    ),
    "with the names of a group": replace(GRAPHS, keys=LATER, authors=("The Graph Group",)),
    "published under another title, with no arXiv id": replace(
        ROOTS, keys={"doi": DOI, "pmid": "7"}, authors=GRAPHS.authors
    ),
    "a title and the DOI alone": Paper("Counting What Networks Are Made Of", keys={"doi": DOI}),
    "with two DOIs": replace(GRAPHS, keys={"arxiv": "2601.00001", "doi": "10.9999/other"}),
}
TWO = {
    "nothing in common": ROOTS,
    "nothing in common, no text": replace(ROOTS, abstract=""),
    "nothing in common, and no other identifier": replace(ROOTS, keys={"doi": DOI}),
    "two PMIDs": replace(ROOTS, keys={"pmid": "8", "doi": DOI}),
    "other work of the same authors": replace(ROOTS, authors=GRAPHS.authors),
    "other work of the same authors, no text": replace(ROOTS, authors=GRAPHS.authors, abstract=""),
    "the second part": replace(
        GRAPHS, keys=LATER, title=f"{GRAPHS.title}, Part II", abstract=ROOTS.abstract
    ),
}


@pytest.mark.parametrize("other", ONE.values(), ids=ONE)
def test_what_texts_or_identifiers_bear_out_is_one(store: Database, other: Paper) -> None:
    assert same_work(GRAPHS, other).same and same_work(other, GRAPHS).same
    read(store, "arxiv", GRAPHS)
    read(store, "arxiv", replace(other, raw_id="b"), now=NOW + DAY)
    assert ids(store) == [1]


@pytest.mark.parametrize("other", TWO.values(), ids=TWO)
def test_what_another_scheme_contradicts_and_no_text_bears_out_is_two(
    store: Database, other: Paper
) -> None:
    first = GRAPHS if "pmid" not in other.keys else replace(GRAPHS, keys={"pmid": "7", "doi": DOI})
    for a, b in ((first, other), (other, first)):
        verdict = same_work(a, b)
        assert (verdict.same, verdict.why[0]) == (False, f"same doi {DOI}")
    read(store, "arxiv", first)
    read(store, "arxiv", replace(other, raw_id="b"), now=NOW + DAY)
    assert ids(store) == [1, 2]


def test_the_prefix_of_a_journal_is_no_key(store: Database) -> None:
    prefix = "10.9999/ijcs"
    result = [
        replace(one, keys={"arxiv": f"2603.{number:05}", "doi": prefix}, raw_id=str(number))
        for number, one in enumerate((GRAPHS, ROOTS, ROBOTS))
    ]
    read(store, "arxiv", *result[:2])
    read(store, "arxiv", result[2], now=NOW + DAY)
    assert len(ids(store)) == 3
    with store.reading() as tx:
        assert paper_index.of_keys(tx, [("doi", prefix)]) == {("doi", prefix): 1}
        found = papers.by_common_key(tx, "doi", prefix)
    assert [one.id for one in found] == [2, 3]
