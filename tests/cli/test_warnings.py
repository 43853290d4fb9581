"""`check` and `topics try` beside what is stored: words nobody writes, and stores of all states."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.store.engine.connect import BUSY_MS
from tests.cli.conftest import Say
from tests.house import AGENTS, BANDITS, FOLDING, House

KINDS = [(f"Agents of kind {n}", f"Kind {n} of an agent does its work.") for n in range(98)]
MORE_KINDS = [(f"Agents of sort {n}", f"Sort {n} of an agent works.") for n in range(4)]


def stocked(house: House, say: Say) -> None:
    queries = {
        "agents": "agent",
        "harm": "harm",
        "typo": '"kind agnets" OR bandit*',
        "fine": "kind chain -robot",
        "names": "kind author:nobody category:cs.RO",
    }
    house.settings["topics"] = {name: {"query": query} for name, query in queries.items()}
    assert say("check").err == ""  # there is no store yet
    assert not (house.folder / "data").exists()
    house.ingest(BANDITS, *KINDS)
    assert say("check").err == ""  # 99 papers say little
    house.ingest(FOLDING, *MORE_KINDS)


def test_check_warns_of_wide_topics_and_of_words_that_no_stored_paper_has(house: House, say: Say):
    stocked(house, say)
    result = say("check", "--json")
    assert (result.status, result.json["ok"], result.json["faults"]) == (0, True, [])
    wide, typo = result.json["warnings"]
    assert (wide["file"], wide["line"], wide["where"]) == ("monitor.yaml", 6, "topics.agents")
    assert wide["message"].startswith("matches 98% of the stored papers")
    assert (typo["line"], typo["where"]) == (10, "topics.typo")
    assert typo["message"] == "none of the newest 104 papers has “agnets”; check the spelling"
    for said in (result.err, say("check").err):
        assert "topics.agents" in said and "“agnets”" in said
    assert "none of the newest 104 papers has “agnets”" in say("topics", "try", "agnets").out


def test_a_locked_or_broken_store_neither_fails_nor_holds_up_check(
    house: House, say: Say, monkeypatch: pytest.MonkeyPatch
):
    stocked(house, say)
    store = house.folder / "data" / "monitor.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        waits: list[float] = []
        connect = sqlite3.connect

        def note_wait(*args: Any, **options: Any) -> sqlite3.Connection:
            waits.append(options["timeout"])
            return connect(*args, **options)

        monkeypatch.setattr(sqlite3, "connect", note_wait)
        result = say("check", "--json")
        assert (result.status, result.json["warnings"]) == (0, [])
        assert 0 < sum(waits) < BUSY_MS / 1000
    store.write_bytes(b"no store")
    assert say("check", "--json").status == 0
    assert store.read_bytes() == b"no store"


def test_topics_try_takes_the_name_of_a_topic_and_says_so(lived: House, say: Say):
    lived.settings["topics"]["bandit"] = {"query": "agent^2 OR trial", "threshold": 2}
    result = say("topics", "try", "bandit", "--json").json
    assert (result["papers"], result["sample"][0]["title"]) == (1, AGENTS[0])
    assert result["warnings"][0] == (
        "“bandit” is a topic name, so its query was tested: agent^2 OR trial "
        "(to test the words themselves, write '\"bandit\"')"
    )
    assert "is a topic name" in say("topics", "try", "bandit").out
    word = say("topics", "try", '"bandit"', "--json").json
    assert word["sample"][0]["title"] == BANDITS[0]
    assert not [one for one in word["warnings"] if "name of a topic" in one]


def test_a_locked_postgresql_store_holds_up_no_check(house: House, say: Say, postgres_url: str):
    house.settings["store"] = postgres_url
    stocked(house, say)
    assert say("check", "--json").json["warnings"]
    engine = sa.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as tx:
        tx.exec_driver_sql("LOCK TABLE paper, change IN ACCESS EXCLUSIVE MODE")
        result = say("check", "--json")
    engine.dispose()
    assert (result.status, result.json["warnings"]) == (0, [])


def test_a_sentence_as_a_topic_is_a_warning_with_the_query_that_is_meant(
    house: House, say: Say
) -> None:
    sentence = "language agents that play games together"
    meant = "language AND agents AND (play OR games)"
    house.settings["topics"] = {"games": {"query": sentence}}
    house.run(AGENTS)
    result = say("check", "--json")
    assert (result.status, result.json["ok"], result.json["faults"]) == (0, True, [])
    [warning] = result.json["warnings"]
    assert warning["where"] == "topics.games.query"
    assert warning["message"].endswith(
        f"to find what is meant, write {meant}, or give the sentence to like:"
    )
    tried = say("topics", "try", sentence, "--json").json
    assert any(meant in text for text in tried["warnings"])
    assert not any("must occur" in text for text in say("topics", "try", meant).err.splitlines())
