"""Writes that come at the same time share a commit, and none fails for another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.errors import StoreError
from monitor.store.engine import processes
from monitor.store.engine.database import Database, Step, Together, Transaction
from tests.patience import PATIENCE, at_once
from tests.store.scenes import reading

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def write_at_once(writes: Together, steps: Sequence[Step[str, Any]]) -> list[Any]:
    """Let threads write at the same time; return what each returned, or the error that it raised.

    The item of the first is "b0", and so on.
    """
    together = threading.Barrier(len(steps))
    found = [None] * len(steps)

    def run(number: int) -> None:
        together.wait(PATIENCE)
        try:
            found[number] = writes.write(steps[number], f"b{number}")
        except Exception as fault:
            found[number] = fault

    at_once(*(partial(run, number) for number in range(len(steps))))
    return found


def beat(tx: Transaction, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        processes.beat(tx, name, NOW)
    return names


@pytest.fixture
def commits(store: Database) -> list[object]:
    counted: list[object] = []
    sa.event.listen(store._writer, "commit", counted.append)
    return counted


def test_writes_share_a_commit_and_each_gets_its_own_answer(
    store: Database, commits: list[object]
) -> None:
    steps: list[Sequence[str]] = []

    def loud(tx: Transaction, names: Sequence[str]) -> Sequence[str]:
        steps.append(names)
        return [name.upper() for name in beat(tx, names)]

    writes = Together(store, expected=3, patience=30)
    assert write_at_once(writes, [loud, beat, loud]) == ["B0", "b1", "B2"]
    assert [sorted(names) for names in steps] == [["b0", "b2"]]  # one step for all of a kind
    assert len(commits) == 1
    assert all(reading(store, processes.last_beat, name) == NOW for name in ("b0", "b1", "b2"))


def test_who_is_alone_is_kept_waiting_by_nobody(store: Database, commits: list[object]) -> None:
    writes = Together(store)
    assert [writes.write(beat, name) for name in ("one", "two")] == ["one", "two"]
    assert len(commits) == 2


def test_a_step_that_fails_fails_alone(store: Database) -> None:
    def broken(tx: Transaction, names: Sequence[str]) -> Sequence[str]:
        processes.beat(tx, "undone", NOW)
        raise ValueError("a fault of this step")

    writes = Together(store, expected=3, patience=30)
    first, fault, last = write_at_once(writes, [beat, broken, beat])
    assert (first, last) == ("b0", "b2")
    assert isinstance(fault, ValueError)
    with store.reading() as tx:
        assert processes.last_beat(tx, "undone") is None
        assert processes.last_beat(tx, "b0") == processes.last_beat(tx, "b2") == NOW


def test_where_the_store_refuses_all_are_notified(store: Database) -> None:
    def full(tx: Transaction, names: Sequence[str]) -> Sequence[str]:
        raise StoreError("the disk is full")

    writes = Together(store, expected=3, patience=30)
    found = write_at_once(writes, [beat, full, beat])
    assert all(isinstance(fault, StoreError) for fault in found)
    assert reading(store, processes.last_beat, "b0") is None
    assert write_at_once(writes, [beat] * 3) == ["b0", "b1", "b2"], "and it works on"
