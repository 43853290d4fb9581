"""Variables in the addresses of sources: their values are neither shown nor stored."""

from __future__ import annotations

import copy
import json
import logging
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog
from msgspec import structs
from structlog.testing import capture_logs

from monitor import log
from monitor.app import App, load_settings
from monitor.errors import FetchError
from monitor.log import set_up_logging
from monitor.model import Rejected, RunOutcome
from monitor.model.incidents import SubjectKind
from monitor.pipeline.ingest import ingest
from monitor.pipeline.roles import role_of
from monitor.pipeline.store_chunk import RunRecorder
from monitor.setting_types import Variables
from monitor.sources.base import Found
from monitor.sources.feed.source import Feed
from monitor.store.digests.packed import body_of, pack, pack_body, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.engine.sql import INDEXED_CHARACTERS
from monitor.store.sources import hidden_variables
from monitor.store.sources.reading_state import Servers
from tests.house import AGENTS, BANDITS, Clock, House
from tests.servers.web import Answer, MisbehavingServer
from tests.web.conftest import pages

ONE = "s3cret-of/Öne"
TWO = "s3cret-of-two"
KEYS = ("s3cret-of", "%c3%96ne", "öne")
RSS = {"Content-Type": "application/rss+xml"}


def feed(title: str, text: str) -> bytes:
    item = f"<item><title>{title}</title><link>https://example.org/{len(title)}</link>"
    item += f"<description>{text}</description></item>"
    return f'<rss version="2.0"><channel><title>t</title>{item}</channel></rss>'.encode()


