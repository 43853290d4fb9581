from __future__ import annotations

import threading

import pytest

from monitor.store import incidents, outage_groups
from monitor.store.database import Database
from tests.patience import PATIENCE
from tests.store.scenes import DAY, HOUR, NOW


def test_unclear_ends_are_counted_for_each_line_until_a_success(store: Database) -> None:
    with store.writing() as tx:
        assert outage_groups.unclear(tx, "smtp") == 0
        assert [outage_groups.add_unclear(tx, "smtp", n) for n in (1, 2)] == [1, 3]
        assert outage_groups.add_unclear(tx, "slack", 1) == 1
        outage_groups.reset_unclear(tx, "smtp")
        assert (outage_groups.unclear(tx, "smtp"), outage_groups.unclear(tx, "slack")) == (0, 1)
        outage_groups.reset_unclear(tx, "never used")


def test_unclear_ends_of_several_at_the_same_time_are_all_counted(store: Database) -> None:
    start = threading.Barrier(4)

    def work() -> None:
        start.wait(timeout=PATIENCE)
        for _ in range(5):
            with store.writing() as tx:
                outage_groups.add_unclear(tx, "smtp", 1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=PATIENCE)
    with store.reading() as tx:
        assert outage_groups.unclear(tx, "smtp") == 20


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
def test_the_time_that_a_line_was_down_is_that_of_its_outages(
    store: Database, since, until, hours: float
) -> None:
    """One from 1:00 to 2:00, and one that began at 22:00 and has not ended."""
    with store.writing() as tx:
        incidents.open_incident(tx, "smtp", incidents.DOWN, NOW + HOUR, "refused")
        incidents.end_incident(tx, "smtp", incidents.DOWN, NOW + 2 * HOUR)
        incidents.open_incident(tx, "smtp", incidents.DOWN, NOW + 22 * HOUR, "refused")
        incidents.open_incident(tx, "smtp", "another kind", NOW, "of trouble")
        incidents.open_incident(tx, "slack", incidents.DOWN, NOW, "another line")
        assert outage_groups.time_down(tx, "smtp", since, until) == hours * HOUR
