"""A tick looks only at the subscriptions of which a digest may be due."""

from __future__ import annotations

from datetime import datetime

from monitor.pipeline.compose import compose, due_chunks
from monitor.pipeline.match import match
from monitor.store.engine.database import Database
from monitor.store.topics import subscriptions
from tests.house import AGENTS, BANDITS, SATURDAY, House
from tests.store.scenes import reading


def looked_at(store: Database, now: datetime) -> set[str]:
    return set(reading(store, subscriptions.states, due=now))


def test_a_tick_looks_at_nothing_until_a_slot_comes_and_then_only_at_its_subscription(
    house: House,
) -> None:
    """A paused one is looked at each time: the store does not know of pauses."""
    house.settings["timezone"] = "UTC"
    lab = house.settings["subscriptions"]["lab"]
    house.settings["subscriptions"] |= {
        "late": lab | {"schedule": "daily 20:00"},
        "paused": lab | {"pause_until": "2027-01-01"},
    }
    house.add("a.txt", AGENTS, BANDITS)
    house.run()
    with house.opened() as app:
        database = app.runtime.database
        clock = house.clock
        match(app.runtime)
        compose(app.runtime)
        assert looked_at(database, clock.now()) == {"paused"}
        assert due_chunks(app.runtime, 1) == [0, 2]
        clock.at = datetime(2026, 11, 21, 8, tzinfo=SATURDAY.tzinfo)
        assert looked_at(database, clock.now()) == {"lab", "paused"}
        clock.at = datetime(2026, 11, 21, 20, tzinfo=SATURDAY.tzinfo)
        assert looked_at(database, clock.now()) == {"lab", "late", "paused"}
        assert len(compose(app.runtime)) == 2
        compose(app.runtime)
        assert looked_at(database, clock.now()) == {"paused"}
