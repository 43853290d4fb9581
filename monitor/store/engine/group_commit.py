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
from typing import Any, Generic, TypeVar

from monitor.errors import StoreError
from monitor.store.engine.database import Database, Transaction

Item = TypeVar("Item")
Result = TypeVar("Result")
# Writes some items, and returns the result of each in order.
Step = Callable[[Transaction, Sequence[Item]], Sequence[Result]]

# About the time of a commit on the disk of a server.
PATIENCE_SECONDS = 0.003


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
        self._waiting: list[_Write[Any, Any]] = []

    def write(self, step: Step[Item, Result], item: Item) -> Result:
        """Write an item in a transaction; return the result once it is committed.

        If the store fails, all writes of the transaction raise its error. If a step raises
        anything else, each write runs again by itself, so that only the faulty one fails.
        """
        mine = _Write(step, item)
        with self._came:
            self._waiting.append(mine)
            self._came.notify()
        with self._turn:
            if not mine.done:
                self._commit(self._take(mine))
        return mine.outcome()

    def _take(self, mine: _Write[Any, Any]) -> list[_Write[Any, Any]]:
        with self._came:
            self._came.wait_for(lambda: len(self._waiting) >= self._expected, self._patience)
            writes, self._waiting = self._waiting, []
        return writes if mine in writes else [*writes, mine]

    def _commit(self, writes: Sequence[_Write[Any, Any]]) -> None:
        kinds: dict[Step[Any, Any], list[_Write[Any, Any]]] = defaultdict(list)
        for write in writes:
            kinds[write.step].append(write)
        try:
            with self._database.writing() as tx:
                results_by_kind = [
                    step(tx, [write.item for write in writes_of_kind])
                    for step, writes_of_kind in kinds.items()
                ]
        except Exception as fault:
            if len(writes) > 1 and not isinstance(fault, StoreError):
                for write in writes:
                    self._commit([write])
                return
            for write in writes:
                write.fail(fault)
        else:
            for writes_of_kind, results in zip(kinds.values(), results_by_kind, strict=True):
                for write, result in zip(writes_of_kind, results, strict=True):
                    write.succeed(result)


class _Write(Generic[Item, Result]):
    def __init__(self, step: Step[Item, Result], item: Item) -> None:
        self.step = step
        self.item = item
        self.done = False
        self._result: list[Result] = []
        self._fault: Exception | None = None

    def succeed(self, result: Result) -> None:
        self._result.append(result)
        self.done = True

    def fail(self, fault: Exception) -> None:
        self._fault = fault
        self.done = True

    def outcome(self) -> Result:
        if self._fault is not None:
            raise self._fault
        return self._result[0]
