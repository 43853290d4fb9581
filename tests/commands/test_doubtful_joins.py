"""Joins that today's rules would refuse are listed with the command that parts them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.app import App
from monitor.cli.doubtful import find_doubtful
from monitor.cli.options import CONFIG
from monitor.commands.identity import merge, split
from monitor.identity.reasons import describe, read_reasons, write_reasons
from monitor.model import Finding, Paper, Reason
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from tests.house import House
from tests.pipeline.desk import ids, origin, read
from tests.store.scenes import DAY, NOW

LIFT = Paper(
    "Learning lift generation of flapping wings: simulation results",
    authors=("Grace Hopper", "Mary Shaw"),
    venue="ICRA",
    year=2006,
    raw_id="conf/icra/1",
)
SOIL = Paper(
    "Soil moisture maps of alpine meadows",
    authors=("Barbara Liskov",),
    venue="Journal of Meadows",
    year=2019,
    raw_id="conf/icra/2",
)
RETITLED = Paper(
    "Mapping the soils of alpine meadows",
    "We map the moisture of soils in forty meadows by radar and by hand. Slopes that face north "
    "keep their water two weeks longer. The maps tell farmers when to let cattle graze, and they "
    "agree with what shepherds have noted for decades.",
    ("Barbara Liskov",),
    keys={"doi": "10.1000/meadow"},
    raw_id="m1",
)


@pytest.fixture
def app(house: House) -> Iterator[App]:
    with house.opened() as opened:
        yield opened


def joined_by(store: Database, first: Paper, second: Paper, why: str) -> None:
    """Two records are one paper, as a rule of a former version had it."""
    read(store, "dblp", first)
    read(store, "list", second, now=NOW + DAY)
    if len(ids(store)) > 1:
        with store.writing() as tx:
            for table in (schema.sighting, schema.sighting_text, schema.paper_key):
                tx.execute(sa.update(table).where(table.c.paper_id == 2).values(paper_id=1))
            tx.execute(sa.delete(schema.paper).where(schema.paper.c.id == 2))
    with store.writing() as tx:
        at = schema.sighting.c.source == "list"
        tx.execute(sa.update(schema.sighting).where(at).values(why=why))


def forget_texts(store: Database, source: str = "") -> None:
    """The store of a version that stored no texts with sightings."""
    old = schema.sighting_text.c.source == source if source else sa.true()
    with store.writing() as tx:
        tx.execute(sa.delete(schema.sighting_text).where(old))


def test_a_join_that_is_right_is_not_listed(app: App) -> None:
    store = app.runtime.database
    read(store, "dblp", LIFT)
    read(store, "list", replace(LIFT, raw_id="x", authors=("G. Hopper", "M. Shaw")))
    assert ids(store) == [1]
    assert find_doubtful(app.runtime) == ([], 1, 0)
    forget_texts(store)
    assert find_doubtful(app.runtime) == ([], 1, 1)


def test_a_refused_join_is_listed_and_its_command_parts_it_for_good(app: App, house: House) -> None:
    store = app.runtime.database
    joined_by(store, LIFT, SOIL, "titles agree to 70%")
    [one], _, _ = find_doubtful(app.runtime)
    assert (one.paper_id, one.doubt.judged) == (1, True)
    assert describe(one.doubt.recognised) == "titles agree to 70%"
    assert one.doubt.reasons[0] == Reason(Finding.TITLES_DIFFER)
    command = one.command(CONFIG)
    assert command == "paper-monitor papers split 1 list/conf/icra/2"
    assert house.command("papers", "doubtful", "--json").json == {
        "doubtful": [
            {
                "paper": 1,
                "title": LIFT.title,
                "records": [{"source": "list", "raw_id": "conf/icra/2", "title": SOIL.title}],
                "reason": describe(one.doubt.reasons),
                "recognised": "titles agree to 70%",
                "judged": True,
                "split": command,
            }
        ],
        "joins": 1,
        "unjudged": 0,
    }
    said = house.command("papers", "doubtful", "--config", "monitor.yaml").out
    assert command in said and "1 of 1 merges are doubtful; 0 cannot be checked" in said
    assert len(house.command(*shlex.split(command)[1:], "--json").json["papers"]) == 2
    assert find_doubtful(app.runtime) == ([], 0, 0)
    read(store, "list", SOIL, now=NOW + 2 * DAY)
    assert origin(store, 2).stored.paper.title == SOIL.title
    assert ids(store) == [1, 2]


@pytest.mark.parametrize("in_words", [True, False])
@pytest.mark.parametrize("more", ["", " Shepherds like them."])
def test_a_join_by_the_abstract_stands_although_abstracts_are_not_stored(
    app: App, more: str, in_words: bool
) -> None:
    store = app.runtime.database
    read(store, "a", replace(RETITLED, abstract=RETITLED.abstract + more))
    other = replace(
        RETITLED, title="Alpine meadows: a map of their soils by radar", keys={}, raw_id="o1"
    )
    read(store, "b", other)
    assert ids(store) == [1]
    if in_words:
        [_, seen] = origin(store, 1).sightings
        with store.writing() as tx:
            at = schema.sighting.c.source == "b"
            words = describe(seen.recognised)
            tx.execute(sa.update(schema.sighting).where(at).values(why=words))
    assert find_doubtful(app.runtime)[0] == []


def test_what_a_person_has_merged_is_not_listed(app: App) -> None:
    store = app.runtime.database
    read(store, "dblp", LIFT)
    read(store, "list", SOIL)
    merge(app.runtime, ["1", "2"])
    assert ids(store) == [1]
    assert find_doubtful(app.runtime)[0] == []
    split(app.runtime, "1", ["list"])
    assert find_doubtful(app.runtime)[1] == 0


ONE, TWO = (
    replace(paper, keys={"arxiv": id}, raw_id=f"oai:arXiv.org:{id}")
    for paper, id in ((LIFT, "1602.01130"), (SOIL, "1602.01303"))
)
BY_DOI = [replace(paper, keys=paper.keys | {"doi": "10.1000/journal"}) for paper in (ONE, TWO)]
ONE_YEAR = "titles agree to 81%, authors agree to 100%, 1 year apart, abstracts not comparable"


@pytest.mark.parametrize(
    ("papers", "forgotten", "why", "reason"),
    [
        (BY_DOI, None, "same doi 10.1000/journal", "same doi 10.1000/journal, different arxiv"),
        ((ONE, TWO), "", "same doi", "two identifiers of one scheme: arxiv 1602.01130 and"),
        ((LIFT, SOIL), "", ONE_YEAR, ONE_YEAR),
        ((LIFT, SOIL), "dblp", "titles agree to 70%", "titles differ"),
    ],
    ids=["texts", "identifiers", "the older reason", "a text against the paper"],
)
@pytest.mark.parametrize("in_words", [True, False])
def test_a_join_is_judged_by_what_is_stored_of_it(
    app: App,
    papers: tuple[Paper, Paper],
    forgotten: str | None,
    why: str,
    reason: str,
    in_words: bool,
) -> None:
    store = app.runtime.database
    joined_by(store, *papers, why if in_words else write_reasons(read_reasons(why)))
    if forgotten is not None:
        forget_texts(store, forgotten)
    [one], joins, unjudged = find_doubtful(app.runtime)
    assert describe(one.doubt.reasons).startswith(reason)
    assert one.split == (f"list/{papers[1].raw_id}",)
    is_judged = forgotten != ""
    assert (one.doubt.judged, joins, unjudged) == (is_judged, 1, int(not is_judged))


def test_all_pages_of_a_store_are_judged(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.cli.doubtful.PAGE", 1)
    for source in ("a", "b"):
        read(app.runtime.database, source, LIFT, SOIL)
    assert ids(app.runtime.database) == [1, 2]
    assert find_doubtful(app.runtime) == ([], 2, 0)


DIARY = Paper(
    "What I read on the train this week",
    authors=("Jo Marsh",),
    keys={"doi": "10.1000/meadow"},
    raw_id="diary-9",
)


def test_records_that_have_only_an_identifier_in_common_are_listed(app: App) -> None:
    store = app.runtime.database
    joined_by(store, RETITLED, DIARY, "same doi 10.1000/meadow")
    [one], _, _ = find_doubtful(app.runtime)
    assert describe(one.doubt.reasons) == "same doi 10.1000/meadow, nothing else agrees"
    assert one.command(CONFIG) == "paper-monitor papers split 1 list/diary-9"


def test_a_record_whose_name_links_to_the_paper_is_listed(app: App) -> None:
    store = app.runtime.database
    link = replace(DIARY, authors=(), raw_id="https://doi.org/10.1000/meadow")
    joined_by(store, RETITLED, link, "same doi 10.1000/meadow")
    assert len(find_doubtful(app.runtime)[0]) == 1


def test_what_was_joined_before_stays_joined_though_its_source_changes_the_text(app: App) -> None:
    store = app.runtime.database
    linked = replace(DIARY, keys_in_links=DIARY.keys)
    joined_by(store, RETITLED, linked, "same doi 10.1000/meadow")
    assert ids(store) == [1]
    for number, title in enumerate(("What I read on the train", "A week of good books")):
        changed = replace(linked, title=title, abstract="It has been edited since.")
        read(store, "list", changed, now=NOW + (2 + number) * DAY)
        assert ids(store) == [1]
    split(app.runtime, "1", ["list/diary-9"])
    read(store, "list", replace(linked, title="At last"), now=NOW + 5 * DAY)
    assert len(ids(store)) == 2
    assert {seen.source for seen in origin(store, 1).sightings} == {"dblp"}


def test_a_record_that_was_joined_to_a_page_with_a_link_to_it_is_listed(app: App) -> None:
    store = app.runtime.database
    page = replace(DIARY, authors=(), keys={}, url="https://doi.org/10.1000/meadow")
    joined_by(store, page, RETITLED, "same doi 10.1000/meadow")
    [one], _, _ = find_doubtful(app.runtime)
    assert one.command(CONFIG) == "paper-monitor papers split 1 list/m1"


def test_a_retitled_record_under_the_link_of_its_doi_is_not_listed(app: App) -> None:
    store = app.runtime.database
    first = replace(
        RETITLED, title="Soils of the high pastures", url="https://doi.org/10.1000/meadow"
    )
    read(store, "dblp", replace(first, raw_id="first"))
    read(store, "list", RETITLED)
    assert ids(store) == [1]
    assert find_doubtful(app.runtime) == ([], 1, 0)
