from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from monitor.errors import NoStoreError, StoreBusyError, StoreError
from monitor.store.engine import connect as engine
from monitor.store.engine import database, opening, processes, schema
from monitor.store.engine.database import Database
from monitor.store.engine.locks import hold_owner
from monitor.store.engine.opening import open_store
from monitor.store.papers import papers
from tests.patience import PATIENCE
from tests.store.scenes import NOW, arrive, reading, run, writing


def test_X14_X15_the_settings_of_a_sqlite_store(sqlite: Database) -> None:
    asked = ("journal_mode", "journal_size_limit", "synchronous", "foreign_keys", "busy_timeout")
    with sqlite.writing() as tx:
        settings = {name: tx.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked}
    assert settings == {
        "journal_mode": "wal",
        "journal_size_limit": 64 * 1024 * 1024,
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": engine.BUSY_MS,
    }


@pytest.mark.parametrize("by_default, agreed", [("off", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_on_postgresql_is_on_the_disk_whatever_the_server_does_by_default(
    postgres_url: str, by_default: str, agreed: str
) -> None:
    name = sa.make_url(postgres_url).database
    opened = Database(postgres_url)
    with opened.writing() as tx:
        tx.exec_driver_sql(f'ALTER DATABASE "{name}" SET synchronous_commit = {by_default}')
    opened.close()
    with opened.writing() as tx:
        assert tx.exec_driver_sql("SHOW synchronous_commit").scalar() == agreed
    opened.close()


def test_a_mark_stays_until_somebody_commits(store: Database) -> None:
    other = Database(store.url.render_as_string(hide_password=False))
    first = store.mark()
    with store.writing() as tx:
        processes.beat(tx, "own", NOW)
    marks = [first, store.mark()]
    assert marks[0] != marks[1]  # written by the same process
    with other.writing() as tx:
        processes.beat(tx, "other", NOW)
        assert store.mark() == store.mark()
    marks.append(store.mark())
    with other.reading() as tx:
        processes.last_beat(tx, "other")
    assert store.mark() == marks[2] and len(set(marks)) == 3
    other.close()


def test_X17_a_second_writer_waits_for_the_one_connection_that_writes(sqlite: Database) -> None:
    began = threading.Event()

    def write() -> None:
        with sqlite.writing():
            began.set()

    with sqlite.writing() as tx:
        thread = threading.Thread(target=write)
        thread.start()
        tx.exec_driver_sql("COMMIT")  # the file is free: what they wait for is the connection
        assert not began.wait(0.2)
        tx.exec_driver_sql("BEGIN IMMEDIATE")
    thread.join(PATIENCE)
    assert began.is_set()


def test_X15_a_writing_transaction_is_one_from_its_first_moment(sqlite: Database) -> None:
    other = sqlite3.connect(sqlite.path, timeout=0)
    with sqlite.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_a_transaction_is_all_or_nothing(store: Database) -> None:
    with pytest.raises(ZeroDivisionError), store.writing() as tx:
        processes.beat(tx, "x", NOW)
        raise ZeroDivisionError
    assert reading(store, processes.last_beat, "x") is None


def test_what_refers_to_nothing_is_refused(store: Database) -> None:
    row = {"scheme": "doi", "value": "x", "paper_id": 99}
    with pytest.raises(StoreError), store.writing() as tx:
        tx.execute(sa.insert(schema.paper_key), row)


def test_a_reader_writes_nothing(store: Database) -> None:
    with pytest.raises(StoreError, match=r"read-?only"), store.reading() as tx:
        processes.beat(tx, "x", NOW)
    writing(store, processes.beat, "x", NOW)


def test_a_reader_sees_the_store_as_it_was_and_blocks_nobody(store: Database) -> None:
    with store.reading() as reader:
        assert processes.last_beat(reader, "x") is None
        with store.writing() as writer:
            processes.beat(writer, "x", NOW)
        assert processes.last_beat(reader, "x") is None
    with store.reading() as reader:
        assert processes.last_beat(reader, "x") == NOW


# ── opening ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["some/where/monitor.db", "empty.db"])
def test_a_store_is_made_where_there_is_none_or_an_empty_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty.db").touch()
    store = open_store(f"sqlite:///{tmp_path / place}")
    assert database.schema_version(store) == schema.VERSION
    store.close()


def test_a_database_that_does_not_answer_is_named_without_its_password() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://papers:s3cret@127.0.0.1:1/papers")
    assert "127.0.0.1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def overwritten(path: Path, place: int, content: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(place)
        file.write(content)


def test_K13_a_damaged_file_is_refused_and_left_as_it_is(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    whole = path.read_bytes()
    damages = {
        "no store": lambda: path.write_bytes(b"not a database at all" * 400),
        "cut off": lambda: path.write_bytes(whole[: len(whole) // 2]),
        "header gone": lambda: overwritten(path, 0, b"\0" * 100),
        "schema gone": lambda: overwritten(path, 100, b"\xff" * 3_000),
        "pages gone": lambda: overwritten(path, len(whole) // 2, b"\xff" * 9_000),
    }
    for name, damage in damages.items():
        path.write_bytes(whole)
        damage()
        damaged = path.read_bytes()
        with pytest.raises(StoreError, match="restore a backup"):
            open_store(sqlite_url).close()
            pytest.fail(f"opened although: {name}")
        assert path.read_bytes() == damaged, name


# ── where there is no store, or no longer the one that was opened ───────────────────


def test_a_reading_command_creates_no_store(blank: str, tmp_path: Path) -> None:
    with pytest.raises(NoStoreError, match=r"no store yet at .* .*paper-monitor run"):
        open_store(blank, create=False)
    assert not opening.is_there(blank)
    assert list(tmp_path.iterdir()) == []
    open_store(blank).close()
    open_store(blank, create=False).close()
    assert opening.is_there(blank)


def test_no_connection_creates_a_file(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'monitor.db'}")
    for transaction in (store.reading, store.writing):
        with pytest.raises(StoreError, match="there is no store"), transaction():
            pytest.fail("opened")
    with pytest.raises(StoreError, match="there is no store"):
        store.backup(tmp_path / "backup.db")
    assert list(tmp_path.iterdir()) == []


def deleted(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file():
            file.unlink()


def replaced(path: Path) -> None:
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    deleted(path)
    copy.replace(path)


@pytest.mark.parametrize(
    "change, says", [(deleted, "was deleted or moved"), (replaced, "was replaced")]
)
def test_nothing_is_recorded_in_a_file_that_is_no_longer_the_store(
    sqlite: Database, tmp_path: Path, change: Callable[[Path], None], says: str
) -> None:
    """Not even what was begun before: its commit would be lost with the file."""
    arrive(sqlite, "1")
    with pytest.raises(StoreError, match=says), sqlite.writing() as tx:
        processes.beat(tx, "x", NOW)
        change(tmp_path / "monitor.db")
    for transaction in (sqlite.reading, sqlite.writing):
        with pytest.raises(StoreError, match=says), transaction():
            pytest.fail("used")


def test_a_file_that_is_put_back_is_used_again(sqlite: Database, tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    away = tmp_path / "away.db"
    arrive(sqlite, "1")
    path.rename(away)
    with pytest.raises(StoreError, match="deleted or moved"):
        arrive(sqlite, "2")
    away.rename(path)
    arrive(sqlite, "2")
    assert reading(sqlite, papers.count) == 2


@pytest.mark.parametrize("create", [True, False])
def test_K13_a_store_that_was_in_use_and_is_empty_or_gone_is_not_begun_anew(
    sqlite_url: str, tmp_path: Path, create: bool
) -> None:
    """A supervisor starts the service again: an empty store would send everything again."""
    store = open_store(sqlite_url)
    hold_owner(store).release()
    store.close()
    (tmp_path / "monitor.db").write_bytes(b"")
    with pytest.raises(StoreError, match="restore a backup"):
        open_store(sqlite_url, create=create)
    assert (tmp_path / "monitor.db").read_bytes() == b""
    deleted(tmp_path / "monitor.db")
    with pytest.raises(StoreError, match=r"is missing.*monitor.db.owners.*restore a backup"):
        open_store(sqlite_url, create=create)
    assert not (tmp_path / "monitor.db").exists()
    (tmp_path / "monitor.db.owners").rmdir()
    open_store(sqlite_url).close()


MAKES = """
import os, sys
from pathlib import Path
from monitor.store.engine.opening import open_store
from monitor.store.engine.locks import hold_owner
from tests.store.scenes import arrive

os.umask(int(sys.argv[1], 8))
folder = Path(sys.argv[2])
store = open_store(f"sqlite:///{folder / 'data' / 'monitor.db'}")
owner = hold_owner(store)
arrive(store, "1")
store.backup(folder / "monitor.backup")
for path in sorted(folder.rglob("*")):
    print(path.relative_to(folder), oct(path.stat().st_mode & 0o777))
"""


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_what_is_new_can_be_read_by_its_owner_alone(tmp_path: Path, umask: str) -> None:
    modes = dict(line.split() for line in run(MAKES, umask, str(tmp_path)).splitlines())
    folders = {"data", "data/monitor.db.owners"}
    files = {f"data/monitor.db{end}" for end in ("", "-wal", "-shm")} | {"monitor.backup"}
    assert {modes[name] for name in folders} == {"0o700"}
    assert files < set(modes)
    assert {mode for name, mode in modes.items() if name not in folders} == {"0o600"}


def test_a_store_that_exists_keeps_its_mode(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    path.chmod(0o640)
    store = open_store(sqlite_url)
    arrive(store, "1")
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("monitor.db*")} == {0o640}
    store.close()


# ── refusing to record ──────────────────────────────────────────────────────────────


def test_X19_the_probe_writes(store: Database) -> None:
    store.probe()
    assert reading(store, processes.last_beat, "probe") is not None


def test_X19_K10_a_full_disk_is_noticed_before_anything_is_sent(sqlite: Database) -> None:
    with sqlite.writing() as tx:
        pages = tx.exec_driver_sql("PRAGMA page_count").scalar()
        tx.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="the disk is full"):
        arrive(sqlite, *map(str, range(2_000)))
    with sqlite.writing() as tx:
        assert papers.count(tx) == 0
        tx.exec_driver_sql("PRAGMA max_page_count = 100000")
    arrive(sqlite, "1")
    sqlite.probe()


OPENS_ON_A_FULL_DISK = """
mount -t tmpfs -o "$4" tmpfs "$1" || exit 77
cp "$2" "$1/monitor.db" && head -c 4m /dev/zero 2>/dev/null > "$1/fill"
"$3" -c '
import sys
from monitor.errors import StoreError
from monitor.store.engine.opening import open_store
for name in sys.argv[2:]:
    try:
        open_store(f"sqlite:///{sys.argv[1]}/{name}")
    except StoreError as fault:
        print(fault)
' "$1" $5
"""


@pytest.mark.parametrize(
    "size, stores",
    [("size=2m", "monitor.db new/monitor.db"), ("size=16m,nr_inodes=3", "monitor.db")],
    ids=["no room", "no name for a file"],
)
def test_a_disk_that_is_full_before_the_start_is_not_taken_for_damage(
    sqlite_template: Path, tmp_path: Path, size: str, stores: str
) -> None:
    """SQLite says "disk I/O error" where it cannot make the files that it works with."""
    if shutil.which("unshare") is None:
        pytest.skip("A DISK THAT IS FULL AT THE START IS NOT TESTED: there is no unshare")
    script = [OPENS_ON_A_FULL_DISK, "sh", str(tmp_path), str(sqlite_template), sys.executable]
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", *script, size, stores]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("A DISK THAT IS FULL AT THE START IS NOT TESTED: no file system may be mounted")
    said = done.stdout.splitlines()
    assert len(said) == len(stores.split()), done.stderr
    assert all("the disk is full (free some space" in line for line in said)
    assert "backup" not in done.stdout


PROBES = """
import os, sys
import sqlalchemy.dialects.sqlite.pysqlite
from monitor.errors import StoreError
from monitor.store.engine.database import Database

store = Database(sys.argv[1])
if sys.argv[2:] and os.geteuid() == 0:
    os.seteuid(int(sys.argv[2]))
try:
    store.probe()
except StoreError as fault:
    print(fault)
"""


def test_X19_K10_a_store_that_reaches_a_disk_quota_is_a_full_disk(
    sqlite_template: Path, tmp_path: Path
) -> None:
    """SQLite says "disk I/O error", and for that the advice is to restore a backup."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("A DISK QUOTA IS NOT TESTED: there is no C compiler")
    shim = tmp_path / "quota.so"
    source = Path(__file__).with_name("quota.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copyfile(sqlite_template, folder / "monitor.db")
    limited = {**os.environ, "LD_PRELOAD": str(shim), "QUOTA": str(folder)}
    said = run(PROBES, f"sqlite:///{folder}/monitor.db", env=limited)
    assert "cannot grow: a disk quota is reached (free some space" in said


def test_X19_a_read_only_store_is_noticed_before_anything_is_sent(sqlite_template: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "monitor.db"
        shutil.copyfile(sqlite_template, path)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        said = run(PROBES, f"sqlite:///{path}", "65534")  # root may write what is read-only
        path.parent.chmod(0o755)
    assert "monitor.db is read-only" in said


def test_K11_a_new_store_waits_for_the_process_that_creates_it(tmp_path: Path) -> None:
    store = Database(f"sqlite:///{tmp_path / 'monitor.db'}", wait=0.2)
    with closing(store), closing(sqlite3.connect(tmp_path / "monitor.db")) as creator:
        creator.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreBusyError), store.writing():
            pass
        assert time.monotonic() - began >= 0.2
        creator.execute("COMMIT")
        with store.writing() as tx:
            assert tx.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_K11_a_store_that_is_held_for_long_is_busy_and_loses_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_MS", 50)
    store = open_store(sqlite_url)
    with sqlite3.connect(tmp_path / "monitor.db", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusyError, match="held by another process"):
            arrive(store, "1")
        other.execute("ROLLBACK")
    arrive(store, "1")
    assert reading(store, papers.count) == 1
    store.close()


# ── backup ──────────────────────────────────────────────────────────────────────────


def test_a_backup_is_a_whole_store_while_others_write(sqlite: Database, tmp_path: Path) -> None:
    arrive(sqlite, "1", "2")
    target = tmp_path / "backups" / "monitor.db"
    target.parent.mkdir()
    with sqlite.writing() as tx:
        processes.beat(tx, "not yet committed", NOW)
        sqlite.backup(target)
    copy = open_store(f"sqlite:///{target}")
    assert reading(copy, papers.count) == 2
    assert reading(copy, processes.last_beat, "not yet committed") is None
    copy.close()
    assert [file.name for file in target.parent.iterdir()] == ["monitor.db"]
    before = target.read_bytes()
    target.with_name("monitor.db.unfinished").write_text("of a run that was killed")
    arrive(sqlite, *map(str, range(100)))
    sqlite.backup(target)
    assert len(target.read_bytes()) > len(before)


def test_a_backup_that_cannot_be_written_leaves_nothing(sqlite: Database, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    (tmp_path / "monitor.yaml").write_text("topics: {}")
    os.mkfifo(tmp_path / "pipe")
    for wrong, why in (
        ("bakups/monitor.db", "there is no folder"),
        ("backups", "is a folder"),
        ("monitor.yaml", "exists and is no backup"),
        ("pipe", "exists and is no backup"),
    ):
        with pytest.raises(StoreError, match=why):
            sqlite.backup(tmp_path / wrong)
    assert not (tmp_path / "bakups").exists()
    assert (tmp_path / "monitor.yaml").read_text() == "topics: {}"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(StoreError):
            sqlite.backup(tmp_path / "backups" / "monitor.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_postgresql_store_is_backed_up_with_its_own_tools(postgres_url: str, tmp_path: Path):
    store = open_store(postgres_url)
    with pytest.raises(StoreError, match="pg_dump"):
        store.backup(tmp_path / "x")
    store.close()


def test_a_store_is_used_again_after_it_was_closed(store: Database) -> None:
    store.close()
    arrive(store, "1")
