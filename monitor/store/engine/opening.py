"""Opening a store: creating it, checking it, and bringing its tables up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from monitor.errors import NoStoreError, StoreError
from monitor.private_files import create_file, make_folder
from monitor.store.engine import schema
from monitor.store.engine.connect import SQLITE_HEADER, header_of, owners_folder, restoring, size_of
from monitor.store.engine.database import RESTORE, Database, schema_version

# Larger files are checked only at their start.
FULL_CHECK_MAX_BYTES = 32 * 1024 * 1024
CREATED_BY = "`paper-monitor run` creates it"
BEGIN_ANEW = (
    "restore a backup, or delete that folder to begin with an empty store, to which every paper "
    "is new"
)
RESTORE_AGAIN = "wait for it; where it was cut short, run `paper-monitor restore` again"

_SEARCH_INDEX = (
    "CREATE VIRTUAL TABLE paper_words USING fts5(words, content='', detail=none,"
    " columnsize=0, tokenize=\"ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'\")"
)
# Alembic's own table: later migrations start from the version in it.
_VERSION_TABLE = (
    "CREATE TABLE alembic_version (\n version_num VARCHAR(32) NOT NULL,"
    "\n CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)


def open_store(url: str, *, create: bool = True) -> Database:
    """Open a store, create it if there is none, and migrate its tables.

    Raises StoreError for a file that is damaged or not a store; it is never replaced. Without
    `create`, for commands that only read, raises NoStoreError if there is none.
    """
    database = Database(url)
    try:
        if database.path:
            _check_file(database, database.path, create)
        version = schema_version(database)
        if version is None and not create:
            raise NoStoreError(f"there is no store yet at {database}", CREATED_BY)
        if version is None and database.path:
            _create_tables(database)
        elif version != schema.VERSION:
            # Alembic takes long to import, and is rarely needed.
            from monitor.store.engine.migrate import upgrade

            upgrade(database)
    except BaseException:
        database.close()
        raise
    return database


def is_there(url: str) -> bool:
    """Return whether there is a store, or another file in its place. Raises StoreError."""
    with closing(Database(url)) as database:
        if database.path:
            return owners_folder(database.path).exists() or bool(size_of(database.path))
        return schema_version(database) is not None


def _check_file(database: Database, path: Path, create: bool) -> None:
    # Checked before the file: another process that creates the store creates the file first.
    in_use = owners_folder(path).exists()
    try:
        if restoring(path).exists():
            raise StoreError(f"a restore of {path} is not finished", RESTORE_AGAIN)
        start = header_of(path)
    except FileNotFoundError:
        _create(database, path, in_use, create)
        return
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault
    if start not in (b"", SQLITE_HEADER) or (not start and in_use):
        raise StoreError(f"{path} is not a store, or is damaged", RESTORE)
    if 0 < size_of(path) <= FULL_CHECK_MAX_BYTES:
        database.check()


def _create(database: Database, path: Path, in_use: bool, create: bool) -> None:
    """Create the empty file of a new store, but never replace one that was in use."""
    if in_use:
        was = f"its folder {owners_folder(path).name} shows that it was in use"
        raise StoreError(f"the store {path} is missing, and {was}", BEGIN_ANEW)
    if not create:
        raise NoStoreError(f"there is no store yet at {database}", CREATED_BY)
    try:
        make_folder(path.parent)
        with suppress(FileExistsError):  # another process creates the same one
            create_file(path).close()
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be created: {fault.strerror}") from fault


def _create_tables(database: Database) -> None:
    """Create the tables of a new SQLite store, as migrations do, unless another process just did.

    Alembic takes much longer to import than the tables take to create.
    """
    with database.writing() as tx:
        if sa.inspect(tx).has_table("alembic_version"):
            return
        for statement in _definitions():
            tx.exec_driver_sql(statement)
        tx.exec_driver_sql(_SEARCH_INDEX)
        tx.exec_driver_sql(_VERSION_TABLE)
        tx.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (schema.VERSION,))


@cache
def _definitions() -> Sequence[str]:
    """Return the statements that create the tables and indexes on SQLite."""
    made: list[sa.ExecutableDDLElement] = []
    engine = sa.create_mock_engine("sqlite://", lambda one, *_: made.append(one))
    schema.metadata.create_all(engine, checkfirst=False)
    return [str(one.compile(dialect=engine.dialect)) for one in made]


def queries_in_force(url: str, wait: float | None = None) -> Mapping[str, str]:
    """Return the queries of the topics that a store has in force, by name.

    Empty where there is no store, or it cannot be read (within `wait` seconds): it may be of an
    older version, and nothing is made or changed.
    """
    try:
        with closing(Database(url, wait)) as store, store.reading() as tx:
            rows = tx.execute(sa.select(schema.topic.c.name, schema.topic.c.query))
            return dict(map(tuple, rows))
    except StoreError:
        return {}
