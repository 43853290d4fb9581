"""Days of lists, apart from the dates of papers. Until now a list's day was `announced_at`.

A paper has such a date if its first record came from a page of Hugging Face. Its records had only
a title and an abstract, and thus a hash as their name; later ones have the id in their link.
"""

import json
from datetime import UTC, datetime, time

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_BATCH = 1000
_paper = sa.table(
    "paper",
    *(
        sa.column("id", sa.Integer()),
        sa.column("url", sa.Text()),
        sa.column("published_at", sa.DateTime(timezone=True)),
        sa.column("announced_at", sa.DateTime(timezone=True)),
        sa.column("listed", sa.Text()),
    ),
)
_sighting = sa.table(
    "sighting",
    *(
        sa.column("source", sa.Text()),
        sa.column("raw_id", sa.Text()),
        sa.column("paper_id", sa.Integer()),
        sa.column("first_seen_at", sa.DateTime(timezone=True)),
    ),
)
_text = sa.table(
    "sighting_text",
    *(
        sa.column("source", sa.Text()),
        sa.column("raw_id", sa.Text()),
        sa.column("paper_id", sa.Integer()),
        sa.column("authors", sa.Text()),
        sa.column("venue", sa.Text()),
        sa.column("year", sa.Integer()),
        sa.column("keys", sa.Text()),
    ),
)


def upgrade() -> None:
    op.add_column("paper", sa.Column("precision", sa.Text()))
    op.add_column("paper", sa.Column("listed", sa.Text()))
    move_list_days(op.get_bind())


def move_list_days(connection: sa.Connection) -> None:
    """Move the day of a list from `announced_at` to `listed`; its year was perhaps guessed."""
    last_id = 0
    while True:
        batch = connection.execute(
            sa.select(_paper.c.id, _paper.c.url, _paper.c.announced_at)
            .where(_paper.c.id > last_id, _paper.c.announced_at.is_not(None))
            .order_by(_paper.c.id)
            .limit(_BATCH)
        ).all()
        if not batch:
            return
        last_id = batch[-1].id
        first = _first_records(connection, [row.id for row in batch])
        moved = [
            {
                "of": row.id,
                "listed": json.dumps(
                    [
                        {
                            "day": f"{_utc(row.announced_at):%Y-%m-%d}",
                            "source": first[row.id].source,
                            "year_guessed": True,
                        }
                    ]
                ),
                "announced_at": None,
            }
            for row in batch
            if row.id in first and _is_list_day(row, first[row.id])
        ]
        if moved:
            connection.execute(sa.update(_paper).where(_paper.c.id == sa.bindparam("of")), moved)


def _first_records(connection: sa.Connection, ids: list[int]) -> dict[int, sa.Row]:
    """Return the first record of each paper, which its dates come from."""
    same = (
        (_text.c.source == _sighting.c.source)
        & (_text.c.raw_id == _sighting.c.raw_id)
        & (_text.c.paper_id == _sighting.c.paper_id)
    )
    rows = connection.execute(
        sa.select(
            _sighting,
            _text.c.authors,
            _text.c.venue,
            _text.c.year,
            _text.c["keys"].label("identifiers"),
        )
        .select_from(_sighting.outerjoin(_text, same))
        .where(_sighting.c.paper_id.in_(ids))
        .order_by(_sighting.c.first_seen_at.desc())
    )
    return {row.paper_id: row for row in rows}


def _is_list_day(paper: sa.Row, record: sa.Row) -> bool:
    if _utc(paper.announced_at).time() != time():
        return False
    if record.raw_id.startswith("text:"):
        named = (record.authors or "[]", record.identifiers or "[]")
        return named == ("[]", "[]") and not (record.venue or record.year)
    return paper.url == f"https://huggingface.co/papers/{record.raw_id}"


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC) if at.tzinfo else at


def downgrade() -> None:
    pass
