"""Inserting many rows, as fast as SQLite and PostgreSQL take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

Row = dict[str, Any]
_COUNTED = {"preserve_rowcount": True}

# From so many rows on, a statement for the driver itself is worth its compilation. SQLAlchemy takes
# twice as long to convert the values of a row as SQLite to insert it.
MANY = 100


def insert_new(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> int:
    """Insert rows except those whose key exists; return how many were inserted."""
    return _execute(tx, _insert_new(tx.dialect.name, table), rows)


@cache  # every digest runs some, and SQLAlchemy takes longer to build than to run them
def _insert_new(dialect: str, table: sa.Table) -> Any:
    return _insert_into(dialect, table).on_conflict_do_nothing()


def insert_all(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows. Raises IntegrityError if a key exists."""
    _execute(tx, _insert_into(tx.dialect.name, table), rows)


def insert_or_update(
    tx: sa.Connection,
    table: sa.Table,
    rows: Iterable[Row],
    update: Sequence[str] | None = None,
    *,
    only_changed: bool = False,
    **computed: sa.ColumnElement[Any],
) -> None:
    """Insert rows; where the primary key exists, set the columns named in `update`, or all others.

    `computed` are further columns to set, from the existing row and `excluded`. With
    `only_changed` a row that has all these values already is not written again.
    """
    key = [column.name for column in table.primary_key]
    last = {tuple(row[name] for name in key): row for row in rows}
    if not last:
        return
    if update is None:
        update = [name for name in next(iter(last.values())) if name not in key]
    insert = _insert_into(tx.dialect.name, table)
    set_ = {name: insert.excluded[name] for name in update} | computed
    differences = [table.c[name].is_distinct_from(insert.excluded[name]) for name in update]
    where = sa.or_(*differences) if only_changed else None
    upsert = insert.on_conflict_do_update(index_elements=key, set_=set_, where=where)
    _execute(tx, upsert, list(last.values()))


def _insert_into(dialect: str, table: sa.Table) -> Any:
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # with several drivers: it takes long to import

    return postgresql.insert(table)


def _execute(tx: sa.Connection, insert: Any, rows: Sequence[Row]) -> int:
    """Insert rows with the same columns; return how many were written."""
    if not rows:
        return 0
    names = list(rows[0])
    if tx.dialect.name == "postgresql" and len(rows) > 1:
        columns = {name: [row[name] for row in rows] for name in names}
        statement = insert.from_select(names, _rows_of_arrays(insert.table, names))
        return tx.execute(statement, columns, execution_options=_COUNTED).rowcount
    if len(rows) < MANY:
        return tx.execute(insert, rows, execution_options=_COUNTED).rowcount
    compiled = insert.compile(dialect=tx.dialect, column_keys=names)
    values = [_bind(tx, compiled, name, rows) for name in compiled.positiontup]
    return tx.exec_driver_sql(str(compiled), list(zip(*values, strict=True))).rowcount


def _rows_of_arrays(table: sa.Table, names: Sequence[str]) -> sa.Select[Any]:
    """Select rows from parameters that are columns: as many parameters for any number of rows."""
    columns = [sa.column(name, table.c[name].type) for name in names]
    arrays = [
        sa.bindparam(column.name, type_=sa.ARRAY(column.type, dimensions=1)) for column in columns
    ]
    return sa.select(*sa.func.unnest(*arrays).table_valued(*columns).render_derived().c)


def _bind(tx: sa.Connection, compiled: Any, name: str, rows: Sequence[Row]) -> list[Any]:
    """Return the values of a parameter in all rows, as the driver takes them."""
    type_ = compiled.binds[name].type
    process = type_.dialect_impl(tx.dialect).bind_processor(tx.dialect) or (lambda value: value)
    if name not in rows[0]:  # a constant of the statement
        return [process(compiled.params[name])] * len(rows)
    return [process(row[name]) for row in rows]
