"""Searching the store with the language of topics.

The papers that are there wait to be put into the index: a search is right at once, and fast
when the first ingest or digest is done.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "unsearched",
        sa.Column("paper_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_unsearched_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", name="pk_unsearched"),
    )
    op.add_column("topic", sa.Column("threshold", sa.Float(), nullable=False, server_default="0"))
    op.add_column("topic", sa.Column("synonyms", sa.JSON(), nullable=True))
    op.create_index("ix_paper_first_seen_at", "paper", ["first_seen_at"])
    op.execute("INSERT INTO unsearched (paper_id) SELECT id FROM paper")
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE paper_words USING fts5(words, content='', detail=none,"
            " columnsize=0, tokenize=\"ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'\")"
        )
    else:
        op.execute(
            "CREATE TABLE paper_words (paper_id BIGINT PRIMARY KEY"
            " REFERENCES paper (id) ON DELETE CASCADE, words TSVECTOR NOT NULL)"
        )
        op.execute("CREATE INDEX ix_paper_words_words ON paper_words USING gin (words)")


def downgrade() -> None:
    pass