@pytest.fixture
def served(house: House, web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house with keys in addresses: two feeds, one that moved, a library, and bad addresses."""
    quoted = "s3cret-of/%C3%96ne"
    for path, paper in ((f"/feeds/{quoted}.xml", AGENTS), (f"/feeds/{TWO}.xml", BANDITS)):
        web.answers(path, headers=RSS, body=feed(*paper))
    web.answers(f"/old/{TWO}", status=301, headers={"Location": f"/new/{TWO}"})
    web.answers(f"/new/{TWO}", headers=RSS, body=feed("Third", "A third one."))
    web.answers(f"/round/{TWO}", status=302, headers={"Location": f"/round/{TWO}"})
    web.answers(
        f"/refs/{TWO}.jsonl", body=json.dumps({"title": "Mine", "doi": "10.5555/7"}).encode()
    )
    monkeypatch.setenv("KEY_ONE", ONE)
    monkeypatch.setenv("KEY_TWO", TWO)
    monkeypatch.setenv("FOLDER", "dumps")
    monkeypatch.setenv("HOURS", "2h")
    here = {"kind": "feed", "allow_private": True}
    house.settings["sources"] |= {
        "one": here | {"url": web.url("/feeds/${KEY_ONE}.xml")},
        "two": here | {"url": web.url("/feeds/${KEY_TWO}.xml")},
        "moved": here | {"url": web.url("/old/${KEY_TWO}")},
        "round": here | {"url": web.url("/round/${KEY_TWO}")},
        "port": {"kind": "feed", "url": web.url("/feeds/${KEY_TWO}.xml")},
        "refs": {
            "kind": "jsonl",
            "role": "library",
            "allow_private": True,
            "url": web.url("/refs/${KEY_TWO}.jsonl"),
        },
    }
    house.settings["operator"] = {"channels": "pages"}
    return house


def in_clear(house: House) -> None:
    """Write the keys into the addresses, as configurations had them before they were variables."""
    for source in house.settings["sources"].values():
        if "url" in source:
            source["url"] = source["url"].replace("${KEY_ONE}", ONE).replace("${KEY_TWO}", TWO)


def stored(app: App) -> Iterator[tuple[str, str]]:
    """Yield all texts of a store, those of digests and their parts unpacked, with their tables."""
    with app.runtime.database.reading() as tx:
        for table in schema.metadata.sorted_tables:
            for row in tx.execute(sa.select(table)):
                yield table.name, str(row).lower()
        contents = dict(
            map(tuple, tx.execute(sa.select(schema.digest.c.id, schema.digest.c.packed)))
        )
        for content in contents.values():
            yield "digest", str(unpack(content, Any)).lower()
        for part in tx.execute(sa.select(schema.rendered)):
            body = body_of(part.body, part.packed, contents[part.digest_id])
            yield "rendered", str(body).lower()


def secret_tables(app: App) -> set[str]:
    return {table for table, text in stored(app) if any(key in text for key in KEYS)}


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers = root.handlers[:]
    level = root.level
    yield
    log.hide(Variables())
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("restored_logging")
def test_values_are_neither_shown_nor_stored_nor_logged(
    served: House, capsys: pytest.CaptureFixture[str]
) -> None:
    served.add("1.txt", AGENTS)
    said = [served.command(*line.split()) for line in ("run --json", "run", "status", "doctor")]
    assert "/feeds/${KEY_ONE}.xml" in said[0].out and "${KEY_TWO}.xml uses a port" in said[0].out
    with served.opened() as app:
        set_up_logging(logging.INFO)
        served.clock.move(days=8)
        for name in app.runtime.sources:
            app.once.ingest([name])
        structlog.get_logger().error("failed", error=f"no {TWO}", exc_info=ValueError(ONE))
        logged = capsys.readouterr().err
        assert "no ${KEY_TWO}" in logged and "ValueError: ${KEY_ONE}" in logged
        assert "/feeds/${KEY_TWO}.xml uses a port" in logged
        assert secret_tables(app) == set()
        backup = served.folder / "backup.db"
        app.runtime.database.backup(backup)
        store = app.runtime.database.path
        assert store
        names = set(read_names(app))
    with pages(served) as (_, client):
        shown = [client.get(f"/sources/{name}").text for name in served.settings["sources"]]
        shown += [client.get(path).text for path in ("/", "/status", "/sources")]
        shown += [client.get(path).text for path in ("/api/v1/status", "/api/v1/sources")]
    here = "http://127.0.0.1"
    assert {name.rpartition("/")[2] for name in names if name.startswith(here)} >= {
        "${KEY_ONE}.xml",
        "${KEY_TWO}.xml",
        "${KEY_TWO}",
        "${KEY_TWO}.jsonl",
    }
    texts = [*(one.out + one.err for one in said), logged, *shown]
    assert not [text for text in texts if any(key in text.lower() for key in KEYS)]
    for file in (store, store.with_name(f"{store.name}-wal"), backup):
        content = file.read_bytes().lower() if file.exists() else b""
        assert not any(key.encode() in content for key in KEYS), file


def test_what_is_kept_of_rejected_records_quotes_no_value(served: House) -> None:
    with served.opened() as app:
        two = app.runtime.sources["two"]
        recorder = RunRecorder(app.runtime, two, role_of(app.runtime, two).store)
        recorder.start()
        recorder.set_aside([Rejected(f"page {TWO}", f"{TWO} is no title")])
        run = recorder.finish(RunOutcome.FAILED, f"{TWO} is cut off", "a document")
        assert secret_tables(app) == set()
    assert run.error == "${KEY_TWO} is cut off"
    assert run.set_aside == (Rejected("page ${KEY_TWO}", "${KEY_TWO} is no title"),)


def test_a_new_address_with_a_value_is_forgotten_where_nothing_can_be_read(
    served: House, web: MisbehavingServer
) -> None:
    served.settings["sources"] = {"moved": served.settings["sources"]["moved"]}
    for _ in range(3):
        served.ingest()
    web.answers(f"/new/{TWO}", body=b"<html><body>This domain is for sale</body></html>")
    web.answers(f"/old/{TWO}", headers=RSS, body=feed("Fourth", "A fourth one."))
    web.requests.clear()
    outcomes = [run.outcome for _ in range(2) for run in served.ingest()]
    assert outcomes == [RunOutcome.FAILED, RunOutcome.OK]
    assert [request.target for request in web.requests] == [f"/new/{TWO}", f"/old/{TWO}"]


class Busy(Feed):
    """A feed of a plug-in, whose own errors name its address."""

    def find(self, validators: Mapping[str, str]) -> Iterator[Found]:
        raise FetchError(f"{self.options.url} is busy", retry_after=timedelta(minutes=10))


def test_what_a_plug_in_waits_for_is_stored_without_values(served: House) -> None:
    with served.opened() as app:
        runtime = app.runtime
        two = app.runtime.sources["two"]
        feed_of_plugin = Busy("two", two.source.options, None, runtime.clock.now)
        of_plugin = structs.replace(two, source=feed_of_plugin)
        runtime = replace(runtime, sources={"two": of_plugin})
        runs = [*ingest(runtime, "two"), *ingest(runtime, "two")]
        assert secret_tables(app) == set()
    assert [run.outcome for run in runs] == [RunOutcome.FAILED, RunOutcome.UNCHANGED]
    assert all("/feeds/${KEY_TWO}.xml is busy" in run.error for run in runs)


@pytest.mark.usefixtures("restored_logging")
def test_lines_of_libraries_and_lists_in_lines_have_no_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log.hide(Variables({"${KEY_TWO}": TWO}))
    set_up_logging(logging.INFO)
    structlog.get_logger().warning("set aside", first=[f"no {TWO}", ("a tuple of", TWO)])
    logging.getLogger("a.library").warning("gave up on %s", TWO, exc_info=ValueError(TWO))
    logged = capsys.readouterr().err
    assert '["no ${KEY_TWO}", ["a tuple of", "${KEY_TWO}"]]' in logged
    assert "gave up on ${KEY_TWO}" in logged and "ValueError: ${KEY_TWO}" in logged
    assert TWO not in logged


def test_the_variables_of_a_source_are_those_in_its_address(served: House) -> None:
    """A word that is put into a title or a path may be anywhere, and is no secret."""
    served.settings["sources"]["two"] |= {"title": "${KEY_ONE}", "every": "${HOURS}"}
    served.settings["sources"]["page"]["path"] = "${FOLDER}/*.txt"
    settings = load_settings(served.write())
    of_two = Variables({"${KEY_TWO}": TWO})
    assert settings.variables == {
        "one": Variables({"${KEY_ONE}": ONE}),
        **dict.fromkeys(("two", "moved", "round", "port", "refs"), of_two),
    }
    assert TWO not in repr(settings) and TWO not in repr(of_two)


def test_the_addresses_of_services_that_are_asked_show_no_value(
    house: House, web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their errors name the address where it redirects in a circle."""
    web.decides("*", lambda asked: Answer(status=302, headers={"Location": asked.target}))
    monkeypatch.setenv("KEY_TWO", TWO)
    asked = {"url": web.url("/${KEY_TWO}"), "allow_private": True}
    house.settings["look_up"] = {"services": {"crossref": asked}}
    house.settings["embeddings"] = asked | {"model": "small"}
    house.settings["topics"]["plans"] = {"like": "We train a language agent that makes plans."}
    house.settings["subscriptions"]["lab"]["topics"] = ["agents", "plans"]
    house.add("1.txt", AGENTS)
    said = [house.command("run")]
    house.clock.move(hours=2)
    lines = ("run", "status", "doctor", "config --json", "papers look-up --missing --dry-run")
    said += [house.command(*line.split()) for line in lines]
    shown = "".join(one.out + one.err for one in said)
    assert shown.count("redirects more than 5 times") >= 3 and "${KEY_TWO}" in said[-1].out
    assert {one["address"] for one in said[-2].json["sends_to"]} == {asked["url"]}
    with house.opened() as app:
        assert len(app.runtime.services) == 1 and app.runtime.embeddings
        assert secret_tables(app) == set()
    assert not any(key in shown.lower() for key in KEYS)


def read_names(app: App) -> list[str]:
    with app.runtime.database.reading() as tx:
        return [name for name in tx.scalars(sa.select(schema.run.c.document)) if name]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_rows_of_addresses_in_clear_are_hidden_once_and_nothing_is_read_anew(
    served: House, web: MisbehavingServer, database: str, request: pytest.FixtureRequest
) -> None:
    if database == "postgresql":
        served.settings["store"] = request.getfixturevalue("empty_postgres_url")
    with_variables = copy.deepcopy(served.settings["sources"])
    in_clear(served)
    served.run()
    served.run_after(minutes=61)
    served.run_after(days=1)
    with served.opened() as app:
        clear = {name: source.address for name, source in app.runtime.sources.items()}
        assert secret_tables(app) >= {
            "run",
            "document",
            "sighting",
            "collection",
            "moved_address",
            "incident",
            "rendered",
        }
    served.settings["sources"] = with_variables
    requests = len(web.requests)
    with served.opened() as app:
        assert secret_tables(app) == set()
        assert {n: source.address for n, source in app.runtime.sources.items()} == clear
        assert len({clear["one"], clear["two"]}) == 2
        before = list(stored(app))
    with served.opened() as app:
        assert list(stored(app)) == before
        served.clock.move(days=1)
        runs = [run for name in ("one", "two", "moved", "refs") for run in app.once.ingest([name])]
        assert {run.outcome for run in runs} == {RunOutcome.UNCHANGED}
        assert secret_tables(app) == set()
    # The redirect is still known, and the new address is asked at once.
    assert f"/old/{TWO}" not in [request.target for request in web.requests[requests:]]


# Columns of texts in which addresses may be.
TEXTS = {
    schema.run: ("document", "error", "set_aside"),
    schema.document: ("name",),
    schema.dump: ("name",),
    schema.collection: ("document",),
    schema.undecided: ("document", "error"),
    schema.source_state: ("waits_for",),
}


def row_of(table: sa.Table, source: str, value: str) -> dict[str, object]:
    """Return a row with a value in each column of `TEXTS`, and with anything in the others."""
    of_types = {schema.Instant: Clock().at, sa.Text: f"of {source}"}
    row: dict[str, object] = {
        column.name: of_types.get(type(column.type), 0)
        for column in table.columns
        if not column.nullable and column is not table.c.get("id")
    }
    row |= dict.fromkeys(TEXTS[table], f"{source} of {value}") | {"source": source}
    return row | ({"set_aside": [[f"page {value}", "no title"]]} if table is schema.run else {})


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Database]:
    """A store with rows of a source, of one that is gone, and of one without variables."""
    database = open_store(f"sqlite:///{tmp_path / 'monitor.db'}")
    with database.writing() as tx:
        for table in TEXTS:
            for source in ("two", "gone"):
                tx.execute(sa.insert(table), row_of(table, source, TWO))
            tx.execute(sa.insert(table), row_of(table, "other", "S3CRET-OF-TWO"))
        for table, column in ((schema.dump, "name"), (schema.collection, "document")):
            tx.execute(sa.insert(table), row_of(table, "two", TWO) | {column: "two of ${KEY_TWO}"})
        for (about, name), error in INCIDENTS.items():
            row = {"about": about, "name": name, "recipient": "", "kind": "failing"}
            row |= {"since": Clock().at, "tries": 0, "error": error}
            tx.execute(sa.insert(schema.incident), row)
        for address, target in (("a", TWO), (TWO, "b"), ("${KEY_TWO}", "b")):
            move = {"address": address, "place": target, "seen": 1}
            tx.execute(sa.insert(schema.moved_address), move)
    yield database
    database.close()


