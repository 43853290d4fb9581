"""`store`: an empty, migrated store, once on SQLite and once on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from tests.servers import postgres


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


@pytest.fixture(params=["sqlite", "postgresql"])
def blank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that does not exist yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'monitor.db'}"
        return
    server = request.getfixturevalue("postgres_server")
    postgres.execute(server, "CREATE DATABASE blank")
    yield f"{server}/blank"
    postgres.execute(server, "DROP DATABASE blank WITH (FORCE)")
