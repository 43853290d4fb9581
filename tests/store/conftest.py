"""`store`: an empty, migrated store, once on SQLite and once on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.store.database import Database, open_store


@pytest.fixture
def store(url: str) -> Iterator[Database]:
    database = open_store(url)
    yield database
    database.close()


@pytest.fixture
def sqlite(sqlite_url: str) -> Iterator[Database]:
    database = open_store(sqlite_url)
    yield database
    database.close()
