from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from monitor.errors import StoreBusyError, StoreError
from monitor.model import Delivery, DeliveryState
from monitor.store.digests import deliveries, incidents, outbox, suppressions
from monitor.store.engine.database import Database
from monitor.store.engine.locks import service_lock
from monitor.store.engine.opening import open_store
from monitor.store.papers import papers
from monitor.store.restore import restore
from monitor.store.topics import subscriptions
from tests.patience import PATIENCE
from tests.store.scenes import (
    DAY,
    NOW,
    arrive,
    attempt,
    claim,
    digest,
    freeze,
    reading,
    subscribe,
    writing,
)

LATER = NOW + DAY
ADA = "ada@example.org"
BOB = "bob@example.org"
EVE = "eve@example.org"
KEPT = f"monitor.db.before-{LATER:%Y%m%dT%H%M%S}"

# Runs a restore and dies at its n-th step that touches a file.
DIES = """
import os, sys
from datetime import datetime
from pathlib import Path
from monitor.store.restore import restore

steps = iter(range(int(sys.argv[4])))
touching = {"os.rename", "os.remove", "shutil.copyfile", "sqlite3.connect"}

def die(event, arguments):
    if event in touching and next(steps, None) is None:
        os._exit(9)

sys.addaudithook(die)
restore(sys.argv[1], Path(sys.argv[2]), datetime.fromisoformat(sys.argv[3]))
"""


@pytest.fixture
def backup(sqlite_url: str, tmp_path: Path) -> Path:
    """A backup with an open delivery; the store has sent it since, and read one paper more.

    Bob had stopped; since then he came back, and Eve stopped.
    """
    store = open_store(sqlite_url)
    subscribe(store, "ada")
    arrive(store, "1")
    writing(store, suppressions.suppress, BOB, suppressions.ALL, NOW, how="operator")
    assert freeze(store, digest([]))
    path = tmp_path / "backup.db"
    store.backup(path)
    arrive(store, "2")
    send(store)
    writing(store, suppressions.lift, BOB, suppressions.ALL, NOW)
    writing(store, suppressions.suppress, EVE, suppressions.ALL, NOW, how="operator")
    store.close()
    return path


def send(store: Database) -> list[Delivery]:
    return attempt(store, DeliveryState.SENT, now=LATER)


def restored(url: str, backup: Path) -> tuple[int, Path | None]:
    return restore(url, backup, LATER)


def counted(url: str) -> int:
    with closing(open_store(url)) as store, store.reading() as tx:
        return papers.count(tx)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_K12_what_was_open_is_held_and_no_slot_before_now_is_due(
    sqlite_url: str, backup: Path, tmp_path: Path
) -> None:
    assert restored(sqlite_url, backup) == (1, tmp_path / KEPT)
    store = open_store(sqlite_url)
    assert send(store) == []
    with store.reading() as tx:
        [held] = outbox.list_unknown(tx)
        assert "it may have been sent" in held.error
        assert (held.handed_off_at, held.resent) == (LATER, True)
        assert outbox.list_unknown(tx, LATER + 3650 * DAY) == []
        assert subscriptions.states(tx)["ada"].first_seen == LATER
        assert papers.count(tx) == 1
    writing(store, outbox.settle_by_hand, held.id, "resend", LATER)
    assert claim(store, now=LATER)
    writing(store, outbox.unclaim, held.id, "me", "the line is down", LATER)
    [again] = reading(store, deliveries.select, deliveries.IS_HANDED_OFF_AGAIN)
    assert again.id == held.id
    store.close()
    assert files(tmp_path) == {"monitor.db", "monitor.db.owners", "backup.db", KEPT}
    assert counted(f"sqlite:///{tmp_path / KEPT}") == 2


def test_K12_what_was_unknown_is_not_handed_off_again_by_itself(
    sqlite_url: str, tmp_path: Path
) -> None:
    """The store may have handed it off once more after the backup."""
    store = open_store(sqlite_url)
    subscribe(store, "ada")
    assert freeze(store, digest([]))
    attempt(store, DeliveryState.UNKNOWN)
    store.backup(tmp_path / "backup.db")
    store.close()
    restored(sqlite_url, tmp_path / "backup.db")
    with closing(open_store(sqlite_url)) as store, store.reading() as tx:
        [unknown] = outbox.list_unknown(tx)
    assert (unknown.handed_off_at, unknown.resent) == (NOW, True)


def test_a_restored_store_has_the_mode_of_the_one_before_or_is_its_owners_alone(
    sqlite_url: str, backup: Path, tmp_path: Path
) -> None:
    store = tmp_path / "monitor.db"
    backup.chmod(0o644)
    store.chmod(0o640)
    restored(sqlite_url, backup)
    assert store.stat().st_mode & 0o777 == 0o640
    store.unlink()
    restored(sqlite_url, backup)
    assert store.stat().st_mode & 0o777 == 0o600


