"""Files as documents and dumps: found by a glob, and read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from monitor.errors import FetchError
from monitor.model import Document, Dump

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_OPENINGS = 5  # of a file that others replace at the same time
FOLLOW = "`follow_links: true` in the source allows it"


@dataclass(frozen=True, slots=True)
class Found:
    """A document that can be read.

    `load` does the I/O: it returns None when the document has not changed, and raises FetchError
    when it cannot be fetched, which is no reason to skip the documents after it. `dump` does the
    same for a document of any size, of a kind that reads it in parts.
    """

    name: str
    load: Callable[[], Document | None]
    dump: Callable[[], Dump | None] | None = None


def documents_in(pattern: str, dumps: bool = False, follow_links: bool = False) -> Iterator[Found]:
    """Find files by a glob, sorted by path; each is named by its path below the fixed folder.

    Hidden files are left out. With `dumps` they may be of any size. A file that a wildcard finds
    is read only if it lies in that folder, links resolved, or with `follow_links`. Raises
    FetchError when that folder cannot be read, or the one file that the glob names does not exist,
    and for a pattern that can match nothing.
    """
    folder = fixed_folder(Path(pattern))
    if not folder.is_dir():
        raise FetchError(f"there is no folder {folder}")
    if Path(pattern).is_file():
        paths = [Path(pattern)]
        within = None
    else:
        paths = _find_matches(Path(pattern), folder)
        within = None if follow_links else folder
    for path in paths:
        # A name that is not UTF-8 cannot be stored as it is.
        name = str(path.relative_to(folder)).encode(errors="replace").decode()
        dump = partial(read_dump, path, name, within) if dumps else None
        yield Found(name, partial(read_file, path, name, within), dump)


def pattern_fault(pattern: str) -> str:
    """Return why a glob can match nothing, or ""."""
    parts = Path(pattern).parts
    if any("**" in part and part != "**" for part in parts):
        return "`**` is for folders, and a part of its own: write `**/*.txt`"
    if parts and parts[-1].startswith(".") and _has_wildcard(Path(parts[-1])):
        return "files whose names begin with a dot are left out"
    return ""


def read_file(path: Path, name: str = "", within: Path | None = None) -> Document:
    """Read a file, dated by its modification time; FetchError also where it leaves `within`."""
    with _open(path, within) as file, _faults_of(path):
        status = os.fstat(file.fileno())
        if status.st_size > MAX_FILE_BYTES:
            raise FetchError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
        content = file.read()
    return Document(name or str(path), content, datetime.fromtimestamp(status.st_mtime, UTC))


def read_dump(path: Path, name: str = "", within: Path | None = None) -> Dump:
    """Return a file as a dump, without reading it; raises FetchError as `read_file` does."""
    with _open(path, within) as file:
        status = os.fstat(file.fileno())
    at = datetime.fromtimestamp(status.st_mtime, UTC)
    reopen = partial(_open, path, within)
    return Dump(name or str(path), reopen, at, status.st_size, status.st_mtime_ns)


def _open(path: Path, within: Path | None) -> BinaryIO:
    """Open a regular file; what was opened is checked, since a name may be changed meanwhile."""
    for _ in range(MAX_OPENINGS):
        with _faults_of(path):
            # Opening a pipe that has taken the file's place would wait for a writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FetchError(f"{path} is not a regular file")
            if within is None or _lies_at(path, within, status):
                return os.fdopen(os.dup(descriptor), "rb")
        finally:
            os.close(descriptor)
    raise FetchError(f"{path} was replaced again and again while it was opened")


def _lies_at(path: Path, folder: Path, opened: os.stat_result) -> bool:
    """Return whether a path still names the opened file; FetchError if it leads out of `folder`."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise FetchError(f"{path} is a link that leads out of {folder}", FOLLOW)
    with _faults_of(path):
        return os.path.samestat(real.stat(), opened)


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise FetchError(f"cannot read {path}: {fault.strerror}") from fault


def _find_matches(pattern: Path, folder: Path) -> list[Path]:
    if not _has_wildcard(pattern):
        if pattern.is_dir():
            raise FetchError(f"{pattern} is a folder", f"its files are `{pattern}/*`")
        raise FetchError(f"there is no file {pattern}")
    if fault := pattern_fault(str(pattern)):
        raise FetchError(f"{pattern} can match nothing: {fault}")
    glob = str(pattern.relative_to(folder))
    # Of a folder that cannot be listed, `glob` finds as much as of an empty one.
    with _faults_of(folder), os.scandir(folder):
        pass
    # Up to Python 3.12, a trailing `**` matches folders only.
    paths = folder.glob(f"{glob}/*" if pattern.name == "**" else glob)
    return sorted(path for path in paths if not (path.is_dir() or path.name.startswith(".")))


def fixed_folder(pattern: Path) -> Path:
    """Return the folder above the first part of a glob that has a wildcard."""
    folder = pattern.parent
    while _has_wildcard(folder):
        folder = folder.parent
    return folder


def _has_wildcard(path: Path) -> bool:
    return any(character in "*?[" for character in str(path))
