"""Which subscriptions a tick looks at, as the store knows it."""

from __future__ import annotations

from datetime import datetime, timedelta

from monitor.store.engine.database import Database
from monitor.store.topics import subscriptions
from tests.store.scenes import NOW, arrive, match, subscribe, watch

MOMENT = timedelta(microseconds=1)


def looked_at(store: Database, now: datetime) -> set[str]:
    with store.reading() as tx:
        return set(subscriptions.states(tx, due=now))


def set_next_due(store: Database, at: datetime, schedule: str = "daily 08:00") -> None:
    with store.writing() as tx:
        for state in subscriptions.states(tx).values():
            subscriptions.set_next_due(tx, [(state, schedule, "UTC", at)])


def test_all_are_looked_at_again_after_any_of_them_changed(store: Database) -> None:
    subscribe(store, "ada", "lab")
    set_next_due(store, NOW + MOMENT)
    subscribe(store, "ada", "lab")
    assert looked_at(store, NOW) == set()
    subscribe(store, "ada", "lab", "eve")
    assert looked_at(store, NOW) == {"ada", "lab", "eve"}


def test_what_changed_meanwhile_is_not_put_off(store: Database) -> None:
    """Another process worked with the schedule of before, or before new matches."""
    subscribe(store, "ada")
    set_next_due(store, NOW + MOMENT, schedule="daily 09:00")
    assert looked_at(store, NOW) == {"ada"}
    with store.reading() as tx:
        before = subscriptions.states(tx)["ada"]
    set_next_due(store, NOW)
    with store.writing() as tx:
        subscriptions.set_next_due(tx, [(before, "daily 08:00", "UTC", NOW + MOMENT)])
    assert looked_at(store, NOW) == {"ada"}


def test_a_match_wakes_who_gets_it_immediately_and_nobody_else(store: Database) -> None:
    watch(store, "t", "other")
    rows = [
        ("ada", "Immediately", "UTC", ("t",)),
        ("lab", "daily 08:00", "UTC", ("t",)),
        ("eve", "immediately", "UTC", ("other",)),
    ]
    with store.writing() as tx:
        subscriptions.sync_subscriptions(tx, rows, NOW)
        states = subscriptions.states(tx)
        later = [(states[name], schedule, zone, NOW + MOMENT) for name, schedule, zone, _ in rows]
        subscriptions.set_next_due(tx, later)
    assert looked_at(store, NOW) == set()
    match(store, *arrive(store, "1"))
    assert looked_at(store, NOW) == {"ada"}
