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


def documents_in(pattern: str, dumps: bool = False) -> Iterator[Found]:
    """Find files by a glob, sorted by path; each is named by its path below the fixed folder.

    Hidden files are left out. With `dumps` they may be of any size. Raises FetchError when that
    folder, or the one file that the glob names, does not exist.
    """
    folder = _fixed_folder(Path(pattern))
    if not folder.is_dir():
        raise FetchError(f"there is no folder {folder}")
    for path in _find_matches(Path(pattern), folder):
        # A name that is not UTF-8 cannot be stored as it is.
        name = str(path.relative_to(folder)).encode(errors="replace").decode()
        dump = partial(read_dump, path, name) if dumps else None
        yield Found(name, partial(read_file, path, name), dump)


def read_file(path: Path, name: str = "") -> Document:
    """Read a file as a document, dated by its modification time; FetchError if it cannot be."""
    status = _stat(path)
    if status.st_size > MAX_FILE_BYTES:
        raise FetchError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
    with _faults_of(path):
        content = path.read_bytes()
    return Document(name or str(path), content, datetime.fromtimestamp(status.st_mtime, UTC))


def read_dump(path: Path, name: str = "") -> Dump:
    """Return a file as a dump, without reading it; FetchError if there is none."""
    status = _stat(path)
    at = datetime.fromtimestamp(status.st_mtime, UTC)
    return Dump(name or str(path), lambda: _open(path), at, status.st_size, status.st_mtime_ns)


def _open(path: Path) -> BinaryIO:
    with _faults_of(path):
        return path.open("rb")


def _stat(path: Path) -> os.stat_result:
    with _faults_of(path):
        status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise FetchError(f"{path} is not a regular file")
    return status


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise FetchError(f"cannot read {path}: {fault.strerror}") from fault


def _find_matches(pattern: Path, folder: Path) -> list[Path]:
    if pattern.is_file():
        return [pattern]
    if not _has_wildcard(pattern):
        raise FetchError(f"there is no file {pattern}")
    paths = folder.glob(str(pattern.relative_to(folder)))
    return sorted(path for path in paths if not (path.is_dir() or path.name.startswith(".")))


def _fixed_folder(pattern: Path) -> Path:
    """Return the folder above the first part of a glob that has a wildcard."""
    folder = pattern.parent
    while _has_wildcard(folder):
        folder = folder.parent
    return folder


def _has_wildcard(path: Path) -> bool:
    return any(character in "*?[" for character in str(path))
