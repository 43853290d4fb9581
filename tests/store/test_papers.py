from __future__ import annotations

import json
import threading
from functools import partial

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import (
    ChangeKind,
    Claim,
    Decision,
    EarlierText,
    Finding,
    Paper,
    Reason,
    SightingText,
)
from monitor.store import retention
from monitor.store.engine import sql
from monitor.store.engine.database import Database
from monitor.store.papers import candidates, paper_index, papers, sightings, write_papers
from monitor.store.topics import matches
from tests.patience import PATIENCE, at_once
from tests.store.scenes import (
    DAY,
    NOW,
    arrive,
    arxiv,
    ingest,
    ingesting,
    keyed,
    new,
    reading,
    waiting,
    writing,
)

LATER = NOW + DAY


def found(store: Database, *incoming, source: str = "feed"):
    with store.reading() as tx:
        return candidates.find(tx, source, incoming)


def stored(store: Database, paper_id: int):
    return reading(store, papers.get, paper_id)


WHOLE = Paper(
    title="Ångström & Σ: $\\alpha$-nets 𝒳",
    abstract="We show.",
    authors=("Ada Lovelace", "李明"),
    affiliations=("University of California, San Francisco", "北京大学"),
    venue="NeurIPS",
    year=2026,
    published=NOW - DAY,
    updated=NOW,
    announced=NOW,
    url="https://example.org/1",
    pdf_url="https://example.org/1.pdf",
    links={"code": "https://github.com/a/b", "project": "https://example.org/p"},
    upvotes=17,
    categories=("cs.LG", "cs.CL"),
    version=2,
    withdrawn=False,
)


def test_a_new_paper_is_stored_whole_and_waits_to_be_matched(store: Database) -> None:
    one = replace(keyed("x", ("arxiv", "1"), ("doi", "10.1/a"), ("doi", "10.1/b")), paper=WHOLE)
    [id] = ingest(store, new(one))
    back = stored(store, id)
    assert back.paper == replace(WHOLE, keys={"arxiv": "1", "doi": ("10.1/a", "10.1/b")})
    assert (back.first_seen, back.news_at, back.revision) == (NOW, NOW, 1)
    assert waiting(store) == [(id, 1, ChangeKind.NEW)]


def test_an_older_paper_is_news_of_its_own_kind_and_one_stored_silently_none(
    store: Database,
) -> None:
    ids = ingest(store, Decision(arxiv("1"), ChangeKind.OLDER), new(arxiv("2"), news=False))
    assert waiting(store) == [(ids[0], 1, ChangeKind.OLDER)]
    assert stored(store, ids[1]).news_at is None


@pytest.mark.parametrize(
    ("incoming", "source", "ways"),
    [
        (keyed("Other", ("doi", "10.1/x"), raw_id="z"), "feed", {"key"}),
        (keyed("Other", raw_id="raw A"), "feed", {"raw_id"}),
        (keyed("Other", raw_id="raw A"), "another source", None),
        (keyed("a", raw_id="z"), "feed", {"title"}),
        (keyed("", raw_id="no title key either"), "feed", None),
        (keyed("A"), "feed", {"raw_id", "title"}),
        (keyed("A", ("doi", "10.1/x"), ("arxiv", "9")), "feed", {"key", "raw_id"}),
        (keyed("Other", ("pmid", "another scheme"), raw_id="z"), "feed", None),
    ],
)
def test_candidates_are_found_by(store: Database, incoming, source: str, ways) -> None:
    [id, _] = ingest(store, *map(new, (keyed("A", ("doi", "10.1/x")), keyed("", raw_id="y"))))
    [known_ones] = found(store, incoming, source=source)
    if ways is None:
        assert known_ones == ()
    else:
        [one] = known_ones
        assert (one.stored.id, one.found_by) == (id, ways)
        assert one.keys == {("doi", "10.1/x"): Claim.FIELD}
        assert [s.raw_id for s in one.sightings] == ["raw A"]


def test_sightings_of_a_candidate_are_those_of_the_source_that_asks(store: Database) -> None:
    [id] = ingest(store, new(arxiv("1")))
    ingest(store, Decision(arxiv("1"), None, id), source="other")
    [[one]] = found(store, arxiv("1"), source="other")
    assert [s.source for s in one.sightings] == ["other"]