# The first line quotes an address as a page has it.
ERROR = f"no <{TWO}>\nthe same as before"
OF_TWO = (SubjectKind.SOURCE, "two"), (SubjectKind.SOURCE, "gone")
INCIDENTS = {
    **dict.fromkeys(OF_TWO, ERROR),
    **dict.fromkeys([(SubjectKind.SOURCE, "other"), (SubjectKind.CHANNEL, "two")], ERROR.upper()),
}
VARIABLES = {"two": Variables({"${KEY_TWO}": TWO})}


def hide(database: Database) -> None:
    hidden_variables.hide_stored(database, VARIABLES, ["two", "other"])


def texts(database: Database, source: str) -> dict[str, list[str]]:
    """Return the texts of a source, by table and column."""
    found: dict[str, list[str]] = {}
    with database.reading() as tx:
        for table, columns in TEXTS.items():
            for row in tx.execute(sa.select(table).filter_by(source=source)).mappings():
                for column in columns:
                    found.setdefault(f"{table.name}.{column}", []).append(str(row[column]))
    return found


def test_the_texts_of_a_source_are_hidden_in_every_column(older: Database) -> None:
    of_another = texts(older, "other")
    hide(older)
    for source in ("two", "gone"):
        for column, [*found] in texts(older, source).items():
            assert len(found) == 1 and "${KEY_TWO}" in found[0], (source, column)
            assert TWO not in found[0], (source, column)
    assert texts(older, "other") == of_another
    with older.reading() as tx:
        moved = schema.moved_address.c
        moves = tx.execute(sa.select(moved.address, moved.place).order_by(moved.address))
        assert [*map(tuple, moves)] == [("${KEY_TWO}", "b"), ("a", "${KEY_TWO}")]


