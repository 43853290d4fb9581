"""Bringing the tables of a store up to date: all of the way, or not at all."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from monitor.errors import MonitorError, StoreError
from monitor.resources import resource
from monitor.store import database as store


def upgrade(database: store.Database, folder: Path | None = None) -> None:
    """Run the migrations that a store lacks, in one transaction, as the only process to do so.

    `folder` holds the migrations; the default is the one of this installation. A SQLite store
    with something in it is first copied to `<file>.before-<version>`. Raises StoreError when
    the store is newer than this installation, or a migration fails; it is then as it was.
    """
    config = Config()
    location = str(folder or resource("migrations"))
    config.set_main_option("script_location", location.replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    found = store.version(database)
    if found and found not in {revision.revision for revision in script.walk_revisions()}:
        hint = "install the newer paper-monitor, or restore a backup from before"
        raise StoreError(f"the store was written by a newer version (schema {found})", hint)
    if found and found != script.get_current_head() and database.path:
        database.backup(database.path.with_name(f"{database.path.name}.before-{found}"))
    _run(database, config)


def _run(database: store.Database, config: Config) -> None:
    # SQLite rebuilds a table to alter it, which foreign keys would take for a deletion.
    engine = store.engine(database.url, writer=True, foreign_keys=False)
    try:
        with engine.begin() as connection:
            store.lock(connection, store.MIGRATE_LOCK)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _hold_together(connection)
    except MonitorError:
        raise
    except Exception as fault:
        raise StoreError(f"the store could not be brought up to date: {fault}") from fault
    finally:
        engine.dispose()


def _hold_together(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken:
            raise StoreError(f"a migration left a row of {broken[0]} without its {broken[2]}")