def test_candidates_stand_in_the_order_of_the_papers_that_came_in(store: Database) -> None:
    ids = arrive(store, "1", "2", "3")
    incoming = [arxiv("3"), arxiv("9"), arxiv("1"), arxiv("3")]
    result = [[c.stored.id for c in one] for one in found(store, *incoming)]
    assert result == [[ids[2]], [], [ids[0]], [ids[2]]]


def test_of_a_title_that_thousands_have_only_the_newest_are_candidates(store: Database) -> None:
    same = [keyed("Editorial", raw_id=str(n)) for n in range(60)]
    ids = ingest(store, *map(new, same))
    [newest] = found(store, keyed("Editorial", raw_id="x"))
    assert [c.stored.id for c in newest] == ids[-paper_index.CANDIDATES_EACH :]


def test_candidates_take_a_handful_of_statements_however_many_papers(store: Database) -> None:
    arrive(store, *map(str, range(500)))
    said: list[str] = []
    with store.reading() as tx:
        if tx.dialect.name == "sqlite":  # much of it goes to the driver itself
            tx.connection.dbapi_connection.set_trace_callback(said.append)
        else:
            sa.event.listen(tx, "before_cursor_execute", lambda *call: said.append(call[2]))
        result = candidates.find(tx, "feed", [arxiv(str(n)) for n in range(2_000)])
    assert sum(map(len, result)) == 500
    assert 5 <= len(said) <= 10


def test_of_near_papers_those_that_share_what_few_others_have_are_candidates(
    store: Database,
) -> None:
    """Many newer papers share another block with it, and none shares more than one."""
    it, *others = (replace(keyed(f"Paper {n}"), blocks=(7 if n else 1,)) for n in range(9))
    [id, *ids] = ingest(store, new(it), *map(new, others))
    [near] = found(store, replace(keyed("Paper x"), blocks=(1, 7)))
    assert [c.stored.id for c in near] == [id, *ids[1 - candidates.NEAREST :]]
    [near] = found(store, replace(keyed("Paper x"), blocks=(7, 8)))
    assert [c.stored.id for c in near] == ids[-candidates.NEAREST :]


def test_half_a_surrogate_is_looked_up_as_any_other_text():
    texts = ["half \ud800", "whole \u00e9"]
    assert json.loads(sql.to_json(texts)) == texts


def test_keys_longer_than_an_index_entry_are_kept_and_found(store: Database) -> None:
    long = keyed("very long 書 " * 900, ("doi", "10.1/" + "書x" * 4_000), raw_id="r" * 9_000)
    [id] = ingest(store, new(long))
    [[one]] = found(store, long)
    assert (one.stored.id, one.found_by) == (id, {"key", "raw_id"})
    [[one]] = found(store, replace(long, keys=()))
    assert (one.stored.id, one.found_by) == (id, {"raw_id", "title"})
    assert found(store, keyed("x", ("doi", "10.1/" + "書x" * 4_000 + "y"))) == [()]


def test_a_twin_adds_its_keys_to_the_paper_it_repeats(store: Database) -> None:
    first = keyed("A", ("arxiv", "1"))
    again = keyed("A", ("doi", "10.1/x"), raw_id="2")
    filling = replace(again, paper=replace(again.paper, abstract="Stands here."))
    ids = ingest(store, new(first), Decision(filling, None, earlier_in_chunk=0), new(arxiv("3")))
    assert ids == [ids[0], ids[0], ids[0] + 1]
    back = stored(store, ids[0])
    assert back.paper.keys == {"arxiv": "1", "doi": "10.1/x"}
    assert back.paper.abstract == "Stands here."
    assert waiting(store) == [(ids[0], 1, ChangeKind.NEW), (ids[2], 1, ChangeKind.NEW)]


def test_F07_a_key_of_another_paper_stays_where_it_is(store: Database) -> None:
    both = keyed("A", ("doi", "10.1/x")), keyed("B", ("doi", "10.1/x"), ("arxiv", "2"))
    first, second = ingest(store, *map(new, both))
    assert reading(store, papers.by_key, "doi", "10.1/x").id == first
    assert reading(store, papers.by_key, "arxiv", "2").id == second
    assert reading(store, papers.by_key, "arxiv", "3") is None


