"""A store that version 0012 wrote, as the rows of its tables: older_store.json.

It has a digest that was sent by mail and as a page, one whose bodies were deleted since, and one
whose mail waits for its second attempt and whose page could not be rendered. The file was written
by that version and cannot be written again by a later one.

older_store_0046.json, without what is null, is of a store that the version before `like:` topics
wrote: papers of two sources, a library, four topics, digests that were sent by mail and as pages,
ratings, a retraction, a reader who left. Its papers were not made searchable yet.
"""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import UTC, date, datetime
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
ROWS_BEFORE_LIKE = ROWS.with_stem("older_store_0046")
EMPTIED = "2026-11-19"
SENT = "2026-11-20"
OPEN = "2026-11-21"
# In the rows, the folder of the installation.
FOLDER = "{folder}"


def settings(house: House, port: int, store: str) -> None:
    """Configure what the store was written with."""
    house.settings["store"] = store
    house.by_mail(port)
    house.settings["subscriptions"]["lab"] |= {"channels": ["pages"], "max": 1}
    house.settings["topics"] = {"agents": {"query": "agent OR bandit OR sampler"}}


def settings_before_like(house: House, store: str) -> None:
    """Configure what the store of version 0046 was written with."""
    house.settings["store"] = store
    house.by_mail(2525, "ada@example.org", "grace@example.org")
    journal = {"kind": "jsonl", "path": "journal*.jsonl", "first_run": "deliver"}
    house.settings["sources"]["journal"] = journal
    house.settings["sources"]["refs"] = {"kind": "jsonl", "path": "refs.jsonl", "role": "library"}
    house.settings["synonyms"] = {"RL": "reinforcement learning"}
    house.settings["topics"] = {
        "agents": {"query": "language AND agent", "title": "Language agents"},
        "bandits": {
            "any": ["bandit", "regret bound"],
            "none": ["robot"],
            "news": ["new", "withdrawn"],
        },
        "learning": {"query": "RL^2 OR kite", "threshold": 2, "since": "14d", "max": 5},
        "noether": {"authors": ["E. Noether"]},
    }
    lab = {"libraries": "refs", "title": "The lab", "channels": ["pages"]}
    house.settings["subscriptions"]["lab"] |= lab
    house.settings["subscriptions"]["weekly"] = {
        "topics": ["bandits", "learning"],
        "email": ["emmy@example.org"],
        "schedule": "mon 08:00",
        "timezone": "Europe/Berlin",
    }
    house.settings["operator"] = {"email": ["ops@example.org"]}


def restore(url: str, folder: Path, version: str = VERSION, file: Path = ROWS) -> None:
    """Make a store of the old version at `url` for the installation in `folder`."""
    config = Config()
    config.set_main_option("script_location", str(resource("migrations")))
    store = Database(url)
    if store.path:
        store.path.parent.mkdir(exist_ok=True)
        store.path.touch()
    engine = sa.create_engine(store.url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
        written = rows(folder, file)
        tables = sa.MetaData()
        tables.reflect(connection, only=[*written])
        for table in tables.sorted_tables:
            for row in written.get(table.name, ()):
                connection.execute(sa.insert(table).values(_values(table, row)))
        if not store.path:  # PostgreSQL does not count ids that were given
            for name in ("digest", "delivery"):
                last = sa.func.max(tables.tables[name].c.id)
                sequence = sa.func.pg_get_serial_sequence(name, "id")
                connection.execute(sa.select(sa.func.setval(sequence, last)))
    engine.dispose()
    store.close()


def rows(folder: Path, file: Path = ROWS) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table as the old version wrote them."""
    written = file.read_text(encoding="utf-8").replace(FOLDER, str(folder))
    found: dict[str, list[dict[str, Any]]] = json.loads(written)
    return found


def _values(table: sa.Table, row: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(table.c[name].type, value) for name, value in row.items()}


def _value(kind: sa.types.TypeEngine[Any], value: Any) -> Any:
    match kind:
        case sa.DateTime() if value is not None:
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        case sa.Date():
            return date.fromisoformat(value)
        case sa.LargeBinary():
            return b64decode(value)
    return value
