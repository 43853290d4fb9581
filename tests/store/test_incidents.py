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


def test_a_short_incident_takes_one_notice(store: Database) -> None:
    with store.writing() as tx:
        incidents.open_incident(tx, "source feed", "failing", NOW, "x")
        incidents.end_incident(tx, "source feed", "failing", NOW + HOUR)
        [both] = incidents.unnotified(tx)
        incidents.mark_notified(tx, [both], NOW + DAY)
        assert incidents.unnotified(tx) == []


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
