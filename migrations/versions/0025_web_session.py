"""Each login to the pages is a row with an end; wrong ones are counted by the pages themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "web_session",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_web_session"),
        sa.UniqueConstraint("login", name="uq_web_session_login"),
    )
    op.drop_table("login_attempt")


def downgrade() -> None:
    pass
