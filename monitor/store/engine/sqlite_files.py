"""The file of a SQLite store, and the files beside it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from monitor.errors import StoreError

# With less free space SQLite cannot create its temporary files.
MIN_FREE_BYTES = 1024 * 1024
_LIMITS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "a disk quota is reached",
    errno.EFBIG: "a limit on the size of files is reached",
}
# https://www.sqlite.org/fileformat.html, 1.3
_MAGIC = b"SQLite format 3\0"


def is_full(folder: Path) -> bool:
    """Return whether a file system has no free space or no free inodes."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    no_inodes = disk.f_files > 0 and disk.f_favail == 0
    return no_inodes or disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES


def growth_fault(path: Path) -> str:
    """Return why the files of a store cannot grow, or "" if they can.

    SQLite reports a quota and a limit on the size of files as it reports a broken disk. So growing
    is tried, with a file without a name, beyond the end of the store's largest file.
    """
    if is_full(path.parent):
        return _LIMITS[errno.ENOSPC]
    end = max(size_of(path), size_of(path.with_name(f"{path.name}-wal")))
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.seek(end)
            file.write(bytes(MIN_FREE_BYTES))
    except OSError as fault:
        return _LIMITS.get(fault.errno or 0, "")
    return ""


def is_missing(url: str) -> bool:
    """Return whether a store is a SQLite file that does not exist."""
    path = url.removeprefix("sqlite:///").partition("?")[0]
    return url.startswith("sqlite:///") and not Path(path).exists()


def is_database(path: Path) -> bool:
    """Return whether a file is there and begins as SQLite's do. To open it could change it."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as fault:
        raise StoreError(f"the store {path} cannot be opened: {fault.strerror}") from fault


def restoring(path: Path) -> Path:
    """Return the copy of a backup that is being prepared to replace a SQLite store."""
    return path.with_name(f"{path.name}.restoring")


def owners_folder(path: Path) -> Path:
    """Return the folder of lock files beside a SQLite store."""
    return path.with_name(f"{path.name}.owners")
