"""Readers' answers: once each, and there as long as the subscription is."""

from __future__ import annotations

import sqlalchemy as sa

from monitor.model import SAVED, UNJUDGED, UNWANTED, WANTED, Judgement
from monitor.store import retention
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.papers import merge_papers
from monitor.store.papers import papers as stored_papers
from monitor.store.topics import examples, judgements
from monitor.store.topics.examples import Example
from tests.store.scenes import (
    DAY,
    HOUR,
    NOW,
    arrive,
    arxiv,
    digest,
    freeze,
    ingest,
    ingesting,
    match,
    new,
    reading,
    subscribe,
    unsent,
    watch,
    writing,
)


def answer(
    store: Database, paper: int, verdict: str, who: str = "ada", at=NOW, name: str = "lab"
) -> None:
    writing(store, judgements.judge, [Judgement(name, "t", paper, who, verdict, at, "test")])


def verdicts(store: Database, name: str = "lab") -> dict[int, str]:
    return reading(store, judgements.verdicts, name).get("t", {})


def test_twice_is_once_and_another_verdict_replaces_it(store: Database) -> None:
    [paper] = arrive(store, "1")
    answer(store, paper, WANTED)
    answer(store, paper, WANTED, at=NOW + HOUR)
    assert [one.at for one in reading(store, judgements.listing)] == [NOW]
    answer(store, paper, UNWANTED, at=NOW + HOUR)
    assert verdicts(store) == {paper: UNWANTED}


def test_the_sum_of_several_people_counts_and_a_tie_is_unjudged(store: Database) -> None:
    one, other, third = arrive(store, "1", "2", "3")
    for who, verdict in (("ada", WANTED), ("bob", UNWANTED), ("eve", WANTED)):
        answer(store, one, verdict, who)
    answer(store, other, SAVED, "ada")
    answer(store, other, UNWANTED, "bob")
    answer(store, third, SAVED, "ada")
    answer(store, third, UNWANTED, "ada")
    assert verdicts(store) == {one: WANTED, other: UNJUDGED, third: UNWANTED}


def test_answers_survive_a_merge_and_the_last_of_one_person_counts(store: Database) -> None:
    """Addresses in another case are the same person's."""
    kept, lost, third = arrive(store, "1", "2", "3")
    answer(store, kept, WANTED, who="Ada@example.org")
    answer(store, lost, UNWANTED, who="ada@example.org", at=NOW + HOUR)
    answer(store, third, WANTED, who="ADA@example.org", at=NOW - HOUR)  # an earlier one
    answer(store, lost, WANTED, "bob")
    answer(store, lost, SAVED, "bob")
    ingesting(store, merge_papers.merge, [(kept, lost, "the same"), (kept, third, "the same")], NOW)
    rows = {
        (one.paper_id, one.who.lower(), one.verdict) for one in reading(store, judgements.listing)
    }
    ada = (kept, "ada@example.org", UNWANTED)
    assert rows == {ada, (kept, "bob", WANTED), (kept, "bob", SAVED)}


def test_answers_count_for_both_papers_after_a_split(store: Database) -> None:
    [paper] = arrive(store, "1")
    answer(store, paper, WANTED)
    parted = ingesting(store, merge_papers.split, paper, [], [], arxiv("1"), arxiv("2"), NOW)
    assert verdicts(store) == {paper: WANTED, parted: WANTED}


def test_a_judged_paper_keeps_its_text(store: Database) -> None:
    papers = arrive(store, "1", "2", "3")
    answer(store, papers[0], UNWANTED)
    answer(store, papers[1], SAVED)
    with store.writing() as tx:
        tx.execute(sa.update(schema.change).values(matched_at=NOW))
    assert ingesting(store, retention.purge, NOW + DAY, None, NOW + DAY, 100) == 1
    assert sorted(ingesting(store, stored_papers.texts, papers)) == papers[:2]


def test_removing_a_subscription_drops_its_answers(store: Database) -> None:
    subscribe(store, "lab", "ada")
    [paper] = arrive(store, "1")
    for name in ("lab", "ada"):
        answer(store, paper, WANTED, name=name)
        answer(store, paper, SAVED, name=name)
    subscribe(store, "ada")
    subscribe(store, "lab", "ada")
    assert (verdicts(store, "lab"), verdicts(store, "ada")) == ({}, {paper: WANTED})


def test_what_was_shown_in_full_is_known_by_topic_also_after_a_merge(store: Database) -> None:
    subscribe(store, "lab")
    watch(store, "t")
    one, other = arrive(store, "1", "2")
    match(store, one, other)
    assert freeze(store, digest(unsent(store, "lab"), name="lab"))
    assert reading(store, judgements.shown, "lab", "t", 10) == [one, other]
    assert reading(store, judgements.shown, "lab", "t", 1) == [other]
    assert reading(store, judgements.topics_of, one) == {"lab": ["t"]}
    ingesting(store, merge_papers.merge, [(one, other, "the same")], NOW)
    assert ingesting(store, judgements.shown, "lab", "t", 10) == [one]


def keep(store: Database, title: str, *keys: tuple[str, str], name: str = "lab") -> None:
    example = Example(name, "t", "ada", WANTED, NOW, "file", title, "")
    writing(store, examples.keep, example, [*keys, (examples.TITLE, title.casefold())])


def test_an_example_becomes_the_rating_of_the_paper_that_arrives(store: Database) -> None:
    subscribe(store, "lab")
    keep(store, "Roses", ("arxiv", "1"))
    keep(store, "Tulips")
    keep(store, "Lilies", ("arxiv", "7"))
    keep(store, "Roses again", ("arxiv", "1"))  # is the first one
    assert [e.title for e in reading(store, examples.listing)] == [
        "Tulips",
        "Lilies",
        "Roses again",
    ]
    writing(store, examples.settle)
    assert verdicts(store) == {}
    by_id, by_title, twin, rated = ingest(
        store,
        *map(new, (arxiv("1", "Roses, revised"), arxiv("2", "TULIPS"), arxiv("3"), arxiv("7"))),
    )
    answer(store, rated, UNWANTED)
    writing(store, examples.settle)
    assert verdicts(store) == {by_id: WANTED, by_title: WANTED, rated: UNWANTED}
    assert reading(store, examples.listing) == []
    ingest(store, new(arxiv("4", "Twins")), new(arxiv("5", "Twins")))
    keep(store, "Twins")
    keep(store, "Peonies", name="other")
    writing(store, examples.settle)
    assert twin not in verdicts(store)
    assert [e.title for e in reading(store, examples.listing, "lab")] == ["Twins"]
    subscribe(store, "other")
    assert reading(store, examples.subscriptions) == {"other"}


def test_the_answers_of_a_person_are_found_in_any_case(store: Database):
    watch(store, "t")
    subscribe(store, "lab")
    first, second = arrive(store, "2401.00001", "2401.00002")
    answer(store, first, WANTED, "Ada@example.org")
    answer(store, second, SAVED, "ADA@example.org", NOW + HOUR)
    answer(store, second, UNWANTED, "eve@example.org")
    own = reading(store, judgements.of_person, "ada@example.org")
    assert [(a.paper_id, a.verdict) for a in own] == [(first, WANTED), (second, SAVED)]
