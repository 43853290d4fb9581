"""New files and folders that only their owner can read, whatever the umask of the process is.

What exists already keeps its mode: an operator may have opened it to a group on purpose.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TextIO

FILE = 0o600
FOLDER = 0o700

_SHARED = "other accounts of this machine can use it"


def make_folder(path: Path, mode: int = FOLDER) -> None:
    """Make a folder and the missing ones above it, each with `mode`. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):  # another process makes the same ones
            folder.mkdir(mode)
            _set_mode(folder, mode)
    if not path.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def create_file(path: Path, mode: int = FILE) -> BinaryIO:
    """Create a file and open it for writing. Raises OSError, FileExistsError where there is one."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & FILE), "wb")
    if mode != FILE:
        _set_mode(path, mode)
    return file


def open_shared(path: Path, owner: int) -> TextIO:
    """Open a text for reading and appending that the processes of an account share, or create it.

    Its folder is created, too. Raises OSError, also where the folder belongs to an account other
    than this one, root or `owner`, where every account can write to it, or where the folder or the
    file is a link or a pipe.
    """
    make_folder(path.parent)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        facts = os.fstat(folder)
        if facts.st_uid not in (0, os.geteuid(), owner) or facts.st_mode & stat.S_IWOTH:
            raise PermissionError(errno.EPERM, _SHARED, str(path.parent))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.fdopen(os.open(path.name, flags, FILE, dir_fd=folder), "a+")
    finally:
        os.close(folder)
    facts = os.fstat(file.fileno())
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
        file.close()
        raise PermissionError(errno.EPERM, "it is no file of its own", str(path))
    return file


def read_private(path: Path, owner: int) -> bytes:
    """Return the content of a file of this account, root or the account `owner`, and no other.

    Raises OSError, also where the file is a link or a pipe, or other accounts can use it.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        facts = os.fstat(file.fileno())
        is_ours = facts.st_uid in (0, os.geteuid(), owner)
        is_shared = facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        if not stat.S_ISREG(facts.st_mode) or not is_ours or is_shared:
            raise PermissionError(errno.EPERM, _SHARED, str(path))
        return file.read()


def can_be_read_by_all(path: Path) -> bool:
    """Return whether every user of this machine may read a file. Raises OSError."""
    folders = path.resolve().parents
    open_to_all = all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)
    return open_to_all and bool(path.stat().st_mode & stat.S_IROTH)


def _set_mode(path: Path, mode: int) -> None:
    """Give a new file or folder what the umask has taken from its mode."""
    there = path.stat().st_mode
    if stat.S_IMODE(there) & 0o777 != mode:
        with suppress(PermissionError):  # a file system without modes, such as FAT, has its own
            path.chmod(mode | (stat.S_IMODE(there) & stat.S_ISGID))
