"""The search index: which papers have certain words, names and labels.

SQLite keeps it in a full-text table without content (FTS5), PostgreSQL in a `tsvector` with a GIN
index. Both get whole, folded keywords. The index may find too many papers but never too few: papers
in `unsearched`, which are not indexed yet, are found with the others. On SQLite a changed paper
also keeps its old keywords.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from monitor.model import Keyword, SearchExpr
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.inserts import insert_new
from monitor.store.engine.sql import among

_waiting = schema.unsearched.c
_paper = schema.paper.c


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
    if sought is None:
        every = sa.select(_paper.id).order_by(_paper.id.desc()).limit(limit)
        return list(tx.scalars(every if below is None else every.where(_paper.id < below)))
    beneath = 2**63 - 1 if below is None else below
    late = (
        sa.select(_waiting.paper_id)
        .where(_waiting.paper_id < beneath, _waiting.paper_id >= floor)
        .order_by(_waiting.paper_id.desc())
        .limit(limit)
    )
    indexed = tx.scalars(
        _FTS5 if tx.dialect.name == "sqlite" else _TSVECTOR,
        {
            "sought": written(sought, tx.dialect.name),
            "below": beneath,
            "floor": floor,
            "limit": limit,
        },
    )
    return sorted({*indexed, *tx.scalars(late)}, reverse=True)[:limit]


_FTS5 = sa.text(
    "SELECT rowid FROM paper_words WHERE paper_words MATCH :sought AND rowid < :below"
    " AND rowid >= :floor"
    " ORDER BY rowid DESC LIMIT :limit"
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
