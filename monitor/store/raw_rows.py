"""Reading many rows as the driver returns them, without SQLAlchemy's conversions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from monitor.store.sql import pairs_parameter, read_json, values_parameter


def gather_ids(dialect: str, column: sa.ColumnElement[int]) -> sa.ColumnElement[Any]:
    """Return all ids of a column as one value, for `parse_ids`."""
    return (sa.func.group_concat if dialect == "sqlite" else sa.func.array_agg)(column)


def parse_ids(value: str | list[int]) -> list[int]:
    """Return the ids of `gather_ids` in a raw row."""
    return _IDS.decode(f"[{value}]") if isinstance(value, str) else value


_IDS = msgspec.json.Decoder(list[int])


def fetch(
    tx: sa.Connection,
    query: sa.Select[Any] | sa.CompoundSelect[Any],
    parameters: Mapping[str, Any] | None = None,
) -> list[tuple[Any, ...]]:
    """Return rows as the driver returns them, for queries with many thousands of rows.

    On SQLite, times and JSON are then text, for `parse_moment` and `parse_list`.
    """
    with tx.execute(query, parameters) as result:
        return list(result.cursor.fetchall()) if result.cursor else []


def fetch_for(
    tx: sa.Connection,
    build: Callable[[str], sa.Select[Any] | sa.CompoundSelect[Any]],
    values: Iterable[Any],
    **parameters: Any,
) -> list[tuple[Any, ...]]:
    """Return the raw rows of a query with `each`, `each_pair` or `one_of` for some values.

    The query is built once for each dialect. SQLite gets its text directly: SQLAlchemy takes as
    long to prepare a query as SQLite to look up some dozens of values.
    """
    dialect = tx.dialect.name
    if isinstance(values, Mapping):
        parameters = pairs_parameter(dialect, values) | parameters
    else:
        parameters = values_parameter(dialect, values) | parameters
    if dialect != "sqlite":
        return fetch(tx, build(dialect), parameters)
    text, constants = _compile(build)
    cursor = tx.connection.cursor()
    cursor.execute(text, constants | parameters)
    return list(cursor.fetchall())


@cache
def _compile(
    build: Callable[[str], sa.Select[Any] | sa.CompoundSelect[Any]],
) -> tuple[str, dict[str, Any]]:
    """Return the text of a query for SQLite, and its constant parameters."""
    query = build("sqlite").compile(dialect=sqlite.dialect(paramstyle="named"))
    return str(query), dict(query.params)


def parse_moment(value: datetime | str) -> datetime:
    """Return a time of a raw row."""
    return _parse_moment(value) if isinstance(value, str) else value.astimezone(UTC)


@lru_cache(maxsize=1024)  # the papers of a chunk share their times
def _parse_moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def parse_list(value: str | list[str]) -> tuple[str, ...]:
    """Return a JSON list of a raw row."""
    if value == "[]":
        return ()
    return tuple(read_json(value) if isinstance(value, str) else value)
