"""The search index: which papers have certain words, names and labels.

SQLite keeps it in a full-text table without content (FTS5), PostgreSQL in a `tsvector` with a GIN
index. It may find too many papers but never too few: those not indexed yet (`unsearched`) are found
with the others, and on SQLite a changed paper also keeps its old keywords.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from monitor.model import ChangeKind, Keyword, PaperFilter, SearchExpr
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_new

_waiting = schema.unsearched.c
_paper = schema.paper.c
_sighting = schema.sighting.c
_match = schema.match.c
_change = schema.change.c
MAX_ID = 2**63 - 1


def queue(tx: Transaction, paper_ids: Iterable[int]) -> None:
    """Record papers that are not indexed yet."""
    insert_new(tx, schema.unsearched, [{"paper_id": id} for id in sorted(set(paper_ids))])


def waiting(tx: Transaction, limit: int) -> list[int]:
    """Return the next papers to index."""
    return list(tx.scalars(sa.select(_waiting.paper_id).order_by(_waiting.paper_id).limit(limit)))


def save(tx: Transaction, rows: Sequence[tuple[int, str]]) -> None:
    """Index papers by their keywords, which spaces separate.

    `tx` comes from `Database.ingesting` and has also read the papers.
    """
    if not rows:
        return
    if tx.dialect.name == "sqlite":
        tx.exec_driver_sql("INSERT INTO paper_words (rowid, words) VALUES (?, ?)", list(rows))
    else:
        words = [{"id": id, "words": list({*keywords.split(" ")} - {""})} for id, keywords in rows]
        tx.execute(_SAVE, words)
    done = among(_waiting.paper_id, [id for id, _ in rows])
    tx.execute(sa.delete(schema.unsearched).where(done))


_SAVE = sa.text(
    "INSERT INTO paper_words (paper_id, words)"
    " VALUES (:id, array_to_tsvector(CAST(:words AS text[])))"
    " ON CONFLICT (paper_id) DO UPDATE SET words = excluded.words"
)


def newest(
    tx: Transaction, sought: SearchExpr | None, below: int | None, limit: int, floor: int = 0
) -> list[int]:
    """Return the ids of the newest papers that may match an expression, newest first.

    None matches all papers. `below` is the last id of the page before, and `floor` the lowest id
    that is wanted of those that match.
    """
    beneath = MAX_ID if below is None else below
    if sought is None:
        return newest_filtered(tx, PaperFilter(), beneath, limit)
    in_range = sa.select(_waiting.paper_id).where(_waiting.paper_id.between(floor, beneath - 1))
    late = in_range.order_by(_waiting.paper_id.desc()).limit(limit)
    words = written(sought, tx.dialect.name)
    values = {"sought": words, "below": beneath, "floor": floor, "limit": limit}
    indexed = tx.scalars(_FTS5 if tx.dialect.name == "sqlite" else _TSVECTOR, values)
    return sorted({*indexed, *tx.scalars(late)}, reverse=True)[:limit]


_FTS5 = sa.text(
    "SELECT rowid FROM paper_words WHERE paper_words MATCH :sought"
    " AND rowid < :below AND rowid >= :floor ORDER BY rowid DESC LIMIT :limit"
)
_TSVECTOR = sa.text(
    "SELECT paper_id FROM paper_words WHERE words @@ CAST(:sought AS tsquery)"
    " AND paper_id < :below AND paper_id >= :floor ORDER BY paper_id DESC LIMIT :limit"
)


def written(sought: SearchExpr, dialect: str) -> str:
    """Return an expression in the query language of FTS5, or as a tsquery."""
    if isinstance(sought, Keyword):
        if dialect == "sqlite":
            return f'"{sought.text}"' + ("*" if sought.prefix else "")
        quoted = sought.text.replace("\\", "\\\\").replace("'", "''")
        return f"'{quoted}'" + (":*" if sought.prefix else "")
    conjunction, disjunction = (" AND ", " OR ") if dialect == "sqlite" else (" & ", " | ")
    parts = (written(part, dialect) for part in sought.parts)
    return f"({(conjunction if sought.every else disjunction).join(parts)})"


# Papers are numbered in the order in which they are first seen, but for what two sources bring
# within one run.
_LONGEST_RUN = timedelta(days=1)


def id_bounds(tx: Transaction, wanted: PaperFilter) -> tuple[int, int]:
    """Return the least id that may be wanted, and one that is more than all of them."""
    first = 0
    end = MAX_ID
    at = _paper.first_seen_at
    if wanted.since:
        later = sa.select(_paper.id).where(at >= _moved(wanted.since, -_LONGEST_RUN))
        first = tx.scalar(later.order_by(at).limit(1)) or MAX_ID
    if wanted.until:
        earlier = sa.select(_paper.id).where(at < _moved(wanted.until, _LONGEST_RUN))
        end = (tx.scalar(earlier.order_by(at.desc()).limit(1)) or 0) + 1
    return first, end


def _moved(at: datetime, by: timedelta) -> datetime:
    """Return a time that is earlier or later, no further than the first and last year go."""
    try:
        return at + by
    except OverflowError:
        return at


def newest_filtered(tx: Transaction, wanted: PaperFilter, below: int, limit: int) -> list[int]:
    """Return the next papers by the narrowest condition of a filter, newest first; see `keep`."""
    column, conditions = next(_narrowings(wanted), (_paper.id, ()))
    query = sa.select(column).distinct().where(column < below, *conditions)
    return list(tx.scalars(query.order_by(column.desc()).limit(limit)))


def _narrowings(
    wanted: PaperFilter,
) -> Iterator[tuple[sa.ColumnElement[int], tuple[sa.ColumnElement[bool], ...]]]:
    """Yield columns of papers with the conditions of their rows, the narrowest first."""
    if wanted.topic:
        yield _match.paper_id, (_match.topic == wanted.topic,)
    if wanted.kind:
        # As in the condition of the index of rare kinds.
        rare = _change.kind != sa.literal_column(f"'{ChangeKind.NEW}'")
        is_kind = _change.kind == wanted.kind
        yield _change.paper_id, (is_kind,) if wanted.kind is ChangeKind.NEW else (is_kind, rare)
    if wanted.source:
        yield _sighting.paper_id, (_sighting.source == wanted.source,)


def keep(tx: Transaction, wanted: PaperFilter, ids: Sequence[int]) -> list[int]:
    """Return those of the papers that are wanted, in their order. Purged ones are not."""
    query = sa.select(_paper.id).where(among(_paper.id, ids), _paper.purged_at.is_(None))
    if wanted.since:
        query = query.where(_paper.first_seen_at >= wanted.since)
    if wanted.until:
        query = query.where(_paper.first_seen_at < wanted.until)
    for column, conditions in _narrowings(wanted):
        query = query.where(sa.exists().where(column == _paper.id, *conditions))
    kept = set(tx.scalars(query))
    return [id for id in ids if id in kept]