def test_a_hidden_address_is_no_longer_than_an_index_holds(older: Database) -> None:
    address = f"https://example.org/{TWO}/".ljust(INDEXED_CHARACTERS, "x")
    with older.writing() as tx:
        move = {"address": address, "place": "b", "seen": 1}
        tx.execute(sa.insert(schema.moved_address), move)
    hidden_variables.hide_stored(older, {"two": Variables({"${KEY_OF_TWO_PAPERS}": TWO})}, ["two"])
    with older.reading() as tx:
        addresses = list(tx.scalars(sa.select(schema.moved_address.c.address)))
    [hidden] = [address for address in addresses if "/${KEY_OF_TWO_PAPERS}/xxx" in address]
    assert len(hidden) == INDEXED_CHARACTERS


def test_errors_of_a_source_are_hidden_in_its_incidents(older: Database) -> None:
    hide(older)
    incident = schema.incident.c
    with older.reading() as tx:
        rows = tx.execute(sa.select(incident.about, incident.name, incident.error)).all()
        errors = {(about, name): error for about, name, error in rows}
    hidden = "no <${KEY_TWO}>\nthe same as before"
    assert errors == INCIDENTS | dict.fromkeys(OF_TWO, hidden)


def test_a_row_with_a_hidden_name_is_another_one_unless_its_name_is_its_key(
    older: Database,
) -> None:
    with older.writing() as tx:
        tx.execute(sa.insert(schema.run), row_of(schema.run, "two", "${KEY_TWO}"))
    hide(older)
    assert texts(older, "two")["run.document"] == ["two of ${KEY_TWO}"] * 2


