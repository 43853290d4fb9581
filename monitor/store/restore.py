"""Restoring a backup, without sending again what was sent since."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from monitor.errors import StoreError
from monitor.model import DeliveryState
from monitor.private_files import create_file
from monitor.store import schema
from monitor.store.database import Database
from monitor.store.locks import service_lock
from monitor.store.opening import open_store
from monitor.store.sql import Instant
from monitor.store.sqlite_files import restoring

OPEN = (
    DeliveryState.PLANNED,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
    DeliveryState.RETRY,
)
HELD = "restored from a backup: it may have been sent since"


def restore(url: str, backup: Path, now: datetime) -> tuple[int, Path | None]:
    """Replace a SQLite store by a backup; return the number of held deliveries, and the old file.

    Open deliveries become unknown and wait for a person, and no digest due before now is composed:
    what was sent after the backup is not recorded (K12). Raises StoreError for a file that is not a
    store, and StoreBusyError while the service runs.
    """
    target = Database(url)
    if target.path is None:
        raise StoreError("a PostgreSQL store is restored with its own tools", "use pg_restore")
    if not backup.is_file():
        raise StoreError(f"there is no backup {backup}")
    _verify(backup)
    with service_lock(target):
        target.close()
        copy = restoring(target.path)
        url = target.url.set(database=str(copy)).render_as_string(hide_password=False)
        held = _prepare(url, copy, backup, now)
        return held, _swap(target.path, copy, now)


def _verify(backup: Path) -> None:
    found = Database(f"sqlite:///{backup}")
    try:
        found.check()
        with found.reading() as tx:
            if not sa.inspect(tx).has_table(schema.paper.name):
                raise StoreError(f"{backup} holds no store")
    finally:
        found.close()


def _prepare(url: str, copy: Path, backup: Path, now: datetime) -> int:
    """Prepare the copy of a backup: migrated, and with nothing open.

    While the copy exists no store is opened in its place: a process killed before the end of
    `_swap` leaves nothing behind that could send.
    """
    interrupted = copy.exists()
    try:
        _remove(_belongings(copy))
        if not interrupted:
            create_file(copy).close()
        shutil.copyfile(backup, copy)
        database = open_store(url)
        try:
            return _hold(database, now)
        finally:
            database.close()
    except BaseException as fault:
        if not interrupted:
            _remove([copy])
        if isinstance(fault, OSError):
            raise StoreError(f"{backup} cannot be copied to {copy}: {fault.strerror}") from fault
        raise
    finally:
        _remove(_belongings(copy))


def _belongings(copy: Path) -> list[Path]:
    """Return files that SQLite or a migration may have left beside the copy."""
    names = f"{copy.name}-", f"{copy.name}."
    return [file for file in copy.parent.iterdir() if file.name.startswith(names)]


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _swap(path: Path, copy: Path, now: datetime) -> Path | None:
    """The log and index files belong to the old file, and would damage the new one."""
    kept = path.with_name(f"{path.name}.before-{now:%Y%m%dT%H%M%S}")
    there = path.exists()
    if there:
        copy.chmod(stat.S_IMODE(path.stat().st_mode))
    for suffix in ("", "-wal", "-shm"):
        old = path.with_name(path.name + suffix)
        if old.exists():
            old.replace(kept.with_name(kept.name + suffix))
    copy.replace(path)
    return kept if there else None


def _hold(database: Database, now: datetime) -> int:
    delivery, subscription = schema.delivery.c, schema.subscription.c
    with database.writing() as tx:
        held = tx.execute(
            sa.update(schema.delivery)
            .where(delivery.state.in_(OPEN))
            .values(
                state=DeliveryState.UNKNOWN,
                owner="",
                error=HELD,
                handed_off_at=sa.func.coalesce(delivery.handed_off_at, sa.literal(now, Instant)),
                next_attempt_at=datetime(9999, 1, 1, tzinfo=UTC),
            )
        )
        # An unknown delivery may have been sent again since the backup.
        tx.execute(
            sa.update(schema.delivery)
            .where(delivery.state == DeliveryState.UNKNOWN)
            .values(resent=True)
        )
        tx.execute(
            sa.update(schema.subscription)
            .where(subscription.removed_at.is_(None))
            .values(first_seen_at=now)
        )
    return held.rowcount
