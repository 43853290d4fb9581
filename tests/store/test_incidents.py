from __future__ import annotations

import threading

import pytest

from monitor.store.digests import incidents
from monitor.store.engine.database import Database
from tests.patience import PATIENCE, at_once
from tests.store.scenes import DAY, HOUR, NOW


def test_an_incident_opens_once_and_ends_once(store: Database) -> None:
    with store.writing() as tx:
        assert incidents.open_incident(tx, "source feed", "failing", NOW, "first")
        assert not incidents.open_incident(tx, "source feed", "failing", NOW + HOUR, "second")
        [one] = incidents.open_incidents(tx)
        assert (one.since, one.error) == (NOW, "second")
        ended = incidents.end_incident(tx, "source feed", "failing", NOW + DAY)
        assert ended is not None
        assert ended.ended_at == NOW + DAY
        assert incidents.end_incident(tx, "source feed", "failing", NOW + DAY) is None
        assert incidents.open_incidents(tx) == []
        assert incidents.open_incident(tx, "source feed", "failing", NOW + DAY, "again")


def test_the_operator_is_notified_of_the_beginning_and_of_the_end(
    store: Database,
) -> None:
    with store.writing() as tx:
        incidents.open_incident(tx, "source feed", "failing", NOW, "x")
        begun = incidents.unnotified(tx)
        incidents.end_incident(tx, "source feed", "failing", NOW + HOUR)
        incidents.mark_notified(tx, begun, NOW + HOUR)
        ended = incidents.unnotified(tx)
        assert [one.ended_at for one in begun + ended] == [None, NOW + HOUR]
        incidents.mark_notified(tx, ended, NOW + DAY)
        assert incidents.unnotified(tx) == []


def test_a_short_incident_takes_one_notice(store: Database) -> None:
    with store.writing() as tx:
        incidents.open_incident(tx, "source feed", "failing", NOW, "x")
        incidents.end_incident(tx, "source feed", "failing", NOW + HOUR)
        [both] = incidents.unnotified(tx)
        incidents.mark_notified(tx, [both], NOW + DAY)
        assert incidents.unnotified(tx) == []


def test_an_outage_group_is_tried_again_at_its_time(store: Database) -> None:
    with store.writing() as tx:
        for tries in 1, 2:
            assert incidents.add_failure(tx, "smtp", incidents.DOWN, NOW, "refused") == tries
        incidents.set_next_try(tx, "smtp", incidents.DOWN, NOW + HOUR)
        assert incidents.resting(tx, incidents.DOWN, NOW) == {"smtp"}
        assert incidents.resting(tx, incidents.DOWN, NOW + HOUR) == set()
        incidents.end_incident(tx, "smtp", incidents.DOWN, NOW)
        assert incidents.resting(tx, incidents.DOWN, NOW) == set()
        assert incidents.add_failure(tx, "smtp", incidents.DOWN, NOW + DAY, "refused") == 1


def test_another_configuration_is_tried_at_once(store: Database) -> None:
    with store.writing() as tx:
        for tries, mark in (1, "old"), (2, "new"):
            assert incidents.add_failure(tx, "smtp", incidents.DOWN, NOW, "refused", mark) == tries
            incidents.set_next_try(tx, "smtp", incidents.DOWN, NOW + HOUR)
            assert incidents.resting(tx, incidents.DOWN, NOW, mark) == {"smtp"}
            assert incidents.resting(tx, incidents.DOWN, NOW, "newer") == set()
        assert incidents.resting(tx, incidents.DOWN, NOW, "old") == set()


def test_incidents_of_removed_subjects_end(store: Database) -> None:
    with store.writing() as tx:
        for subject in ("source notified", "source new", "source living"):
            incidents.open_incident(tx, subject, "failing", NOW, "x")
        notified = incidents.open_incidents(tx)[0]
        incidents.mark_notified(tx, [notified], NOW)
        incidents.end_obsolete(tx, {"source living"}, NOW + HOUR)
        incidents.end_obsolete(tx, {"source living"}, NOW + DAY)
        assert [one.subject for one in incidents.open_incidents(tx)] == ["source living"]
        ended, begun = incidents.unnotified(tx)
    assert (ended.subject, ended.told_at, ended.ended_at) == ("source notified", NOW, NOW + HOUR)
    assert (begun.subject, begun.ended_at) == ("source living", None)


def test_unclear_ends_are_counted_for_each_outage_group_until_a_success(store: Database) -> None:
    with store.writing() as tx:
        assert incidents.unclear(tx, "smtp") == 0
        assert [incidents.add_unclear(tx, "smtp", n) for n in (1, 2)] == [1, 3]
        assert incidents.add_unclear(tx, "slack", 1) == 1
        incidents.reset_unclear(tx, "smtp")
        assert (incidents.unclear(tx, "smtp"), incidents.unclear(tx, "slack")) == (0, 1)
        incidents.reset_unclear(tx, "never used")


def test_unclear_ends_of_several_at_the_same_time_are_all_counted(store: Database) -> None:
    start = threading.Barrier(4)

    def work() -> None:
        start.wait(timeout=PATIENCE)
        for _ in range(5):
            with store.writing() as tx:
                incidents.add_unclear(tx, "smtp", 1)

    at_once(*[work] * 4)
    with store.reading() as tx:
        assert incidents.unclear(tx, "smtp") == 20


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
        incidents.open_incident(tx, "smtp", incidents.DOWN, NOW + HOUR, "refused")
        incidents.end_incident(tx, "smtp", incidents.DOWN, NOW + 2 * HOUR)
        incidents.open_incident(tx, "smtp", incidents.DOWN, NOW + 22 * HOUR, "refused")
        incidents.open_incident(tx, "smtp", "another kind", NOW, "of trouble")
        incidents.open_incident(tx, "slack", incidents.DOWN, NOW, "another line")
        assert incidents.time_down(tx, "smtp", since, until) == hours * HOUR