@pytest.mark.parametrize("is_packed", [True, False], ids=["packed", "of-an-older-version"])
def test_what_was_sent_has_no_value_where_it_quotes_an_error(
    older: Database, is_packed: bool
) -> None:
    """Notices have none anywhere; of a digest, the papers stay as they were."""
    line = ERROR.splitlines()[0]
    shown = "no <${KEY_TWO}>"
    texts_of = {
        "lab": {"title": TWO, "notes": [f"two: {line}"], "html": f"<p>{escape(line)}</p>"},
        "other": {"title": TWO, "notes": ["nothing"], "html": ""},
        "@operator": {"title": TWO, "notes": [f"no {TWO}"], "html": f"<p>{TWO}</p>"},
    }
    hidden = {
        "lab": {"title": TWO, "notes": [f"two: {shown}"], "html": f"<p>{escape(shown)}</p>"},
        "other": texts_of["other"],
        "@operator": {
            "title": "${KEY_TWO}",
            "notes": ["no ${KEY_TWO}"],
            "html": "<p>${KEY_TWO}</p>",
        },
    }
    sent = sa.select(schema.digest.c["subscription", "content", "packed"], schema.rendered).join(
        schema.rendered
    )
    with older.writing() as tx:
        for number, (subscription, content) in enumerate(texts_of.items(), 1):
            packed = pack(content) if is_packed else None
            row = {"id": number, "subscription": subscription, "period": "1", "papers": 0}
            row |= {"due_at": Clock().at, "composed_at": Clock().at, "packed": packed}
            tx.execute(sa.insert(schema.digest), row | {"content": {} if packed else content})
            for part in range(2):
                body = {"part": part, **content}
                values = (
                    {"body": {}, "packed": pack_body(body, packed)} if packed else {"body": body}
                )
                key = {"digest_id": number, "channel": "pages", "part": part}
                tx.execute(sa.insert(schema.rendered), key | values)
        before = {
            row.subscription: row for row in tx.execute(sent.where(schema.rendered.c.part == 0))
        }
    hide(older)
    with older.reading() as tx:
        rows = tx.execute(sent).all()
    assert len(rows) == 2 * len(hidden)
    for row in rows:
        content = unpack(row.packed, dict[str, Any]) if is_packed else row.content
        assert content == hidden[row.subscription]
        body = body_of(row.body, row.packed_1, row.packed)
        assert body == {"part": row.part, **hidden[row.subscription]}
    assert before["other"] in rows


