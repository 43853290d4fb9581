"""Records with one identifier, end to end: what is announced, what is known, and who keeps it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from monitor.diff import same_work
from monitor.model import RETRACTION, Paper
from monitor.store.engine.database import Database
from monitor.store.papers import papers
from tests.identity.scenarios import DIARY, DOI, FORESTS, SCENARIOS, Scenario, mentions
from tests.pipeline.desk import ids, origin, read, tell
from tests.store.scenes import DAY, NOW, reading

ALL = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@ALL
def test_two_records_are_one_work_or_two(scenario: Scenario) -> None:
    for a, b in ((scenario.first, scenario.second), (scenario.second, scenario.first)):
        assert same_work(a, b).same is scenario.one


@ALL
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "turned"])
@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one reading"])
def test_papers_are_announced_once_whatever_comes_first(
    store: Database, scenario: Scenario, turned: bool, together: bool
) -> None:
    records = [scenario.first, scenario.second]
    records = records[::-1] if turned else records
    if together:
        read(store, "page", *records)
    else:
        for source, record in zip(("page", "list"), records, strict=True):
            read(store, source, record)
    expected = [1] if scenario.one else [1, 2]
    assert ids(store) == expected
    assert tell(store) == expected
    if not scenario.one and scenario.first.keys.keys() & scenario.second.keys.keys() == {"doi"}:
        _check_owner(store, scenario, turned)
    for number, record in enumerate(records):  # changed a little, and read again, in both sources
        for source in ("page", "list"):
            again = replace(record, categories=("seen again",))
            read(store, source, again, now=NOW + DAY)
            assert ids(store) == expected, (source, number)
    assert tell(store, now=NOW + DAY) == []


def _check_owner(store: Database, scenario: Scenario, turned: bool) -> None:
    shared = {*scenario.first.identifiers("doi")} & {*scenario.second.identifiers("doi")}
    keeps = scenario.keeps or ("second" if turned else "first")
    for value in shared:
        owner = reading(store, papers.by_key, "doi", value)
        assert owner and owner.paper.title == getattr(scenario, keeps).title
        carriers = reading(store, papers.by_common_key, "doi", value)
        assert len(carriers) == 1, "the other one shows it as data"


def test_ten_papers_that_link_to_one_journal_are_ten(store: Database) -> None:
    titles = [
        "Amber in Quarries", "Basil under Lamps", "Cobalt Mines at Night", "Dahlias on Rooftops",
        "Falcons above Motorways", "Garnets from Riverbeds", "Hazelnut Harvests", "Kelp Reefs",
        "Lotus Ponds in Autumn", "Nectar Robbing Bees",
    ]  # fmt: skip
    records = [
        replace(
            DIARY,
            title=title,
            abstract="",
            authors=(f"Ada {title.split()[0]}",),
            keys={"doi": f"10.1000/j.{number}"},
            url="https://doi.org/10.1000/neco",
            raw_id="",
        )
        for number, title in enumerate(titles)
    ]
    stored = read(store, "dump", *records)
    assert stored.counts()["new"] == 10
    assert len(ids(store)) == 10
    again = read(store, "dump", *records, now=NOW + DAY)
    assert again.counts()["new"] == 0
    assert len(ids(store)) == 10


def test_an_identifier_goes_to_the_paper_with_the_better_claim(store: Database) -> None:
    """From a text to a link, a field, and the service that assigns it; never back."""
    diary = mentions(DIARY, "text", doi=DOI)
    wrong = replace(
        FORESTS,
        title="Lighthouses of the Baltic",
        abstract="",
        authors=("Nils Berg",),
        keys={"doi": DOI},
        raw_id="w",
    )
    read(store, "diary", diary)
    read(store, "dump", wrong)
    assert _owner(store) == wrong.title
    read(store, "crossref", replace(FORESTS, keys={"doi": DOI}), assigns=("doi",))
    assert _owner(store) == FORESTS.title
    read(store, "dump", replace(wrong, venue="seen again"), now=NOW + DAY)
    read(store, "diary", replace(diary, categories=("seen again",)), now=NOW + DAY)
    assert _owner(store) == FORESTS.title
    assert [origin(store, id).stored.paper.title for id in ids(store)] == [
        DIARY.title,
        wrong.title,
        FORESTS.title,
    ]
    assert all(("doi", DOI) in origin(store, id).keys for id in ids(store))


def _owner(store: Database) -> str:
    owner = reading(store, papers.by_key, "doi", DOI)
    return owner.paper.title if owner else ""


def test_a_link_merges_no_papers(store: Database) -> None:
    """Only fields that name both prove that two stored papers are one."""
    early = replace(FORESTS, keys={"arxiv": "2601.00042"}, abstract="")
    printed = replace(
        FORESTS,
        title="Detecting Young Spruce from the Air",
        keys={"doi": DOI},
        abstract="",
        authors=(),
        raw_id="p",
    )
    read(store, "arxiv", early)
    read(store, "journal", printed)
    assert ids(store) == [1, 2]
    review = replace(early, url=f"https://doi.org/{DOI}", raw_id="r")
    read(store, "reviews", review)
    assert ids(store) == [1, 2]
    read(store, "index", replace(early, keys={"arxiv": "2601.00042", "doi": DOI}, raw_id="i"))
    assert ids(store) == [1]


def test_an_entry_is_recognised_by_its_name_after_it_lost_the_identifier(store: Database) -> None:
    diary = mentions(DIARY, "links", doi=DOI)
    read(store, "diary", diary)
    read(store, "journal", FORESTS)
    rewritten = replace(diary, title="What I read, with corrections", abstract="All was wrong.")
    read(store, "diary", rewritten, now=NOW + DAY)
    assert ids(store) == [1, 2]
    assert {seen.source for seen in origin(store, 1).sightings} == {"diary"}


def test_a_doi_that_two_papers_have_names_both(store: Database) -> None:
    read(store, "diary", replace(DIARY, url=f"https://doi.org/{DOI}"))
    read(store, "journal", FORESTS)
    for id, other, claim in ((1, 2, "field"), (2, 1, "link")):
        keys = origin(store, id).keys
        [shared] = reading(store, papers.sharing_keys, id, keys)
        assert (shared.key, shared.paper, shared.claim) == (f"doi:{DOI}", other, claim)


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one reading"])
def test_a_notice_marks_no_record_that_only_links_to_its_paper(
    store: Database, together: bool
) -> None:
    diary = replace(DIARY, url=f"https://doi.org/{DOI}")
    notice = Paper(
        f"Retraction: {FORESTS.title}", type=RETRACTION, about={"doi": DOI}, raw_id="notice"
    )
    for records in [[diary, notice]] if together else [[diary], [notice]]:
        read(store, "page", *records)
    read(store, "page", replace(diary, categories=("seen again",)), now=NOW + DAY)
    assert not origin(store, 1).stored.paper.withdrawn
    read(store, "journal", FORESTS, now=NOW + DAY)
    assert origin(store, 3).stored.paper.withdrawn
    assert not origin(store, 1).stored.paper.withdrawn
