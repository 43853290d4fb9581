"""Restoring a backup, without sending again what was sent since."""

from __future__ import annotations

import shutil
import stat
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import structlog

from monitor.errors import StoreError
from monitor.model import DeliveryState
from monitor.private_files import create_file
from monitor.store.digests import outbox, suppressions
from monitor.store.digests.deliveries import WAITING
from monitor.store.engine import schema
from monitor.store.engine.connect import SQLITE_HEADER, header_of, restoring
from monitor.store.engine.database import Database
from monitor.store.engine.locks import service_lock
from monitor.store.engine.opening import open_store
from monitor.store.engine.sql import Instant, insert_new

log = structlog.get_logger()

OPEN = (*WAITING, *outbox.HELD)
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
HELD = "restored from a backup: it may have been sent since"


def restore(url: str, backup: Path, now: datetime) -> tuple[int, Path | None]:
    """Replace a SQLite store by a backup; return the number of held deliveries, and the old file.

    Open deliveries become unknown and wait for a person, and no digest due before now is composed:
    what was sent after the backup is not recorded (K12). The suppressions of the old store are
    kept; where they cannot be read, nothing is sent until a person confirms the list. Raises
    StoreError for a file that is not a store, and StoreBusyError while the service runs.
    """
    target = Database(url)
    if target.path is None:
        raise StoreError("a PostgreSQL store is restored with its own tools", "use pg_restore")
    if not backup.is_file():
        raise StoreError(f"there is no backup {backup}")
    _verify(backup)
    with service_lock(target):
        target.close()
        suppressed = _suppressions_of(target.path)
        copy = restoring(target.path)
        url = target.url.set(database=str(copy)).render_as_string(hide_password=False)
        held = _prepare(url, copy, backup, suppressed, now)
        return held, _swap(target.path, copy, now)


def _verify(backup: Path) -> None:
    with closing(Database(f"sqlite:///{backup}")) as database:
        database.check()
        with database.reading() as tx:
            if not sa.inspect(tx).has_table(schema.paper.name):
                raise StoreError(f"{backup} holds no store")


def _suppressions_of(path: Path) -> list[dict[str, Any]] | None:
    """Return the suppressions of the store that is replaced, None where they cannot be read."""
    try:
        if header_of(path) != SQLITE_HEADER:
            return None
        with closing(Database(f"sqlite:///{path}")) as replaced, replaced.reading() as tx:
            inspector = sa.inspect(tx)
            tables = inspector.get_table_names()
            table = schema.suppression
            if table.name in tables:  # perhaps of a version that had fewer columns
                there = [table.c[column["name"]] for column in inspector.get_columns(table.name)]
                return [dict(row) for row in tx.execute(sa.select(*there)).mappings()]
            return [] if schema.paper.name in tables else None  # of a version without them
    except FileNotFoundError:
        return None
    except (StoreError, OSError) as fault:
        log.warning("suppressions not carried over", error=str(fault))
        return None


def _prepare(
    url: str, copy: Path, backup: Path, suppressed: list[dict[str, Any]] | None, now: datetime
) -> int:
    """Prepare the copy of a backup: migrated, and with nothing open.

    While the copy exists no store is opened in its place: a process killed before the end of
    `_swap` leaves nothing behind that could send.
    """
    interrupted = copy.exists()
    try:
        _remove_belongings(copy)
        if not interrupted:
            create_file(copy).close()
        shutil.copyfile(backup, copy)
        with closing(open_store(url)) as database:
            return _hold(database, suppressed, now)
    except BaseException as fault:
        if not interrupted:
            copy.unlink(missing_ok=True)
        if isinstance(fault, OSError):
            raise StoreError(f"{backup} cannot be copied to {copy}: {fault.strerror}") from fault
        raise
    finally:
        _remove_belongings(copy)


def _remove_belongings(copy: Path) -> None:
    """Remove files that SQLite or a migration may have left beside the copy."""
    for file in copy.parent.iterdir():
        if file.name.startswith((f"{copy.name}-", f"{copy.name}.")):
            file.unlink(missing_ok=True)


def _swap(path: Path, copy: Path, now: datetime) -> Path | None:
    """The log and index files belong to the old file, and would damage the new one."""
    kept = path.with_name(f"{path.name}.before-{now:%Y%m%dT%H%M%S}")
    there = path.exists()
    if there:
        copy.chmod(stat.S_IMODE(path.stat().st_mode))
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(kept.with_name(kept.name + suffix))
    copy.replace(path)
    return kept if there else None


def _hold(database: Database, suppressed: list[dict[str, Any]] | None, now: datetime) -> int:
    with database.writing() as tx:
        if suppressed is None:
            suppressions.doubt(tx, now)
        else:
            tx.execute(sa.delete(schema.suppression))
            insert_new(tx, schema.suppression, suppressed)
        delivery = schema.delivery.c
        update = sa.update(schema.delivery)
        handed_off_at = sa.func.coalesce(delivery.handed_off_at, sa.literal(now, Instant))
        unknown: dict[str, Any] = {"state": DeliveryState.UNKNOWN, "owner": "", "error": HELD}
        unknown |= {"handed_off_at": handed_off_at, "next_attempt_at": NEVER}
        held = tx.execute(update.where(delivery.state.in_(OPEN)).values(unknown))
        # An unknown delivery may have been sent again since the backup.
        tx.execute(update.filter_by(state=DeliveryState.UNKNOWN).values(resent=True))
        active = sa.update(schema.subscription).filter_by(removed_at=None)
        tx.execute(active.values(first_seen_at=now))
    return held.rowcount
