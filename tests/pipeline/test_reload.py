"""A changed configuration: what is the same is not read, matched or written again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
import sqlalchemy as sa

from monitor.app import App
from monitor.model import Topic
from monitor.pipeline.ingest import ingest
from monitor.pipeline.match import match, sync_subscriptions
from monitor.pipeline.runtime import ActiveConfig
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.topics import matches
from monitor.text import plurals
from tests.house import AGENTS, BANDITS, FOLDING, House

TOPICS = {f"t{n}": {"query": f"agents OR w{n}", "threshold": 1} for n in range(200)}


def test_a_topic_that_newer_rules_read_more_widely_does_not_look_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.settings["topics"] = {"t": {"query": "behavior"}}
    old = ("On Behaviour", "It is studied.")
    new = ("More Behaviour", "It is studied again.")
    with monkeypatch.context() as before:
        before.setattr(plurals, "american", lambda word: word)
        plurals.form_of.cache_clear()
        house.add("1.txt", old)
        with house.opened() as app:
            app.once.ingest()
            assert match(app.runtime) == 0
    plurals.form_of.cache_clear()
    with house.opened() as app:
        assert match(app.runtime) == 0
        house.add("2.txt", new)
        app.once.ingest()
        assert match(app.runtime) == 1


def test_a_changed_topic_alone_meets_what_is_stored(house: House) -> None:
    house.add("1.txt", AGENTS, BANDITS, FOLDING)
    house.settings["topics"] = dict(TOPICS)
    active = ActiveConfig()
    with house.opened(active) as app:
        app.once.ingest()
        assert match(app.runtime) == len(TOPICS)
        before = _standing(app)
        index = active.index(app.runtime.topics)
        known = {name: index.query(name) for name in TOPICS}
    house.clock.move(minutes=5)
    house.settings["topics"]["t7"] = {"query": "bandits OR folding", "threshold": 1}
    with house.opened(active) as app:
        assert match(app.runtime) == 2
        after = _standing(app)
        index = active.index(app.runtime.topics)
        assert [name for name in TOPICS if index.query(name) is not known[name]] == ["t7"]
    assert {name for name, its in after.items() if its != before[name]} == {"t7"}


def _standing(app: App) -> dict[str, list[object]]:
    """Since when each topic is in force, and when each of its matches was written."""
    match = schema.match.c
    topic = schema.topic.c
    with app.runtime.database.reading() as tx:
        found = {name: [since] for name, since in tx.execute(
            sa.select(topic.name, topic.in_force_since)
        )}  # fmt: skip
        for name, at in tx.execute(sa.select(match.topic, match.matched_at)):
            found[name].append(at)
    return found


def test_topics_that_another_process_put_in_force_are_noticed(house: House) -> None:
    house.add("1.txt", AGENTS, BANDITS)
    active = ActiveConfig()
    with house.opened(active) as app:
        app.once.ingest()
        match(app.runtime)
        with app.runtime.database.writing() as tx:
            other = [Topic("agents", "bandits"), Topic("theirs", "folding")]
            matches.activate_topics(tx, *matches.difference(tx, other), house.clock.now())
        match(app.runtime)
        with app.runtime.database.reading() as tx:
            assert matches.difference(tx, app.runtime.topics) == ([], [])
            assert [len(matches.of_paper(tx, id)) for id in (1, 2)] == [1, 0]


def test_subscriptions_that_another_process_put_in_force_are_noticed(house: House) -> None:
    active = ActiveConfig()
    with house.opened(active) as app:
        sync_subscriptions(app.runtime)
        house.settings["subscriptions"]["lab"]["schedule"] = "monthly 1 08:00"
        house.settings["subscriptions"]["ada"] = {"topics": ["agents"], "channels": ["pages"]}
        with house.opened() as other:
            sync_subscriptions(other.runtime)
        sync_subscriptions(app.runtime)
        row = schema.subscription.c
        with app.runtime.database.reading() as tx:
            result = sa.select(row.name, row.schedule).where(row.removed_at.is_(None))
            assert tx.execute(result).all() == [("lab", "daily 08:00")]


@pytest.mark.parametrize("waits", [False, True])
def test_what_others_matched_while_a_new_topic_looked_back_meets_it(
    house: House, waits: bool
) -> None:
    """Their papers came in after it had looked, or waited then; they did not know the topic."""
    house.add("1.txt", AGENTS)
    house.run()
    house.settings["topics"]["safety"] = {"query": "safe AND exploration"}

    def another_process() -> None:
        house.add("2.txt", BANDITS)
        del house.settings["topics"]["safety"]
        house.ingest()

    with house.opened() as app:
        if waits:
            house.add("2.txt", BANDITS)
            ingest(app.runtime, "page")
        late = Late(app.runtime.database, another_process)
        match(replace(app.runtime, database=cast("Database", late)))
        with app.runtime.database.reading() as tx:
            assert [one.topic for one in matches.of_paper(tx, 2)] == ["safety"]


def test_what_waits_is_matched_with_a_new_topic_once(house: House) -> None:
    house.add("1.txt", AGENTS)
    house.run()
    house.settings["topics"]["safety"] = {"query": "safe AND exploration"}
    house.add("2.txt", BANDITS)
    with house.opened() as app:
        ingest(app.runtime, "page")
        assert match(app.runtime) == 1


class Late:
    """A store in which another process gets a word in before the topics are put in force."""

    def __init__(self, database: Database, other: Callable[[], None]) -> None:
        self.database = database
        self.others = iter((lambda: None, other))  # subscriptions are put in force first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def writing(self) -> Any:
        next(self.others, lambda: None)()
        return self.database.writing()
