"""The tables. Their unique keys are the guarantee; code is only a fast path to them."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text
from sqlalchemy.schema import SchemaItem

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


def _table(name: str, *items: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, *items, **options)


def _keys(*names: str) -> list[Column[str]]:
    return [Column(name, Text, primary_key=True) for name in names]


def _required(**types: type[Any]) -> list[Column[Any]]:
    return [Column(name, type_, nullable=False) for name, type_ in types.items()]


def _optional(**types: type[Any]) -> list[Column[Any]]:
    return [Column(name, type_) for name, type_ in types.items()]


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
paper = _table(
    "paper",
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
grown = _table(
    "grown",
    _paper(primary_key=True),
    *_required(votes=Integer, lists=Integer),
    sqlite_with_rowid=False,
)

# The texts that the last revisions of a paper replaced, compressed.
earlier_text = _table(
    "earlier_text",
    _paper(primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("packed", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Papers that the search index does not have yet. The index itself, `paper_words`, differs between
# the databases: `create` or a migration makes it, and `search` uses it.
unsearched = _table("unsearched", _paper(primary_key=True))

# The `claim` of the paper's record to it, null for a field; see `monitor.model.Claim`.
paper_key = _table(
    "paper_key",
    *_keys("scheme", "value"),
    _paper(index=True),
    Column("claim", Integer),
    sqlite_with_rowid=False,
)

# Identifiers of papers that another one has with a better claim, or had first: data.
common_key = _table(
    "common_key",
    *_keys("scheme", "value"),
    _paper(primary_key=True, index=True),
    Column("claim", Integer),
    sqlite_with_rowid=False,
)

# The subject of a notice or comment (paper_id), stored or not; `kind` is the effect on that paper
# (withdrawn, revised), null for a comment.
about = _table(
    "about",
    *_keys("scheme", "value"),
    _paper(primary_key=True, index=True),
    Column("kind", Text),
    sqlite_with_rowid=False,
)

# Notices about a paper that its record of a source names, and that may have no record: `name` is
# the identity of a notice, `packed` what is known of it.
named_notice = _table(
    "named_notice",
    _paper(primary_key=True),
    *_keys("source", "name"),
    *_required(packed=sa.LargeBinary, at=Instant),
    sqlite_with_rowid=False,
)

# A record that marks a paper as withdrawn: of the paper, or a notice about it.
withdrawal = _table(
    "withdrawal",
    *_keys("source", "raw_id"),
    _paper(primary_key=True, index=True),
    *_required(title=Text, url=Text, at=Instant),
    # When a person declared it to be mistaken.
    Column("undone_at", Instant),
    sqlite_with_rowid=False,
)

title_key = _table(
    "title_key",
    Column("key", Text, primary_key=True),
    _paper(primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# A few numbers of each paper; near copies share one. They find candidates, and prove nothing.
block = _table(
    "block",
    Column("key", Id, primary_key=True, autoincrement=False),
    _paper(primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# `why` is how the paper was recognised, see `monitor.identity.reasons`; `past` are earlier
# fingerprints, latest first; `mark` is a hash of the whole record, so that an unchanged one is
# recognised at once; `filled` are the fields that a reference list filled in, null for a source.
sighting = _table(
    "sighting",
    *_keys("source", "raw_id"),
    _paper(primary_key=True, index=True),
    Column("document", Text, nullable=False),
    Column("version", Integer),
    *_required(announce=Text, fingerprint=Text, first_seen_at=Instant, last_seen_at=Instant),
    *_optional(why=Text, past=Text, mark=sa.BigInteger, filled=Text, site_note=Text),
    # Covers the check for unchanged records, which then reads no row of the table.
    Index("ix_sighting_mark", "source", "raw_id", "mark", "paper_id").ddl_if(dialect="sqlite"),
)

# The text of each record. It is not in `sighting`, whose rows are written whenever a known record
# is read again. Sightings from before this table have none.
sighting_text = _table(
    "sighting_text",
    _paper(primary_key=True),
    *_keys("source", "raw_id"),
    *_required(title=Text, authors=Text, venue=Text),
    Column("year", Integer),
    *_required(type=Text, keys=Text),
    sqlite_with_rowid=False,
)

change = _table(
    "change",
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
joined = _table(
    "joined",
    Column("id", Id, primary_key=True, autoincrement=False),
    _paper(index=True),
    *_required(why=Text, at=Instant),
)

# A person's ruling: two names of records stand for the same work, or for different ones.
ruling = _table(
    "ruling",
    *_keys("one", "other"),
    *_required(verdict=Text, at=Instant),
    Index("ix_ruling_other", "other"),
)


def _asked(name: str) -> Table:
    return _table(
        name,
        _paper(primary_key=True),
        *_keys("service"),
        *_required(state=Text, attempts=Integer, owner=Text),
        *_optional(asked_at=Instant, due_at=Instant, packed=sa.LargeBinary),
        _partial(f"ix_{name}_due_at", "due_at", "service", where="due_at IS NOT NULL"),
        sqlite_with_rowid=False,
    )


# How far each service was asked what the records of a paper do not say, or about changes of one
# that a reader saved. The row is committed before the request. `packed` is its answer and the
# result of that, null before.
look_up = _asked("look_up")
saved_look_up = _asked("saved_look_up")

# The requests to a service on the last `day` (UTC) that it was asked, since when it has failed, and
# until when it rests.
look_up_service = _table(
    "look_up_service",
    *_keys("name"),
    Column("day", sa.Date, nullable=False),
    *_required(spent=Integer, error=Text),
    *_optional(failing_since=Instant, rests_until=Instant),
    sqlite_with_rowid=False,
)

# ── runs ────────────────────────────────────────────────────────────────────────────


def _as_news() -> Column[bool]:
    return Column("as_news", Boolean, nullable=False, default=True, server_default=sa.true())


# The documents that were read as news; those of libraries and reference lists are in `collection`.
document = _table(
    "document",
    *_keys("source", "content_hash"),
    *_required(name=Text, offset=Integer, finished=Boolean, at=Instant),
)

# How far each dump of a source was read: as news, or for a library or reference list.
dump = _table(
    "dump",
    *_keys("source", "name"),
    Column("size", BigInteger, nullable=False),
    Column("modified", BigInteger),
    *_required(offset=BigInteger, number=BigInteger, digest=Text, start=Text),
    *_required(ended=Boolean, at=Instant),
    _as_news(),
    sqlite_with_rowid=False,
)

run = _table(
    "run",
    Column("id", Id, primary_key=True),
    Column("source", Text, nullable=False),
    Column("document", Text),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant, index=True),
    Column("outcome", Text),
    *_required(seen=Integer, new=Integer, revised=Integer, known=Integer, rejected=Integer),
    Column("error", Text, nullable=False),
    Column("validators", sa.JSON(none_as_null=True)),
    Column("fresh", Integer, nullable=False, server_default="0"),
    Column("set_aside", sa.JSON(none_as_null=True)),
    Index("ix_run_source", "source", "id"),
    Index("ix_run_source_started_at", "source", "started_at"),
)

# Records that could not be decided: `text` is all of a record as JSON, `first_run` what it would
# have been worth, `version` that of the program that tried it last.
undecided = _table(
    "undecided",
    *_keys("source", "record_hash"),
    *_required(raw_id=Text, document=Text, text=Text, error=Text, version=Text),
    Column("first_run", Text),
    *_required(at=Instant, tried_at=Instant),
)

# Sources whose first reading is complete.
source = _table("source", *_keys("name"), *_required(first_read_at=Instant), _as_news())

# Works that a source of `about:` was asked about: whether it ever answered about one, how many
# times in a row its batch had no answer, and when it last had one, be it "none of these".
asked_work = _table(
    "asked_work",
    *_keys("source", "name"),
    *_required(answered=Boolean, unanswered=Integer),
    Column("answered_at", Instant),
    sqlite_with_rowid=False,
)

# The papers of each source on each day, from which its usual amount is learned.
source_day = _table(
    "source_day",
    Column("source", Text, primary_key=True),
    Column("day", sa.Date, primary_key=True),
    *_required(asked=Integer, offered=Boolean, fresh=Integer),
    sqlite_with_rowid=False,
)

# The state of a source at a place, its kind and address.
source_state = _table(
    "source_state",
    Column("source", Text, primary_key=True),
    Column("place", Text, nullable=False),
    Column("whole_at", Instant),
    Column("lifetime", Integer, nullable=False, default=0),
    Column("waits_until", Instant),
    Column("waits_for", Text, nullable=False, default=""),
)

# The variables in the addresses of sources whose values are hidden in all earlier rows; `mark` is a
# hash, too short to guess a value from.
hidden_variable = _table("hidden_variable", *_keys("source", "mark"))

server_wait = _table("server_wait", *_keys("server"), *_required(until=Instant, why=Text))

moved_address = _table("moved_address", *_keys("address"), *_required(place=Text, seen=Integer))

incident = _table(
    "incident",
    Column("id", Id, primary_key=True),
    *_required(about=Text, name=Text, recipient=Text, kind=Text, since=Instant, error=Text),
    *_optional(told_at=Instant, ended_at=Instant, end_told_at=Instant),
    Column("tries", Integer, nullable=False),
    Column("next_try_at", Instant),
    Column("mark", Text, nullable=False, default=""),
    _partial(
        "ix_incident_open",
        *("about", "name", "recipient", "kind"),
        unique=True,
        where="ended_at IS NULL",
    ),
)

heartbeat = _table("heartbeat", *_keys("name"), *_required(at=Instant))

# Each time that a configuration came into use after another one, or in another process.
activation = _table(
    "activation",
    Column("id", Id, primary_key=True),
    *_required(at=Instant, config_hash=Text, file=Text, host=Text, process=Integer),
)

# ── topics and matches ──────────────────────────────────────────────────────────────

topic = _table(
    "topic",
    Column("name", Text, primary_key=True),
    *_required(query=Text, sources=sa.JSON, news=sa.JSON, since_seconds=Integer),
    Column("threshold", Float, nullable=False, server_default="0"),
    Column("synonyms", sa.JSON(none_as_null=True)),
    Column("in_force_since", Instant, nullable=False),
    # The text and examples that its papers are like; null without `like:`.
    Column("made_from", sa.JSON(none_as_null=True)),
)

# Versions of the words of a topic that is like a text, and what they were made from: the newest
# made from what the topic has now counts.
like_words = _table(
    "like_words",
    Column("topic", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    *_required(
        made_from=sa.JSON, words=sa.JSON, bar=Float, examples=Integer, missing=sa.JSON, at=Instant
    ),
    sqlite_with_rowid=False,
)

match = _table(
    "match",
    Column("topic", Text, primary_key=True),
    Column("paper_id", Id, primary_key=True, index=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    *_required(score=Float, matched_at=Instant),
    # When it fitted at last, because its votes or lists grew; the model that added it, if any.
    *_optional(grown_at=Instant, added_by=Text),
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
near_match = _table(
    "near_match",
    Column("topic", Text, primary_key=True),
    Column("paper_id", Id, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    *_required(score=Float, at=Instant, decided=Boolean),
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
embedding = _table(
    "embedding",
    _paper(primary_key=True),
    *_keys("model"),
    *_required(state=Text, attempts=Integer),
    *_optional(asked_at=Instant, due_at=Instant, vector=sa.LargeBinary),
    _partial("ix_embedding_due_at", "due_at", where="due_at IS NOT NULL"),
    sqlite_with_rowid=False,
)

# The vector of what a topic is like, null of a text that the server refused: it is sent again when
# due. A paper that the model adds is as near as `least`, which the papers `compared_with` decide.
topic_embedding = _table(
    "topic_embedding",
    *_keys("topic", "model"),
    Column("text_hash", Text, nullable=False),
    *_optional(vector=sa.LargeBinary, due_at=Instant),
    Column("compared_with", sa.JSON, nullable=False),
    Column("least", Float),
    sqlite_with_rowid=False,
)

# In how many of the papers that a topic matched each word is, packed; of topics with ratings.
word_counts = _table(
    "word_counts",
    *_keys("topic"),
    Column("packed", sa.LargeBinary, nullable=False),
)

# ── subscriptions and digests ───────────────────────────────────────────────────────

subscription = _table(
    "subscription",
    Column("name", Text, primary_key=True),
    Column("first_seen_at", Instant, nullable=False),
    Column("removed_at", Instant),
    *_required(schedule=Text, timezone=Text, in_force_since=Instant),
    # Nothing is due before; empty when that is not known.
    Column("next_due_at", Instant, index=True),
)

subscription_topic = _table(
    "subscription_topic",
    Column(
        "subscription", Text, ForeignKey("subscription.name", ondelete="CASCADE"), primary_key=True
    ),
    Column("topic", Text, primary_key=True),
    Column("since", Instant, nullable=False),
)

# Not a foreign key: a notice to the operator belongs to no subscription.
digest = _table(
    "digest",
    Column("id", Id, primary_key=True),
    *_required(subscription=Text, period=Text, due_at=Instant, composed_at=Instant, papers=Integer),
    # Compressed in `packed`; `content` is that of digests from before there was `packed`.
    Column("content", sa.JSON, nullable=False),
    # `early`: it takes no slot's place; null in those of before version 0043, which all did.
    *_optional(superseded_at=Instant, packed=sa.LargeBinary, early=sa.Boolean),
    sa.UniqueConstraint("subscription", "period"),
)

digest_item = _table(
    "digest_item",
    *_keys("subscription"),
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

rendered = _table(
    "rendered",
    _digest(primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    # Compressed in `packed`; `body` is that of parts from before, or why there is no text.
    Column("body", sa.JSON, nullable=False),
    Column("packed", sa.LargeBinary),
)

delivery = _table(
    "delivery",
    Column("id", Id, primary_key=True),
    _digest(),
    *_required(channel=Text, recipient=Text, part=Integer, state=Text, attempts=Integer),
    Column("resent", Boolean, nullable=False, default=False),
    Column("next_attempt_at", Instant),
    *_required(owner=Text, message_id=Text, reference=Text, error=Text),
    *_required(created_at=Instant, changed_at=Instant),
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
line = _table("line", *_keys("name"), *_required(unclear=Integer), sqlite_with_rowid=False)

# The key that signs links, where the configuration names none; its only row is 1.
signing_key = _table(
    "signing_key",
    Column("id", Integer, primary_key=True, autoincrement=False),
    *_required(key=Text, made_at=Instant),
)

# Logins to the pages. `id` is a hash of the cookie, `login` names the credential, and `granted_by`
# the secret that it depends on: another secret ends the session.
web_session = _table(
    "web_session",
    *_keys("id"),
    Column("login", Text, nullable=False, unique=True),
    *_required(granted_by=Text, since=Instant, until=Instant),
)

# The last refresh token of each mail account; a backup has none unless it is asked for.
oauth_token = _table(
    "oauth_token",
    Column("account", Text, primary_key=True),
    *_required(refresh_token=Text, changed_at=Instant),
    sqlite_with_rowid=False,
)

# Recipients who opted out of a subscription ("" means all), until a time or permanently. `address`
# is the recipient in lower case.
suppression = _table(
    "suppression",
    *_keys("address", "subscription"),
    *_required(recipient=Text, since=Instant),
    Column("until", Instant),
    Column("how", Text, nullable=False),
    Column("reason", Text),
    sqlite_with_rowid=False,
)


def _answers(name: str, *more: Column[str]) -> Table:
    return _table(
        name,
        *_keys("subscription", "topic"),
        _paper(primary_key=True, index=True),
        *_keys("who"),
        *more,
        *_required(at=Instant, how=Text),
        sqlite_with_rowid=False,
    )


# Readers' answers to the papers of a topic, "wanted" or "unwanted", and the papers they saved.
judgement = _answers("judgement", Column("verdict", Text, nullable=False))
saved_paper = _answers("saved_paper")

# Rated papers that are not stored: they teach the order until they arrive, and nothing else reads
# them. Their names are identifiers and the key of the title (scheme "title").
example = _table(
    "example",
    Column("id", Id, primary_key=True),
    *_required(subscription=Text, topic=Text, who=Text, verdict=Text, at=Instant, how=Text),
    *_required(title=Text, abstract=Text),
    Index("ix_example_subscription", "subscription"),
)
example_key = _table(
    "example_key",
    *_keys("scheme", "value"),
    _of("example", primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# ── libraries and reference lists ───────────────────────────────────────────────────

# A document of such a source. `content` is what was last read to its end, `reading` a count.
# `dictionary` is that of its packed records, `filled_to` the id of the last paper processed by an
# unfinished backfill from it, null when complete.
collection = _table(
    "collection",
    Column("id", Id, primary_key=True),
    *_required(source=Text, document=Text, content=Text, reading=Integer),
    Column("dictionary", sa.LargeBinary),
    Column("filled_to", Id),
    sa.UniqueConstraint("source", "document", name="uq_collection_source"),
)

# A work that such a document lists: `name` is a hash of the source's own id of the record,
# `reading` the last one that had it, `packed` the record. The ingest assigns ids.
collection_entry = _table(
    "collection_entry",
    Column("id", Id, primary_key=True, autoincrement=False),
    _of("collection"),
    *_required(name=BigInteger, record_hash=BigInteger, reading=Integer, packed=sa.LargeBinary),
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


def _entry_keys(*, primary_key: bool) -> list[Column[int]]:
    names = ("key", "collection_id", "entry_id")
    options: dict[str, Any] = {"primary_key": primary_key, "autoincrement": False}
    return [Column(name, Id, nullable=False, **options) for name in names]


# Hashes of the identifiers and the title of an entry, and its blocks: candidates, never proof.
collection_key = _table("collection_key", *_entry_keys(primary_key=True), sqlite_with_rowid=False)

# Pending keys: those of a long list that is being read, moved into the other table many at a time.
collection_new_key = _table("collection_new_key", *_entry_keys(primary_key=False))

# Entries of libraries for which stored notices are still to be looked up, or `only_recent` ones.
unchecked_entry = _table(
    "unchecked_entry",
    _of("collection_entry", "entry_id", primary_key=True),
    Column("only_recent", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# Changes of works in libraries, and hashes of their identifiers and titles as libraries have them,
# and of their notices: an entry that leaves and returns under another name is still the same work.
reference_event = _table(
    "reference_event",
    Column("id", Id, primary_key=True),
    Column("packed", sa.LargeBinary, nullable=False),
)


_event = partial(_of, "reference_event", "event_id", primary_key=True, index=True)

reference_event_key = _table(
    "reference_event_key",
    Column("key", Id, primary_key=True, autoincrement=False),
    _event(),
    sqlite_with_rowid=False,
)

# The digest of a subscription that has an event.
digest_event = _table(
    "digest_event",
    *_keys("subscription"),
    _event(),
    _digest(),
    Index("ix_digest_event_digest_id", "digest_id"),
    sqlite_with_rowid=False,
)
