"""A topic that older rules took, and today's refuse: it is parked, and everything else runs."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from monitor import config
from monitor.app import load_settings
from monitor.commands.ratings import RaterScope, rate
from monitor.errors import ConfigError
from monitor.service.scheduler import Service
from monitor.store.engine import schema
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.patience import PATIENCE

OLD = "agent ANDNOT robot"


@pytest.fixture
def upgraded(house: House, url: str) -> House:
    """An installation in whose store `old` is in force, as older rules left it."""
    house.settings["store"] = url
    house.settings["topics"] = {"old": {"query": "agents"}, "new": {"query": "bandit"}}
    house.add("1.txt", AGENTS)
    house.ingest()
    activate_topics(house, OLD)
    house.settings["topics"]["old"]["query"] = OLD
    return house


def activate_topics(house: House, query: str) -> None:
    """Write a query as a version would have done that accepted it."""
    engine = sa.create_engine(config.store_url(house.write()))
    with engine.begin() as tx:
        tx.execute(sa.update(schema.topic).where(schema.topic.c.name == "old").values(query=query))
    engine.dispose()


def active(house: House) -> dict[str, str]:
    with house.opened() as app, app.runtime.database.reading() as tx:
        return dict(tx.execute(sa.select(schema.topic.c.name, schema.topic.c.query)).all())


def test_it_is_parked_and_the_others_run(upgraded: House) -> None:
    upgraded.add("2.txt", BANDITS)
    assert upgraded.next_morning() == {"lab": 2}, "what it had matched before is not lost"
    assert "The topic “old” is parked" in upgraded.digest().notes[0]
    [problem] = [one for one in upgraded.problems() if one.startswith("topic old is parked")]
    assert "ANDNOT is not" in problem
    assert active(upgraded) == {"old": OLD, "new": "bandit"}


def test_answers_to_its_papers_still_order_what_is_left_of_it(upgraded: House) -> None:
    with upgraded.opened() as app:
        rate(app.runtime, AGENTS[0], "up", RaterScope("lab", "old"))
    assert upgraded.next_morning() == {"lab": 1}
    assert upgraded.digest().notes[1] == "Ordered by 1 paper you marked."


def test_commands_start_and_check_reports_the_fault(upgraded: House) -> None:
    upgraded.add("2.txt", FOLDING)
    ran = upgraded.command("run", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["runs"][0]["outcome"] == "ok"
    assert "topic parked" in ran.err
    asked = upgraded.command("status", "--json")
    assert [one for one in asked.json["problems"] if "topic old is parked" in one]
    upgraded.settings["channels"]["faulty"] = {"kind": "fax"}
    asked = upgraded.command("status", "--json")
    assert [one for one in asked.json["problems"] if "topic old is parked" in one]
    del upgraded.settings["channels"]["faulty"]
    checked = upgraded.command("check", "--json")
    assert checked.status == 2
    [fault] = checked.json["faults"]
    assert fault["where"] == "topics.old.query"
    assert fault["message"].startswith("ANDNOT is not an operator here")
    assert "write AND, OR or NOT" in fault["message"]
    assert fault["message"].endswith("until its query is corrected.")


def test_a_wrong_topic_that_is_new_or_changed_is_refused_as_ever(upgraded: House) -> None:
    upgraded.settings["topics"]["other"] = {"query": OLD}
    with pytest.raises(ConfigError) as refused:
        load_settings(upgraded.write())
    assert [fault.where for fault in refused.value.faults] == ["topics.other.query"]
    assert upgraded.command("run").status == 2
    del upgraded.settings["topics"]["other"]
    upgraded.settings["topics"]["old"]["query"] = f"{OLD} ANDNOT policy"
    with pytest.raises(ConfigError):
        load_settings(upgraded.write())


def test_other_faults_of_a_topic_in_force_are_faults(upgraded: House) -> None:
    upgraded.settings["topics"]["old"]["since"] = "sometime"
    with pytest.raises(ConfigError) as refused:
        load_settings(upgraded.write())
    assert {fault.where for fault in refused.value.faults} == {
        "topics.old.query",
        "topics.old.since",
    }


def test_a_topic_of_lists_is_parked_too(upgraded: House) -> None:
    activate_topics(upgraded, '(wom?n OR "a b")')
    upgraded.settings["topics"]["old"] = {"any": ["wom?n", "a b"]}
    assert set(load_settings(upgraded.write()).parked) == {"old"}


def test_it_stays_parked_when_something_else_of_it_changes(upgraded: House) -> None:
    """Were it put in force anew, what it had matched would be matched again, with nothing."""
    upgraded.settings["synonyms"] = {"agent": "actor"}
    assert upgraded.next_morning() == {"lab": 1}


def test_once_it_is_corrected_it_finds_papers_again(upgraded: House) -> None:
    upgraded.ingest()
    upgraded.settings["topics"]["old"]["query"] = "agent NOT robot"
    assert upgraded.next_morning() == {"lab": 1}
    assert upgraded.problems() == ()


def test_the_service_starts_and_a_reload_keeps_it_parked(upgraded: House) -> None:
    service = Service(upgraded.write(), upgraded.clock)
    running = threading.Thread(target=service.run, daemon=True)
    running.start()
    assert service.serving.wait(PATIENCE)
    service.stop()
    running.join(PATIENCE)
    assert not running.is_alive()
    assert set(load_settings(upgraded.config).parked) == {"old"}


def test_without_its_store_it_is_a_fault_and_no_store_is_made(house: House) -> None:
    house.settings["topics"] = {"old": {"query": OLD}}
    with pytest.raises(ConfigError):
        load_settings(house.write())
    assert not (house.folder / "data").exists()
