"""Short writes that come at the same time share a transaction, and so a commit and its fsync.

Who comes first commits for all who have come; who comes meanwhile waits for the next. Whoever is
the only one expected commits at once; where more are, they are waited for as long as a commit takes
on a disk. A write has returned only when it is committed, as one of `Database.writing` would have.
Writes of one kind are done in one step, which may be one statement for all of them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from monitor.errors import StoreError
from monitor.store.database import Database, Transaction

Item = TypeVar("Item")
Result = TypeVar("Result")
# Does what it is for to some items, and returns the result of each in their order.
Step = Callable[[Transaction, Sequence[Item]], Sequence[Result]]

# Seconds. On the disk of a server a commit takes as long.
PATIENCE = 0.003


class Together:
    """The writes of many threads to one store."""

    def __init__(self, database: Database, expected: int = 1, patience: float = PATIENCE) -> None:
        """`expected` writes are waited for, but for no longer than `patience` seconds."""
        self._database = database
        self._expected = expected
        self._patience = patience
        self._turn = threading.Lock()
        self._came = threading.Condition()
        self._waiting: list[_Write[Any, Any]] = []

    def write(self, step: Step[Item, Result], item: Item) -> Result:
        """Take a step with an item in a transaction; return its result, once it is committed.

        Where the store refuses, all who share the transaction are told; where a step raises
        anything else, each write is done again by itself, so that it fails for nobody else.
        """
        mine = _Write(step, item)
        with self._came:
            self._waiting.append(mine)
            self._came.notify()
        with self._turn:
            if not mine.done:
                self._commit(self._taken(mine))
        return mine.outcome()

    def _taken(self, mine: _Write[Any, Any]) -> list[_Write[Any, Any]]:
        with self._came:
            self._came.wait_for(lambda: len(self._waiting) >= self._expected, self._patience)
            taken, self._waiting = self._waiting, []
        return taken if mine in taken else [*taken, mine]

    def _commit(self, writes: Sequence[_Write[Any, Any]]) -> None:
        kinds: dict[Step[Any, Any], list[_Write[Any, Any]]] = defaultdict(list)
        for write in writes:
            kinds[write.step].append(write)
        try:
            with self._database.writing() as tx:
                found = [step(tx, [one.item for one in some]) for step, some in kinds.items()]
        except Exception as fault:
            if len(writes) > 1 and not isinstance(fault, StoreError):
                for write in writes:
                    self._commit([write])
                return
            for write in writes:
                write.fail(fault)
        else:
            for some, results in zip(kinds.values(), found, strict=True):
                for write, result in zip(some, results, strict=True):
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
