"""Affiliations: filled in silently, by later records and by services, and taken out again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.commands.explain import explain
from monitor.commands.json_output import explanation_json
from monitor.commands.look_up import unfill
from monitor.digest.look_up_words import describe_look_up
from monitor.identity.keys import with_keys
from monitor.model import Paper, Role
from monitor.pipeline import reference_lists
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.papers import look_ups, merge_papers
from tests.house import AGENTS, House, all_papers
from tests.pipeline.desk import origin, read, tell
from tests.servers.look_up import PLANS, LookUpServices, look_up_services
from tests.store.scenes import DAY, NOW, subscribe, watch

LATER = NOW + DAY
BARE = Paper("Agents That Plan", "An abstract.", ("Ada Lovelace",), keys={"arxiv": "2601.00001"})
PLACES = PLANS.institutions


@pytest.fixture
def services() -> Iterator[LookUpServices]:
    with look_up_services([PLANS]) as running:
        yield running


def asks(house: House, services: LookUpServices, name: str) -> None:
    house.settings["subscriptions"]["lab"].setdefault("schedule", "immediately")
    house.settings["look_up"] = services.settings(name) | {"wait": "10m"}


@pytest.mark.parametrize("source", ["feed", "mirror"])
def test_a_later_record_fills_them_in_and_is_no_news(store: Database, source: str) -> None:
    subscribe(store, "ada")
    watch(store, "t")
    read(store, "feed", replace(BARE, raw_id="1"))
    assert tell(store) == [1]
    read(store, source, replace(BARE, raw_id="1", affiliations=PLACES), now=LATER)
    known = origin(store, 1)
    assert known.stored.paper.affiliations == PLACES
    assert (known.stored.revision, [change.kind for change in known.changes]) == (1, ["new"])
    assert tell(store, now=LATER) == []
    read(store, "other", replace(BARE, raw_id="9", affiliations=("Elsewhere",)), now=LATER)
    assert origin(store, 1).stored.paper.affiliations == PLACES


def test_a_source_that_gains_them_lets_no_topic_look_again(store: Database) -> None:
    subscribe(store, "ada")
    watch(store, "t")
    read(store, "feed", replace(BARE, raw_id="1"))
    tell(store)
    read(store, "feed", replace(BARE, raw_id="1", affiliations=PLACES), now=LATER)
    with store.reading() as tx:
        waiting = sa.select(schema.change).where(schema.change.c.matched_at.is_(None))
        assert tx.execute(waiting).all() == []


def test_a_revision_has_those_of_its_record_or_keeps_what_is_known(store: Database) -> None:
    read(store, "feed", replace(BARE, version=1, affiliations=PLACES))
    read(store, "feed", replace(BARE, version=2, abstract="Another abstract."), now=LATER)
    assert origin(store, 1).stored.paper.affiliations == PLACES
    moved = replace(BARE, version=3, abstract="A third.", affiliations=("CERN",))
    read(store, "feed", moved, now=LATER)
    assert origin(store, 1).stored.paper.affiliations == ("CERN",)


def test_a_reference_list_fills_in_none(store: Database) -> None:
    entry = replace(BARE, affiliations=PLACES, url="https://example.org/1")
    read(store, "list", entry, role=Role.LIBRARY)
    read(store, "feed", replace(BARE, authors=()))
    with store.ingesting() as tx:
        reference_lists.fill(tx, ["list"], [1], LATER)
    known = origin(store, 1).stored.paper
    assert (known.authors, known.affiliations) == (BARE.authors, ())


@pytest.mark.parametrize("name", ["openalex", "crossref", "arxiv"])
def test_a_service_fills_them_in(house: House, name: str) -> None:
    with look_up_services([dataclasses.replace(PLANS, doi="10.5555/plans")]) as services:
        asks(house, services, name)
        assert house.run(AGENTS) == {"lab": 1}
        assert house.digest().groups[0].entries[0].paper.affiliations == PLACES
        assert house.run_after(days=1) == {}


def test_what_a_service_filled_in_is_explained_and_taken_out(
    house: House, services: LookUpServices
) -> None:
    asks(house, services, "openalex")
    house.run(AGENTS)
    with house.opened() as app:
        told = explain(app.runtime, AGENTS[0])
        answer = explanation_json(told)
        assert answer["affiliations"] == list(PLACES)
        [filled] = answer["filled"]
        assert filled["service"] == "openalex" and "affiliations" in filled["fields"]
        [look_up] = told.look_ups
        words = describe_look_up(look_up, app.runtime.service_titles)
        assert words.startswith("OpenAlex: authors, affiliations, ")
        done = unfill(app.runtime, AGENTS[0])
        assert done.stored.paper.affiliations == done.stored.paper.authors == ()
        assert explain(app.runtime, AGENTS[0]).filled == ()
    house.run_after(days=1)
    [stored] = house.read(all_papers)
    assert stored.paper.affiliations == ()


def test_nothing_is_asked_for_them_alone(house: House, services: LookUpServices) -> None:
    asks(house, services, "openalex")
    record = {
        "title": AGENTS[0], "abstract": AGENTS[1], "authors": ["Ada Lindqvist"],
        "arxiv_id": PLANS.arxiv, "published": "2025-01-02",
    }  # fmt: skip
    house.settings["sources"]["page"] = {
        "kind": "jsonl", "path": "list.jsonl", "first_run": "deliver",
    }  # fmt: skip
    (house.folder / "list.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert house.run() == {"lab": 1}
    assert services.count() == 0
    assert house.read(look_ups.of_papers, [1]) == {}


def test_a_split_leaves_neither_paper_the_institutions_of_the_other(store: Database) -> None:
    read(store, "feed", replace(BARE, raw_id="1", affiliations=PLACES))
    read(store, "other", replace(BARE, raw_id="9"))
    kept = with_keys(BARE)
    parted = with_keys(replace(BARE, title="Waves", authors=("Bo Sand",)))
    with store.ingesting() as tx:
        id = merge_papers.split(tx, 1, [], [("other", "9")], kept, parted, LATER)
    assert [origin(store, each).stored.paper.affiliations for each in (1, id)] == [(), ()]
