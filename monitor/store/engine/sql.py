"""Column types, expressions and inserts that SQLite and PostgreSQL spell differently."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# A PostgreSQL index entry holds 2,700 bytes; a character of UTF-8 takes at most four.
INDEXED_CHARACTERS = 500
MAX_TIMES = 256
T = TypeVar("T")
Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Instant(sa.types.TypeDecorator[datetime]):
    """A time: with its zone in Python, in UTC in the table.

    Most rows of a chunk or a result have the same times: each is converted once.
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Any:
        process = super().bind_processor(dialect)
        return process and lru_cache(MAX_TIMES)(process)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        process = super().result_processor(dialect, coltype)
        return process and lru_cache(MAX_TIMES)(process)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def index_value(value: str) -> str:
    """Return a value that an index can hold: a very long one ends in its hash."""
    if len(value) <= INDEXED_CHARACTERS:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{value[: INDEXED_CHARACTERS - len(digest) - 1]}~{digest}"


def among(column: sa.ColumnElement[Any], values: Iterable[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of some values, with one parameter for all."""
    return _OneOf(column, sa.literal(set(values), Values(column.type)))


def one_of(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column is in the parameter `values` of the statement."""
    return _OneOf(column, sa.bindparam("values", type_=Values(column.type)))


def each(type_: sa.types.TypeEngine[Any], values: Iterable[Any]) -> sa.TableValuedAlias:
    """Return a table with some values in a column `value`."""
    parameter = sa.literal(set(values), Values(type_))
    return _Each(parameter).table_valued(sa.column("value", type_))


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
    """Return the rows of a query as structs or dataclasses, whose fields are named as columns."""
    rows = tx.execute(query, values)
    return [msgspec.convert(row, learned(kind), from_attributes=True) for row in rows]


def fetch_one(tx: sa.Connection, query: sa.Executable, kind: type[T]) -> T | None:
    """Return the first row of a query as a struct, None if there is none."""
    return next(iter(fetch(tx, query, kind)), None)


_LEARNING = threading.Lock()
_learned: set[object] = set()


def learned(kind: type[T]) -> type[T]:
    """Return a type whose fields msgspec has read.

    It reads them where the type is first used, and a second thread that uses it meanwhile ends the
    process by a segmentation fault.
    """
    if kind not in _learned:
        with _LEARNING:
            msgspec.json.Decoder(kind)
        _learned.add(kind)
    return kind


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


def _expression(
    sqlite: str, postgresql: str, type_: sa.types.TypeEngine[Any] = sa.types.NULLTYPE
) -> type[FunctionElement[Any]]:
    """Return an expression as SQLite and PostgreSQL spell it, with {0}, {1} for its arguments."""

    class Expression(FunctionElement[Any]):
        type = type_
        inherit_cache = True

    @compiles(Expression, "sqlite", "postgresql")
    def render(element: Any, compiler: SQLCompiler, **options: Any) -> str:
        spelling = sqlite if compiler.dialect.name == "sqlite" else postgresql
        arguments = (compiler.process(argument, **options) for argument in element.clauses)
        return spelling.format(*arguments)

    return Expression


# Without the type Boolean: SQLAlchemy would write `... = 1`, for which SQLite uses no index.
_OneOf = _expression("({0} IN (SELECT value FROM json_each({1})))", "({0} = ANY ({1}))")
_Each = _expression("json_each({0})", "(SELECT unnest({0}) AS value)")
# All values of a column as one list; PostgreSQL has null for none.
Gather = _expression("json_group_array({0})", "json_agg({0})", sa.JSON())
# A time (the first argument) some seconds before; SQLite cuts it to whole seconds.
Earlier = _expression(
    "strftime('%Y-%m-%d %H:%M:%S', {0}, '-' || {1} || ' seconds')",
    "({0} - make_interval(secs => {1}))",
    Instant(),
)
# The text of an id, from the texts of ids as a JSON object.
TextOfId = _expression(
    """json_extract({0}, '$."' || {1} || '"')""", "(CAST({0} AS JSON) ->> {1})", sa.Text()
)


def gather_newest(
    ids: sa.Select[tuple[int]], limit: int, *outer: sa.FromClause
) -> sa.ScalarSelect[Any]:
    """Select the highest of some ids as one list, for each row of the `outer` tables."""
    [column] = ids.selected_columns
    newest = ids.order_by(column.desc()).limit(limit).correlate(*outer).subquery()
    return sa.select(Gather(newest.c[0])).correlate(*outer).scalar_subquery()


Row = dict[str, Any]
_COUNTED = {"preserve_rowcount": True}

# From this number of rows, a statement for the driver itself is worth its compilation. SQLAlchemy
# takes twice as long to convert the values of a row as SQLite to insert it.
MANY = 100


def insert_new(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> int:
    """Insert rows except those whose key exists; return how many were inserted."""
    return _execute(tx, _insert_new_into(tx.dialect.name, table), rows)


def insert_all(tx: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows. Raises IntegrityError if a key exists."""
    _execute(tx, _insert_into(tx.dialect.name, table), rows)


def insert_from(tx: sa.Connection, table: sa.Table, query: sa.Select[Any]) -> None:
    """Insert the rows of a query except those whose key exists."""
    names = [column.name for column in query.selected_columns]
    insert = _insert_into(tx.dialect.name, table).from_select(names, query)
    tx.execute(insert.on_conflict_do_nothing())


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

    They are sorted as an index is, and of several with one key the last counts. `computed` are
    further columns to set, from the existing row and `excluded`. With `only_changed` a row that has
    all values of `update` already is not written again.
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
    _execute(tx, upsert, [last[place] for place in sorted(last)])


@cache  # every digest runs some, and SQLAlchemy takes longer to build than to run them
def _insert_into(dialect: str, table: sa.Table) -> Any:
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # with several drivers: it takes long to import

    return postgresql.insert(table)


@cache
def _insert_new_into(dialect: str, table: sa.Table) -> Any:
    return _insert_into(dialect, table).on_conflict_do_nothing()


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
    compiled = _compiled(insert, tx.dialect, tuple(names))
    values = [_bind(tx, compiled, name, rows) for name in compiled.positiontup]
    return tx.exec_driver_sql(str(compiled), list(zip(*values, strict=True))).rowcount


@lru_cache(16)  # every digest writes its items
def _compiled(insert: Any, dialect: Dialect, names: tuple[str, ...]) -> Any:
    return insert.compile(dialect=dialect, column_keys=names)


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
    process = type_.dialect_impl(tx.dialect).bind_processor(tx.dialect)
    if name not in rows[0]:  # a constant of the statement
        value = compiled.params[name]
        return [process(value) if process else value] * len(rows)
    values = map(itemgetter(name), rows)
    return list(map(process, values) if process else values)
