"""Column types, and the expressions that SQLite and PostgreSQL spell differently."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# A PostgreSQL index entry holds 2,700 bytes; a character of UTF-8 takes at most four.
INDEXED_CHARACTERS = 500
T = TypeVar("T")
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


def among(column: sa.ColumnElement[Any], values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of some values, with one parameter for all."""
    return _OneOf(column, sa.literal(set(values), Values(column.type)))


def one_of(column: sa.ColumnElement[Any], parameter: str = "values") -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of the values of a parameter of the statement."""
    return _OneOf(column, sa.bindparam(parameter, type_=Values(column.type)))


def each(type_: sa.types.TypeEngine[Any]) -> sa.TableValuedAlias:
    """Return a table with the values of the parameter `values` in a column `value`."""
    values = sa.bindparam("values", type_=Values(type_))
    return _Each(values).table_valued(sa.column("value", type_))


class Values(sa.types.TypeDecorator[Iterable[Any]]):
    """Distinct values in one parameter, sorted so that an index is read in order."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, item: sa.types.TypeEngine[Any]) -> None:
        super().__init__()
        self.item = item

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[Any]:
        kind = sa.Text() if dialect.name == "sqlite" else sa.ARRAY(self.item)
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Iterable[Any] | None, dialect: Dialect) -> Any:
        distinct = sorted(set(value or ()))
        return to_json(distinct) if dialect.name == "sqlite" else distinct


def fetch(
    tx: sa.Connection, query: sa.Executable, kind: type[T], values: dict[str, Any] | None = None
) -> list[T]:
    """Return the rows of a query as structs or dataclasses, whose fields are named as columns.

    `values` are those of the query's parameters.
    """
    return [msgspec.convert(row, kind, from_attributes=True) for row in tx.execute(query, values)]


def fetch_one(tx: sa.Connection, query: sa.Executable, kind: type[T]) -> T | None:
    """Return the first row of a query as a struct, None if there is none."""
    return next(iter(fetch(tx, query, kind)), None)


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


def gather(column: sa.ColumnElement[Any]) -> sa.ColumnElement[list[Any] | None]:
    """Return all values of a column as one list; PostgreSQL has null for none."""
    return _Gather(column)


def earlier(
    moment: sa.ColumnElement[datetime], seconds: sa.ColumnElement[int]
) -> sa.ColumnElement[datetime]:
    """Return a time some seconds before another; SQLite cuts it to whole seconds."""
    return _Earlier(moment, seconds)


def text_of_id(number: sa.ColumnElement[int], parameter: str) -> sa.ColumnElement[str]:
    """Return the text of an id, from a parameter with the texts of ids as a JSON object."""
    return _TextOfId(sa.bindparam(parameter, type_=sa.Text), sa.cast(number, sa.Text))


class _OneOf(FunctionElement[bool]):
    # Without the type Boolean: SQLAlchemy would write `... = 1`, for which SQLite uses no index.
    inherit_cache = True


class _Each(FunctionElement[Any]):
    inherit_cache = True


class _Gather(FunctionElement[Any]):
    type = sa.JSON()
    inherit_cache = True


class _Earlier(FunctionElement[datetime]):
    type = Instant()
    inherit_cache = True


class _TextOfId(FunctionElement[str]):
    type = sa.Text()
    inherit_cache = True


def _spell(element: type[FunctionElement[Any]], sqlite: str, postgresql: str) -> None:
    """Say how SQLite and PostgreSQL spell an expression, with {0}, {1} for its arguments."""

    def render(spelling: str) -> Callable[..., str]:
        def with_arguments(element: Any, compiler: SQLCompiler, **options: Any) -> str:
            return spelling.format(
                *(compiler.process(argument, **options) for argument in element.clauses)
            )

        return with_arguments

    compiles(element, "sqlite")(render(sqlite))
    compiles(element, "postgresql")(render(postgresql))


_spell(_OneOf, "({0} IN (SELECT value FROM json_each({1})))", "({0} = ANY ({1}))")
_spell(_Each, "json_each({0})", "(SELECT unnest({0}) AS value)")
_spell(_Gather, "json_group_array({0})", "json_agg({0})")
_spell(
    _Earlier,
    "strftime('%Y-%m-%d %H:%M:%S', {0}, '-' || {1} || ' seconds')",
    "({0} - make_interval(secs => {1}))",
)
_spell(_TextOfId, """json_extract({0}, '$."' || {1} || '"')""", "(CAST({0} AS JSON) ->> {1})")
