"""Decompresses documents piece by piece: gzip, zstd and bzip2, by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from typing import BinaryIO, cast

ENDS_IN_THE_MIDDLE = "the document ends in the middle"
RATIO_CHECKED_FROM_BYTES = 64 * 1024 * 1024


class CompressionError(Exception):
    """Why no more can be decompressed."""


def decompress(
    file: BinaryIO, piece_bytes: int, max_ratio: int, max_bytes: int | None = None
) -> Iterator[bytes]:
    """Yield the content of a file, compressed or not; raises CompressionError.

    Compressed files may be joined. A ratio above `max_ratio` is an attempt to fill memory or disk.
    """
    unpacked = 0
    with _open(file) as content:
        while piece := _read(content, piece_bytes):
            unpacked += len(piece)
            is_large = max_bytes is not None and unpacked > max_bytes
            if is_large or unpacked > max(RATIO_CHECKED_FROM_BYTES, file.tell() * max_ratio):
                raise CompressionError(f"the document unpacks to over {max_ratio} times its size")
            yield piece


def _open(file: BinaryIO) -> BufferedIOBase:
    head = file.read(4)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if head == b"\x28\xb5\x2f\xfd":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return zstd.ZstdFile(file)
    return cast("BufferedIOBase", file)


def _read(content: BufferedIOBase, size: int) -> bytes:
    try:
        return content.read1(size)  # what precedes a fault is returned before it
    except EOFError as fault:
        raise CompressionError(ENDS_IN_THE_MIDDLE) from fault
    except Exception as fault:  # zlib.error, OSError, ZstdError: one for each format
        raise CompressionError(f"the document's compression is broken ({fault})") from fault
