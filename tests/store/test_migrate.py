from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from monitor.errors import StoreError
from monitor.resources import resource
from monitor.store import database, papers, schema
from monitor.store.database import Database, open_store
from monitor.store.migrate import upgrade
from tests.patience import PATIENCE
from tests.servers import postgres
from tests.store.scenes import arrive

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.create_table("half", sa.Column("id", sa.Integer, primary_key=True))
    with op.batch_alter_table("paper") as batch:
        batch.add_column(sa.Column("extra", sa.Text))
        batch.alter_column("venue", new_column_name="place")
    {last}


def downgrade() -> None: ...
"""


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


def folder_with_next(tmp_path: Path, last: str) -> Path:
    folder = tmp_path / "100% migrations"
    shutil.copytree(resource("migrations"), folder)
    text = NEXT.format(head=schema.VERSION, last=last)
    (folder / "versions" / "9999_next.py").write_text(text)
    return folder


def tables(store: Database) -> set[str]:
    with store.reading() as tx:
        return set(sa.inspect(tx).get_table_names())


def columns(store: Database) -> set[str]:
    with store.reading() as tx:
        return {column["name"] for column in sa.inspect(tx).get_columns("paper")}


def test_the_version_named_in_the_schema_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(resource("migrations")))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.VERSION]


def not_the_search_index(name: str | None, kind: str, parents: object) -> bool:
    """Each database has a search index of its own kind, made by a migration alone."""
    return not (kind == "table" and str(name).startswith("paper_words"))


def made_here(dialect: str, _: object, name: str | None, *rest: object) -> bool:
    """One index is for SQLite alone, which Alembic does not see."""
    return dialect == "sqlite" or name != "ix_sighting_mark"


def test_the_migrations_make_what_the_schema_says(blank: str) -> None:
    store = open_store(blank)
    with store.reading() as tx:
        opts: dict[str, Any] = {
            "compare_server_default": True,
            "include_name": not_the_search_index,
        }
        opts["include_object"] = partial(made_here, tx.dialect.name)
        context = MigrationContext.configure(tx, opts=opts)
        assert compare_metadata(context, schema.metadata) == []
    store.close()


def test_the_migrations_make_sqlite_tables_to_the_letter(sqlite: Database, tmp_path: Path) -> None:
    """Alembic does not compare everything: partial indexes, rowids, deletions that cascade."""
    made = Database(f"sqlite:///{tmp_path / 'made.db'}")
    with made.writing() as tx:
        schema.metadata.create_all(tx)

    def definitions(store: Database) -> dict[str, tuple[list[str], str]]:
        """The parts of each definition, whatever their order: a column may have come later."""
        with store.reading() as tx:
            rows = tx.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            parted = {name: sql.rpartition(")") for name, sql in rows}
        return {
            name: (sorted(filter(None, map(str.strip, re.split("[,\n]", body)))), tail.strip())
            for name, (body, _, tail) in parted.items()
        }

    migrated = definitions(sqlite)
    del migrated["alembic_version"]
    index = [name for name in migrated if name.startswith("paper_words")]
    assert len(index) == 4
    for name in index:
        del migrated[name]
    assert migrated == definitions(made)
    made.close()


def test_processes_that_start_together_make_one_store(blank: str) -> None:
    script = "import sys; from monitor.store.database import open_store; open_store(sys.argv[1])"
    started = [subprocess.Popen([sys.executable, "-c", script, blank]) for _ in range(3)]
    assert [process.wait(timeout=PATIENCE) for process in started] == [0, 0, 0]
    store = open_store(blank)
    assert database.version(store) == schema.VERSION
    store.close()


def test_an_upgrade_keeps_the_rows_and_backs_up_first(sqlite: Database, tmp_path: Path) -> None:
    arrive(sqlite, "1", "2")
    upgrade(sqlite, folder_with_next(tmp_path, "pass"))
    assert "half" in tables(sqlite)
    assert {"extra", "place"} <= columns(sqlite)
    with sqlite.reading() as tx:
        keys = tx.exec_driver_sql("SELECT count(*) FROM paper_key").scalar()
        assert (papers.count(tx), keys) == (2, 2)
    backup = Database(f"sqlite:///{sqlite.path}.before-{schema.VERSION}")
    assert "half" not in tables(backup)
    with backup.reading() as tx:
        assert papers.count(tx) == 2
    backup.close()


@pytest.mark.parametrize("last", ["raise RuntimeError('half way')", "op.execute('SELECT nothing')"])
def test_K08_a_migration_that_fails_leaves_the_old_schema_whole(
    store: Database, tmp_path: Path, last: str
) -> None:
    arrive(store, "1")
    before = tables(store), columns(store)
    with pytest.raises(StoreError, match="could not be brought up to date"):
        upgrade(store, folder_with_next(tmp_path, last))
    assert (tables(store), columns(store)) == before
    assert database.version(store) == schema.VERSION
    arrive(store, "2")


def test_K08_a_process_killed_half_way_leaves_the_old_schema_whole(
    url: str, store: Database, tmp_path: Path
) -> None:
    arrive(store, "1")
    before = tables(store), columns(store)
    folder = folder_with_next(tmp_path, "import os; os.kill(os.getpid(), 9)")
    script = (
        "import sys; from pathlib import Path; from monitor.store.migrate import upgrade;"
        "from monitor.store.database import Database;"
        "upgrade(Database(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", script, url, str(folder)], timeout=PATIENCE)
    assert done.returncode == -9
    assert (tables(store), columns(store)) == before
    arrive(store, "2")
    upgrade(store, folder_with_next(tmp_path / "again", "pass"))
    assert "half" in tables(store)


def test_a_migration_that_loses_rows_others_refer_to_is_undone(
    sqlite: Database, tmp_path: Path
) -> None:
    arrive(sqlite, "1")
    with pytest.raises(StoreError, match="left a row of"):
        upgrade(sqlite, folder_with_next(tmp_path, "op.execute('DELETE FROM paper')"))
    with sqlite.reading() as tx:
        assert papers.count(tx) == 1


def test_a_store_of_a_newer_version_is_refused(url: str, store: Database) -> None:
    with store.writing() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="written by a newer version"):
        open_store(url)
