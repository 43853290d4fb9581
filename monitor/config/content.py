"""Reading the files of the configuration, within limits of size and time."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

MAX_BYTES = 50_000_000
# For what is not a regular file, such as the pipe of `--config <(sops -d monitor.yaml)`.
PIPE_SECONDS = 10.0


def content(file: Path, *, may_be_pipe: bool = False) -> bytes:
    """Return the bytes of a regular file, or of a link to one; of a pipe only where it may be one.

    Raises OSError, with what is wrong as its `strerror`.
    """
    # Opening a pipe would wait for a writer.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not may_be_pipe and not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return _read(descriptor)
    finally:
        os.close(descriptor)


def is_file(path: Path) -> bool:
    """Whether there is a file; `Path.is_file` raises if it may not look, or a name is too long."""
    return os.path.isfile(path)  # noqa: PTH113


def _read(descriptor: int) -> bytes:
    ready = select.poll()
    end = time.monotonic() + PIPE_SECONDS
    ready.register(descriptor, select.POLLIN)
    parts: list[bytes] = []
    size = 0
    # A pipe that no writer has opened yet would read as one that is at its end.
    while ready.poll(max(end - time.monotonic(), 0) * 1000):
        part = os.read(descriptor, 1_000_000)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"it has more than {MAX_BYTES // 1_000_000} MB")
    raise OSError(errno.ETIMEDOUT, f"it did not end within {PIPE_SECONDS:.0f} seconds")
