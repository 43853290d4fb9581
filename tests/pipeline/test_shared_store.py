"""Two configurations on one store: `status` names both, and neither undoes the other's work."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from monitor.commands.heartbeat import SERVICE, sign_of_life
from monitor.model.topics import WANTED, Judgement
from monitor.pipeline import shared_store
from monitor.pipeline.shared_store import find_rivals
from monitor.store.engine import schema
from monitor.store.engine.processes import Activation, Origin
from monitor.store.topics import judgements
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.servers.embeddings import embedding_server

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WARNING = "store used by two configurations"


@pytest.fixture
def houses(tmp_path: Path, url: str) -> tuple[House, House]:
    """Return two installations with a topic and a subscription of their own, and one store."""
    made = []
    for name, query in (("ada", "agents"), ("bob", "folding")):
        (tmp_path / name).mkdir()
        house = House(tmp_path / name)
        house.settings["store"] = url
        house.settings["topics"] = {f"of-{name}": {"query": query}}
        house.settings["subscriptions"] = {
            name: {"topics": ["*"], "channels": ["pages"], "schedule": "monthly 1 08:00"}
        }
        made.append(house)
    return made[0], made[1]


def problems(house: House) -> list[str]:
    return [one for one in house.problems() if "configurations" in one]


def set_back(house: House, **by: float) -> None:
    """Let time pass: move the records of all activations into the past."""
    with house.opened() as app, app.runtime.database.writing() as tx:
        row = schema.activation.c
        for id, at in tx.execute(sa.select(row.id, row.at)).all():
            earlier = sa.update(schema.activation).where(row.id == id)
            tx.execute(earlier.values(at=at - timedelta(**by)))


def test_configurations_that_take_turns_are_a_problem_until_one_stops(
    houses: tuple[House, House],
) -> None:
    ada, bob = houses
    with capture_logs() as log:
        ada.run()
        bob.run()
        assert problems(ada) == problems(bob) == []
        for house in (ada, bob, ada, bob, ada):
            house.run()
            (problem,) = problems(house)
    assert problem.startswith("store has been used by two configurations since ")
    process = f"({socket.gethostname()}, process {os.getpid()})"
    assert f"{ada.config} {process} and {bob.config} {process}" in problem
    assert [one["log_level"] for one in log if one["event"] == WARNING] == ["warning"]

    set_back(ada, minutes=11)
    ada.run()
    assert problems(ada) == []
    with ada.opened() as app, app.runtime.database.reading() as tx:
        assert set(tx.scalars(sa.select(schema.topic.c.name))) == {"of-ada"}
    ada.run()  # what was kept for bob is removed now
    row = schema.subscription.c
    with ada.opened() as app, app.runtime.database.reading() as tx:
        gone = tx.scalars(sa.select(row.name).where(row.removed_at.is_not(None)))
        assert set(gone) == {"bob"}


def test_configurations_that_put_the_same_in_force_are_no_problem(
    houses: tuple[House, House],
) -> None:
    ada, bob = houses
    bob.settings = {**ada.settings, "channels": {"pages": ada.settings["channels"]["pages"]}}
    bob.settings["channels"]["pages"]["path"] = str(ada.folder / "pages")
    ada.settings["channels"]["pages"]["path"] = str(ada.folder / "pages")
    for house in (ada, bob, ada, bob, ada):
        house.run()
    assert problems(ada) == []


def test_matches_that_wait_are_neither_lost_nor_repeated_in_turns(
    houses: tuple[House, House],
) -> None:
    """Each turn removes the other's topic. By itself it would look back for a week only."""
    ada, bob = houses
    for house in (ada, bob, ada):
        house.run()
    ada.add("1.txt", AGENTS, FOLDING, BANDITS)
    ada.run()
    sent: dict[str, list[int]] = {"ada": [], "bob": []}
    for _ in range(24):  # until the first and second of the month after next
        for house in (bob, ada):
            house.clock.move(days=0.5)
            house.clock.at = max(one.clock.at for one in houses)
            for name, papers in house.run().items():
                sent[name].append(papers)
    assert sent == {"ada": [1], "bob": [1]}


