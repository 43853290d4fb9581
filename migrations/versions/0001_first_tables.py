"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INSTANT = sa.DateTime(timezone=True)
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "digest",
        sa.Column("id", ID, nullable=False),
        sa.Column("subscription", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("due_at", INSTANT, nullable=False),
        sa.Column("composed_at", INSTANT, nullable=False),
        sa.Column("papers", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("superseded_at", INSTANT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_digest"),
        sa.UniqueConstraint("subscription", "period", name="uq_digest_subscription"),
    )
    op.create_table(
        "document",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("offset", sa.Integer(), nullable=False),
        sa.Column("finished", sa.Boolean(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("source", "content_hash", name="pk_document"),
    )
    op.create_table(
        "heartbeat",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_heartbeat"),
    )
    op.create_table(
        "incident",
        sa.Column("id", ID, nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("since", INSTANT, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("told_at", INSTANT, nullable=True),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("end_told_at", INSTANT, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", INSTANT, nullable=True),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_incident"),
    )
    op.create_index(
        "ix_incident_open",
        "incident",
        ["subject", "kind"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "paper",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("abstract", sa.Text(), nullable=False),
        sa.Column("authors", sa.JSON(), nullable=False),
        sa.Column("venue", sa.Text(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=True),
        sa.Column("categories", sa.JSON(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("pdf_url", sa.Text(), nullable=False),
        sa.Column("published_at", INSTANT, nullable=True),
        sa.Column("updated_at", INSTANT, nullable=True),
        sa.Column("announced_at", INSTANT, nullable=True),
        sa.Column("first_seen_at", INSTANT, nullable=False),
        sa.Column("news_at", INSTANT, nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_paper"),
    )
    op.create_table(
        "run",
        sa.Column("id", ID, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("started_at", INSTANT, nullable=False),
        sa.Column("finished_at", INSTANT, nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.Column("new", sa.Integer(), nullable=False),
        sa.Column("revised", sa.Integer(), nullable=False),
        sa.Column("known", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("validators", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_finished_at", "run", ["finished_at"], unique=False)
    op.create_index("ix_run_source", "run", ["source", "id"], unique=False)
    op.create_table(
        "source",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("first_read_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_source"),
    )
    op.create_table(
        "subscription",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("first_seen_at", INSTANT, nullable=False),
        sa.Column("removed_at", INSTANT, nullable=True),
        sa.Column("schedule", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("in_force_since", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_subscription"),
    )
    op.create_table(
        "topic",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("news", sa.JSON(), nullable=False),
        sa.Column("since_seconds", sa.Integer(), nullable=False),
        sa.Column("in_force_since", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_topic"),
    )
    op.create_table(
        "change",
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("matched_at", INSTANT, nullable=True),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_change_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("paper_id", "revision", name="pk_change"),
    )
    op.create_index("ix_change_at", "change", ["at"], unique=False)
    op.create_index(
        "ix_change_unmatched",
        "change",
        ["paper_id", "revision"],
        unique=False,
        sqlite_where=sa.text("matched_at IS NULL"),
        postgresql_where=sa.text("matched_at IS NULL"),
    )
    op.create_table(
        "digest_item",
        sa.Column("subscription", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["digest_id"], ["digest.id"], name="fk_digest_item_digest_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_digest_item_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("subscription", "paper_id", "revision", name="pk_digest_item"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_digest_item_digest_id", "digest_item", ["digest_id"], unique=False)
    op.create_index("ix_digest_item_paper_id", "digest_item", ["paper_id"], unique=False)
    op.create_table(
        "paper_key",
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_paper_key_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("scheme", "value", name="pk_paper_key"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_paper_key_paper_id", "paper_key", ["paper_id"], unique=False)
    op.create_table(
        "rendered",
        sa.Column("digest_id", ID, nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest_id"], ["digest.id"], name="fk_rendered_digest_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest_id", "channel", "part", name="pk_rendered"),
    )
    op.create_table(
        "sighting",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("raw_id", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("announce", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("first_seen_at", INSTANT, nullable=False),
        sa.Column("last_seen_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_sighting_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source", "raw_id", "paper_id", name="pk_sighting"),
    )
    op.create_index("ix_sighting_paper_id", "sighting", ["paper_id"], unique=False)
    op.create_table(
        "subscription_topic",
        sa.Column("subscription", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("since", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription"],
            ["subscription.name"],
            name="fk_subscription_topic_subscription",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("subscription", "topic", name="pk_subscription_topic"),
    )
    op.create_table(
        "title_key",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id"], ["paper.id"], name="fk_title_key_paper_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", "paper_id", name="pk_title_key"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_title_key_paper_id", "title_key", ["paper_id"], unique=False)
    op.create_table(
        "delivery",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest_id", ID, nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("resent", sa.Boolean(), nullable=False),
        sa.Column("next_attempt_at", INSTANT, nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("changed_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["digest_id", "channel", "part"],
            ["rendered.digest_id", "rendered.channel", "rendered.part"],
            name="fk_delivery_rendered",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["digest_id"], ["digest.id"], name="fk_delivery_digest_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.UniqueConstraint(
            "digest_id", "channel", "recipient", "part", name="uq_delivery_digest_id"
        ),
    )
    op.create_index(
        "ix_delivery_open",
        "delivery",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state NOT IN ('sent', 'superseded')"),
        postgresql_where=sa.text("state NOT IN ('sent', 'superseded')"),
    )
    op.create_table(
        "match",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("paper_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("matched_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["paper_id", "revision"],
            ["change.paper_id", "change.revision"],
            name="fk_match_change",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("topic", "paper_id", "revision", name="pk_match"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_match_paper_id", "match", ["paper_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_match_paper_id", table_name="match")
    op.drop_table("match")
    op.drop_index(
        "ix_delivery_open",
        table_name="delivery",
        sqlite_where=sa.text("state NOT IN ('sent', 'superseded')"),
        postgresql_where=sa.text("state NOT IN ('sent', 'superseded')"),
    )
    op.drop_table("delivery")
    op.drop_index("ix_title_key_paper_id", table_name="title_key")
    op.drop_table("title_key")
    op.drop_table("subscription_topic")
    op.drop_index("ix_sighting_paper_id", table_name="sighting")
    op.drop_table("sighting")
    op.drop_table("rendered")
    op.drop_index("ix_paper_key_paper_id", table_name="paper_key")
    op.drop_table("paper_key")
    op.drop_index("ix_digest_item_paper_id", table_name="digest_item")
    op.drop_index("ix_digest_item_digest_id", table_name="digest_item")
    op.drop_table("digest_item")
    op.drop_index(
        "ix_change_unmatched",
        table_name="change",
        sqlite_where=sa.text("matched_at IS NULL"),
        postgresql_where=sa.text("matched_at IS NULL"),
    )
    op.drop_index("ix_change_at", table_name="change")
    op.drop_table("change")
    op.drop_table("topic")
    op.drop_table("subscription")
    op.drop_table("source")
    op.drop_index("ix_run_source", table_name="run")
    op.drop_index("ix_run_finished_at", table_name="run")
    op.drop_table("run")
    op.drop_table("paper")
    op.drop_index(
        "ix_incident_open",
        table_name="incident",
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.drop_table("incident")
    op.drop_table("heartbeat")
    op.drop_table("document")
    op.drop_table("digest")
