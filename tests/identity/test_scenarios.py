"""The table of pairs of records, end to end: what is announced, known, withdrawn and told."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import pytest
from msgspec.structs import replace

from monitor.diff import same_work
from monitor.digest.sections.references import describe_event
from monitor.identity.reasons import describe
from monitor.identity.withdrawals import NO_STANDING, Standing
from monitor.model import RETRACTION, Audience, Paper, Role
from monitor.store.engine.database import Database
from monitor.store.papers import papers
from monitor.store.sources import reference_events
from tests.identity.scenarios import (
    AT_ONCE,
    DIARY,
    DOI,
    FORESTS,
    IDENTIFIERS,
    SCENARIOS,
    TURNED,
    TURNED_AT_ONCE,
    Outcome,
    Scenario,
    mentions,
)
from tests.pipeline.desk import ids, origin, read, tell
from tests.store.scenes import DAY, NOW, reading

every = partial(pytest.mark.parametrize, "scenario", ids=lambda scenario: scenario.name)


@every(IDENTIFIERS)
def test_two_records_are_one_work_or_two(scenario: Scenario) -> None:
    for a, b in ((scenario.first, scenario.second), (scenario.second, scenario.first)):
        assert same_work(a, b).same is scenario.one


@dataclass(frozen=True)
class Reading:
    """A record as its source has it; the library of the reader is guarded."""

    source: str
    record: Paper
    standing: Standing

    def read(self, store: Database, *more: Paper, now: datetime = NOW) -> None:
        records = self.record, *more
        read(store, self.source, *records, now=now, standing=self.standing, guarded=["refs"])


def _told(store: Database, now: datetime = NOW) -> tuple[str, ...]:
    people = Audience(frozenset({("pages", "pages")}))
    events = reading(store, reference_events.unsent, "ada", ["refs"], people, now)
    return tuple(map(describe_event, events))


@pytest.mark.parametrize(
    ("scenario", "way"),
    [
        pytest.param(scenario, way, id=f"{way}-{scenario.name}")
        for scenario in SCENARIOS
        for way in scenario.outcomes
    ],
)
def test_what_two_records_lead_to(store: Database, scenario: Scenario, way: str) -> None:
    first, second = scenario.sources
    readings = {
        "first": Reading(first, scenario.first, NO_STANDING),
        "second": Reading(second, scenario.second, scenario.standing),
    }
    turned = way in (TURNED, TURNED_AT_ONCE)
    order = ["second", "first"] if turned else ["first", "second"]
    read(store, "refs", *scenario.library, role=Role.LIBRARY)
    if way in (AT_ONCE, TURNED_AT_ONCE):
        one, other = (readings[which].record for which in order)
        Reading(second, one, scenario.standing).read(store, other)
    else:
        for which in order:
            readings[which].read(store)
    if scenario.then:
        readings["second"] = dataclasses.replace(readings["second"], record=scenario.then)
        readings["second"].read(store)
    made = dict(zip(ids(store), order, strict=False))
    stored = {id: origin(store, id) for id in made}
    seen = [sighting for one in stored.values() for sighting in one.sightings]
    reasons = {describe(sighting.recognised) for sighting in seen} - {""}
    withdrawn = {made[id] for id, one in stored.items() if one.stored.paper.withdrawn}
    outcome = Outcome(
        frozenset(made[id] for id in tell(store)),
        "; ".join(sorted(reasons)),
        frozenset(withdrawn),
        _told(store),
    )
    assert outcome == scenario.outcomes[way]
    if (
        scenario in IDENTIFIERS
        and not outcome.why
        and scenario.first.keys.keys() & scenario.second.keys.keys() == {"doi"}
    ):
        _check_owner(store, scenario, turned)
    # Changed a little, each is read again: where nothing is told, by the other source, too.
    for one in readings.values():
        for other in [one] if outcome.told else readings.values():
            record = replace(other.record, categories=("seen again",))
            dataclasses.replace(one, record=record).read(store, now=NOW + DAY)
            assert ids(store) == [*made]
    assert tell(store, now=NOW + DAY) == []
    assert _told(store, NOW + DAY) == outcome.told


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
    again = replace(diary, categories=("seen again",)), replace(notice, abstract="Once more.")
    read(store, "page", *again, now=NOW + DAY)
    assert not origin(store, 1).stored.paper.withdrawn
    read(store, "journal", FORESTS, now=NOW + DAY)
    assert origin(store, 3).stored.paper.withdrawn
    assert not origin(store, 1).stored.paper.withdrawn
