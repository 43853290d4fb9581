"""The tables. Their unique keys are the guarantee; code is only a fast path to them."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text

from monitor.model.paper_fields import FIELDS, Form
from monitor.store.engine.sql import Id, Instant

# The newest migration. Alembic is not imported for a store with this version, nor for a new one on
# SQLite, which `create` makes.
VERSION = "0049"

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _of(table: str, name: str = "", **options: Any) -> Column[int]:
    """Return a column with the id of a row of another table, which is deleted with that row."""
    key = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(name or f"{table}_id", Id, key, nullable=False, **options)


_paper = partial(_of, "paper")
_digest = partial(_of, "digest")


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    # The migrations have it for PostgreSQL: here it would load that dialect at each start.
    return Index(name, *columns, unique=unique, sqlite_where=sa.text(where))


_TYPES: dict[Form, type[Any]] = {
    Form.TEXT: Text,
    Form.OPTIONAL_TEXT: Text,
    Form.JSON: Text,
    Form.LIST: sa.JSON,
    Form.NUMBER: Integer,
    Form.FLAG: Boolean,
    Form.MOMENT: Instant,
}


def _column_of(name: str, form: Form) -> Column[Any]:
    return Column(name, _TYPES[form], nullable=form not in (Form.TEXT, Form.LIST, Form.FLAG))


# ── papers ──────────────────────────────────────────────────────────────────────────

# The ingest assigns ids: only one can commit at a time.
paper = Table(
    "paper",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    *(_column_of(field.column, field.form) for field in FIELDS if field.form),
    Column("first_seen_at", Instant, nullable=False, index=True),
    # When it was news, null if it was stored silently.
    Column("news_at", Instant),
    Column("revision", Integer, nullable=False),
    # When clean-up emptied it.
    Column("purged_at", Instant),
    # When a further list had it, after the first.
    Column("relisted_at", Instant),
    _partial("ix_paper_purged", "id", where="purged_at IS NOT NULL"),
    _partial("ix_paper_relisted", "relisted_at", where="relisted_at IS NOT NULL"),
)

# Papers whose votes or lists grew since the topics with such terms last looked at them.
grown = Table(
    "grown",
    metadata,
    _paper(primary_key=True),
    Column("votes", Integer, nullable=False),
    Column("lists", Integer, nullable=False),
    sqlite_with_rowid=False,
)

# The texts that the last revisions of a paper replaced, compressed.
earlier_text = Table(
    "earlier_text",
    metadata,
    _paper(primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("packed", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Papers that the search index does not have yet. The index itself, `paper_words`, differs between
# the databases: `create` or a migration makes it, and `search` uses it.
unsearched = Table("unsearched", metadata, _paper(primary_key=True))

# The `claim` of the paper's record to it, null for a field; see `monitor.model.Claim`.
paper_key = Table(
    "paper_key",
    metadata,
    Column("scheme", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    _paper(index=True),
    Column("claim", Integer),
    sqlite_with_rowid=False,
)

# Identifiers of papers that another one has with a better claim, or had first: data.
common_key = Table(
    "common_key",
    metadata,
    Column("scheme", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    Column("claim", Integer),
    sqlite_with_rowid=False,
)

# The subjects of notices and comments, stored or not.
about = Table(
    "about",
    metadata,
    Column("scheme", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    # The notice or comment.
    _paper(primary_key=True, index=True),
    # The effect on the subject: withdrawn or revised. Null for a comment.
    Column("kind", Text),
    sqlite_with_rowid=False,
)

# Notices about a paper that its record of a source names; they may have no record of their own.
named_notice = Table(
    "named_notice",
    metadata,
    _paper(primary_key=True),
    Column("source", Text, primary_key=True),
    # The identity of the notice.
    Column("name", Text, primary_key=True),
    # Compressed: what the record says of the notice.
    Column("packed", sa.LargeBinary, nullable=False),
    Column("at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# A record that marks a paper as withdrawn: of the paper, or a notice about it.
withdrawal = Table(
    "withdrawal",
    metadata,
    Column("source", Text, primary_key=True),
    Column("raw_id", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("at", Instant, nullable=False),
    # When a person declared it to be mistaken.
    Column("undone_at", Instant),
    sqlite_with_rowid=False,
)

title_key = Table(
    "title_key",
    metadata,
    Column("key", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# A few numbers of each paper; near copies share one. They find candidates, and prove nothing.
block = Table(
    "block",
    metadata,
    Column("key", Id, primary_key=True, autoincrement=False),
    _paper(primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# A record of a source, and the paper that it is of.
sighting = Table(
    "sighting",
    metadata,
    Column("source", Text, primary_key=True),
    Column("raw_id", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    Column("document", Text, nullable=False),
    Column("version", Integer),
    # The record's announcement type, as arXiv's feeds have it; "" elsewhere.
    Column("announce", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("first_seen_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False),
    # How the paper was recognised: `monitor.identity.reasons`.
    Column("why", Text),
    # Earlier fingerprints, the latest first.
    Column("past", Text),
    # A hash of the whole record, by which an unchanged one is recognised at once.
    Column("mark", sa.BigInteger),
    # The fields that a reference list filled in; null for a record of a source.
    Column("filled", Text),
    Column("site_note", Text),
    # Covers the check for unchanged records, which then reads no row of the table.
    Index("ix_sighting_mark", "source", "raw_id", "mark", "paper_id").ddl_if(dialect="sqlite"),
)

# The text of each record. It is not in `sighting`, whose rows are written whenever a known record
# is read again. Sightings from before this table have none.
sighting_text = Table(
    "sighting_text",
    metadata,
    _paper(primary_key=True),
    Column("source", Text, primary_key=True),
    Column("raw_id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("authors", Text, nullable=False),
    Column("venue", Text, nullable=False),
    Column("year", Integer),
    Column("type", Text, nullable=False),
    Column("keys", Text, nullable=False),
    sqlite_with_rowid=False,
)

change = Table(
    "change",
    metadata,
    _paper(primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("why", Text, nullable=False, default=""),
    Column("at", Instant, nullable=False, index=True),
    Column("matched_at", Instant),
    _partial("ix_change_kind", "kind", "paper_id", where="kind <> 'new'"),
    _partial("ix_change_unmatched", "paper_id", "revision", where="matched_at IS NULL"),
)

# A paper that was merged into another one: its id leads there.
joined = Table(
    "joined",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    _paper(index=True),
    Column("why", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

# A person's ruling: two names of records stand for the same work, or for different ones.
ruling = Table(
    "ruling",
    metadata,
    Column("one", Text, primary_key=True),
    Column("other", Text, primary_key=True),
    Column("verdict", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_ruling_other", "other"),
)


def _asked(name: str) -> Table:
    return Table(
        name,
        metadata,
        _paper(primary_key=True),
        Column("service", Text, primary_key=True),
        Column("state", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("owner", Text, nullable=False),
        Column("asked_at", Instant),
        Column("due_at", Instant),
        # The answer and its result, compressed; null before.
        Column("packed", sa.LargeBinary),
        _partial(f"ix_{name}_due_at", "due_at", "service", where="due_at IS NOT NULL"),
        sqlite_with_rowid=False,
    )


# Look-ups at services: of what the records of a paper do not say, and of changes of a paper that a
# reader saved. The row is committed before the request.
look_up = _asked("look_up")
saved_look_up = _asked("saved_look_up")

look_up_service = Table(
    "look_up_service",
    metadata,
    Column("name", Text, primary_key=True),
    # The last day (UTC) on which it was asked.
    Column("day", sa.Date, nullable=False),
    # The requests of that day.
    Column("spent", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("failing_since", Instant),
    Column("rests_until", Instant),
    sqlite_with_rowid=False,
)

# ── runs ────────────────────────────────────────────────────────────────────────────


def _as_news() -> Column[bool]:
    return Column("as_news", Boolean, nullable=False, default=True, server_default=sa.true())


# The documents that were read as news; those of libraries and reference lists are in `collection`.
document = Table(
    "document",
    metadata,
    Column("source", Text, primary_key=True),
    Column("content_hash", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("offset", Integer, nullable=False),
    Column("finished", Boolean, nullable=False),
    Column("at", Instant, nullable=False),
)

# How far each dump of a source was read: as news, or for a library or reference list.
dump = Table(
    "dump",
    metadata,
    Column("source", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("modified", BigInteger),
    Column("offset", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("start", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("at", Instant, nullable=False),
    _as_news(),
    sqlite_with_rowid=False,
)

run = Table(
    "run",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source", Text, nullable=False),
    Column("document", Text),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant, index=True),
    Column("outcome", Text),
    Column("seen", Integer, nullable=False),
    Column("new", Integer, nullable=False),
    Column("revised", Integer, nullable=False),
    Column("known", Integer, nullable=False),
    Column("rejected", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("validators", sa.JSON(none_as_null=True)),
    Column("fresh", Integer, nullable=False, server_default="0"),
    Column("set_aside", sa.JSON(none_as_null=True)),
    Index("ix_run_source", "source", "id"),
    Index("ix_run_source_started_at", "source", "started_at"),
)

# Records that could not be decided.
undecided = Table(
    "undecided",
    metadata,
    Column("source", Text, primary_key=True),
    Column("record_hash", Text, primary_key=True),
    Column("raw_id", Text, nullable=False),
    Column("document", Text, nullable=False),
    # The whole record, as JSON.
    Column("text", Text, nullable=False),
    Column("error", Text, nullable=False),
    # The version of the program that tried it last.
    Column("version", Text, nullable=False),
    # As what it was to be stored, if it came with the first reading of its source or `--accept`.
    Column("first_run", Text),
    Column("at", Instant, nullable=False),
    Column("tried_at", Instant, nullable=False),
)

# Sources whose first reading is complete.
source = Table(
    "source",
    metadata,
    Column("name", Text, primary_key=True),
    Column("first_read_at", Instant, nullable=False),
    _as_news(),
)

# Works that a source of `about:` was asked about.
asked_work = Table(
    "asked_work",
    metadata,
    Column("source", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    # Whether it ever answered about this work.
    Column("answered", Boolean, nullable=False),
    # How many times in a row the batch of this work had no answer.
    Column("unanswered", Integer, nullable=False),
    # When its batch last had an answer, be it "none of these".
    Column("answered_at", Instant),
    sqlite_with_rowid=False,
)

# The papers of each source on each day, from which its usual amount is learned.
source_day = Table(
    "source_day",
    metadata,
    Column("source", Text, primary_key=True),
    Column("day", sa.Date, primary_key=True),
    Column("asked", Integer, nullable=False),
    Column("offered", Boolean, nullable=False),
    Column("fresh", Integer, nullable=False),
    sqlite_with_rowid=False,
)

# The state of a source at a place, its kind and address.
source_state = Table(
    "source_state",
    metadata,
    Column("source", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("whole_at", Instant),
    Column("lifetime", Integer, nullable=False, default=0),
    Column("waits_until", Instant),
    Column("waits_for", Text, nullable=False, default=""),
)

# The variables in the addresses of sources whose values are hidden in all earlier rows; `mark` is a
# hash, too short to guess a value from.
hidden_variable = Table(
    "hidden_variable",
    metadata,
    Column("source", Text, primary_key=True),
    Column("mark", Text, primary_key=True),
)

server_wait = Table(
    "server_wait",
    metadata,
    Column("server", Text, primary_key=True),
    Column("until", Instant, nullable=False),
    Column("why", Text, nullable=False),
)

moved_address = Table(
    "moved_address",
    metadata,
    Column("address", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("seen", Integer, nullable=False),
)

incident = Table(
    "incident",
    metadata,
    Column("id", Id, primary_key=True),
    Column("about", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("since", Instant, nullable=False),
    Column("error", Text, nullable=False),
    Column("told_at", Instant),
    Column("ended_at", Instant),
    Column("end_told_at", Instant),
    Column("tries", Integer, nullable=False),
    Column("next_try_at", Instant),
    Column("mark", Text, nullable=False, default=""),
    _partial(
        "ix_incident_open",
        "about",
        "name",
        "recipient",
        "kind",
        unique=True,
        where="ended_at IS NULL",
    ),
)

heartbeat = Table(
    "heartbeat",
    metadata,
    Column("name", Text, primary_key=True),
    Column("at", Instant, nullable=False),
)

# Each time that a configuration came into use after another one, or in another process.
activation = Table(
    "activation",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("config_hash", Text, nullable=False),
    Column("file", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
)

# ── topics and matches ──────────────────────────────────────────────────────────────

topic = Table(
    "topic",
    metadata,
    Column("name", Text, primary_key=True),
    Column("query", Text, nullable=False),
    Column("sources", sa.JSON, nullable=False),
    Column("news", sa.JSON, nullable=False),
    Column("since_seconds", Integer, nullable=False),
    Column("threshold", Float, nullable=False, server_default="0"),
    Column("synonyms", sa.JSON(none_as_null=True)),
    Column("in_force_since", Instant, nullable=False),
    # The text and examples that its papers are like; null without `like:`.
    Column("made_from", sa.JSON(none_as_null=True)),
)

# Versions of the words of a topic that is like a text, and what they were made from: the newest
# made from what the topic has now counts.
like_words = Table(
    "like_words",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("made_from", sa.JSON, nullable=False),
    Column("words", sa.JSON, nullable=False),
    Column("bar", Float, nullable=False),
    Column("examples", Integer, nullable=False),
    Column("missing", sa.JSON, nullable=False),
    Column("at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

match = Table(
    "match",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("paper_id", Id, primary_key=True, index=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("score", Float, nullable=False),
    Column("matched_at", Instant, nullable=False),
    # When it fitted at last, because its votes or lists grew; the model that added it, if any.
    Column("grown_at", Instant),
    Column("added_by", Text),
    sa.ForeignKeyConstraint(
        ["paper_id", "revision"],
        ["change.paper_id", "change.revision"],
        name="fk_match_change",
        ondelete="CASCADE",
    ),
    sqlite_with_rowid=False,
)

# Papers just below the bar of a topic that is like a text, and whether it was decided that a model
# adds them, or not.
near_match = Table(
    "near_match",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("paper_id", Id, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("score", Float, nullable=False),
    Column("at", Instant, nullable=False),
    Column("decided", Boolean, nullable=False),
    sa.ForeignKeyConstraint(
        ["paper_id", "revision"],
        ["change.paper_id", "change.revision"],
        name="fk_near_match_change",
        ondelete="CASCADE",
    ),
    Index("ix_near_match_paper_id", "paper_id", "revision"),
    sqlite_with_rowid=False,
)

# How far the server of embeddings was asked for the vector of a paper; the row is committed before
# the request. A vector has a 16-bit float for each number.
embedding = Table(
    "embedding",
    metadata,
    _paper(primary_key=True),
    Column("model", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("asked_at", Instant),
    Column("due_at", Instant),
    Column("vector", sa.LargeBinary),
    _partial("ix_embedding_due_at", "due_at", where="due_at IS NOT NULL"),
    sqlite_with_rowid=False,
)

# The vectors of the texts of `like:` topics, or of the words of those that have examples alone.
topic_embedding = Table(
    "topic_embedding",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("text_hash", Text, nullable=False),
    # Null for a text that the server refused; it is sent again when due.
    Column("vector", sa.LargeBinary),
    Column("due_at", Instant),
    # The papers by which `least` was decided.
    Column("compared_with", sa.JSON, nullable=False),
    # The least nearness of a paper that the model adds.
    Column("least", Float),
    sqlite_with_rowid=False,
)

# In how many of the papers that a topic matched each word is, packed; of topics with ratings.
word_counts = Table(
    "word_counts",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("packed", sa.LargeBinary, nullable=False),
)

# ── subscriptions and digests ───────────────────────────────────────────────────────

subscription = Table(
    "subscription",
    metadata,
    Column("name", Text, primary_key=True),
    Column("first_seen_at", Instant, nullable=False),
    Column("removed_at", Instant),
    Column("schedule", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    Column("in_force_since", Instant, nullable=False),
    # Nothing is due before; empty when that is not known.
    Column("next_due_at", Instant, index=True),
)

subscription_topic = Table(
    "subscription_topic",
    metadata,
    Column(
        "subscription", Text, ForeignKey("subscription.name", ondelete="CASCADE"), primary_key=True
    ),
    Column("topic", Text, primary_key=True),
    Column("since", Instant, nullable=False),
)

# Not a foreign key: a notice to the operator belongs to no subscription.
digest = Table(
    "digest",
    metadata,
    Column("id", Id, primary_key=True),
    Column("subscription", Text, nullable=False),
    Column("period", Text, nullable=False),
    Column("due_at", Instant, nullable=False),
    Column("composed_at", Instant, nullable=False),
    Column("papers", Integer, nullable=False),
    # Compressed in `packed`; `content` is that of digests from before there was `packed`.
    Column("content", sa.JSON, nullable=False),
    Column("superseded_at", Instant),
    Column("packed", sa.LargeBinary),
    # It takes no slot's place; null in digests of before version 0043, which all did.
    Column("early", sa.Boolean),
    sa.UniqueConstraint("subscription", "period"),
)

digest_item = Table(
    "digest_item",
    metadata,
    Column("subscription", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    _digest(),
    # The topic under which the paper was shown in full; null where its title was listed alone, ""
    # where it was left out since a library has it.
    Column("shown_under", Text),
    # The papers last shown under a topic are read for each digest, however many there were.
    _partial(
        "ix_digest_item_shown",
        "subscription",
        "shown_under",
        "digest_id",
        where="shown_under IS NOT NULL",
    ),
    sqlite_with_rowid=False,
)

rendered = Table(
    "rendered",
    metadata,
    _digest(primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    # Compressed in `packed`; `body` is that of parts from before, or why there is no text.
    Column("body", sa.JSON, nullable=False),
    Column("packed", sa.LargeBinary),
)

delivery = Table(
    "delivery",
    metadata,
    Column("id", Id, primary_key=True),
    _digest(),
    Column("channel", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("part", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("resent", Boolean, nullable=False, default=False),
    Column("next_attempt_at", Instant),
    Column("owner", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("handed_off_at", Instant),
    # Since when its recipient does not want it (`suppression`).
    Column("withheld_at", Instant),
    # When the server first said that its recipient's address does not exist.
    Column("address_refused_at", Instant),
    sa.UniqueConstraint("digest_id", "channel", "recipient", "part"),
    sa.ForeignKeyConstraint(
        ["digest_id", "channel", "part"],
        ["rendered.digest_id", "rendered.channel", "rendered.part"],
        name="fk_delivery_rendered",
        ondelete="CASCADE",
    ),
    _partial("ix_delivery_open", "state", where="state NOT IN ('sent', 'superseded')"),
    _partial(
        "ix_delivery_address_refused",
        "address_refused_at",
        where="address_refused_at IS NOT NULL",
    ),
)

# How many hand-offs in a row had no clear outcome, in each outage group.
line = Table(
    "line",
    metadata,
    Column("name", Text, primary_key=True),
    Column("unclear", Integer, nullable=False),
    sqlite_with_rowid=False,
)

# The key that signs links, where the configuration names none; its only row is 1.
signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),
    Column("made_at", Instant, nullable=False),
)

# Logins to the pages.
web_session = Table(
    "web_session",
    metadata,
    # A hash of the cookie.
    Column("id", Text, primary_key=True),
    # The credential.
    Column("login", Text, nullable=False, unique=True),
    # The secret that the session depends on: another secret ends it.
    Column("granted_by", Text, nullable=False),
    Column("since", Instant, nullable=False),
    Column("until", Instant, nullable=False),
)

# The last refresh token of each mail account; a backup has none unless it is asked for.
oauth_token = Table(
    "oauth_token",
    metadata,
    Column("account", Text, primary_key=True),
    Column("refresh_token", Text, nullable=False),
    Column("changed_at", Instant, nullable=False),
    sqlite_with_rowid=False,
)

# Recipients who opted out of a subscription, until a time or permanently.
suppression = Table(
    "suppression",
    metadata,
    # The recipient in lower case.
    Column("address", Text, primary_key=True),
    # "" means all.
    Column("subscription", Text, primary_key=True),
    Column("recipient", Text, nullable=False),
    Column("since", Instant, nullable=False),
    Column("until", Instant),
    Column("how", Text, nullable=False),
    Column("reason", Text),
    sqlite_with_rowid=False,
)


def _answers(name: str, *more: Column[str]) -> Table:
    return Table(
        name,
        metadata,
        Column("subscription", Text, primary_key=True),
        Column("topic", Text, primary_key=True),
        _paper(primary_key=True, index=True),
        Column("who", Text, primary_key=True),
        *more,
        Column("at", Instant, nullable=False),
        Column("how", Text, nullable=False),
        sqlite_with_rowid=False,
    )


# Readers' answers to the papers of a topic, "wanted" or "unwanted", and the papers they saved.
judgement = _answers("judgement", Column("verdict", Text, nullable=False))
saved_paper = _answers("saved_paper")

# Rated papers that are not stored: they teach the order until they arrive, and nothing else reads
# them. Their names are identifiers and the key of the title (scheme "title").
example = Table(
    "example",
    metadata,
    Column("id", Id, primary_key=True),
    Column("subscription", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("how", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("abstract", Text, nullable=False),
    Index("ix_example_subscription", "subscription"),
)
example_key = Table(
    "example_key",
    metadata,
    Column("scheme", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    _of("example", primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# ── libraries and reference lists ───────────────────────────────────────────────────

# A document of a library or reference list.
collection = Table(
    "collection",
    metadata,
    Column("id", Id, primary_key=True),
    Column("source", Text, nullable=False),
    Column("document", Text, nullable=False),
    # The mark of the content that was last read completely.
    Column("content", Text, nullable=False),
    # The number of readings.
    Column("reading", Integer, nullable=False),
    # Of the compression of its records.
    Column("dictionary", sa.LargeBinary),
    # The id of the last paper that an unfinished backfill from it processed; null when complete.
    Column("filled_to", Id),
    sa.UniqueConstraint("source", "document", name="uq_collection_source"),
)

# A work that such a document lists. The ingest assigns ids.
collection_entry = Table(
    "collection_entry",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    _of("collection"),
    # A hash of the source's own id of the record, and of its title.
    Column("name", BigInteger, nullable=False),
    Column("record_hash", BigInteger, nullable=False),
    # The last reading that had it.
    Column("reading", Integer, nullable=False),
    # The record, compressed.
    Column("packed", sa.LargeBinary, nullable=False),
    Column("missing_since", Instant),
    # When the library had the work first; null for what was there before this was recorded.
    Column("since", Instant),
    Index("ix_collection_entry_name", "collection_id", "name", unique=True),
    _partial(
        "ix_collection_entry_missing",
        "collection_id",
        "missing_since",
        where="missing_since IS NOT NULL",
    ),
)


# Hashes of the identifiers and the title of an entry, and its blocks: candidates, never proof.
collection_key = Table(
    "collection_key",
    metadata,
    Column("key", Id, primary_key=True, autoincrement=False),
    Column("collection_id", Id, primary_key=True, autoincrement=False),
    Column("entry_id", Id, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

# Pending keys: those of a long list that is being read, moved into the other table many at a time.
collection_new_key = Table(
    "collection_new_key",
    metadata,
    Column("key", Id, nullable=False),
    Column("collection_id", Id, nullable=False),
    Column("entry_id", Id, nullable=False),
)

# Entries of libraries for which stored notices are still to be looked up, or `only_recent` ones.
unchecked_entry = Table(
    "unchecked_entry",
    metadata,
    _of("collection_entry", "entry_id", primary_key=True),
    Column("only_recent", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# Changes of works in libraries, and hashes of their identifiers and titles as libraries have them,
# and of their notices: an entry that leaves and returns under another name is still the same work.
reference_event = Table(
    "reference_event",
    metadata,
    Column("id", Id, primary_key=True),
    Column("packed", sa.LargeBinary, nullable=False),
)


_event = partial(_of, "reference_event", "event_id", primary_key=True, index=True)

reference_event_key = Table(
    "reference_event_key",
    metadata,
    Column("key", Id, primary_key=True, autoincrement=False),
    _event(),
    sqlite_with_rowid=False,
)

# The digest of a subscription that has an event.
digest_event = Table(
    "digest_event",
    metadata,
    Column("subscription", Text, primary_key=True),
    _event(),
    _digest(),
    Index("ix_digest_event_digest_id", "digest_id"),
    sqlite_with_rowid=False,
)
