"""A tick looks only at the subscriptions of which a digest may be due."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given, settings

from monitor.config import SubscriptionSettings
from monitor.digest.schedule import latest_due, parse_schedule
from monitor.pipeline.compose import compose, find_chunks, find_next_due
from monitor.pipeline.match import match
from monitor.pipeline.runtime import Subscription
from monitor.store.engine.database import Database
from monitor.store.topics import subscriptions
from monitor.store.topics.subscriptions import SubscriptionState
from tests.digest.test_schedule import instants, schedules, zones
from tests.house import AGENTS, BANDITS, SATURDAY, House

MOMENT = timedelta(microseconds=1)


def looked_at(store: Database, now: datetime) -> set[str]:
    with store.reading() as tx:
        return set(subscriptions.states(tx, due=now))


@settings(max_examples=100, deadline=None)
@given(schedules, zones, instants)
def test_nothing_is_due_before_the_next_time_and_something_is_then(
    text: str, zone: str, first_seen: datetime
) -> None:
    schedule = parse_schedule(text)
    settings = SubscriptionSettings.model_construct(name="ada", schedule=text, timezone=zone)
    one = Subscription(settings, (), (), schedule)
    state = SubscriptionState("ada", first_seen, first_seen, None, None)
    [(_, _, _, at)] = find_next_due(one, state, first_seen)
    after = first_seen - MOMENT
    assert latest_due(schedule, zone, after, at - MOMENT) is None
    assert latest_due(schedule, zone, after, at) is not None


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
        database, clock = app.runtime.database, house.clock
        match(app.runtime)
        compose(app.runtime)
        assert looked_at(database, clock.now()) == {"paused"}
        assert find_chunks(app.runtime, 1) == [0, 2]
        clock.at = datetime(2026, 11, 21, 8, tzinfo=SATURDAY.tzinfo)
        assert looked_at(database, clock.now()) == {"lab", "paused"}
        clock.at = datetime(2026, 11, 21, 20, tzinfo=SATURDAY.tzinfo)
        assert looked_at(database, clock.now()) == {"lab", "late", "paused"}
        assert len(compose(app.runtime)) == 2
        compose(app.runtime)
        assert looked_at(database, clock.now()) == {"paused"}
