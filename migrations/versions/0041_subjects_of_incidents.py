"""What incidents are about, which was one text: 'source hf', 'email to ada@example.org'."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"

# The kinds of incidents whose subject needs no name, and the beginnings of texts with one.
_ONLY = {
    "faulty": "configuration",
    "jumped": "clock",
    "unavailable": "store",
    "shared": "store",
    "unconfirmed": "suppressions",
}
_BEGINNINGS = {
    "source ": "source",
    "subscription ": "subscription",
    "channel ": "channel",
    "template for ": "templates",
}


def upgrade() -> None:
    new = ("about", "name", "recipient")
    op.drop_index("ix_incident_open", table_name="incident")
    for name in new:
        op.add_column("incident", sa.Column(name, sa.Text()))
    connection = op.get_bind()
    incident = sa.table("incident", *map(sa.column, ("id", "subject", "kind", *new)))
    rows = connection.execute(sa.select(incident.c.id, incident.c.subject, incident.c.kind)).all()
    for id, text, kind in rows:
        subject = dict(zip(new, _subject(text, kind), strict=True))
        connection.execute(sa.update(incident).where(incident.c.id == id).values(subject))
    with op.batch_alter_table("incident") as batch:
        for name in new:
            batch.alter_column(name, existing_type=sa.Text(), nullable=False)
        batch.drop_column("subject")
    op.create_index(
        "ix_incident_open",
        "incident",
        [*new, "kind"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def _subject(text: str, kind: str) -> tuple[str, str, str]:
    """Return the kind of a subject and its names.

    The kind of the incident comes first: a channel may be called "source", or "notes to ada".
    """
    if kind in _ONLY:
        return _ONLY[kind], "", ""
    if text == "answers in Slack":
        return text, "", ""
    if kind in ("refused", "unclear"):
        channel, _, recipient = text.rpartition(" to ")
        return "recipient", channel, recipient
    if kind != "down":
        for beginning, about in _BEGINNINGS.items():
            if text.startswith(beginning):
                return about, text.removeprefix(beginning), ""
    return "outage group", text, ""


def downgrade() -> None:
    pass
