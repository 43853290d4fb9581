"""A person's word: papers merged and split, obeyed for good, and nothing announced again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from monitor.app import App
from monitor.commands.explain import explain
from monitor.commands.identity import merge, split, unmark
from monitor.errors import UsageError
from monitor.identity.withdrawals import Standing
from monitor.model import RETRACTION, Authority, ChangeKind, Paper
from monitor.store.sources import runs
from tests.house import House
from tests.pipeline.desk import ids, origin, read, tell
from tests.pipeline.test_wrong_dois import DOI, GRAPHS, ROOTS
from tests.store.scenes import DAY, NOW, subscribe, watch

ONE = Paper("Agents That Plan Together", authors=("Ada Lovelace",), raw_id="a1")
TWO = Paper("Plans of Language Agents", authors=("A. Lovelace",), raw_id="b1")
WITH_DOI = replace(TWO, keys={"doi": "10.1000/two"}, raw_id="10.1000/two")
LINKED = replace(ONE, keys={"arxiv": "2601.00001", "doi": "10.1000/two"})


@pytest.fixture
def app(house: House) -> Iterator[App]:
    with house.opened() as opened:
        subscribe(opened.runtime.database, "ada")
        watch(opened.runtime.database, "t")
        yield opened


def test_what_is_merged_is_one_paper_however_it_is_read_again(app: App) -> None:
    store = app.runtime.database
    read(store, "a", ONE)
    assert tell(store) == [1]
    read(store, "b", TWO)
    kept = merge(app.runtime, ["1", TWO.title])
    assert kept.stored.id == 1
    read(store, "b", replace(TWO, abstract="Now with an abstract, and that is a wholly new text."))
    read(store, "b", replace(TWO, title="Plans, Revisited: of Agents and Their Language"))
    assert ids(store) == [1]
    assert tell(store, now=NOW + DAY) == []
    result = explain(app.runtime, "2")
    assert (result.joined[0].id, result.rulings[0].verdict) == (2, "same")
    assert result.origin.stored.id == 1


def test_what_is_split_keeps_what_was_sent_and_takes_its_own_text(app: App) -> None:
    store = app.runtime.database
    read(store, "a", LINKED)
    read(store, "b", WITH_DOI)
    assert (ids(store), tell(store)) == ([1], [1])
    first, second = split(app.runtime, "1", ["doi:10.1000/two"])
    assert (first.stored.paper.keys, second.stored.paper.keys) == (
        {"arxiv": "2601.00001"},
        {"doi": "10.1000/two"},
    )
    assert [(s.source, s.raw_id) for s in second.sightings] == [("b", "10.1000/two")]
    assert tell(store, now=NOW + DAY) == []
    read(store, "b", WITH_DOI, now=NOW + DAY)
    assert origin(store, 2).stored.paper.title == TWO.title
    assert tell(store, now=NOW + 2 * DAY) == []


def test_each_part_of_a_split_has_the_venue_of_its_own_records_and_no_institutions(app: App):
    store = app.runtime.database
    read(store, "a", replace(LINKED, affiliations=("CERN",), venue="Nature"))
    read(store, "b", replace(WITH_DOI, venue="Science"))
    assert origin(store, 1).stored.paper.affiliations == ("CERN",)
    parts = [found.stored.paper for found in split(app.runtime, "1", ["doi:10.1000/two"])]
    assert [part.venue for part in parts] == ["Nature", "Science"]
    # The store does not know whose they were.
    assert [part.affiliations for part in parts] == [(), ()]
    read(store, "a", replace(LINKED, affiliations=("CERN",), venue="Nature"))
    assert origin(store, 1).stored.paper.affiliations == ("CERN",)


def test_what_is_split_is_joined_again_by_no_reading_but_by_a_later_word(app: App) -> None:
    store = app.runtime.database
    read(store, "a", LINKED)
    read(store, "b", WITH_DOI)
    split(app.runtime, "1", ["b/10.1000/two"])
    read(store, "a", replace(LINKED, abstract="The wrong DOI stands here still, in a new text."))
    read(store, "c", replace(LINKED, raw_id="c1"))
    assert ids(store) == [1, 2]
    assert tell(store) == [1, 2], "nothing was sent of either before"
    merge(app.runtime, ["1", "2"])
    assert ids(store) == [1]
    read(store, "d", replace(LINKED, raw_id="d1"))
    assert ids(store) == [1]
    assert {one.verdict for one in explain(app.runtime, "1").rulings} == {"same"}


def test_a_doi_that_two_papers_share_names_both(app: App) -> None:
    read(app.runtime.database, "arxiv", GRAPHS, ROOTS)
    for number, paper in enumerate((GRAPHS, ROOTS), 1):
        stored = explain(app.runtime, f"arxiv:{paper.keys['arxiv']}").origin.stored
        assert (stored.id, stored.paper.keys) == (number, paper.keys)
    with pytest.raises(UsageError, match="several papers match"):
        explain(app.runtime, DOI)


@pytest.mark.parametrize("what", [["10.1000/none"], ["a"], ["arxiv:2601.00001"]])
def test_what_is_not_of_the_paper_or_all_of_it_is_refused(app: App, what: list[str]) -> None:
    read(app.runtime.database, "a", replace(ONE, keys={"arxiv": "2601.00001"}))
    with pytest.raises(UsageError):
        split(app.runtime, "1", what)
    with pytest.raises(UsageError, match="already one paper"):
        merge(app.runtime, ["1", ONE.title])


def test_the_command_merges(house: House) -> None:
    house.ingest(("Agents That Plan", "They plan."), ("Agents That Plan More", "They do."))
    kept = house.command("papers", "merge", "1", "2", "--json")
    assert [one["id"] for one in kept.json["papers"]] == [1]
    assert len(house.command("papers", "--json").json["papers"]) == 1


KEEPS = Standing(Authority.EVERY)
GONE = replace(ONE, withdrawn=True, raw_id="gone")
NAMED = replace(ONE, keys={"doi": "10.1000/one"})
NOTICE = Paper(
    "Retraction: Agents",
    type=RETRACTION,
    about={"doi": "10.1000/one"},
    keys={"doi": "10.1000/n"},
    raw_id="n",
)


def is_withdrawn(app: App, paper_id: int = 1) -> bool:
    return origin(app.runtime.database, paper_id).stored.paper.withdrawn


def test_a_mark_that_is_undone_stays_undone_and_another_record_marks_the_paper_again(
    app: App,
) -> None:
    store = app.runtime.database
    read(store, "a", NAMED)
    read(store, "service", GONE, standing=KEEPS, now=NOW + DAY)
    assert is_withdrawn(app)
    assert [mark.source for mark in unmark(app.runtime, "1").undone] == ["service"]
    read(store, "service", replace(GONE, venue="Sand"), standing=KEEPS, now=NOW + 2 * DAY)
    assert (ids(store), is_withdrawn(app)) == ([1], False)
    read(store, "other", GONE, standing=KEEPS, now=NOW + 3 * DAY)
    assert is_withdrawn(app)


def test_a_notice_that_was_mistaken_marks_neither_the_paper_nor_its_next_record(app: App) -> None:
    store = app.runtime.database
    read(store, "a", NAMED)
    read(store, "b", NOTICE, now=NOW + DAY)
    assert is_withdrawn(app)
    assert unmark(app.runtime, "1").notified == ()
    again = replace(NAMED, venue="Journal of Sand")
    read(store, "b", replace(NOTICE, abstract="Once more."), now=NOW + 2 * DAY)
    read(store, "a", again, now=NOW + 3 * DAY)
    copy = replace(NOTICE, raw_id="copy", about={"doi": "10.1000/one"})
    read(store, "c", copy, again, now=NOW + 4 * DAY)
    assert not is_withdrawn(app)
    assert [change.kind for change in origin(store, 1).changes] == [ChangeKind.NEW]
    read(store, "c", replace(NOTICE, keys={"doi": "10.1000/m"}, raw_id="m"), now=NOW + 5 * DAY)
    assert is_withdrawn(app)


def test_a_paper_that_a_mistaken_notice_withheld_is_news(app: App) -> None:
    store = app.runtime.database
    with store.writing() as tx:
        runs.finish_first_reading(tx, "a", NOW - DAY)
    read(store, "b", NOTICE)
    read(store, "a", NAMED, now=NOW + DAY)
    assert (is_withdrawn(app, 2), origin(store, 2).changes) == (True, ())
    unmark(app.runtime, "2")
    assert [change.kind for change in origin(store, 2).changes] == [ChangeKind.NEW]


def test_a_false_notice_that_is_split_off_leaves_no_mark(app: App) -> None:
    store = app.runtime.database
    read(store, "a", NAMED)
    read(store, "service", GONE, standing=KEEPS, now=NOW + DAY)
    split(app.runtime, "1", ["service/gone"])
    assert (is_withdrawn(app, 1), is_withdrawn(app, 2)) == (False, True)


def test_a_paper_without_a_mark_cannot_be_unmarked(app: App) -> None:
    read(app.runtime.database, "a", NAMED)
    with pytest.raises(UsageError, match="not marked as withdrawn"):
        unmark(app.runtime, "1")
