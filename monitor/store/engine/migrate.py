"""Migrating the tables of a store, completely or not at all."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from monitor.errors import MonitorError, StoreError
from monitor.resources import resource
from monitor.store.engine import database as store
from monitor.store.engine.connect import engine


def upgrade(database: store.Database, folder: Path | None = None) -> None:
    """Run the missing migrations in one transaction, as the only process.

    `folder` holds the migrations, by default those of this installation. A SQLite store with
    content is first copied to `<file>.before-<version>`. Raises StoreError if the store is newer
    than this installation or a migration fails; the store is then unchanged.
    """
    config = Config()
    location = str(folder or resource("migrations"))
    config.set_main_option("script_location", location.replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    version = store.schema_version(database)
    if version and version not in {revision.revision for revision in script.walk_revisions()}:
        hint = "install the newer paper-monitor, or restore a backup from before"
        raise StoreError(f"the store was written by a newer version (schema {version})", hint)
    if version and version != script.get_current_head() and database.path:
        copy = database.path.with_name(f"{database.path.name}.before-{version}")
        database.backup(copy, with_tokens=True)
    _run(database, config)


def _run(database: store.Database, config: Config) -> None:
    # SQLite rebuilds a table to alter it, and foreign keys would treat that as a deletion.
    writer = engine(database.url, writer=True, foreign_keys=False)
    try:
        with writer.begin() as connection:
            store.lock(connection, store.MIGRATE_LOCK)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _hold_together(connection)
    except MonitorError:
        raise
    except Exception as fault:
        is_stores = isinstance(fault, sa.exc.DBAPIError)
        why = database.explain(fault) if is_stores else StoreError(str(fault))
        failed = f"the store could not be brought up to date: {why.message}"
        raise StoreError(failed, why.hint) from fault
    finally:
        writer.dispose()


def _hold_together(connection: sa.Connection) -> None:
    """Raise StoreError if a migration left a row whose foreign key names no row."""
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken:
            raise StoreError(f"a migration left a row of {broken[0]} without its {broken[2]}")
