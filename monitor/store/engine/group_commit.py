"""Group commit: short writes at the same time share a transaction, and so one fsync.

The first thread commits for all that are waiting; those that come meanwhile wait for the next
commit. If more writes are expected, it waits for them as long as a commit takes on a disk. A write
returns only when it is committed, as with `Database.writing`. Writes of one kind run as one step,
which may be one statement for all of them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from monitor.errors import StoreError
from monitor.store.engine.database import Database, Transaction

Item = TypeVar("Item")
Result = TypeVar("Result")
# Writes some items, and returns the result of each in order.
Step = Callable[[Transaction, Sequence[Item]], Sequence[Result]]

# About the time of a commit on the disk of a server.
PATIENCE_SECONDS = 0.003


class _Write(NamedTuple):
    step: Step[Any, Any]
    item: Any
    done: Future[Any]


class Together:
    """The writes of many threads to one store."""

    def __init__(
        self, database: Database, expected: int = 1, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Wait for `expected` writes, but no longer than `patience` seconds."""
        self._database = database
        self._expected = expected
        self._patience = patience
        self._turn = threading.Lock()
        self._came = threading.Condition()
        self._waiting: list[_Write] = []

    def write(self, step: Step[Item, Result], item: Item) -> Result:
        """Write an item in a transaction; return the result once it is committed.

        If the store fails, all writes of the transaction raise its error. If a step raises
        anything else, each write is tried alone, so that only the faulty one fails.
        """
        done: Future[Result] = Future()
        mine = _Write(step, item, done)
        with self._came:
            self._waiting.append(mine)
            self._came.notify()
        with self._turn:
            if not done.done():
                self._commit(self._take(mine))
        return done.result()

    def _take(self, mine: _Write) -> list[_Write]:
        with self._came:
            self._came.wait_for(lambda: len(self._waiting) >= self._expected, self._patience)
            writes, self._waiting = self._waiting, []
        return writes if mine in writes else [*writes, mine]

    def _commit(self, writes: Sequence[_Write]) -> None:
        kinds: dict[Step[Any, Any], list[_Write]] = defaultdict(list)
        for write in writes:
            kinds[write.step].append(write)
        try:
            with self._database.writing() as tx:
                results = [
                    step(tx, [write.item for write in of_kind]) for step, of_kind in kinds.items()
                ]
        except Exception as fault:
            if len(writes) > 1 and not isinstance(fault, StoreError):
                for write in writes:
                    self._commit([write])
                return
            for write in writes:
                write.done.set_exception(fault)
        else:
            for of_kind, results_of_kind in zip(kinds.values(), results, strict=True):
                for write, result in zip(of_kind, results_of_kind, strict=True):
                    write.done.set_result(result)
