"""Inserting many rows, as fast as SQLite and PostgreSQL take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from monitor.store.sql import Instant, require_zone


def insert_new(tx: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert rows except those whose key exists; return how many were inserted."""
    if not rows:
        return 0
    insert = _insert_new(tx.dialect.name, table)
    return tx.execute(insert, rows, execution_options={"preserve_rowcount": True}).rowcount


# For each digest: built once, since SQLAlchemy takes longer to build it than it takes.
@cache
def _insert_new(dialect: str, table: sa.Table) -> Any:
    return _insert(dialect, table).on_conflict_do_nothing()


def bind_value(tx: sa.Connection, column: sa.ColumnElement[Any], value: Any) -> Any:
    """Return a value as the driver takes it for a column."""
    process = column.type.dialect_impl(tx.dialect).bind_processor(tx.dialect)
    return process(value) if process else value


def insert_plain(
    tx: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> int:
    """Insert rows as the driver takes them, except those whose key exists; return how many.

    Values other than numbers and texts must come from `bind_value`. PostgreSQL gets one statement
    with one parameter for each column: a day with many topics has a million rows.
    """
    if not rows:
        return 0
    quote = tx.dialect.identifier_preparer.quote
    into = f"INSERT INTO {quote(table.name)} ({', '.join(map(quote, names))})"
    if tx.dialect.name == "sqlite":
        values = f"VALUES ({', '.join('?' for _ in names)})"
        done = tx.exec_driver_sql(f"{into} {values} ON CONFLICT DO NOTHING", list(rows))
        return done.rowcount
    arrays = (f"%s::{table.c[name].type.compile(tx.dialect)}[]" for name in names)
    select = f"SELECT * FROM unnest({', '.join(arrays)})"
    return tx.exec_driver_sql(
        f"{into} {select} ON CONFLICT DO NOTHING", tuple(map(list, zip(*rows, strict=True)))
    ).rowcount


def insert_or_update(
    tx: sa.Connection,
    table: sa.Table,
    rows: Sequence[dict[str, Any]],
    update: Sequence[str],
    *,
    only_changed: bool = False,
    **computed: sa.ColumnElement[Any],
) -> None:
    """Insert rows; where the primary key exists, set the columns named in `update`.

    `computed` are further columns to set, from the existing row and `excluded`. With
    `only_changed` a row that has all values of `update` already is not written again.
    """
    if not rows:
        return
    key = [column.name for column in table.primary_key]
    insert, parameters = _insert_with_rows(
        tx, table, {tuple(row[one] for one in key): row for row in rows}
    )
    set_ = {name: insert.excluded[name] for name in update} | computed
    differences = [table.c[name].is_distinct_from(insert.excluded[name]) for name in update]
    where = sa.or_(*differences) if only_changed else None
    upsert = insert.on_conflict_do_update(index_elements=key, set_=set_, where=where)
    _execute(tx, table, upsert, parameters)


def insert_all(tx: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows with the same columns. Raises IntegrityError if a key exists."""
    if rows:
        _execute(tx, table, *_insert_with_rows(tx, table, dict(enumerate(rows))))


def _execute(
    tx: sa.Connection, table: sa.Table, insert: Any, rows: Sequence[dict[str, Any]]
) -> None:
    """Insert rows; SQLite gets many column by column, as the driver takes them.

    SQLAlchemy takes as long to convert each value by itself as SQLite to insert it. Only it knows
    the values that a table has by default.
    """
    if tx.dialect.name != "sqlite" or len(rows) == 1 or any(c.default for c in table.columns):
        tx.execute(insert, rows)
        return
    compiled = insert.compile(dialect=tx.dialect, column_keys=list(rows[0]))
    constants = {name: v for name, v in compiled.params.items() if name not in rows[0]}
    columns = [
        _bind_column(
            tx,
            compiled.binds[name].type,
            [constants[name] if name in constants else row[name] for row in rows],
        )
        for name in compiled.positiontup
    ]
    tx.exec_driver_sql(str(compiled), list(zip(*columns, strict=True)))


def _bind_column(tx: sa.Connection, type_: Any, values: list[Any]) -> list[Any]:
    process = type_.dialect_impl(tx.dialect).bind_processor(tx.dialect)
    if not process:
        return values
    if isinstance(type_, Instant):  # rows written together share their times
        moments = {moment: process(moment) for moment in set(values)}
        return [moments[moment] for moment in values]
    return list(map(process, values))


def _insert_with_rows(
    tx: sa.Connection, table: sa.Table, rows: Mapping[Any, dict[str, Any]]
) -> tuple[Any, Any]:
    """Return an insert of rows and its parameters.

    PostgreSQL gets all rows in one JSON text, which takes half as long as row by row.
    """
    insert, several = _insert(tx.dialect.name, table), list(rows.values())
    if tx.dialect.name == "sqlite" or len(several) == 1:
        return insert, several
    names = tuple(several[0])
    _require_zones(table, several)
    return insert.from_select(names, _rows_of_json(table, names)), {
        "rows": msgspec.json.encode(several).decode()
    }


def _require_zones(table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError for a time without a zone: the server would assume its own."""
    for name in rows[0]:
        if isinstance(table.c[name].type, Instant):
            for row in rows:
                if row[name]:
                    require_zone(row[name])


@cache
def _rows_of_json(table: sa.Table, names: tuple[str, ...]) -> sa.Select[Any]:
    """Return the rows of a table from a JSON parameter `rows`."""
    rows = sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON)
    as_table: sa.ColumnElement[Any] = sa.literal_column(f'null::"{table.name}"')
    columns = sa.func.json_populate_recordset(as_table, rows).table_valued(*names)
    return sa.select(*columns.c)


def _insert(dialect: str, table: sa.Table) -> Any:
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # with several drivers: it takes long to import

    return postgresql.insert(table)
