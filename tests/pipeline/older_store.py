"""A store that version 0012 wrote, as the rows of its tables: older_store.json.

It has a digest that was sent by mail and as a page, one whose bodies were deleted since, and one
whose mail waits for its second attempt and whose page could not be rendered. The file was written
by that version and cannot be written again by a later one.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from monitor.resources import resource
from monitor.store.engine.database import Database
from tests.house import House

ROWS = Path(__file__).with_suffix(".json")
VERSION = "0012"
EMPTIED, SENT, OPEN = "2026-11-19", "2026-11-20", "2026-11-21"
# In the rows, the folder of the installation.
FOLDER = "{folder}"
TABLES = (
    *("paper", "paper_key", "title_key", "block", "sighting", "sighting_text", "change"),
    *("topic", "match", "subscription", "subscription_topic"),
    *("digest", "digest_item", "rendered", "delivery", "incident"),
)


def settings(house: House, port: int, store: str) -> None:
    """Configure what the store was written with."""
    house.settings["store"] = store
    house.by_mail(port)
    house.settings["subscriptions"]["lab"] |= {"channels": ["pages"], "max": 1}
    house.settings["topics"] = {"agents": {"query": "agent OR bandit OR sampler"}}


def restore(url: str, folder: Path) -> None:
    """Make a store of the old version at `url` for the installation in `folder`."""
    config = Config()
    config.set_main_option("script_location", str(resource("migrations")))
    store = Database(url)
    if store.path:
        store.path.touch()
    engine = sa.create_engine(store.url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, VERSION)
        tables = sa.MetaData()
        tables.reflect(connection, only=TABLES)
        for name, some in rows(folder).items():
            values = [_values(tables.tables[name], row) for row in some]
            if values:
                connection.execute(sa.insert(tables.tables[name]), values)
        if not store.path:  # PostgreSQL does not count ids that were given
            for name in ("digest", "delivery"):
                last = sa.func.max(tables.tables[name].c.id)
                sequence = sa.func.pg_get_serial_sequence(name, "id")
                connection.execute(sa.select(sa.func.setval(sequence, last)))
    engine.dispose()
    store.close()


def rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table as the old version wrote them."""
    written = ROWS.read_text(encoding="utf-8").replace(FOLDER, str(folder))
    found: dict[str, list[dict[str, Any]]] = json.loads(written)
    return found


def _values(table: sa.Table, row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value).replace(tzinfo=UTC)
        if value is not None and isinstance(table.c[name].type, sa.DateTime)
        else value
        for name, value in row.items()
    }
