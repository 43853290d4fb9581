"""Upkeep in a large store goes on beside everything else."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

from monitor.pipeline import cleanup
from monitor.store.engine.database import Database, Transaction


def test_a_writer_that_waits_comes_between_the_steps_of_upkeep(store: Database) -> None:
    """However many steps there are: a lock that is free for an instant is missed for minutes."""
    asked, came = threading.Event(), threading.Event()

    def write() -> None:
        asked.set()
        with store.writing():
            came.set()

    other = threading.Thread(target=write)
    steps = 0

    def step(_: Transaction) -> int:
        nonlocal steps
        if not steps:
            other.start()
            asked.wait()
        steps += 1
        return 0 if came.is_set() or steps == 200 else 1

    context = SimpleNamespace(database=store, stopping=threading.Event())
    cleanup._all(cast("Any", context), "papers", step)
    other.join()
    assert steps < 200
