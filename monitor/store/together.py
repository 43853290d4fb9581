"""Short writes that come at the same time share a transaction, and so a commit and its fsync.

Who comes first commits for all who have come; who comes meanwhile waits for the next. Nobody
waits for a timer, and whoever is alone commits alone, so that nothing is ever slower for it. A
write has returned only when it is committed, as one of `Database.writing` would have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from monitor.errors import StoreError
from monitor.store.database import Database, Transaction

T = TypeVar("T")

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
        self._waiting: list[_Write[object]] = []

    def write(self, step: Callable[[Transaction], T]) -> T:
        """Run a step in a transaction and return, or raise, what it does, once it is committed.

        Where the store refuses, all who share the transaction are told; where a step raises
        anything else, each is done again by itself, so that it fails for nobody but itself.
        """
        mine = _Write(step)
        with self._came:
            self._waiting.append(mine)  # type: ignore[arg-type]
            self._came.notify()
        with self._turn:
            if not mine.done:
                self._commit(self._taken(mine))  # type: ignore[arg-type]
        return mine.outcome()

    def _taken(self, mine: _Write[object]) -> list[_Write[object]]:
        with self._came:
            self._came.wait_for(lambda: len(self._waiting) >= self._expected, self._patience)
            taken, self._waiting = self._waiting, []
        return taken if mine in taken else [*taken, mine]

    def _commit(self, writes: Sequence[_Write[object]]) -> None:
        try:
            with self._database.writing() as tx:
                found = [write.step(tx) for write in writes]
        except Exception as fault:
            if len(writes) > 1 and not isinstance(fault, StoreError):
                for write in writes:
                    self._commit([write])
                return
            for write in writes:
                write.fail(fault)
        else:
            for write, result in zip(writes, found, strict=True):
                write.succeed(result)


class _Write(Generic[T]):
    def __init__(self, step: Callable[[Transaction], T]) -> None:
        self.step = step
        self.done = False
        self._result: list[T] = []
        self._fault: Exception | None = None

    def succeed(self, result: T) -> None:
        self._result.append(result)
        self.done = True

    def fail(self, fault: Exception) -> None:
        self._fault = fault
        self.done = True

    def outcome(self) -> T:
        if self._fault is not None:
            raise self._fault
        return self._result[0]
