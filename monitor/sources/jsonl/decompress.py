"""Reads a dump like a tape: decompresses it as it goes, as UTF-8, with a running digest."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from xxhash import xxh3_128

from monitor.sources.fields.encoding import CompressionError, decompress, encoding_of, is_null

PIECE_BYTES = 128 * 1024  # fits into caches, and allocators reuse it
# Lists of papers pack 3 to 30 times; a higher ratio is an attempt to fill the disk.
MAX_RATIO = 200
_NULLS = bytes(PIECE_BYTES)


class Tape:
    """The decompressed bytes of a file, read once from start to end.

    `offset` counts the bytes that `read` and `skip` have passed. Once `read` has returned nothing,
    `fault` explains why that is not the whole document ("" if it is).
    """

    def __init__(self, file: BinaryIO) -> None:
        self.offset = 0
        self.fault = ""
        self._pieces = _as_utf8(decompress(file, PIECE_BYTES, MAX_RATIO))
        self._ahead = b""
        self._undigested: deque[memoryview] = deque()
        self._digest = xxh3_128()  # detects changes; needs no cryptographic strength
        self._digested = 0

    def peek(self, size: int) -> bytes:
        """Return the next bytes without moving on; fewer than `size` only at the end."""
        while len(self._ahead) < size and (piece := self._next()):
            self._ahead += piece
        return self._ahead[:size]

    def read(self) -> bytes:
        """Return the next piece; b"" at the end."""
        piece = self._ahead or self._next()
        self._ahead = b""
        self.offset += len(piece)
        if piece:
            # A gap in a log may have gigabytes of NUL bytes: they share one piece.
            shared = _NULLS if is_null(piece) and len(piece) <= len(_NULLS) else piece
            self._undigested.append(memoryview(shared)[: len(piece)])
        return piece

    def skip_nulls(self) -> None:
        """Move on to the first byte that is not NUL."""
        while piece := self.read():
            if rest := piece.lstrip(b"\0"):
                self._return(piece, rest)
                return
            self.digest(self.offset)

    def skip(self, offset: int) -> bool:
        """Move on to `offset` and digest all bytes before it; False if the tape ends earlier."""
        while self.offset < offset:
            piece = self.read()
            if not piece:
                return False
            if self.offset > offset:
                self._return(piece, piece[offset - self.offset :])
            self.digest(self.offset)
        return True

    def _return(self, piece: bytes, rest: bytes) -> None:
        """Take back the `rest` of the piece that was read last."""
        self._ahead = rest
        self._undigested[-1] = memoryview(piece)[: len(piece) - len(rest)]
        self.offset -= len(rest)

    def digest(self, offset: int) -> str:
        """Return the digest of all bytes before `offset`, which never decreases."""
        while self._undigested and self._digested < offset:
            piece = self._undigested.popleft()
            before = piece[: offset - self._digested]
            if len(before) < len(piece):
                self._undigested.appendleft(piece[len(before) :])
            self._digest.update(before)
            self._digested += len(before)
        return self._digest.hexdigest()

    def _next(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except CompressionError as broken:
            self.fault = str(broken)
            return b""


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 to UTF-8; leave UTF-8, even if it is broken, as it is without its mark."""
    head = next(pieces, b"")
    encoding, mark = encoding_of(head)
    pieces = filter(None, chain((head[mark:],), pieces))
    if encoding == "utf-8":
        yield from pieces
    else:
        for text in codecs.iterdecode(pieces, encoding, "replace"):
            yield text.encode(errors="replace")