@pytest.mark.parametrize(
    ("before", "records", "paper", "news"),
    [
        (
            arxiv("1", "Title", authors=("A",), published=NOW),
            [(None, arxiv("1", "TITLE", abstract="Text", authors=("B",), published=LATER, year=1))],
            {"title": "Title", "abstract": "Text", "authors": ("A",), "published": NOW, "year": 1},
            [],
        ),
        (
            arxiv("1", "Old", abstract="Old", venue="ICML", published=NOW, version=1),
            [(ChangeKind.REVISED, arxiv("1", "New", abstract="New", published=LATER, version=2))],
            {"title": "New", "abstract": "New", "venue": "ICML", "published": NOW, "version": 2},
            [ChangeKind.REVISED],
        ),
        (
            arxiv("1", version=1),
            [(ChangeKind.REVISED, arxiv("1", f"v{number}", version=number)) for number in (3, 2)],
            {"title": "v3"},
            [ChangeKind.REVISED],
        ),
        (
            arxiv("1", "Title", abstract="Text"),
            [(ChangeKind.WITHDRAWN, arxiv("1", "This paper is withdrawn", withdrawn=True))],
            {"title": "Title", "abstract": "Text", "withdrawn": True},
            [ChangeKind.WITHDRAWN],
        ),
        (
            arxiv("1", "Old", abstract="Old", version=2),
            [(ChangeKind.REVISED, arxiv("1", "New", abstract="New"))],
            {"title": "New", "abstract": "New", "version": 2},
            [ChangeKind.REVISED],
        ),
        (
            arxiv("1", "Title", version=2),
            [(ChangeKind.REVISED, arxiv("1", "Older", version=1))],
            {"title": "Title", "version": 2},
            [ChangeKind.REVISED],
        ),
    ],
    ids=["gaps", "revision", "two in one reading", "withdrawn", "no version", "older version"],
)
def test_another_record_brings(store: Database, before, records, paper, news) -> None:
    [id] = ingest(store, new(before))
    ingest(store, *(Decision(record, kind, id) for kind, record in records), now=LATER)
    back = stored(store, id)
    assert {name: getattr(back.paper, name) for name in paper} == paper
    assert (back.first_seen, back.news_at, back.revision) == (NOW, NOW, 1 + len(news))
    kinds = enumerate([ChangeKind.NEW, *news], 1)
    assert waiting(store) == [(id, revision, kind) for revision, kind in kinds]


def test_a_later_version_in_the_same_reading_gives_the_text(store: Database) -> None:
    first = arxiv("1", "First", version=1)
    second = arxiv("1", "Second", version=2)
    [id, _] = ingest(store, new(first), Decision(second, None, earlier_in_chunk=0))
    assert (stored(store, id).paper.title, stored(store, id).revision) == ("Second", 1)


def test_a_later_version_that_is_not_withdrawn_is_there_again(store: Database) -> None:
    [id] = ingest(store, new(arxiv("1", version=1)))
    ingest(store, Decision(arxiv("1", version=2, withdrawn=True), ChangeKind.WITHDRAWN, id))
    assert stored(store, id).paper.withdrawn
    ingest(store, Decision(arxiv("1", version=1), None, id), source="slow")
    assert stored(store, id).paper.withdrawn
    ingest(store, Decision(arxiv("1", version=3), ChangeKind.REVISED, id), now=LATER)
    assert not stored(store, id).paper.withdrawn


def test_a_sighting_knows_when_and_where_first_and_what_last(store: Database) -> None:
    [id] = ingest(store, new(arxiv("1", version=1, announce="new")))
    with store.ingesting() as tx:
        again = replace(arxiv("1", version=2, announce="replace"), fingerprint="other")
        write_papers.apply(tx, "feed", [Decision(again, None, id)], LATER, document="tuesday.txt")
    origin = reading(store, papers.origin, stored(store, id))
    [seen] = origin.sightings
    assert (seen.source, seen.raw_id, seen.document) == ("feed", "raw Paper 1", "monday.txt")
    assert (seen.version, seen.announce, seen.fingerprint) == (2, "replace", "other")
    assert (seen.first_seen, seen.last_seen) == (NOW, LATER)
    assert origin.keys == (("arxiv", "1"),)
    assert [(c.revision, c.kind, c.matched_at) for c in origin.changes] == [
        (1, ChangeKind.NEW, None)
    ]


