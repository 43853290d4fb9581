from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.model import ChangeKind, Decision, IncomingPaper, ListedDay, MatchRow, Topic
from monitor.store.engine.database import Database
from monitor.store.papers import write_papers
from monitor.store.topics import matches
from tests.store.scenes import (
    DAY,
    NOW,
    arrive,
    arxiv,
    claim,
    digest,
    freeze,
    ingest,
    match,
    new,
    reading,
    revisions_of,
    subscribe,
    unsent,
    waiting,
    watch,
    writing,
)


def met(store: Database, paper_id: int) -> list[tuple[str, int, float]]:
    return [(m.topic, m.revision, m.score) for m in reading(store, matches.of_paper, paper_id)]


def sync(store: Database, *topics: Topic, now=NOW) -> list[str]:
    changed, gone = writing(store, matches.difference, topics)
    writing(store, matches.activate_topics, changed, gone, now)
    return [topic.name for topic in changed]


def test_changes_wait_until_they_are_matched(store: Database) -> None:
    ids = arrive(store, "1", "2", "3")
    first, second = reading(store, matches.changes_to_match, 2)
    assert (first.stored.id, second.stored.id) == (ids[0], ids[1])
    assert (first.kind, first.at, first.sources) == (ChangeKind.NEW, NOW, ("feed",))
    assert first.stored.paper.keys == {"arxiv": "1"}
    match(store, ids[0], ids[1])
    assert [c.stored.id for c in reading(store, matches.changes_to_match, 9)] == [ids[2]]


def test_a_batch_matched_twice_is_matched_once(store: Database) -> None:
    [id, other] = arrive(store, "1", "2")
    match(store, id, score=1.0)
    match(store, id, score=2.0)
    assert met(store, id) == [("t", 1, 1.0)]
    writing(store, matches.save, [(other, 1)], [], NOW)
    assert writing(store, matches.changes_to_match, 9) == []


def test_what_was_matched_since_a_moment_comes_page_by_page(store: Database) -> None:
    arrive(store, "0", now=NOW - DAY)
    ids = arrive(store, "1", "2")
    match(store, *ids)
    ingest(store, Decision(arxiv("1"), ChangeKind.REVISED, ids[0]), now=NOW + DAY)
    match(store, ids[0], revision=2)
    arrive(store, "waiting")
    with store.reading() as tx:
        pages = []
        after = None
        while page := matches.matched_news(tx, NOW, after, 2):
            pages.append([(c.stored.id, c.revision) for c in page])
            after = pages[-1][-1]
    assert pages == [[(ids[0], 1), (ids[0], 2)], [(ids[1], 1)]]


def test_new_and_changed_topics_are_named(store: Database) -> None:
    a = Topic("a", "x")
    b = Topic("b", "y", sources=("s2", "s1"))
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
    claim(store)
    match(store, wrong)
    rows = [MatchRow("t", sent, 1, 1.0), MatchRow("t", right, 1, 1.0)]
    writing(store, matches.replace_unsent, {"t": NOW}, rows, NOW)
    assert revisions_of(unsent(store)) == [(right, 1)]


def test_what_a_topic_announced_long_ago_is_still_explained(store: Database) -> None:
    [id] = arrive(store, "1")
    watch(store, "t")
    subscribe(store, "ada")
    match(store, id)
    freeze(store, digest(unsent(store)))
    writing(store, matches.replace_unsent, {"t": NOW + 23 * DAY}, [], NOW + 30 * DAY)
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
    topics = [Topic("t", "mended", since=timedelta(days=7)), Topic("u", "other")]
    starts = reading(store, matches.look_back, topics, now)
    assert starts["u"] == now - timedelta(days=7)
    return starts["t"]


# ── a known paper of which there is more to match than before ───────────────────────


def met_topics(store: Database, one: IncomingPaper, now: datetime = NOW) -> int:
    """A paper that has come in and met the topics."""
    [id] = ingest(store, new(one), now=now)
    match(store, id)
    assert waiting(store) == []
    return id