def test_nothing_of_a_hidden_value_is_left_in_the_file(older: Database) -> None:
    with older.writing() as tx:  # as SQLite does unless it was built otherwise
        tx.exec_driver_sql("PRAGMA secure_delete = OFF")
    hide(older)
    older.close()
    assert older.path
    assert TWO.encode() not in older.path.read_bytes()


def test_values_are_hidden_once(older: Database) -> None:
    hide(older)
    with older.writing() as tx:
        tx.execute(sa.insert(schema.run), row_of(schema.run, "two", TWO))
    with capture_logs() as logs:
        hide(older)
    assert logs == []
    assert [TWO in text for text in texts(older, "two")["run.document"]] == [False, True]
    of_another = {"other": Variables({"${KEY_ONE}": ONE})}
    hidden_variables.hide_stored(older, VARIABLES | of_another, ["two", "other"])
    assert [TWO in text for text in texts(older, "two")["run.document"]] == [False, True]


def test_a_store_that_cannot_be_written_is_tried_when_it_is_opened_next(older: Database) -> None:
    assert older.path
    busy = Database(older.url.render_as_string(), wait=0.1)
    with closing(busy), closing(sqlite3.connect(older.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hide(busy)
        assert TWO in str(texts(older, "two"))
        other.execute("ROLLBACK")
    hide(older)
    assert TWO not in str(texts(older, "two"))


def test_a_server_learns_no_variable_of_another_address(tmp_path: Path) -> None:
    """Neither by a redirect to the name of a variable, nor by one to a value."""
    variables = Variables({"${MINE}": "my-key", "${OTHER}": "other-key"})
    database = open_store(f"sqlite:///{tmp_path / 'monitor.db'}")
    servers = Servers(database, Clock(), variables)
    mine = "https://example.org/my-key"
    for target in ("https://example.net/${OTHER}/my-key", "https://example.net/%24%7BOTHER%7D"):
        servers.record_move(mine, target)
        move = servers.move(mine)
        assert move and move.target == target
    database.close()


@pytest.mark.parametrize(
    ("values", "text", "hidden"),
    [
        ({"${K}": "a b/ü"}, "https://x/A%20b/%c3%bc?q", "https://x/${K}?q"),
        ({"${K}": "hush", "${L}": "hush-hush"}, "/hush-hush/hush/", "/${L}/${K}/"),
        ({"${U}": "https://u:pw@x.org/f/1.xml?k=2"}, "https://x.org/f/1.xml?...", "${U}?..."),
        (
            {"${U}": "https://x.org/f/1.xml"},
            "http://y.org/f/1.xml is gone",
            "http://y.org${U} is gone",
        ),
        ({"${P}": "f/1.xml?key=hush"}, "https://x.org/f/1.xml?...", "https://x.org/${P}?..."),
        ({"${N}": "2"}, "https://x/2/22: 422", "https://x/${N}/22: 422"),
        ({"${N}": "/"}, "https://x/", "https://x/"),
        ({}, "https://x/", "https://x/"),
    ],
)
def test_values_are_hidden_as_addresses_have_them(
    values: dict[str, str], text: str, hidden: str
) -> None:
    assert Variables(values).hide(text) == hidden
