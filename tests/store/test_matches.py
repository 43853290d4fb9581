from __future__ import annotations

from datetime import datetime, timedelta

from monitor.model import ChangeKind, Decision, MatchRow, Topic
from monitor.store.digests import outbox
from monitor.store.engine.database import Database
from monitor.store.papers import write_papers
from monitor.store.topics import matches
from tests.store.scenes import (
    CHANNELS,
    DAY,
    NOW,
    arrive,
    arxiv,
    digest,
    freeze,
    ingest,
    match,
    revisions_of,
    subscribe,
    unsent,
    watch,
)


def met(store: Database, paper_id: int) -> list[tuple[str, int, float]]:
    with store.reading() as tx:
        return [(m.topic, m.revision, m.score) for m in matches.of_paper(tx, paper_id)]


def sync(store: Database, *topics: Topic, now=NOW) -> list[str]:
    with store.writing() as tx:
        changed, gone = matches.difference(tx, topics)
        matches.activate_topics(tx, changed, gone, now)
    return [topic.name for topic in changed]


def test_changes_wait_until_they_are_matched(store: Database) -> None:
    ids = arrive(store, "1", "2", "3")
    with store.reading() as tx:
        first, second = matches.changes_to_match(tx, 2)
    assert (first.stored.id, second.stored.id) == (ids[0], ids[1])
    assert (first.kind, first.at, first.sources) == (ChangeKind.NEW, NOW, ("feed",))
    assert first.stored.paper.keys == {"arxiv": "1"}
    match(store, ids[0], ids[1])
    with store.reading() as tx:
        assert [c.stored.id for c in matches.changes_to_match(tx, 9)] == [ids[2]]


def test_a_batch_matched_twice_is_matched_once(store: Database) -> None:
    [id, other] = arrive(store, "1", "2")
    match(store, id, score=1.0)
    match(store, id, score=2.0)
    assert met(store, id) == [("t", 1, 1.0)]
    with store.writing() as tx:
        matches.save(tx, [(other, 1)], [], NOW)
        assert matches.changes_to_match(tx, 9) == []


def test_what_was_matched_since_a_moment_comes_page_by_page(store: Database) -> None:
    arrive(store, "0", now=NOW - DAY)
    ids = arrive(store, "1", "2")
    match(store, *ids)
    ingest(store, Decision(arxiv("1"), ChangeKind.REVISED, ids[0]), now=NOW + DAY)
    match(store, ids[0], revision=2)
    arrive(store, "waiting")
    with store.reading() as tx:
        pages, after = [], None
        while page := matches.matched_news(tx, NOW, after, 2):
            pages.append([(c.stored.id, c.revision) for c in page])
            after = pages[-1][-1]
    assert pages == [[(ids[0], 1), (ids[0], 2)], [(ids[1], 1)]]


def test_new_and_changed_topics_are_named(store: Database) -> None:
    a, b = Topic("a", "x"), Topic("b", "y", sources=("s2", "s1"))
    assert sync(store, a, b) == ["a", "b"]
    assert sync(store, a, Topic("b", "y", sources=("s1", "s2"))) == []
    for changed in (
        Topic("b", "z"),
        Topic("b", "z", sources=("s1",)),
        Topic("b", "z", news=frozenset({ChangeKind.NEW, ChangeKind.REVISED})),
        Topic("b", "z", since=timedelta(days=30)),
        Topic("b", "z", threshold=0.5),
        Topic("b", "z", synonyms=(("z", "zed"),)),
    ):
        assert sync(store, a, changed) == ["b"]
    assert sync(store, a) == []
    assert sync(store, a, b) == ["b"]


def test_changes_of_these_papers_meet_the_topics_again(store: Database) -> None:
    old, *ids = arrive(store, "1", now=NOW - DAY) + arrive(store, "2", "3")
    for papers, reopened in ([ids[0], old], [ids[0]]), (ids, ids), ([], []):
        match(store, old, *ids)
        with store.writing() as tx:
            write_papers.reopen(tx, papers, NOW)
            assert [c.stored.id for c in matches.changes_to_match(tx, 9)] == reopened


def test_what_matched_a_removed_topic_is_forgotten(store: Database) -> None:
    [id] = arrive(store, "1")
    watch(store, "t", "u")
    match(store, id, topic="t")
    match(store, id, topic="u")
    watch(store, "u")
    assert met(store, id) == [("u", 1, 1.0)]


def test_a_changed_topic_has_its_unsent_matches_replaced(store: Database) -> None:
    sent, wrong, right = arrive(store, "1", "2", "3")
    watch(store, "t")
    subscribe(store, "ada")
    match(store, sent)
    freeze(store, digest(unsent(store)))
    with store.writing() as tx:
        outbox.claim(tx, "me", NOW, CHANNELS, 100)
    match(store, wrong)
    with store.writing() as tx:
        rows = [MatchRow("t", sent, 1, 1.0), MatchRow("t", right, 1, 1.0)]
        matches.replace_unsent(tx, {"t": NOW}, rows, NOW)
    assert revisions_of(unsent(store)) == [(right, 1)]


def test_what_a_topic_announced_long_ago_is_still_explained(store: Database) -> None:
    [id] = arrive(store, "1")
    watch(store, "t")
    subscribe(store, "ada")
    match(store, id)
    freeze(store, digest(unsent(store)))
    with store.writing() as tx:
        matches.replace_unsent(tx, {"t": NOW + 23 * DAY}, [], NOW + 30 * DAY)
    assert met(store, id) == [("t", 1, 1.0)]


def test_a_mended_topic_looks_back_at_all_that_still_waits(store: Database) -> None:
    """A monthly digest loses nothing when its topic is changed on the 25th day."""
    later = NOW + 25 * DAY
    assert look_back(store, later) == later - 7 * DAY  # before it is in force, too
    watch(store, "t", since=timedelta(days=7))
    subscribe(store, "ada")
    assert look_back(store, later) == later - 7 * DAY
    [id] = arrive(store, "1")
    match(store, id)
    assert look_back(store, later) == NOW
    freeze(store, digest(unsent(store)))
    assert look_back(store, later) == later - 7 * DAY


def test_what_was_there_before_a_subscription_came_does_not_wait_for_it(store: Database) -> None:
    watch(store, "t")
    match(store, *arrive(store, "1", now=NOW - 8 * DAY))
    subscribe(store, "newcomer")
    later = NOW + 25 * DAY
    assert look_back(store, later) == later - 7 * DAY
    [id] = arrive(store, "2", now=NOW - 7 * DAY)
    match(store, id)
    assert look_back(store, later) == NOW - 7 * DAY
    assert revisions_of(unsent(store, "newcomer")) == [(id, 1)]


def look_back(store: Database, now: datetime) -> datetime:
    with store.reading() as tx:
        topics = [Topic("t", "mended", since=timedelta(days=7)), Topic("u", "other")]
        starts = matches.look_back(tx, topics, now)
    assert starts["u"] == now - timedelta(days=7)
    return starts["t"]
