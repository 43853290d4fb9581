"""Column types, and the few expressions that SQLite and PostgreSQL spell differently."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect

# A PostgreSQL index entry holds 2,700 bytes; a character of UTF-8 takes at most four.
INDEXED_CHARACTERS = 500

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Instant(sa.types.TypeDecorator[datetime]):
    """A moment: aware in Python, UTC in the table."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return _aware(value).astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return moment


def indexed(value: str) -> str:
    """Return a value as an index can hold it: the rest of a very long one becomes its hash."""
    if len(value) <= INDEXED_CHARACTERS:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{value[: INDEXED_CHARACTERS - len(digest) - 1]}~{digest}"


def among(
    tx: sa.Connection, column: sa.ColumnElement[Any], values: Iterable[Any]
) -> sa.ColumnElement[bool]:
    """Return `column is one of values`: one parameter, however many there are.

    They are sorted, so that an index is walked in its own order.
    """
    wanted = sorted(set(values))
    if tx.dialect.name == "sqlite":
        each = sa.func.json_each(json.dumps(wanted)).table_valued("value")
        return column.in_(sa.select(each.c.value))
    return column == sa.any_(sa.literal(wanted, postgresql.ARRAY(column.type)))


def one_of(dialect: str, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return `column is one of values`: `wanted(...)` of them is its parameter, as with `each`."""
    if dialect == "sqlite":
        return column.in_(sa.select(each(dialect, column.type).c.value))
    return column == sa.any_(sa.bindparam("wanted", type_=postgresql.ARRAY(column.type)))


def each(dialect: str, type_: Any) -> Any:
    """Return a table of values, in a column `value`: `wanted(...)` of them is its parameter.

    One parameter, however many there are; a statement with it can be made once.
    """
    if dialect == "sqlite":
        return sa.func.json_each(sa.bindparam("wanted")).table_valued(sa.column("value", type_))
    given = sa.bindparam("wanted", type_=postgresql.ARRAY(type_))
    return sa.func.unnest(given).table_valued(sa.column("value", type_)).render_derived()


def each_pair(dialect: str, key: Any, value: Any) -> Any:
    """Return a table of the pairs of a mapping, which `wanted_pairs(...)` makes its parameters."""
    columns = sa.column("key", key), sa.column("value", value)
    if dialect == "sqlite":
        return sa.func.json_each(sa.bindparam("wanted")).table_valued(*columns)
    given = (
        sa.bindparam("wanted", type_=postgresql.ARRAY(key)),
        sa.bindparam("told", type_=postgresql.ARRAY(value)),
    )
    return sa.func.unnest(*given).table_valued(*columns).render_derived()


def wanted(dialect: str, values: Iterable[Any]) -> dict[str, Any]:
    """Return the parameter of a statement with `each`; sorted, as an index is."""
    some = sorted(set(values))
    return {"wanted": written(some) if dialect == "sqlite" else some}


def wanted_pairs(dialect: str, pairs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the parameters of a statement with `each_pair`; sorted by key, as an index is."""
    some = {key: pairs[key] for key in sorted(pairs)}
    if dialect == "sqlite":
        return {"wanted": written(some)}
    return {"wanted": list(some), "told": list(some.values())}


def gathered(dialect: str, column: sa.ColumnElement[int]) -> sa.ColumnElement[Any]:
    """Return all numbers of a column as one value of a row: `numbers` makes it whole."""
    return (sa.func.group_concat if dialect == "sqlite" else sa.func.array_agg)(column)


def numbers(told: str | list[int]) -> list[int]:
    """Return the numbers that were gathered in a row that came as it was."""
    return _NUMBERS.decode(f"[{told}]") if isinstance(told, str) else told


_NUMBERS = msgspec.json.Decoder(list[int])


def raw(
    tx: sa.Connection, select: sa.Select[Any], told: Mapping[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """Return rows as the driver gives them: what many thousands of them are read with.

    A moment is then text on SQLite, and so is JSON: `moment` and `listed` make them whole.
    """
    with tx.execute(select, told) as result:
        return list(result.cursor.fetchall()) if result.cursor else []


def raw_of(
    tx: sa.Connection, made: Callable[[str], sa.Select[Any]], values: Iterable[Any], **told: Any
) -> list[tuple[Any, ...]]:
    """Return `raw` rows of a statement with `each`, `each_pair` or `one_of`, asked for some values.

    It is made once for each dialect, and SQLite is given its text: to have it told takes as long
    as to look up some dozens of values.
    """
    dialect = tx.dialect.name
    if isinstance(values, Mapping):
        given = wanted_pairs(dialect, values) | told
    else:
        given = wanted(dialect, values) | told
    if dialect != "sqlite":
        return raw(tx, made(dialect), given)
    text, fixed = _written_out(made)
    cursor = tx.connection.cursor()
    cursor.execute(text, fixed | given)
    return list(cursor.fetchall())


@cache
def _written_out(made: Callable[[str], sa.Select[Any]]) -> tuple[str, dict[str, Any]]:
    """Return a statement as SQLite is told it, and those of its parameters that are known."""
    written = made("sqlite").compile(dialect=sqlite.dialect(paramstyle="named"))
    return str(written), dict(written.params)


def moment(told: datetime | str) -> datetime:
    """Return a moment of a row that came as it was."""
    return _written(told) if isinstance(told, str) else told.astimezone(UTC)


@lru_cache(maxsize=1024)  # the papers of a chunk have a moment in common
def _written(told: str) -> datetime:
    return datetime.fromisoformat(told).replace(tzinfo=UTC)


def listed(told: str | list[str]) -> tuple[str, ...]:
    """Return a list of a row that came as it was."""
    if told == "[]":
        return ()
    return tuple(read_json(told) if isinstance(told, str) else told)


def read_json(text: str | bytes) -> Any:
    """Read a column of JSON: the body of a mail, for one, is read for each of its recipients.

    What `json` has written and nobody else reads (half a surrogate, NaN) `json` reads again.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def written(value: Any) -> str:
    """Return a value as JSON; `json` writes what only it reads (half a surrogate)."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def earlier(
    tx: sa.Connection, moment: sa.ColumnElement[datetime], seconds: sa.ColumnElement[int]
) -> sa.ColumnElement[datetime]:
    """Return a moment so many seconds before another; on SQLite, that second's first moment."""
    if tx.dialect.name == "sqlite":
        back = sa.literal("-").concat(sa.cast(seconds, sa.Text)).concat(" seconds")
        return sa.func.strftime("%Y-%m-%d %H:%M:%S", moment, back, type_=Instant())
    return moment - sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def insert_new(tx: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert rows, leaving those whose key is taken as they are; return how many went in."""
    if not rows:
        return 0
    insert = _insert(tx, table).on_conflict_do_nothing()
    return tx.execute(insert, rows, execution_options={"preserve_rowcount": True}).rowcount


def told(tx: sa.Connection, column: sa.ColumnElement[Any], value: Any) -> Any:
    """Return a value as the driver is told it for a column."""
    process = column.type.dialect_impl(tx.dialect).bind_processor(tx.dialect)
    return process(value) if process else value


def insert_plain(
    tx: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows as the driver takes them, leaving those whose key is taken as they are.

    Numbers and texts it takes as they are, and of other values what `told` says; PostgreSQL in
    one statement, a parameter a column: a paper has a dozen rows, a day of many topics a million.
    """
    if not rows:
        return
    quoted = tx.dialect.identifier_preparer.quote
    into = f"INSERT INTO {quoted(table.name)} ({', '.join(map(quoted, names))})"
    if tx.dialect.name == "sqlite":
        values = f"VALUES ({', '.join('?' for _ in names)})"
        tx.exec_driver_sql(f"{into} {values} ON CONFLICT DO NOTHING", list(rows))
        return
    arrays = (f"%s::{table.c[name].type.compile(tx.dialect)}[]" for name in names)
    given = f"SELECT * FROM unnest({', '.join(arrays)})"
    tx.exec_driver_sql(
        f"{into} {given} ON CONFLICT DO NOTHING", tuple(map(list, zip(*rows, strict=True)))
    )


def insert_or_update(
    tx: sa.Connection,
    table: sa.Table,
    rows: Sequence[dict[str, Any]],
    update: Sequence[str],
    *,
    only_changed: bool = False,
    **computed: sa.ColumnElement[Any],
) -> None:
    """Insert rows; where the primary key is taken, set the columns named in `update`.

    `computed` are further columns to set, from what is there and what is `excluded`. With
    `only_changed` a row that has all of `update` already is not written again.
    """
    if not rows:
        return
    key = [column.name for column in table.primary_key]
    insert, given = _given(tx, table, {tuple(row[one] for one in key): row for row in rows})
    set_ = {name: insert.excluded[name] for name in update} | computed
    changed = [table.c[name].is_distinct_from(insert.excluded[name]) for name in update]
    where = sa.or_(*changed) if only_changed else None
    tx.execute(insert.on_conflict_do_update(index_elements=key, set_=set_, where=where), given)


def insert_all(tx: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that say the same columns. Raises IntegrityError where a key is taken."""
    if rows:
        tx.execute(*_given(tx, table, dict(enumerate(rows))))


def _given(
    tx: sa.Connection, table: sa.Table, rows: Mapping[Any, dict[str, Any]]
) -> tuple[Any, Any]:
    """Return an insert of rows and what to execute it with.

    PostgreSQL is given them all in one text of JSON, which takes half as long as row by row.
    """
    insert, several = _insert(tx, table), list(rows.values())
    if tx.dialect.name == "sqlite" or len(several) == 1:
        return insert, several
    names = tuple(several[0])
    _all_aware(table, several)
    return insert.from_select(names, _of_json(table, names)), {
        "rows": msgspec.json.encode(several).decode()
    }


def _all_aware(table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError for a moment without a time zone, which would be taken for the server's."""
    for name in rows[0]:
        if isinstance(table.c[name].type, Instant):
            for row in rows:
                if row[name]:
                    _aware(row[name])


@cache
def _of_json(table: sa.Table, names: tuple[str, ...]) -> sa.Select[Any]:
    """Return the rows of a parameter `rows`; those of a table as JSON has them."""
    given = sa.cast(sa.bindparam("rows", type_=sa.Text), sa.JSON)
    as_table: sa.ColumnElement[Any] = sa.literal_column(f'null::"{table.name}"')
    told = sa.func.json_populate_recordset(as_table, given).table_valued(*names)
    return sa.select(*told.c)


def _insert(tx: sa.Connection, table: sa.Table) -> Any:
    return (sqlite if tx.dialect.name == "sqlite" else postgresql).insert(table)


def named(dialect: str, number: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    """Return the text of a number; `names(...)` is the parameter of a statement with it."""
    texts, key = sa.bindparam("names", type_=sa.Text), sa.cast(number, sa.Text)
    if dialect == "sqlite":
        return sa.func.json_extract(texts, sa.literal('$."') + key + '"', type_=sa.Text)
    return sa.func.json_extract_path_text(sa.cast(texts, sa.JSON), key, type_=sa.Text)


def names(texts: Mapping[int, str]) -> dict[str, str]:
    """Return the parameter of a statement with `named`."""
    return {"names": json.dumps(texts)}