def test_a_sighting_keeps_how_it_was_recognised_and_what_it_filled_in(store: Database) -> None:
    [id] = ingest(store, new(arxiv("1")))
    reasons = Reason(Finding.TITLES_AGREE, (0.9345,)), Reason(Finding.YEARS_APART, (1,))
    ingest(store, Decision(arxiv("1"), None, id, recognised=reasons), source="other")
    filling = Decision(arxiv("1"), None, id, filled=("link", "date"))
    ingest(store, filling, source="list", now=LATER)
    seen = reading(store, papers.origin, stored(store, id)).sightings
    assert {one.source: (one.recognised, one.filled) for one in seen} == {
        "feed": ((), ()),
        "other": (reasons, ()),
        "list": ((), ("link", "date")),
    }
    assert reading(store, sightings.recognised, [id]) == {id}
    assert reading(store, sightings.sources, [id]) == {id: ("feed", "other")}
    ingest(store, Decision(arxiv("1"), None, id), source="list", now=LATER)
    assert reading(store, sightings.sources, [id]) == {id: ("feed", "list", "other")}


def test_a_record_that_is_split_off_says_so(store: Database) -> None:
    first, second = ingest(store, new(arxiv("1", "One")), new(arxiv("2", "Two")))
    with store.writing() as tx:
        sightings.split_off(tx, [("feed", "raw Two")], second, first)
        [seen] = (s for s in sightings.of_papers(tx, [first])[first] if s.raw_id == "raw Two")
    assert seen.recognised == (Reason(Finding.SEPARATED),)


def test_what_a_list_filled_in_is_read_as_a_process_of_an_older_version_writes_it(
    store: Database,
) -> None:
    [id] = ingest(store, new(arxiv("1")))
    ingest(store, Decision(arxiv("1", announce="@filled link, date"), None, id), source="list")
    [_, seen] = reading(store, papers.origin, stored(store, id)).sightings
    assert seen.filled == ("link", "date")
    assert reading(store, sightings.sources, [id]) == {id: ("feed",)}


def test_two_ingests_never_both_insert_a_paper(store: Database) -> None:
    start = threading.Barrier(4)

    def read(source: str) -> None:
        start.wait(timeout=PATIENCE)
        for number in range(10):
            with store.ingesting() as tx:
                incoming = [arxiv(str(number))]
                [known_ones] = candidates.find(tx, source, incoming)
                known = known_ones[0].stored.id if known_ones else None
                kind = None if known else ChangeKind.NEW
                write_papers.apply(tx, source, [Decision(incoming[0], kind, known)], NOW)

    at_once(*(partial(read, f"s{n}") for n in range(4)))
    names = reading(store, sightings.sources, range(100))
    assert len(names) == 10
    assert set(names.values()) == {("s0", "s1", "s2", "s3")}


def test_the_text_of_a_record_moves_to_another_paper(store: Database) -> None:
    first, second = ingest(store, new(arxiv("1", "One")), new(arxiv("2", "Two")))
    with store.writing() as tx:
        sightings.split_off(tx, [("feed", "raw Two")], second, first)
        seen = sightings.with_text(tx, [first, second])
        assert {record.raw_id: record.text for record in seen.pop(first)} == {
            "raw One": SightingText("One", keys=(("arxiv", "1"),)),
            "raw Two": SightingText("Two", keys=(("arxiv", "2"),)),
        }
        assert seen == {}
        assert sightings.papers_with_several(tx, 0, 10) == [first]


def test_the_last_three_texts_that_revisions_replaced_are_kept_until_the_purge(
    store: Database,
) -> None:
    def kept() -> dict[int, str]:
        texts = reading(store, write_papers.earlier_texts, paper)
        return {revision: text.title for revision, text in texts.items()}

    [paper] = ingest(store, new(arxiv("1", "Title 1", version=1)))
    ingest(store, Decision(arxiv("1", "Title 1", abstract="Text."), None, paper))
    assert kept() == {}  # what is no revision keeps nothing
    for version in range(2, 8):
        one = arxiv("1", f"Title {version}", version=version)
        ingest(store, Decision(one, ChangeKind.REVISED, paper), now=NOW + version * DAY)
    assert kept() == {4: "Title 4", 5: "Title 5", 6: "Title 6"}
    for revision, before in ((4, {}), (6, {paper: EarlierText("Title 5", "Text.", 5)})):
        assert reading(store, write_papers.texts_before, {paper: revision}) == before
    writing(store, matches.save, [(paper, revision) for revision in range(1, 8)], [], NOW)
    assert ingesting(store, retention.purge, NOW + 9 * DAY, None, NOW + 99 * DAY, 10) == 1
    assert kept() == {}