def known(id: int, one: IncomingPaper, **fields: object) -> Decision:
    return Decision(one, None, id, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "gap", [{"abstract": "x"}, {"authors": ("A",)}, {"categories": ("c",)}, {"venue": "v"}]
)
def test_a_known_paper_meets_the_topics_again_when_it_gains_words(store: Database, gap) -> None:
    id = met_topics(store, arxiv("1"))
    ingest(store, known(id, arxiv("1", **gap)))
    assert waiting(store) == [(id, 1, ChangeKind.NEW)]
    match(store, id)
    ingest(store, known(id, arxiv("1", **gap)), known(id, arxiv("1", url="https://x.org")))
    assert waiting(store) == []


def test_what_is_stored_silently_reopens_nothing(store: Database) -> None:
    id = met_topics(store, arxiv("1"))
    ingest(store, known(id, arxiv("1"), news=False), known(id, arxiv("1")), source="b")
    ingest(store, known(id, arxiv("1", abstract="x"), news=False))
    assert waiting(store) == []


def test_only_news_of_the_last_90_days_is_reopened(store: Database) -> None:
    id = met_topics(store, arxiv("1"), now=NOW - 91 * DAY)
    ingest(store, Decision(arxiv("1"), ChangeKind.REVISED, id), now=NOW - 90 * DAY)
    match(store, id, revision=2)
    ingest(store, known(id, arxiv("1")), source="b")
    assert waiting(store) == [(id, 2, ChangeKind.REVISED)]


def test_the_reopened_are_found_in_few_statements_however_many(store: Database) -> None:
    ids = arrive(store, *map(str, range(500)))
    match(store, *ids)
    said: list[str] = []
    decisions = [known(id, arxiv(str(n))) for n, id in enumerate(ids)]
    with store.ingesting() as tx:
        sa.event.listen(tx, "before_cursor_execute", lambda *call: said.append(call[2]))
        write_papers.apply(tx, "b", decisions, NOW)
    assert len(said) <= 14
    assert len(waiting(store)) == 100


def voted(votes: int, day: int = 1) -> IncomingPaper:
    return arxiv("1", upvotes=votes, listed=(ListedDay(date(2026, 11, day), "feed"),))


def test_what_grew_waits_for_topics_until_it_was_looked_at(store: Database) -> None:
    [id] = ingest(store, new(voted(3)))
    assert reading(store, matches.grown_papers, 9) == []
    ingest(store, known(id, voted(2)))
    assert reading(store, matches.grown_papers, 9) == []
    ingest(store, known(id, voted(5)), known(id, voted(5, day=2)))
    [grown] = reading(store, matches.grown_papers, 9)
    assert (grown.paper_id, grown.votes, grown.lists) == (id, 5, 2)
    ingest(store, known(id, voted(6)))
    writing(store, matches.save_grown, [grown], [], NOW)
    [again] = reading(store, matches.grown_papers, 9)
    assert again.votes == 6
    for _ in range(2):
        writing(store, matches.save_grown, [again], [MatchRow("t", id, 1, 1.0)], NOW)
    assert reading(store, matches.grown_papers, 9) == []
    assert met(store, id) == [("t", 1, 1.0)]


def test_what_grew_is_news_for_a_subscription_that_is_newer_than_it(store: Database) -> None:
    [id, other] = ingest(store, new(voted(3)), new(arxiv("2")), now=NOW - 20 * DAY)
    watch(store, "t")
    subscribe(store, "ada", now=NOW - DAY)
    match(store, other)
    writing(store, matches.save_grown, [], [MatchRow("t", id, 1, 1.0)], NOW)
    assert revisions_of(unsent(store)) == [(id, 1)]


def test_what_is_in_further_lists_has_returned(store: Database) -> None:
    [id] = ingest(store, new(voted(3)))
    watch(store, "t")
    subscribe(store, "ada")
    match(store, id)
    freeze(store, digest(unsent(store)))
    assert reading(store, matches.returned, "ada", NOW - DAY) == []
    ingest(store, known(id, voted(3, day=12)))
    assert [stored.id for stored in reading(store, matches.returned, "ada", NOW - DAY)] == [id]
    assert reading(store, matches.returned, "ada", NOW) == []
    assert reading(store, matches.returned, "other", NOW - DAY) == []