def rate(house: House) -> None:
    """Rate a paper in the name of the only subscription."""
    (name,) = house.settings["subscriptions"]
    (topic,) = house.settings["topics"]
    with house.opened() as app, app.runtime.database.writing() as tx:
        judgements.judge(tx, [Judgement(name, topic, 1, "operator", WANTED, NOW, "test")])


def ratings(house: House) -> int:
    return len(house.read(judgements.listing))


def test_ratings_of_the_other_configuration_stay(houses: tuple[House, House]) -> None:
    ada, bob = houses
    ada.add("1.txt", AGENTS)
    for house in (ada, bob, ada):
        house.run()
    rate(ada)
    for house in (bob, ada):
        house.run()
    assert ratings(ada) == 1


def test_a_model_is_sent_the_texts_of_both_once(houses: tuple[House, House]) -> None:
    with embedding_server() as server:
        for house, text in zip(houses, ("agents in a browser", "folding of proteins"), strict=True):
            house.settings["topics"] = {f"of-{text[:6]}": {"like": text}}
            house.settings["embeddings"] = {
                "url": server.url,
                "model": "tiny",
                "allow_private": True,
            }
        for house in houses * 4:
            house.run()
        assert problems(houses[0]) and len(server.texts) > 1
        before = len(server.texts)
        for house in houses * 2:
            house.run()
        assert len(server.texts) == before


def test_a_single_run_beside_a_service_removes_nothing_of_it(houses: tuple[House, House]) -> None:
    ada, bob = houses
    ada.add("1.txt", AGENTS)
    ada.run()
    with ada.opened() as app:
        with app.runtime.database.writing() as tx:
            shared_store.begin_use(tx, app.runtime)
        sign_of_life(app.runtime.database, SERVICE)
    rate(ada)
    assert bob.command("run").status == 0
    assert ratings(ada) == 1


# ── who takes turns ─────────────────────────────────────────────────────────────────


def history(*turns: tuple[float, str, str]) -> Sequence[Activation]:
    """Return activations, the newest first, from (minutes ago, hash, "host file")."""
    return [
        Activation(
            NOW - timedelta(minutes=ago), name, Origin(where.split()[1], where.split()[0], 1)
        )
        for ago, name, where in sorted(turns)
    ]


A = "h1 /a.yaml"
B = "h1 /b.yaml"
SAME = "h2 /a.yaml"
DAY = 24 * 60


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([(2, "a", A), (1, "b", B)], False),
        ([(2, "a", A), (1, "b", B), (0, "a", A)], True),
        # An edit and its undo, also where two processes take up the file one after the other.
        ([(2, "a", A), (1, "b", A), (0, "a", A)], False),
        ([(3, "a", A), (2, "b", B), (1, "a", B), (0, "b", A)], False),
        # A fleet with one configuration, and a process with another one.
        ([(3, "a", A), (2, "b", B), (1, "a", SAME), (1.5, "a", A), (0, "b", B)], True),
        # Back to an earlier file after a day; a cron line that comes each night.
        ([(2 * DAY, "a", A), (DAY, "b", B), (0, "a", A)], False),
        ([(2 * DAY, "a", A), (DAY, "b", B), (DAY - 1, "a", A), (0, "b", B)], True),
        # A rolling upgrade of one file on two machines, and two versions of it that stay.
        ([(2, "a", A), (1, "b", SAME), (0, "a", A)], False),
        ([(n, "ab"[n % 2], (A, SAME)[n % 2]) for n in range(8)], True),
        # It stopped.
        ([(13, "a", A), (12, "b", B), (11, "a", A)], False),
        ([(90, "a", A), (60, "b", B), (30, "a", A)], True),
    ],
)
def test_who_takes_turns(turns: Sequence[tuple[float, str, str]], found: bool) -> None:
    assert bool(find_rivals(history(*turns), NOW)) is found
