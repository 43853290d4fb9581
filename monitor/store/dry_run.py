"""A store that forgets: what is written in it can be read in it, and is undone at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor.store.database import Database, Transaction


class Rehearsal(Database):
    """A store within one transaction of another; each of its own is a savepoint."""

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
    """Give a store that holds what `database` does, and leaves no trace of what is done in it."""
    with database.writing() as transaction, transaction.begin_nested() as everything:
        yield Rehearsal(database, transaction)
        everything.rollback()
