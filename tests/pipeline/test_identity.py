"""One work, however it comes back: joined when a record proves it, and announced once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from monitor.identity import keys
from monitor.model import ChangeKind, FirstRun, Paper
from monitor.store.engine.database import Database
from monitor.store.papers import merge_papers, papers
from monitor.store.topics import matches
from monitor.text import title_key
from tests.pipeline.desk import ids, match, origin, read, send, tell
from tests.store.scenes import DAY, NOW, digest, freeze, reading, unsent

PREPRINT = Paper(
    "Agents That Plan Together",
    "Planning together is hard for agents, so they write down what they mean to do next.",
    ("Ada Lovelace", "Alan Turing"),
    keys={"arxiv": "2601.00001"},
    raw_id="a1",
)
JOURNAL = Paper(
    "Cooperative Planning of Language Agents in Shared Worlds",
    "We study cooperation among many programs. A shared plan halves the number of their steps.",
    ("A. Lovelace", "A. Turing"),
    venue="Journal of Plans",
    keys={"doi": "10.1000/plans.7"},
    raw_id="j1",
)
LINKED = replace(PREPRINT, keys={"arxiv": "2601.00001", "doi": "10.1000/plans.7"}, version=None)
OTHER = Paper("Folding of Proteins", authors=("Rosalind Franklin",), keys={"doi": "10.1000/other"})


def test_a_record_that_names_two_stored_papers_joins_them(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", JOURNAL, now=NOW + DAY)
    assert ids(store) == [1, 2]
    read(store, "arxiv", LINKED, now=NOW + 2 * DAY)
    assert ids(store) == [1]
    one = origin(store, 1)
    assert one.keys == (("arxiv", "2601.00001"), ("doi", "10.1000/plans.7"))
    assert {(seen.source, seen.raw_id) for seen in one.sightings} == {
        ("arxiv", "a1"),
        ("journal", "j1"),
    }
    assert [(change.kind, change.at) for change in one.changes] == [(ChangeKind.NEW, NOW)]
    assert (one.stored.first_seen, one.stored.paper.venue) == (NOW, "Journal of Plans")
    assert one.stored.paper.title == PREPRINT.title


@pytest.mark.parametrize(
    "before", [(), (PREPRINT,), (JOURNAL,), (replace(JOURNAL, keys={}, raw_id="no doi"),)]
)
def test_F07_a_record_that_names_two_papers_of_its_own_reading_joins_them(
    store: Database, before: tuple[Paper, ...]
) -> None:
    read(store, "earlier", *before)
    read(store, "mirror", PREPRINT, JOURNAL, replace(LINKED, raw_id="b1"), now=NOW + DAY)
    assert ids(store) == [1]


def test_F07_a_link_and_a_copied_doi_join_nothing_of_one_reading(store: Database) -> None:
    page = "https://example.org/accepted"
    papers_of_page = [replace(one, url=page) for one in (PREPRINT, JOURNAL)]
    copied = replace(PREPRINT, keys={**PREPRINT.keys, **OTHER.keys}, url=page, raw_id="c1")
    read(store, "page", *papers_of_page, OTHER, copied)
    assert len(ids(store)) == 3


def test_who_knows_the_lost_paper_by_its_number_is_led_on(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", JOURNAL)
    read(store, "arxiv", LINKED)
    with store.reading() as tx:
        assert merge_papers.current_id(tx, 2) == 1
        [(lost, why, at)] = merge_papers.into(tx, 1)
        assert (lost, at) == (2, NOW)
        assert "one record names both" in why
    read(store, "journal", OTHER)
    assert ids(store) == [1, 3], "the number of a lost paper is not given again"


def test_a_digest_that_reached_nobody_does_not_stand_for_one_that_did(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    match(store)
    assert freeze(store, digest(unsent(store), "1")) is not None  # never sent
    read(store, "journal", JOURNAL)
    match(store)
    assert freeze(store, digest(unsent(store), "2")) is not None
    send(store)
    read(store, "arxiv", LINKED)
    assert tell(store, now=NOW + DAY) == []


def test_a_digest_composed_of_a_paper_that_is_joined_meanwhile_is_composed_anew(
    store: Database,
) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", JOURNAL)
    match(store)
    stale = digest(unsent(store))
    read(store, "arxiv", LINKED)
    assert freeze(store, stale) is None
    assert tell(store) == [1]
    assert tell(store, now=NOW + DAY) == []


def test_revisions_of_both_stand_in_the_order_of_their_time(store: Database) -> None:
    read(store, "arxiv", replace(PREPRINT, version=1))
    read(store, "journal", JOURNAL, now=NOW + DAY)
    read(store, "arxiv", replace(PREPRINT, version=2), now=NOW + 3 * DAY)
    reworked = replace(JOURNAL, abstract="A wholly other text about what programs may share.")
    read(store, "journal", reworked, now=NOW + 2 * DAY)
    read(store, "arxiv", replace(LINKED, version=2), now=NOW + 4 * DAY)
    result = [(one.revision, one.kind, one.at) for one in origin(store, 1).changes]
    assert result == [
        (1, ChangeKind.NEW, NOW),
        (2, ChangeKind.REVISED, NOW + 2 * DAY),
        (3, ChangeKind.REVISED, NOW + 3 * DAY),
    ]
    assert origin(store, 1).stored.revision == 3


def test_a_paper_stored_silently_gains_the_news_of_the_other(store: Database) -> None:
    read(store, "arxiv", PREPRINT, first_run=FirstRun.BASELINE)
    read(store, "journal", JOURNAL, now=NOW + DAY)
    read(store, "arxiv", LINKED, now=NOW + DAY)
    assert origin(store, 1).stored.news_at == NOW + DAY
    assert tell(store, now=NOW + DAY) == [1]


SURVEY = replace(
    PREPRINT, title="Our Survey", abstract="", keys={"arxiv": "2601.00002"}, raw_id="a2"
)


@pytest.mark.parametrize(
    ("other", "keys"),
    [
        (OTHER, {"arxiv": "2601.00001", "doi": "10.1000/other"}),
        (SURVEY, {"arxiv": ("2601.00001", "2601.00002")}),
    ],
    ids=["of other people", "of another title"],
)
def test_a_wrong_identifier_joins_nothing_that_is_not_alike(
    store: Database, other: Paper, keys: dict[str, str | tuple[str, ...]]
) -> None:
    for paper in (PREPRINT, other, replace(PREPRINT, keys=keys)):
        read(store, "arxiv", paper)
    assert ids(store) == [1, 2]


def test_a_joined_paper_is_found_by_all_of_its_names(store: Database) -> None:
    read(store, "arxiv", PREPRINT)
    read(store, "journal", JOURNAL)
    read(store, "arxiv", LINKED)
    again = (PREPRINT, replace(JOURNAL, raw_id="j2"), replace(JOURNAL, keys={}, raw_id="j1"))
    for number, paper in enumerate(again):
        read(store, "journal", paper, now=NOW + timedelta(days=number))
    assert ids(store) == [1]
    found = reading(store, papers.by_title_key, title_key(JOURNAL.title))
    assert [one.id for one in found] == [1]


def test_F07_one_paper_in_three_feeds_two_versions_and_a_cross_list_is_one_item(
    store: Database,
) -> None:
    first = replace(PREPRINT, version=1, announce="new", categories=("cs.AI",))
    cross = replace(first, raw_id="x1", announce="cross", categories=("cs.MA", "cs.AI"))
    second = replace(PREPRINT, keys={"arxiv": "2601.00001v2"}, version=2, announce="replace")
    published = replace(LINKED, keys={"doi": ("10.1000/plans.7", "10.48550/arXiv.2601.00001")})
    upper = replace(JOURNAL, keys={"doi": "https://doi.org/10.1000/PLANS.7"}, raw_id="u")
    read(store, "cs.AI", first)
    read(store, "cs.MA", cross)
    read(store, "crossref", upper, now=NOW)
    assert ids(store) == [1, 2]
    read(store, "journal", published, now=NOW)
    assert ids(store) == [1]
    read(store, "cs.AI", second, now=NOW + DAY)
    read(store, "crossref", replace(upper, keys=JOURNAL.keys), now=NOW + DAY)
    assert ids(store) == [1]
    assert tell(store, now=NOW + DAY) == [1]
    assert tell(store, now=NOW + 2 * DAY) == []


def test_F10_a_bulk_change_of_datestamps_is_no_news(store: Database) -> None:
    many = [
        Paper(f"Study {n}", keys={"arxiv": f"2601.{n:05}"}, raw_id=str(n), updated=NOW)
        for n in range(300)
    ]
    read(store, "oai", *many)
    assert len(tell(store)) == 300
    touched = [
        replace(one, updated=NOW + DAY, announced=NOW + DAY, venue="touched" * (place % 2))
        for place, one in enumerate(many)
    ]
    again = read(store, "oai", *touched, now=NOW + DAY)
    assert again.counts() == {"seen": 300, "new": 0, "revised": 0, "known": 300, "fresh": 0}
    assert tell(store, now=NOW + DAY) == []


def test_a_record_listed_as_before_is_known_however_its_source_calls_it(store: Database) -> None:
    names = ['a"b', "back\\slash", "two\nlines", "ü漢😀", "{1}", "null", "x" * 600, "7"]
    result = [Paper(f"A Title of Its Own {n}", raw_id=name) for n, name in enumerate(names)]
    assert read(store, "feed", *result).counts()["new"] == len(names)
    again = read(store, "feed", *result)
    assert (again.unchanged, again.decisions) == (len(names), ())
    assert read(store, "other", *result).unchanged == 0


def test_records_under_one_name_are_each_known_or_decided_on(store: Database) -> None:
    one, other = (Paper(title, raw_id="7") for title in ("Agents That Plan", "Folding of Chains"))
    assert read(store, "feed", one).counts()["new"] == 1
    assert read(store, "feed", one, other, one).counts()["new"] == 1
    for result in ((one, other), (other, one)):
        counts = read(store, "feed", *result).counts()
        assert (counts["new"], counts["known"]) == (0, 2)
    assert ids(store) == [1, 2]


def test_a_text_that_flaps_stops_being_a_revision(store: Database) -> None:
    counted = [replace(PREPRINT, abstract=f"Read {n} times. {PREPRINT.abstract}") for n in range(9)]
    kinds = [read(store, "page", one).decisions[0].kind for one in counted]
    assert kinds == [ChangeKind.NEW] + [ChangeKind.REVISED] * 3 + [None] * 5
    assert origin(store, 1).stored.paper.abstract == counted[-1].abstract
    shown = read(store, "page", counted[-2])
    assert shown.decisions[0].kind is None


def test_a_revision_that_another_source_tells_first_reopens_the_news_for_its_topics(
    store: Database,
) -> None:
    read(store, "arxiv", replace(PREPRINT, version=1))
    match(store, topic="of another source")
    read(store, "mirror", replace(PREPRINT, version=2, raw_id="m"))
    waiting = reading(store, matches.changes_to_match, 10)
    assert [(one.revision, one.kind) for one in waiting] == [
        (1, ChangeKind.NEW),
        (2, ChangeKind.REVISED),
    ]
    assert waiting[0].sources == ("arxiv", "mirror")


def test_what_another_release_stored_is_known_when_it_comes_again(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record is marked by what it says, and releases may mark in other ways: that is no news."""
    with monkeypatch.context() as another:
        another.setattr(keys, "RECORD_HASH_VERSION", "0")
        read(store, "arxiv", PREPRINT, OTHER)
    assert tell(store) == [1, 2]
    again = read(store, "arxiv", PREPRINT, OTHER, now=NOW + DAY)
    assert (again.counts()["known"], again.unchanged) == (2, 0)
    assert tell(store, now=NOW + DAY) == []
    assert [change.kind for change in origin(store, 1).changes] == [ChangeKind.NEW]
    assert read(store, "arxiv", PREPRINT, OTHER, now=NOW + 2 * DAY).unchanged == 2
