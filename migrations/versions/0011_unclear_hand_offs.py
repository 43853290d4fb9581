"""What was handed off without a clear end is remembered, and how often that happened in a row.

A delivery that may have arrived was `retry` with `resent` after its first hand-off, and `failed`
when it was given up: such a digest was composed again. It is known by `handed_off_at` now, and a
hand-off that was allowed and not made is still allowed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0009"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "line",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unclear", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_line"),
        sqlite_with_rowid=False,
    )
    op.add_column("delivery", sa.Column("handed_off_at", INSTANT, nullable=True))
    for statement in _as_now():
        op.execute(statement)


def _as_now() -> list[sa.Update]:
    """Bring what an older version stored to the same meaning."""
    delivery = sa.table(
        "delivery",
        *map(sa.column, ("id", "digest_id", "state", "changed_at", "next_attempt_at")),
        sa.column("handed_off_at"),
        sa.column("resent", sa.Boolean),
    )
    other = delivery.alias("other")
    reached = ("sent", "unknown", "handing_off", "claimed")
    reached_others = sa.exists().where(
        other.c.digest_id == delivery.c.digest_id, other.c.state.in_(reached)
    )
    since = {"handed_off_at": delivery.c.changed_at}
    allowed = ("planned", "retry", "claimed", "handing_off", "suppressed")
    return [
        # Given up, in a digest that would be composed again: a person says what became of it.
        sa.update(delivery)
        .where(delivery.c.state == "failed", delivery.c.resent, ~reached_others)
        .values(state="unknown", next_attempt_at=None, **since),
        sa.update(delivery)
        .where(delivery.c.state.in_(allowed), delivery.c.resent)
        .values(resent=sa.false(), **since),
        sa.update(delivery)
        .where(delivery.c.state == "unknown", delivery.c.handed_off_at.is_(None))
        .values(since),
    ]


def downgrade() -> None:
    pass
