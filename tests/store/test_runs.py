from __future__ import annotations

import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import Run, RunOutcome, SourceReport, SourceWarning
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.sources import runs
from tests.store.scenes import DAY, HOUR, NOW

OPEN = Run("feed", None, RunOutcome.FAILED, NOW)


def ran(
    store: Database,
    outcome: RunOutcome = RunOutcome.OK,
    *,
    source: str = "feed",
    at=NOW,
    validators=None,
    **counts,
) -> Run:
    run = Run(source, "a.txt", outcome, at, at, **counts)
    with store.writing() as tx:
        runs.save(tx, runs.start(tx, replace(run, finished=None)), run, validators)
    return run


def test_a_run_is_kept_whatever_came_of_it(store: Database) -> None:
    whole = ran(store, seen=5, new=1, revised=1, known=2, rejected=1, error="x")
    failed = ran(store, RunOutcome.FAILED, at=NOW + HOUR, error="no answer")
    with store.reading() as tx:
        assert runs.since(tx, NOW - HOUR, NOW + DAY) == [whole, failed]
        assert runs.since(tx, NOW, NOW + DAY) == [failed]
        assert runs.last_runs(tx) == [failed]
        assert runs.last_start(tx, "feed") == NOW + HOUR
        assert runs.last_start(tx, "other") is None


def test_an_open_run_counts_as_asked_and_not_as_finished(store: Database) -> None:
    with store.writing() as tx:
        run_id = runs.start(tx, OPEN)
        runs.save(tx, run_id, replace(OPEN, seen=3))
    with store.reading() as tx:
        assert runs.since(tx, NOW - DAY, NOW + DAY) == []
        assert runs.last_start(tx, "feed") == NOW


def test_a_run_with_nothing_to_do_is_discarded_only_while_open(store: Database) -> None:
    kept = ran(store)
    with store.writing() as tx:
        runs.discard(tx, runs.start(tx, OPEN))
        runs.discard(tx, 1)
    with store.reading() as tx:
        assert runs.since(tx, NOW - DAY, NOW + DAY) == [kept]


def test_a_first_reading_is_over_when_it_is_said_to_be_and_for_good(store: Database) -> None:
    ran(store)
    for at in (NOW, NOW + DAY):
        with store.writing() as tx:
            assert (runs.first_read(tx, "feed") is not None) is (at > NOW)
            runs.finish_first_reading(tx, "feed", at)
    with store.reading() as tx:
        assert runs.first_read(tx, "feed") is not None
        assert runs.first_read(tx, "other") is None
        assert tx.scalars(sa.select(schema.source.c.first_read_at)).all() == [NOW]


def test_validators_are_those_of_the_last_run_that_had_any(store: Database) -> None:
    def validators() -> dict[str, str]:
        with store.reading() as tx:
            return runs.validators(tx, "feed")

    assert validators() == {}
    ran(store, validators={"etag": "1"})
    ran(store, RunOutcome.FAILED)
    ran(store, source="other", validators={"etag": "2"})
    assert validators() == {"etag": "1"}
    ran(store, RunOutcome.PARTIAL, validators={})
    assert validators() == {}


def test_the_report_counts_what_finished_in_between(store: Database) -> None:
    ran(store, at=NOW - HOUR, seen=100, new=100)
    ran(store, at=NOW + HOUR, seen=5, new=2)
    ran(store, RunOutcome.PARTIAL, at=NOW + DAY, seen=7, new=1)
    ran(store, at=NOW + 2 * DAY, seen=100, new=100)
    with store.writing() as tx:
        incidents.open_incident(tx, "source down", "failing", NOW, "no answer")
        incidents.open_incident(tx, "source feed", "stale", NOW, "nothing new")
        reports = runs.report(tx, ["feed", "down"], NOW, NOW + DAY)
    assert reports == (
        SourceReport(
            "feed", 12, 3, NOW + DAY, troubles=(SourceWarning("stale", NOW, "nothing new"),)
        ),
        SourceReport("down", 0, 0, None, failing_since=NOW, error="no answer"),
    )
