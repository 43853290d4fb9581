from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from monitor.model import Run, RunOutcome, SourceReport, SourceWarning
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.digests import incidents
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.sources import runs
from tests.patience import PATIENCE, at_once
from tests.store.scenes import DAY, HOUR, NOW, reading, writing

FEED = Subject(SubjectKind.SOURCE, "feed")
SMTP = Subject(SubjectKind.OUTAGE_GROUP, "smtp")
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
    assert reading(store, runs.since, NOW - HOUR, NOW + DAY) == [whole, failed]
    assert reading(store, runs.since, NOW, NOW + DAY) == [failed]
    assert reading(store, runs.newest_of_each_source) == [failed]
    assert reading(store, runs.last_start, "feed") == NOW + HOUR
    assert reading(store, runs.last_start, "other") is None


def test_an_open_run_counts_as_asked_and_is_discarded_when_it_had_nothing_to_do(
    store: Database,
) -> None:
    kept = ran(store)
    run_id = writing(store, runs.start, replace(OPEN, started=NOW + HOUR))
    writing(store, runs.save, run_id, replace(OPEN, seen=3))
    assert reading(store, runs.last_start, "feed") == NOW + HOUR
    for number in (run_id, 1):
        assert reading(store, runs.since, NOW - DAY, NOW + DAY) == [kept]
        writing(store, runs.discard, number)
    assert reading(store, runs.since, NOW - DAY, NOW + DAY) == [kept]
    assert reading(store, runs.last_start, "feed") == NOW


def test_a_first_reading_is_over_when_it_is_said_to_be_and_for_good(store: Database) -> None:
    ran(store)
    for at in (NOW, NOW + DAY):
        assert (writing(store, runs.first_read, "feed") is not None) is (at > NOW)
        writing(store, runs.finish_first_reading, "feed", at)
    with store.reading() as tx:
        assert runs.first_read(tx, "feed") is not None
        assert runs.first_read(tx, "other") is None
        assert tx.scalars(sa.select(schema.source.c.first_read_at)).all() == [NOW]


def test_validators_are_those_of_the_last_run_that_had_any(store: Database) -> None:
    def validators() -> dict[str, str]:
        return reading(store, runs.validators, "feed")

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
    writing(
        store,
        incidents.open_incident,
        Subject(SubjectKind.SOURCE, "down"),
        "failing",
        NOW,
        "no answer",
    )
    writing(store, incidents.open_incident, FEED, "stale", NOW, "nothing new")
    reports = writing(store, runs.report, ["feed", "down"], NOW, NOW + DAY)
    assert reports == (
        SourceReport(
            "feed", 12, 3, NOW + DAY, troubles=(SourceWarning("stale", NOW, "nothing new"),)
        ),
        SourceReport("down", 0, 0, None, failing_since=NOW, error="no answer"),
    )


# ── incidents ───────────────────────────────────────────────────────────────────────


def test_an_incident_opens_once_and_ends_once(store: Database) -> None:
    with store.writing() as tx:
        assert incidents.open_incident(tx, FEED, "failing", NOW, "first")
        assert not incidents.open_incident(tx, FEED, "failing", NOW + HOUR, "second")
        [one] = incidents.open_incidents(tx)
        assert (one.since, one.error) == (NOW, "second")
        ended = incidents.end_incident(tx, FEED, "failing", NOW + DAY)
        assert ended is not None
        assert ended.ended_at == NOW + DAY
        assert incidents.end_incident(tx, FEED, "failing", NOW + DAY) is None
        assert incidents.open_incidents(tx) == []
        assert incidents.unnotified(tx) == [ended]  # one notice of its beginning and its end
        incidents.mark_notified(tx, ended, NOW + DAY)
        assert incidents.unnotified(tx) == []
        assert incidents.open_incident(tx, FEED, "failing", NOW + DAY, "again")


def test_unclear_ends_of_several_at_the_same_time_are_all_counted(store: Database) -> None:
    start = threading.Barrier(4)

    def work() -> None:
        start.wait(timeout=PATIENCE)
        for _ in range(5):
            writing(store, incidents.add_unclear, "smtp", 1)

    at_once(*[work] * 4)
    assert reading(store, incidents.unclear, "smtp") == 20


@pytest.mark.parametrize(
    ("since", "until", "hours"),
    [
        (NOW, NOW + DAY, 1 + 2),
        (NOW + 1.5 * HOUR, NOW + DAY, 0.5 + 2),
        (NOW + 1.5 * HOUR, NOW + 1.75 * HOUR, 0.25),
        (NOW, NOW + 22.5 * HOUR, 1 + 0.5),
        (NOW + 2 * HOUR, NOW + 22 * HOUR, 0),
        (NOW - DAY, NOW, 0),
    ],
)
def test_the_time_that_an_outage_group_was_down_is_that_of_its_outages(
    store: Database, since, until, hours: float
) -> None:
    """One from 1:00 to 2:00, and one that began at 22:00 and has not ended."""
    with store.writing() as tx:
        incidents.open_incident(tx, SMTP, IncidentKind.DOWN, NOW + HOUR, "refused")
        incidents.end_incident(tx, SMTP, IncidentKind.DOWN, NOW + 2 * HOUR)
        incidents.open_incident(tx, SMTP, IncidentKind.DOWN, NOW + 22 * HOUR, "refused")
        incidents.open_incident(tx, SMTP, "another kind", NOW, "of trouble")
        incidents.open_incident(
            tx, Subject(SubjectKind.OUTAGE_GROUP, "slack"), IncidentKind.DOWN, NOW, "another line"
        )
        assert incidents.time_down(tx, "smtp", since, until) == hours * HOUR
