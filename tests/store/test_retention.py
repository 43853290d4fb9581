"""Clean-up: what is old goes, what somebody waits for stays, what returns is known."""

from __future__ import annotations

import threading
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import ChangeKind, Paper, Run, RunOutcome
from monitor.pipeline import cleanup
from monitor.store import retention
from monitor.store.digests import digests
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.sources import reading_state, runs
from tests.pipeline.desk import ids, match, origin, read, send, tell
from tests.store.scenes import (
    DAY,
    NOW,
    digest,
    freeze,
    ingesting,
    subscribe,
    unsent,
    watch,
)

ONE = Paper(
    "Agents That Plan",
    "An abstract.",
    ("Ada Lovelace",),
    keys={"arxiv": "2601.00001"},
    affiliations=("Sand University",),
)
TWO = Paper("Folding of Chains", "Another.", ("R. Franklin",), keys={"arxiv": "2601.00002"})
THREE = Paper("Bandits in Trials", "A third.", ("A. Turing",), keys={"arxiv": "2601.00003"})
LATER = NOW + 100 * DAY


@pytest.fixture(autouse=True)
def watched(store: Database) -> None:
    subscribe(store, "ada")
    watch(store, "t")


def purge(
    store: Database, before: datetime | None = LATER, most: int | None = None, limit: int = 100
) -> int:
    return ingesting(store, retention.purge, before, most, LATER, limit)


def test_a_purged_paper_that_returns_is_known_and_announced_to_nobody(store: Database) -> None:
    read(store, "feed", ONE, TWO)
    assert tell(store) == [1, 2]
    assert purge(store) == 2
    assert purge(store) == 0
    assert ids(store) == []
    gone = origin(store, 1)
    assert (gone.stored.purged, gone.stored.paper.abstract, gone.changes) == (True, "", ())
    assert gone.stored.paper.affiliations == ()
    again = read(store, "feed", ONE, replace(TWO, url="https://x.org/2"), now=LATER)
    mirror = read(store, "mirror", replace(ONE, keys={}, raw_id="m"), now=LATER)
    kinds = [decision.kind for decision in (*again.decisions, *mirror.decisions)]
    assert set(kinds) == {None}
    assert (ids(store), tell(store, now=LATER)) == ([], [])


def test_a_later_version_of_a_purged_paper_is_a_revision_and_it_is_there_again(
    store: Database,
) -> None:
    read(store, "feed", replace(ONE, version=1))
    tell(store)
    purge(store)
    again = read(store, "feed", replace(ONE, version=2), now=LATER)
    assert [decision.kind for decision in again.decisions] == [ChangeKind.REVISED]
    assert ids(store) == [1]
    assert origin(store, 1).stored.paper.abstract == ONE.abstract


def test_what_somebody_is_still_to_be_sent_stays(store: Database) -> None:
    read(store, "feed", ONE)
    assert purge(store) == 0, "it waits to be matched"
    match(store)
    assert purge(store) == 0, "it waits for a digest"
    assert freeze(store, digest(unsent(store))) is not None
    assert purge(store) == 0, "its digest waits to be sent"
    tell(store, now=NOW + DAY)
    send(store)
    assert purge(store) == 1


def test_papers_go_by_number_the_earliest_first_and_so_many_at_a_time(store: Database) -> None:
    subscribe(store)  # nobody waits for them
    read(store, "feed", ONE, TWO, THREE)
    match(store)
    assert purge(store, None, 1, limit=1) == 1
    assert ids(store) == [2, 3]
    assert purge(store, None, 1) == 1
    assert purge(store, None, 1) == 0
    assert ids(store) == [3]
    assert purge(store, None, None) == 0


def test_of_runs_the_last_of_each_source_stays_and_what_it_is_asked_with(store: Database) -> None:
    with store.writing() as tx:
        for day in range(4):
            at = NOW + day * DAY
            run_id = runs.start(tx, Run("feed", "d", RunOutcome.FAILED, at))
            outcome = RunOutcome.OK if day == 1 else RunOutcome.FAILED
            validators = {"etag": "x"} if day == 0 else None
            runs.save(tx, run_id, Run("feed", "d", outcome, at, finished=at), validators=validators)
        reading_state.set_document(tx, "feed", "hash", "d", 3, True, NOW)
        assert retention.prune_runs(tx, LATER) == 2
        assert runs.validators(tx, "feed") == {"etag": "x"}
        assert reading_state.of_document(tx, "feed", "hash") is None
        left = tx.scalar(sa.select(sa.func.count()).select_from(schema.run))
    assert left == 3


def test_texts_of_what_was_sent_are_removed_and_it_is_shown_with_its_papers_as_they_are_now(
    store: Database,
) -> None:
    read(store, "feed", ONE)
    tell(store)
    read(store, "feed", TWO, now=NOW + DAY)
    match(store)
    assert freeze(store, digest(unsent(store), "2", due=NOW + DAY)) is not None
    with store.writing() as tx:
        before = digests.get(tx, 1)
        assert retention.prune_bodies(tx, LATER, 100) == 1
        assert retention.prune_bodies(tx, LATER, 100) == 0
        bodies = list(tx.scalars(sa.select(schema.rendered.c.packed)))
        tx.execute(sa.update(schema.paper).values(title="Another title"))
        after = digests.get(tx, 1)
        of_first = sa.select(sa.func.length(schema.digest.c.packed)).filter_by(id=1)
        assert tx.scalar(of_first) < 1_000
    assert sorted(map(bool, bodies)) == [False, True]
    assert before and after
    assert before.notes == () and "are shown as they are now" in after.notes[0]
    places = [
        [(g.topic, [(e.paper_id, e.revision) for e in g.entries]) for g in made.groups]
        for made in (before, after)
    ]
    assert places[0] == places[1]
    assert [e.paper.title for g in after.groups for e in g.entries] == ["Another title"]


def test_old_matches_go_and_what_was_sent_is_not_sent_again(store: Database) -> None:
    read(store, "feed", ONE)
    assert tell(store) == [1]
    read(store, "feed", TWO, now=NOW + DAY)
    match(store, now=NOW + DAY)
    with store.writing() as tx:
        assert retention.prune_matches(tx, LATER, 100) == 1
        assert retention.prune_matches(tx, LATER, 100) == 0
        assert list(tx.scalars(sa.select(schema.match.c.paper_id))) == [2]
    assert tell(store, now=NOW + 2 * DAY) == [2]


def test_a_writer_that_waits_comes_between_the_steps_of_upkeep(store: Database) -> None:
    """However many steps there are: a lock that is free for an instant is missed for minutes."""
    asked = threading.Event()
    came = threading.Event()

    def write() -> None:
        asked.set()
        with store.writing():
            came.set()

    other = threading.Thread(target=write)
    steps = 0

    def step(_: Transaction) -> int:
        nonlocal steps
        if not steps:
            other.start()
            asked.wait()
        steps += 1
        return 0 if came.is_set() or steps == 200 else 1

    context = SimpleNamespace(database=store, stopping=threading.Event())
    cleanup._all(cast("Any", context), "papers", step)
    other.join()
    assert steps < 200