def test_a_damaged_or_missing_store_is_replaced(
    sqlite_url: str, backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "monitor.db").write_bytes(b"no store at all")
    (tmp_path / "monitor.db-wal").write_bytes(b"of the old one")
    restored(sqlite_url, backup)
    assert (tmp_path / f"{KEPT}-wal").read_bytes() == b"of the old one"
    (tmp_path / "monitor.db").unlink()
    assert restored(sqlite_url, backup) == (1, None)
    open_store(sqlite_url).close()


def test_K12_a_restore_that_is_killed_anywhere_sends_nothing_and_can_be_run_again(
    sqlite_url: str, backup: Path, tmp_path: Path
) -> None:
    for steps in range(99):
        command = [sys.executable, "-c", DIES, sqlite_url, str(backup), LATER.isoformat()]
        done = subprocess.run([*command, str(steps)], timeout=PATIENCE)
        assert done.returncode in (0, 9)
        if (tmp_path / "monitor.db.restoring").exists():
            with pytest.raises(StoreError, match=r"a restore of .* is not finished"):
                open_store(sqlite_url)
        else:
            with closing(open_store(sqlite_url)) as store:
                assert send(store) == [], f"sent after {steps} steps"
        if done.returncode == 0:
            break
    assert steps > 5
    assert files(tmp_path) >= {"monitor.db", "backup.db", KEPT}
    with closing(open_store(sqlite_url)) as store, store.reading() as tx:
        assert len(outbox.list_unknown(tx)) == 1


@pytest.mark.parametrize("damage", ["newer", "no store", "missing"])
def test_a_backup_that_cannot_be_used_changes_nothing(
    sqlite_url: str, backup: Path, tmp_path: Path, damage: str
) -> None:
    if damage == "newer":
        with closing(Database(f"sqlite:///{backup}")) as newer, newer.writing() as tx:
            tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    elif damage == "no store":
        backup.write_text("no store")
    else:
        backup.unlink()
    before = files(tmp_path)
    with pytest.raises(StoreError):
        restored(sqlite_url, backup)
    assert files(tmp_path) - {"monitor.db.owners"} == before - {"monitor.db.owners"}
    assert counted(sqlite_url) == 2


def test_nothing_is_restored_under_a_service_or_into_postgresql(
    sqlite: Database, backup: Path, postgres_url: str
) -> None:
    with service_lock(sqlite), pytest.raises(StoreBusyError):
        restored(sqlite.url.render_as_string(), backup)
    with pytest.raises(StoreError, match="pg_restore"):
        restored(postgres_url, backup)


# ── suppressions ────────────────────────────────────────────────────────────────────


def suppressed(url: str) -> list[str]:
    with closing(open_store(url)) as store, store.reading() as tx:
        return [one.recipient for one in suppressions.listing(tx, NOW)]


def test_a_restored_store_has_the_suppressions_of_the_one_it_replaces(
    sqlite_url: str, backup: Path
) -> None:
    restored(sqlite_url, backup)
    assert suppressed(sqlite_url) == [EVE]


@pytest.mark.parametrize("replaced", ["missing", "damaged", "no store"])
def test_where_they_cannot_be_read_mail_rests_until_it_is_confirmed(
    sqlite_url: str, backup: Path, tmp_path: Path, replaced: str
) -> None:
    path = tmp_path / "monitor.db"
    if replaced == "missing":
        path.unlink()
    else:
        path.write_bytes(b"SQLite format 3\0" * (replaced == "damaged") + b"rubbish")
    restored(sqlite_url, backup)
    assert suppressed(sqlite_url) == [BOB]
    with closing(open_store(sqlite_url)) as store:
        freeze(store, digest([], "after"), recipients=[ADA, BOB])
        assert claim(store, now=LATER) == []
        assert writing(store, suppressions.confirm, NOW)
        assert [one.recipient for one in claim(store, now=LATER)] == [ADA]


def test_a_store_from_before_there_were_suppressions_had_none(
    sqlite_url: str, backup: Path
) -> None:
    with closing(Database(sqlite_url)) as store, store.writing() as tx:
        tx.execute(sa.text("DROP TABLE suppression"))
    restored(sqlite_url, backup)
    assert suppressed(sqlite_url) == []
    with closing(Database(sqlite_url)) as store, store.reading() as tx:
        assert incidents.open_incidents(tx) == []


def test_the_suppressions_of_a_store_of_an_older_version_are_kept(
    sqlite_url: str, backup: Path
) -> None:
    with closing(Database(sqlite_url)) as store, store.writing() as tx:
        tx.execute(sa.text("ALTER TABLE suppression DROP COLUMN reason"))
    restored(sqlite_url, backup)
    assert suppressed(sqlite_url) == [EVE]
