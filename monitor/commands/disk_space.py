"""Room on the disk: a store that cannot grow stops the service."""

from __future__ import annotations

from shutil import disk_usage

from monitor.store.database import Database

MB = 1024 * 1024
# With less free beside a SQLite store, digests and papers may not be stored any more.
NEARLY_FULL = 20 * MB


def lack_of_room(database: Database) -> str:
    """Say that the disk is nearly full, "" while it is not or the store is a server's."""
    if database.path is None:
        return ""
    free = disk_usage(database.path.parent).free
    if free >= NEARLY_FULL:
        return ""
    return f"the disk is nearly full: {free / MB:.1f} MB free beside the store; free some space"
