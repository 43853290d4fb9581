"""The marks of withdrawn papers in a store: which records made them, and which are undone."""

from __future__ import annotations

from datetime import datetime

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.identity.keys import with_keys
from monitor.identity.withdrawals import Standing
from monitor.model import CORRECTION, RETRACTION, Authority, ChangeKind, FirstRun, Paper
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.papers import merge_papers, paper_index, withdrawals
from tests.identity.scenarios import SAND
from tests.pipeline.desk import match, origin, read, tell
from tests.store.scenes import DAY, NOW, reading

DOI = ("doi", "10.5555/sand.1")
NOTICE = Paper("Retraction: Sand", type=RETRACTION, about={"pmid": "1"}, raw_id="notice")
BY_DOI = replace(NOTICE, about={"doi": DOI[1]})
GONE = replace(SAND, withdrawn=True, raw_id="gone")


def marks(store: Database, id: int = 1) -> dict[str, bool]:
    """Return the records that mark a paper, and whether each is undone."""
    found = reading(store, withdrawals.of_paper, id)
    return {mark.raw_id: mark.undone_at is not None for mark in found}


def undo(store: Database) -> None:
    with store.ingesting() as tx:
        withdrawals.undo(tx, 1, NOW + DAY)


def test_a_notice_that_stands_retracts_and_one_that_is_undone_does_not(store: Database) -> None:
    read(store, "journal", SAND)
    read(store, "list", BY_DOI)
    assert reading(store, paper_index.find_retracted, [DOI]) == {DOI}
    assert reading(store, withdrawals.undone_notices, [2]) == {}
    assert reading(store, withdrawals.undone, "list", ["notice"]) == {}
    undo(store)
    assert reading(store, paper_index.find_retracted, [DOI]) == set()
    assert reading(store, withdrawals.undone_notices, [2]) == {2: {1}}
    assert reading(store, withdrawals.undone, "list", ["notice"]) == {"notice": {1}}


def test_what_was_undone_stays_so_when_the_record_marks_again(store: Database) -> None:
    read(store, "journal", SAND)
    read(store, "list", GONE)
    undo(store)
    with store.ingesting() as tx:
        withdrawals.write(tx, "list", [(1, with_keys(GONE))], NOW + 2 * DAY)
    assert marks(store) == {"gone": True}


def test_the_first_mark_that_stands_is_named(store: Database) -> None:
    read(store, "journal", SAND)
    read(store, "list", GONE)
    undo(store)
    assert reading(store, withdrawals.first_standing, [1]) == {}
    read(store, "other", replace(GONE, raw_id="later"), now=NOW + DAY)
    standing = reading(store, withdrawals.first_standing, [1])
    assert {id: mark.raw_id for id, mark in standing.items()} == {1: "later"}


def test_notices_are_marks_but_corrections_and_withdrawn_ones_are_not(store: Database) -> None:
    read(store, "journal", SAND)
    with store.ingesting() as tx:
        tx.execute(sa.delete(schema.withdrawal))
    read(store, "list", BY_DOI, replace(BY_DOI, type=CORRECTION, raw_id="correction"))
    with store.ingesting() as tx:  # as an older version stored it
        tx.execute(sa.delete(schema.withdrawal))
    assert marks(store) == {"notice": False}
    with store.ingesting() as tx:
        tx.execute(sa.update(schema.paper).filter_by(title=BY_DOI.title).values(withdrawn=True))
    assert marks(store) == {}


def test_of_an_older_version_any_record_may_have_made_the_mark(store: Database) -> None:
    read(store, "list", SAND)
    read(store, "journal", GONE)
    with store.ingesting() as tx:
        tx.execute(sa.delete(schema.withdrawal))
    undo(store)
    assert marks(store) == {"sand": True, "gone": True}


def lift(store: Database) -> set[str]:
    with store.ingesting() as tx:
        return withdrawals.lift(tx, 1, NOW + DAY)


def kinds(store: Database) -> list[ChangeKind]:
    return [change.kind for change in origin(store, 1).changes]


def first_read(store: Database, source: str, at: datetime) -> None:
    with store.ingesting() as tx:
        tx.execute(sa.insert(schema.source), {"name": source, "first_read_at": at})


def test_a_withdrawal_that_was_not_sent_is_announced_no_more(store: Database) -> None:
    first_read(store, "journal", NOW - DAY)
    read(store, "journal", SAND)
    assert tell(store) == [1]
    read(store, "list", GONE)
    assert kinds(store) == [ChangeKind.NEW, ChangeKind.WITHDRAWN]
    assert lift(store) == set()
    assert kinds(store) == [ChangeKind.NEW]
    assert not origin(store, 1).stored.paper.withdrawn


def test_those_whose_digest_said_it_are_named(store: Database) -> None:
    read(store, "journal", SAND)
    assert tell(store) == [1]
    read(store, "list", GONE)
    match(store, now=NOW + DAY, kinds=(ChangeKind.WITHDRAWN,))
    assert tell(store, now=NOW + DAY) == [1]
    assert lift(store) == {"ada"}


@pytest.mark.parametrize(
    ("first_run", "purged", "is_news"),
    [(None, False, True), (None, True, False), (FirstRun.BASELINE, False, False)],
)
def test_a_paper_that_was_never_news_because_of_its_mark_is_news(
    store: Database, first_run: FirstRun | None, purged: bool, is_news: bool
) -> None:
    first_read(store, "service", NOW - DAY if first_run is None else NOW)
    read(store, "service", GONE, first_run=first_run, standing=Standing(Authority.EVERY))
    assert kinds(store) == []
    if purged:
        with store.ingesting() as tx:
            tx.execute(sa.update(schema.paper).values(purged_at=NOW))
    lift(store)
    assert kinds(store) == ([ChangeKind.NEW] if is_news else [])


def test_marks_follow_a_merged_paper_and_a_record_that_is_split_off(store: Database) -> None:
    read(store, "journal", SAND)
    read(store, "list", GONE)
    with store.ingesting() as tx:
        texts = [with_keys(replace(paper, keys={})) for paper in (SAND, GONE)]
        new = merge_papers.split(tx, 1, [], [("list", "gone")], *texts, NOW)
    assert (marks(store), marks(store, new)) == ({}, {"gone": False})
    assert [origin(store, id).stored.paper.withdrawn for id in (1, new)] == [False, True]
    with store.ingesting() as tx:
        withdrawals.move(tx, {new: 1})
    assert marks(store) == {"gone": False}
