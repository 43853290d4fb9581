"""A store for dry runs: what is written can be read, and is rolled back at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor.store.engine.database import Database, Transaction


class Rehearsal(Database):
    """A store within one transaction of another; its transactions are savepoints."""

    def __init__(self, whole: Database, transaction: Transaction) -> None:
        self.url = whole.url
        self.dialect = whole.dialect
        self.path = whole.path
        self._transaction = transaction

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._transaction.begin_nested():
            yield self._transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        yield self._transaction


@contextmanager
def rehearsing(database: Database) -> Iterator[Database]:
    """Open a store with the contents of `database`. Whatever is written is rolled back."""
    with database.writing() as transaction, transaction.begin_nested() as everything:
        yield Rehearsal(database, transaction)
        everything.rollback()
