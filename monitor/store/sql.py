"""Column types, and the expressions that SQLite and PostgreSQL spell differently."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Dialect

# A PostgreSQL index entry holds 2,700 bytes; a character of UTF-8 takes at most four.
INDEXED_CHARACTERS = 500
Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Instant(sa.types.TypeDecorator[datetime]):
    """A time: with its zone in Python, in UTC in the table."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return require_zone(value).astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def require_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return moment


def index_value(value: str) -> str:
    """Return a value that an index can hold: a very long one ends in its hash."""
    if len(value) <= INDEXED_CHARACTERS:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{value[: INDEXED_CHARACTERS - len(digest) - 1]}~{digest}"


def among(
    tx: sa.Connection, column: sa.ColumnElement[Any], values: Iterable[Any]
) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of some values, with one parameter for all.

    The values are sorted so that an index is read in order.
    """
    distinct = sorted(set(values))
    if tx.dialect.name == "sqlite":
        each = sa.func.json_each(json.dumps(distinct)).table_valued("value")
        return column.in_(sa.select(each.c.value))
    return column == sa.any_(sa.literal(distinct, sa.ARRAY(column.type)))


def one_of(dialect: str, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of the values of `values_parameter`."""
    if dialect == "sqlite":
        return column.in_(sa.select(each(dialect, column.type).c.value))
    return column == sa.any_(sa.bindparam("values", type_=sa.ARRAY(column.type)))


def each(dialect: str, type_: Any) -> Any:
    """Return a table with the values of `values_parameter` in a column `value`.

    It has one parameter for any number of values, so that a query is built only once.
    """
    if dialect == "sqlite":
        return sa.func.json_each(sa.bindparam("values")).table_valued(sa.column("value", type_))
    array = sa.bindparam("values", type_=sa.ARRAY(type_))
    return sa.func.unnest(array).table_valued(sa.column("value", type_)).render_derived()


def each_pair(dialect: str, key: Any, value: Any) -> Any:
    """Return a table with the pairs of `pairs_parameter` in columns `key` and `value`."""
    columns = sa.column("key", key), sa.column("value", value)
    if dialect == "sqlite":
        return sa.func.json_each(sa.bindparam("values")).table_valued(*columns)
    arrays = (
        sa.bindparam("values", type_=sa.ARRAY(key)),
        sa.bindparam("items", type_=sa.ARRAY(value)),
    )
    return sa.func.unnest(*arrays).table_valued(*columns).render_derived()


def values_parameter(dialect: str, values: Iterable[Any]) -> dict[str, Any]:
    """Return the parameter of a query with `each` or `one_of`, sorted as an index is."""
    distinct = sorted(set(values))
    return {"values": to_json(distinct) if dialect == "sqlite" else distinct}


def pairs_parameter(dialect: str, pairs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parameters of a query with `each_pair`, sorted by key as an index is."""
    ordered = {key: pairs[key] for key in sorted(pairs)}
    if dialect == "sqlite":
        return {"values": to_json(ordered)}
    return {"values": list(ordered), "items": list(ordered.values())}


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON column, with `json` for what only it reads (NaN, surrogates)."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def to_json(value: Any) -> str:
    """Return a value as JSON, with `json` for what only it writes (surrogates)."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def earlier(
    dialect: str, moment: sa.ColumnElement[datetime], seconds: sa.ColumnElement[int]
) -> sa.ColumnElement[datetime]:
    """Return a time some seconds before another; SQLite cuts it to whole seconds."""
    if dialect == "sqlite":
        back = sa.literal("-").concat(sa.cast(seconds, sa.Text)).concat(" seconds")
        return sa.func.strftime("%Y-%m-%d %H:%M:%S", moment, back, type_=Instant())
    return moment - sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def text_of_id(dialect: str, number: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    """Return the text of an id, from the `texts_parameter` of the query."""
    texts, key = sa.bindparam("texts", type_=sa.Text), sa.cast(number, sa.Text)
    if dialect == "sqlite":
        return sa.func.json_extract(texts, sa.literal('$."') + key + '"', type_=sa.Text)
    return sa.func.json_extract_path_text(sa.cast(texts, sa.JSON), key, type_=sa.Text)


def texts_parameter(texts: Mapping[int, str]) -> dict[str, str]:
    """Return the parameter of a query with `text_of_id`."""
    return {"texts": json.dumps(texts)}
