from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory

from monitor.diff.decide import DecisionContext
from monitor.errors import StoreError
from monitor.identity.blocking import add_head_block
from monitor.identity.keys import with_keys
from monitor.model import Finding, ListedDay, Paper, Reason
from monitor.model.incidents import Subject, SubjectKind
from monitor.pipeline.store_chunk import Chunk, store_papers
from monitor.resources import resource
from monitor.store.digests import deliveries, incidents
from monitor.store.engine import database, schema
from monitor.store.engine.database import Database
from monitor.store.engine.migrate import upgrade
from monitor.store.engine.opening import open_store
from monitor.store.papers import papers, sightings, write_papers
from tests.patience import PATIENCE
from tests.store.scenes import NOW, arrive, new, reading

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.create_table("half", sa.Column("id", sa.Integer, primary_key=True))
    with op.batch_alter_table("paper") as batch:
        batch.add_column(sa.Column("extra", sa.Text))
        batch.alter_column("venue", new_column_name="place")
    {last}


def downgrade() -> None: ...
"""


def folder_with_next(tmp_path: Path, last: str) -> Path:
    folder = tmp_path / "100% migrations"
    shutil.copytree(resource("migrations"), folder)
    text = NEXT.format(head=schema.VERSION, last=last)
    (folder / "versions" / "9999_next.py").write_text(text)
    return folder


def tables(store: Database) -> set[str]:
    with store.reading() as tx:
        return set(sa.inspect(tx).get_table_names())


def columns(store: Database) -> set[str]:
    with store.reading() as tx:
        return {column["name"] for column in sa.inspect(tx).get_columns("paper")}


def configured() -> Config:
    config = Config()
    config.set_main_option("script_location", str(resource("migrations")))
    return config


def not_the_search_index(name: str | None, kind: str, parents: object) -> bool:
    """Each database has a search index of its own kind, made by a migration alone."""
    return not (kind == "table" and str(name).startswith("paper_words"))


def made_here(dialect: str, _: object, name: str | None, *rest: object) -> bool:
    """One index is for SQLite alone, which Alembic does not see."""
    return dialect == "sqlite" or name != "ix_sighting_mark"


def migration(name: str) -> Script:
    scripts = ScriptDirectory.from_config(configured()).walk_revisions()
    return next(one for one in scripts if one.path.endswith(f"_{name}.py"))


def test_the_migrations_make_what_the_schema_says(blank: str) -> None:
    store = at_version(blank, "head")
    with store.reading() as tx:
        opts = {"compare_server_default": True, "include_name": not_the_search_index}
        only_here = {"include_object": partial(made_here, tx.dialect.name)}
        context = MigrationContext.configure(tx, opts=opts | only_here)
        assert compare_metadata(context, schema.metadata) == []
    store.close()


def test_a_new_sqlite_store_is_to_the_letter_what_the_migrations_make(tmp_path: Path) -> None:
    """Alembic does not compare everything: partial indexes, rowids, deletions that cascade."""
    migrated = at_version(f"sqlite:///{tmp_path / 'migrated.db'}", "head")
    made = open_store(f"sqlite:///{tmp_path / 'made.db'}")

    def definitions(store: Database) -> dict[str, tuple[list[str], str]]:
        """The parts of each definition, whatever their order: a column may have come later.

        SQLite quotes the name of a table that a migration has made anew.
        """
        with store.reading() as tx:
            rows = tx.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            parted = {name: sql.replace('"', "").rpartition(")") for name, sql in rows}
        return {
            name: (sorted(filter(None, map(str.strip, re.split("[,\n]", body)))), tail.strip())
            for name, (body, _, tail) in parted.items()
        }

    assert definitions(made) == definitions(migrated)
    assert database.schema_version(made) == database.schema_version(migrated)
    upgrade(made)  # Alembic knows its version, and has nothing to do
    migrated.close()
    made.close()


def at_version(url: str, version: str) -> Database:
    """A new store as an older version of the program made it."""
    config = configured()
    store = Database(url)
    with sa.create_engine(store.url).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    return store


# What version 0009 wrote of each delivery, and what it means: its digest, state and `resent`
# before; its state and `resent` after, and whether it may have arrived.
BEFORE_0011 = [
    (1, "planned", False, "planned", False, False),
    (1, "sent", True, "sent", True, False),
    (2, "retry", True, "retry", False, True),  # the second hand-off was not made
    (2, "retry", False, "retry", False, False),
    (3, "unknown", False, "unknown", False, True),
    (3, "unknown", True, "unknown", True, True),
    (3, "failed", True, "failed", True, False),  # its digest stands: others may have it
    (4, "failed", True, "unknown", True, True),  # it would be composed again
    (4, "failed", False, "failed", False, False),
    (5, "superseded", True, "superseded", True, False),
    (6, "suppressed", True, "suppressed", False, True),
    (7, "handing_off", True, "handing_off", False, True),
    (7, "claimed", False, "claimed", False, False),
]


def test_what_may_have_arrived_is_known_by_its_hand_off_after_an_upgrade(blank: str) -> None:
    old = at_version(blank, "0009")
    with sa.create_engine(old.url).begin() as tx:
        at = datetime(2026, 3, 2, 8, tzinfo=UTC)
        tables = sa.MetaData()
        tables.reflect(tx, only=["digest", "rendered", "delivery"])
        made: dict[str, object] = {"due_at": at, "composed_at": at, "papers": 1, "content": {}}
        for number in range(1, 8):
            place = {"id": number, "subscription": "ada", "period": str(number)}
            tx.execute(sa.insert(tables.tables["digest"]).values(place | made))
            part = {"digest_id": number, "channel": "email", "part": 0, "body": {}}
            tx.execute(sa.insert(tables.tables["rendered"]).values(part))
        for number, (of_digest, state, resent, *_) in enumerate(BEFORE_0011, 1):
            row = {"id": number, "digest_id": of_digest, "channel": "email", "part": 0}
            row |= {"recipient": str(number), "state": state, "resent": resent, "attempts": 1}
            row |= {"owner": "", "message_id": "", "reference": "", "error": ""}
            row |= {"created_at": at, "changed_at": at + timedelta(hours=1)}
            tx.execute(sa.insert(tables.tables["delivery"]).values(row))
    store = open_store(blank)
    found = reading(store, deliveries.listing)[::-1]
    store.close()
    assert [(one.state, one.resent, one.handed_off_at) for one in found] == [
        (state, resent, at + timedelta(hours=1) if may_have_arrived else None)
        for *_, state, resent, may_have_arrived in BEFORE_0011
    ]


def test_processes_that_start_together_make_one_store(blank: str) -> None:
    script = (
        "import sys; from monitor.store.engine.opening import open_store; open_store(sys.argv[1])"
    )
    started = [subprocess.Popen([sys.executable, "-c", script, blank]) for _ in range(3)]
    assert [process.wait(timeout=PATIENCE) for process in started] == [0, 0, 0]
    store = open_store(blank)
    assert database.schema_version(store) == schema.VERSION
    store.close()


def test_an_upgrade_keeps_the_rows_and_backs_up_first(sqlite: Database, tmp_path: Path) -> None:
    arrive(sqlite, "1", "2")
    upgrade(sqlite, folder_with_next(tmp_path, "pass"))
    assert "half" in tables(sqlite)
    assert {"extra", "place"} <= columns(sqlite)
    with sqlite.reading() as tx:
        keys = tx.exec_driver_sql("SELECT count(*) FROM paper_key").scalar()
        assert (papers.count(tx), keys) == (2, 2)
    backup = Database(f"sqlite:///{sqlite.path}.before-{schema.VERSION}")
    assert "half" not in tables(backup)
    assert reading(backup, papers.count) == 2
    backup.close()


@pytest.mark.parametrize("last", ["raise RuntimeError('half way')", "op.execute('SELECT nothing')"])
def test_K08_a_migration_that_fails_leaves_the_old_schema_whole(
    store: Database, tmp_path: Path, last: str
) -> None:
    arrive(store, "1")
    before = tables(store), columns(store)
    with pytest.raises(StoreError, match="could not be brought up to date"):
        upgrade(store, folder_with_next(tmp_path, last))
    assert (tables(store), columns(store)) == before
    assert database.schema_version(store) == schema.VERSION
    arrive(store, "2")


def test_K08_a_process_killed_half_way_leaves_the_old_schema_whole(
    url: str, store: Database, tmp_path: Path
) -> None:
    arrive(store, "1")
    before = tables(store), columns(store)
    folder = folder_with_next(tmp_path, "import os; os.kill(os.getpid(), 9)")
    script = (
        "import sys; from pathlib import Path; from monitor.store.engine.migrate import upgrade;"
        "from monitor.store.engine.database import Database;"
        "upgrade(Database(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = subprocess.run([sys.executable, "-c", script, url, str(folder)], timeout=PATIENCE)
    assert done.returncode == -9
    assert (tables(store), columns(store)) == before
    arrive(store, "2")
    upgrade(store, folder_with_next(tmp_path / "again", "pass"))
    assert "half" in tables(store)


def test_a_migration_that_loses_rows_others_refer_to_is_undone(
    sqlite: Database, tmp_path: Path
) -> None:
    arrive(sqlite, "1")
    with pytest.raises(StoreError, match="left a row of"):
        upgrade(sqlite, folder_with_next(tmp_path, "op.execute('DELETE FROM paper')"))
    assert reading(sqlite, papers.count) == 1


def test_a_store_of_a_newer_version_is_refused(url: str, store: Database) -> None:
    with store.writing() as tx:
        tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="written by a newer version"):
        open_store(url)


def with_rows(url: str, version: str, rows: dict[str, dict[str, Any]]) -> Database:
    """Return a store of today, made of one of an older version with a row in some tables."""
    old = at_version(url, version)
    with old.writing() as tx:
        for table, row in rows.items():
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            tx.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
    old.close()
    return open_store(url)


def test_a_store_of_before_notices_knows_its_papers(blank: str) -> None:
    """Papers that have no type yet, and identifiers that are all keys, are as they were."""
    paper = Paper("Sand Moves", authors=("Ada Byron",), keys={"doi": "10.1000/x"}, raw_id="1")
    store = with_rows(blank, "0005", dict(_rows_of_before(paper)))
    again = msgspec.structs.replace(paper, type="journal article", year=2020)
    with store.ingesting() as tx:
        arrived = store_papers(tx, Chunk("s", [again], DecisionContext(NOW), NOW))
        stored = papers.get(tx, 1)
    assert [(one.paper_id, one.kind) for one in arrived.decisions] == [(1, None)]
    assert stored is not None and stored.paper.keys == {"doi": "10.1000/x"}
    assert (stored.paper.type, stored.revision) == ("journal article", 1)
    store.close()


LIST_DAY = "2026-03-14 00:00:00"


@pytest.mark.parametrize(
    ("raw_id", "url", "authors", "announced", "is_list_day"),
    [
        ("text:1:ab", "", "[]", LIST_DAY, True),
        ("2410.05434", "https://huggingface.co/papers/2410.05434", "[]", LIST_DAY, True),
        ("text:1:ab", "", '["Ada Byron"]', LIST_DAY, False),
        ("text:1:ab", "", "[]", "2026-03-14 08:00:00", False),
        ("2410.05434", "https://arxiv.org/abs/2410.05434", "[]", LIST_DAY, False),
        ("text:1:ab", "", "[]", None, False),
    ],
)
def test_the_day_of_a_list_that_a_store_has_as_a_date_is_moved(
    blank: str, raw_id: str, url: str, authors: str, announced: str | None, is_list_day: bool
) -> None:
    paper = Paper("Sand Moves", authors=("Ada Byron",), keys={"doi": "10.1000/x"})
    rows = dict(_rows_of_before(paper))
    zone = "" if blank.startswith("sqlite") else "+00"
    rows["paper"] |= {"url": url, "announced_at": announced and announced + zone}
    rows["sighting"]["raw_id"] = raw_id
    text = {"title": "Sand Moves", "authors": authors, "venue": "", "type": "", "keys": "[]"}
    rows["sighting_text"] = text | {"paper_id": 1, "source": "s", "raw_id": raw_id}
    store = with_rows(blank, "0027", rows)
    stored = reading(store, papers.get, 1)
    assert stored is not None
    day = ListedDay(date(2026, 3, 14), "s", year_guessed=True)
    assert stored.paper.listed == ((day,) if is_list_day else ())
    assert (stored.paper.announced is None) == (is_list_day or announced is None)
    store.close()


def test_a_paper_of_before_affiliations_gains_them_without_a_change(blank: str) -> None:
    paper = Paper("Sand Moves", authors=("Ada Byron",), keys={"doi": "10.1000/x"}, raw_id="1")
    store = with_rows(blank, "0048", dict(_rows_of_before(paper)))
    before = reading(store, papers.get, 1)
    again = msgspec.structs.replace(paper, affiliations=("Sand University", "Dune Lab"))
    with store.ingesting() as tx:
        arrived = store_papers(tx, Chunk("s", [again], DecisionContext(NOW), NOW))
        after = papers.get(tx, 1)
        changes = tx.execute(sa.select(schema.change)).all()
    assert before is not None and after is not None
    assert [(one.paper_id, one.kind) for one in arrived.decisions] == [(1, None)]
    assert before.paper.affiliations == ()
    with_theirs = msgspec.structs.replace(before.paper, affiliations=again.affiliations)
    assert after == msgspec.structs.replace(before, paper=with_theirs)
    assert changes == []
    store.close()


def test_what_lists_filled_in_is_no_announcement_any_more(blank: str) -> None:
    paper = Paper("Sand Moves", authors=("Ada Byron",), keys={"doi": "10.1000/x"})
    rows = dict(_rows_of_before(paper))
    rows["sighting"] |= {"announce": "@filled link, date", "why": "same doi 10.1000/x"}
    store = with_rows(blank, "0038", rows)
    with store.reading() as tx:
        [row] = tx.execute(sa.select(schema.sighting))
        [seen] = sightings.filled_by(tx, [1])[1]
    assert (row.announce, row.filled) == ("", '["link","date"]')
    assert (seen.announce, seen.filled) == ("", ("link", "date"))
    assert seen.recognised == (Reason(Finding.SAME_IDENTIFIER, ("doi", "10.1000/x")),)
    store.close()


def test_how_sources_announced_papers_stays_in_an_upgrade(blank: str) -> None:
    rows = dict(_rows_of_before(Paper("Sand Moves", keys={"doi": "10.1000/x"})))
    rows["sighting"]["announce"] = "replace"
    store = with_rows(blank, "0038", rows)
    [seen] = reading(store, sightings.of_papers, [1])[1]
    assert (seen.announce, seen.filled) == ("replace", ())
    store.close()


# Incidents of 0.2.0: what they were about, as one text, and their kind.
INCIDENTS_BEFORE_0041 = [
    ("source a to b", "failing", Subject(SubjectKind.SOURCE, "a to b")),
    ("answers in Slack", "failing", Subject(SubjectKind.SLACK_ANSWERS)),
    ("subscription lab", "not composed", Subject(SubjectKind.SUBSCRIPTION, "lab")),
    ("channel pages", "not rendered", Subject(SubjectKind.CHANNEL, "pages")),
    ("template for pages", "replaced", Subject(SubjectKind.TEMPLATES, "pages")),
    ("email to a@x.org", "refused", Subject(SubjectKind.RECIPIENT, "email", "a@x.org")),
    ("source to a@x.org", "unclear", Subject(SubjectKind.RECIPIENT, "source", "a@x.org")),
    ("notes to b to C01", "refused", Subject(SubjectKind.RECIPIENT, "notes to b", "C01")),
    ("smtp", "down", Subject(SubjectKind.OUTAGE_GROUP, "smtp")),
    ("channel of posts", "down", Subject(SubjectKind.OUTAGE_GROUP, "channel of posts")),
    ("configuration", "faulty", Subject(SubjectKind.CONFIGURATION)),
    ("clock", "jumped", Subject(SubjectKind.CLOCK)),
    ("store", "shared", Subject(SubjectKind.STORE)),
    ("list of suppressions", "unconfirmed", Subject(SubjectKind.SUPPRESSIONS)),
]


def test_incidents_are_about_the_same_after_an_upgrade_and_can_end(blank: str) -> None:
    old = at_version(blank, "0040")
    with old.writing() as tx:
        row = {"since": "2026-03-01 08:00:00", "error": "it is gone", "tries": 2, "mark": ""}
        insert = sa.text(
            "INSERT INTO incident (subject, kind, since, error, tries, mark)"
            " VALUES (:subject, :kind, :since, :error, :tries, :mark)"
        )
        for text, kind, _ in INCIDENTS_BEFORE_0041:
            tx.execute(insert, row | {"subject": text, "kind": kind})
    old.close()
    store = open_store(blank)
    found = reading(store, incidents.open_incidents)
    assert [(one.subject, one.kind) for one in found] == [
        (subject, kind) for _, kind, subject in INCIDENTS_BEFORE_0041
    ]
    assert {(one.error, one.tries) for one in found} == {("it is gone", 2)}
    with store.writing() as tx:
        for _, kind, subject in INCIDENTS_BEFORE_0041:
            assert not incidents.open_incident(tx, subject, kind, NOW, "it is open already")
            assert incidents.end_incident(tx, subject, kind, NOW)
    store.close()


def _rows_of_before(paper: Paper) -> Iterator[tuple[str, dict[str, Any]]]:
    known = with_keys(paper)
    texts = dict.fromkeys(("abstract", "venue", "url", "pdf_url"), "")
    at = "2026-03-01 08:00:00"
    yield (
        "paper",
        texts
        | {"id": 1, "title": paper.title, "authors": '["Ada Byron"]', "categories": "[]"}
        | {"first_seen_at": at, "news_at": at, "revision": 1, "withdrawn": False},
    )
    yield "paper_key", {"scheme": "doi", "value": "10.1000/x", "paper_id": 1}
    yield "title_key", {"key": known.title_key, "paper_id": 1}
    seen = {"source": "s", "raw_id": "1", "paper_id": 1, "document": "", "announce": ""}
    prints = {"fingerprint": known.fingerprint, "mark": known.record_hash}
    yield "sighting", seen | prints | {"first_seen_at": at, "last_seen_at": at}


def test_stored_titles_with_a_subtitle_are_found_by_the_title_alone(store: Database) -> None:
    whole = Paper("Quixotic Crowds: Zonal Yields of Vexing Xylophone Jitter", raw_id="1")
    with store.ingesting() as tx:
        write_papers.apply(tx, "s", [new(with_keys(whole))], NOW)
        before = set(tx.execute(sa.select(schema.block)))
        [head] = add_head_block((), whole.title)
        tx.execute(sa.delete(schema.block).where(schema.block.c.key == head))
        with Operations.context(MigrationContext.configure(tx)):
            migration("blocks_of_heads").module.upgrade()
        assert set(tx.execute(sa.select(schema.block))) == before
