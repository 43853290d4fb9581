"""Notices, papers and libraries in whatever order: each pair of them is reported once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.model import Audience, ReferenceChange, ReferenceEvent
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.sources import reference_events
from tests.house import House
from tests.pipeline.test_guard import Reference, every_digest, told, write
from tests.servers.works import update, work
from tests.sources import pubmed_day
from tests.sources.libraries import article, articles

RETRACTED = ReferenceChange.RETRACTED
CORRECTED = ReferenceChange.CORRECTED
CONCERN = ReferenceChange.CONCERN
Record = dict[str, Any]


@pytest.fixture
def guarded(house: House) -> House:
    """A library that does not exist yet, and folders of news."""
    for name in ("refs", "news", "pubmed", "crossref"):
        (house.folder / name).mkdir()
    house.settings["sources"] |= {
        "ada-refs": {"kind": "jsonl", "path": "refs/ada*.jsonl", "role": "library"},
        "news": {"kind": "jsonl", "path": "news/*.jsonl"},
        "pubmed": {"kind": "pubmed", "path": "pubmed/*.xml"},
        "crossref": {"kind": "crossref", "path": "crossref/*.json"},
    }
    house.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    write(house, "news/0.jsonl", Reference(99).record())
    return house


def waiting(tx: Transaction, house: House, libraries: str = "ada-refs") -> list[ReferenceEvent]:
    """What the next digests of `lab` will report, however many they are."""
    people = frozenset({("pages", "pages")})
    return reference_events.unsent(tx, "lab", [libraries], Audience(people), house.clock.at)


def told_pairs(house: House) -> Counter[tuple[str, str]]:
    """The notices with their references: what waits, and what digests had."""
    events = house.read(waiting, house)
    sent = [event for digest in house.read(every_digest) for event in digest.references]
    return Counter((event.after, event.work.title) for event in (*events, *sent))


# ── a daily file of PubMed, and a library of its papers ─────────────────────────────


def library(house: House, *schemes: str) -> None:
    entries = [
        {"title": paper.title, "id": f"ref{paper.number}"}
        | {scheme: str(getattr(paper, scheme)) for scheme in schemes}
        for paper in pubmed_day.papers()
    ]
    write(house, "refs/ada.jsonl", *entries)


STEPS: dict[str, dict[str, bool]] = {
    "file": {},
    "papers": {"with_notices": False},
    "notices": {"with_papers": False},
}
EVERY = sorted(pubmed_day.pairs())
ORDERS = (
    "library file",
    "file library",
    "library notices papers",
    "library papers notices",
    "notices library papers",
    "papers notices library",
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("order", "schemes", "store"),
    [
        *(
            (order, schemes, "sqlite")
            for order in ORDERS
            for schemes in ("doi", "pmid", "doi pmid")
        ),
        *((order, "doi", "postgresql") for order in (*ORDERS[:2], ORDERS[4])),
    ],
)
def test_each_notice_of_a_daily_file_of_pubmed_is_told_of_each_reference_once(
    guarded: House, request: pytest.FixtureRequest, order: str, schemes: str, store: str
) -> None:
    if store == "postgresql":
        guarded.settings["store"] = request.getfixturevalue("postgres_url")
    for step in order.split():
        if step == "library":
            library(guarded, *schemes.split())
        else:
            text = pubmed_day.day(**STEPS[step])
            (guarded.folder / "pubmed" / f"{step}.xml").write_text(text, encoding="utf-8")
        guarded.ingest()
        guarded.clock.move(hours=2)
    assert sorted(told_pairs(guarded).elements()) == EVERY
    again = pubmed_day.day(revised="21")
    (guarded.folder / "pubmed" / "again.xml").write_text(again, encoding="utf-8")
    guarded.next_morning()
    assert guarded.digest().more_references == len(EVERY) - 20
    library(guarded, "doi", "pmid")
    guarded.ingest()
    assert sorted(told_pairs(guarded).elements()) == EVERY


def test_the_daily_file_is_as_it_is_described() -> None:
    notices = pubmed_day.notices()
    here = {paper.pmid for paper in pubmed_day.papers()}
    with_paper = [notice for notice in notices if here.issuperset(notice.about)]
    assert (len(here), len(notices), len(with_paper)) == (300, 212, 119)
    several = sorted(len(notice.about) for notice in notices if len(notice.about) > 1)
    assert several == [8, 12, 15]


# ── orders of one notice, one paper and one reference ───────────────────────────────


def paper(number: int = 1, **more: Any) -> Record:
    """A paper as a service has it: the library has its DOI, notices name its PMID."""
    return Reference(number).record(pmid=str(70 + number), id=f"p{number}", **more)


def notice(type_: str, number: int = 1, **more: Any) -> Record:
    about = {"pmid": str(70 + number)}
    of = Reference(number).notice(type_, [*TYPES].index(type_), about=about)
    title = f"Notice {number}: {type_}"
    return {**of, "title": title, "authors": ["Cy Stone"], "id": title, **more}


TYPES = {"retraction": RETRACTED, "expression of concern": CONCERN, "correction": CORRECTED}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("source", ["news", "pubmed"])
def test_a_paper_that_comes_after_its_notice_reports_it(
    guarded: House, type_: str, source: str
) -> None:
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    write(guarded, "news/a.jsonl", notice(type_))
    guarded.next_morning()
    assert told(guarded) == []
    write(guarded, "news/b.jsonl", paper())
    guarded.next_morning()
    assert told(guarded) == [("ada", TYPES[type_], Reference(1).title)]
    write(guarded, "news/c.jsonl", paper(abstract="Once more."), notice(type_, venue="Sand"))
    guarded.next_morning()
    assert len(told(guarded)) == 1


@pytest.mark.parametrize("number", [1, 3], ids=["by its DOI", "by its title"])
def test_a_reference_that_comes_last_is_told_what_is_stored(guarded: House, number: int) -> None:
    write(guarded, "refs/ada.jsonl", Reference(5).entry)
    write(guarded, "news/a.jsonl", paper(number), *(notice(t, number) for t in TYPES))
    guarded.next_morning()
    assert told(guarded) == []
    write(guarded, "refs/ada.jsonl", Reference(5).entry, Reference(number).entry)
    guarded.next_morning()
    every = [("ada", change.value, Reference(number).title) for change in TYPES.values()]
    assert told(guarded) == sorted(every)


def test_a_withdrawn_paper_is_told_to_a_library_that_comes_later(guarded: House) -> None:
    write(guarded, "news/a.jsonl", paper(withdrawn=True), paper(5))
    guarded.next_morning()
    write(guarded, "refs/ada.jsonl", Reference(1).entry, Reference(5).entry)
    guarded.next_morning()
    assert told(guarded) == [("ada", "retracted", Reference(1).title)]


def test_a_notice_that_was_retracted_is_told_to_no_later_library(guarded: House) -> None:
    write(guarded, "news/a.jsonl", paper(), notice("correction"))
    guarded.next_morning()
    void = notice("retraction", 9, about={"doi": notice("correction")["doi"]})
    write(guarded, "news/b.jsonl", void)
    guarded.next_morning()
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    guarded.next_morning()
    assert told(guarded) == []


def test_a_notice_about_several_papers_is_told_of_each_that_a_library_has(guarded: House) -> None:
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5)))
    about = {"pmid": ["71", "75", "79"], "doi": Reference(5).names["doi"]}
    write(guarded, "news/a.jsonl", notice("correction", about=about), *map(paper, (1, 5, 9)))
    guarded.next_morning()
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5, 9)))
    guarded.next_morning()
    titles = sorted(Reference(number).title for number in (1, 5, 9))
    assert told(guarded) == [("ada", "corrected", title) for title in titles]


# ── no flood ────────────────────────────────────────────────────────────────────────


def test_a_new_library_is_told_old_retractions_and_concerns_but_no_old_corrections(
    guarded: House,
) -> None:
    old = [notice(type_, 1) for type_ in TYPES]
    dated = notice("correction", 5, published="2020-03-01")
    write(guarded, "news/a.jsonl", paper(), *old, paper(5), dated, paper(9))
    guarded.ingest()
    guarded.clock.move(days=91)
    write(guarded, "news/b.jsonl", notice("correction", 9))
    guarded.ingest()
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5, 9)))
    guarded.next_morning()
    assert told(guarded) == sorted(
        [
            ("ada", "retracted", Reference(1).title),
            ("ada", "expression of concern", Reference(1).title),
            ("ada", "corrected", Reference(9).title),
        ]
    )


def test_a_library_that_is_guarded_later_is_told_what_one_that_is_read_then_would_be(
    guarded: House,
) -> None:
    del guarded.settings["subscriptions"]["lab"]["guard"]
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5)))
    write(guarded, "news/a.jsonl", paper(), notice("retraction"), paper(5), notice("correction", 5))
    guarded.next_morning()
    guarded.clock.move(days=91)
    guarded.settings["subscriptions"]["lab"]["guard"] = "ada-refs"
    guarded.next_morning()
    assert told(guarded) == [("ada", "retracted", Reference(1).title)]


def test_a_library_that_was_not_guarded_for_a_time_is_told_what_came_then(guarded: House) -> None:
    lab = guarded.settings["subscriptions"]["lab"]
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5)))
    write(guarded, "news/a.jsonl", paper(), notice("retraction"), paper(5))
    guarded.next_morning()
    del lab["guard"]
    write(guarded, "news/b.jsonl", notice("retraction", 5))
    guarded.next_morning()
    lab["guard"] = "ada-refs"
    guarded.next_morning()
    titles = sorted(Reference(number).title for number in (1, 5))
    assert told(guarded) == [("ada", "retracted", title) for title in titles]


def test_what_others_were_told_long_ago_is_no_news_of_a_new_library(guarded: House) -> None:
    by_bo = {"kind": "jsonl", "path": "refs/bo.jsonl", "role": "library"}
    guarded.settings["sources"]["bo-refs"] = by_bo
    guarded.settings["channels"]["bo"] = {"kind": "file", "path": "bo/"}
    guarded.settings["subscriptions"]["bo"] = {"channels": ["bo"], "guard": "bo-refs"}
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    write(guarded, "refs/bo.jsonl", Reference(5).entry)
    guarded.ingest()
    write(guarded, "news/a.jsonl", paper(), notice("retraction"), notice("correction"))
    guarded.next_morning()
    title = Reference(1).title
    of_ada = [("ada", "corrected", title), ("ada", "retracted", title)]
    assert told(guarded) == of_ada, "only who has it in a library is told"
    guarded.clock.move(days=91)
    write(guarded, "refs/bo.jsonl", Reference(1).entry, Reference(5).entry)
    guarded.next_morning()
    assert told(guarded) == [*of_ada, ("bo", "retracted", title)]


@pytest.mark.parametrize("later", [False, True])
def test_a_reference_in_two_libraries_of_a_person_is_told_once(guarded: House, later: bool) -> None:
    second = {"kind": "jsonl", "path": "refs/second.jsonl", "role": "library"}
    guarded.settings["sources"]["second"] = second
    guarded.settings["subscriptions"]["lab"]["guard"] = ["ada-refs", "second"]
    by_pmid = {"title": "Another title of the same work", "pmid": "71", "id": "s"}
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    if not later:
        write(guarded, "refs/second.jsonl", by_pmid)
    write(guarded, "news/a.jsonl", paper(), notice("retraction"), notice("correction"))
    guarded.next_morning()
    write(guarded, "refs/second.jsonl", by_pmid)
    guarded.next_morning()
    assert sorted(change for _, change, _ in told(guarded)) == ["corrected", "retracted"]


def test_entries_under_other_names_are_not_told_again(guarded: House) -> None:
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    write(guarded, "news/a.jsonl", paper(), *map(notice, TYPES))
    guarded.next_morning()
    write(guarded, "refs/ada.jsonl", {**Reference(1).entry, "id": "another"})
    guarded.next_morning()
    assert len(told(guarded)) == len(TYPES)


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_an_upgrade_reports_what_was_missed_in_the_last_seven_days(
    guarded: House, request: pytest.FixtureRequest, store: str
) -> None:
    if store == "postgresql":
        guarded.settings["store"] = request.getfixturevalue("postgres_url")
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5, 9)))
    guarded.ingest()
    write(guarded, "news/a.jsonl", notice("retraction", 1), paper(1), notice("correction", 9))
    guarded.ingest()
    guarded.clock.move(days=8)
    write(guarded, "news/b.jsonl", notice("retraction", 5), paper(5), paper(9))
    guarded.ingest()
    forget_what_was_recorded(guarded)
    guarded.next_morning()
    assert told(guarded) == [("ada", "retracted", Reference(5).title)]
    write(guarded, "refs/ada.jsonl", *(Reference(number).entry for number in (1, 5, 9, 13)))
    guarded.next_morning()
    assert len(told(guarded)) == 1


def forget_what_was_recorded(house: House) -> None:
    """Leave the store as a version that missed these events left it, after its migration."""
    with house.opened() as app, app.runtime.database.ingesting() as tx:
        tx.execute(sa.delete(schema.reference_event))
        tx.execute(sa.update(schema.collection_entry).values(since=None))
        tx.execute(sa.delete(schema.unchecked_entry))
        entries = sa.select(schema.collection_entry.c.id, sa.true())
        waiting = sa.insert(schema.unchecked_entry)
        tx.execute(waiting.from_select(["entry_id", "only_recent"], entries))


# ── notices that the record of a paper names ────────────────────────────────────────


@pytest.mark.parametrize("order", ["library record", "record library"])
def test_a_correction_that_crossref_names_in_the_record_of_a_paper_is_told(
    guarded: House, order: str
) -> None:
    corrected = update("correction", "10.5555/c", updated={"date-parts": [[2026, 11, 19]]})
    comment = update("comment", "10.5555/d")
    own = Reference(1).names["doi"]
    updates = {"updated-by": [corrected, comment]}
    for step in order.split():
        if step == "library":
            write(guarded, "refs/ada.jsonl", Reference(1).entry)
        else:
            of_paper = work(own, Reference(1).title, **updates)
            (guarded.folder / "crossref" / "a.json").write_text(json.dumps([of_paper]))
        guarded.next_morning()
    assert told(guarded) == [("ada", "corrected", Reference(1).title)]
    [event] = [event for digest in guarded.read(every_digest) for event in digest.references]
    assert (event.after, event.dated) == ("doi:10.5555/c", "2026-11-19")
    of_notice = Reference(1).notice("correction", doi="10.5555/c")
    write(guarded, "news/a.jsonl", of_notice)
    guarded.next_morning()
    assert len(told(guarded)) == 1


def test_a_correction_that_crossref_no_longer_names_is_told_to_no_later_library(
    guarded: House,
) -> None:
    doi = Reference(1).names["doi"]
    title = Reference(1).title
    for name, updates in (("a", [update("correction", "10.5555/c")]), ("b", [])):
        of_paper = work(doi, title, **{"updated-by": updates})
        (guarded.folder / "crossref" / f"{name}.json").write_text(json.dumps([of_paper]))
        guarded.next_morning()
    write(guarded, "refs/ada.jsonl", Reference(1).entry)
    guarded.next_morning()
    assert told(guarded) == []


@pytest.mark.parametrize(
    ("doi", "cited", "is_published"),
    [
        ("10.1101/2024.01.01.000002", "bioRxiv. 2024 Jan 1:2024.01.01.000002.", True),
        ("10.21203/rs.3.rs-2/v1", "Res Sq. 2024 Jan 1:rs.3.rs-2.", True),
        ("10.1002/14651858.CD000002.pub2", "Cochrane Database Syst Rev. 2020;1:CD000002.", False),
    ],
)
def test_an_article_that_pubmed_says_is_the_update_of_a_preprint_is_its_publication(
    guarded: House, doi: str, cited: str, is_published: bool
) -> None:
    entry = {"title": "Sand of a draft", "doi": doi, "id": "draft"}
    write(guarded, "refs/ada.jsonl", entry)
    (guarded.folder / "pubmed" / "0.xml").write_text(articles(article(1, "On Stone")))
    guarded.ingest()
    record = article(80, "What Sand Became", doi="10.5555/became", refs={"UpdateOf": 79})
    record = record.replace("J Sand. 2020;1:1", f"{cited} doi: {doi}.")
    (guarded.folder / "pubmed" / "a.xml").write_text(articles(record), encoding="utf-8")
    guarded.next_morning()
    published = [("ada", "published", "Sand of a draft")]
    assert told(guarded) == (published if is_published else [])
    if is_published:
        [event] = guarded.digest().references
        assert not event.perhaps and event.after == "in Journal of Sand, doi:10.5555/became"
