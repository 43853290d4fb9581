"""Reads a dump like a tape: decompresses it as it goes, as UTF-8, with a running digest.

file ── gzip, zstd, bzip2 or plain (by its first bytes) ──> UTF-16 to UTF-8 ──> pieces of 128 KB

Only the pieces that are not yet digested are held in memory.
"""

from __future__ import annotations

import bz2
import codecs
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from monitor.sources.fields.encoding import encoding_of, is_null

PIECE_BYTES = 128 * 1024  # fits into caches, and allocators reuse it
PACKED_PIECE_BYTES = 256 * 1024
# Lists of papers pack 3 to 30 times; a higher ratio is an attempt to fill the disk.
MAX_RATIO = 200
RATIO_CHECKED_FROM_BYTES = 64 * 1024 * 1024
_NULLS = bytes(PACKED_PIECE_BYTES)
ENDS_IN_THE_MIDDLE = "the document ends in the middle"


class Tape:
    """The decompressed bytes of a file, read once from start to end.

    `offset` counts the bytes that `read` and `skip` have passed. Once `read` has returned nothing,
    `fault` explains why that is not the whole document ("" if it is).
    """

    def __init__(self, file: BinaryIO) -> None:
        from xxhash import xxh3_128  # only dumps need it

        self.offset = 0
        self.fault = ""
        self._pieces = _as_utf8(_decompress(file))
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
        piece, self._ahead = self._ahead or self._next(), b""
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
            self.digest_up_to(self.offset)

    def skip(self, offset: int) -> bool:
        """Move on to `offset` and digest all bytes before it; False if the tape ends earlier."""
        while self.offset < offset:
            piece = self.read()
            if not piece:
                return False
            if self.offset > offset:
                self._return(piece, piece[offset - self.offset :])
            self.digest_up_to(self.offset)
        return True

    def _return(self, piece: bytes, rest: bytes) -> None:
        """Take back the `rest` of the piece that was read last."""
        self._ahead = rest
        self._undigested[-1] = memoryview(piece)[: len(piece) - len(rest)]
        self.offset -= len(rest)

    def digest_up_to(self, offset: int) -> None:
        """Digest all bytes before `offset`, which never decreases, while they are in the caches."""
        while self._undigested and self._digested < offset:
            piece = self._undigested.popleft()
            before = piece[: offset - self._digested]
            if len(before) < len(piece):
                self._undigested.appendleft(piece[len(before) :])
            self._digest.update(before)
            self._digested += len(before)

    def digest(self, offset: int) -> str:
        """Return the digest of all bytes before `offset`, which never decreases."""
        self.digest_up_to(offset)
        return self._digest.hexdigest()

    def _next(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except _BrokenError as broken:
            self.fault = str(broken)
            return b""


class _BrokenError(Exception):
    """Why no more can be decompressed."""


class _Decompressor(Protocol):
    """The common interface of bz2, zstd and `_Gzip`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """A member of a gzip file, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


def _new_zstd() -> _Decompressor:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()


_PACKERS: tuple[tuple[bytes, Callable[[], _Decompressor]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"\x28\xb5\x2f\xfd", _new_zstd),
    (b"BZh", bz2.BZ2Decompressor),
)


def _decompress(file: BinaryIO) -> Iterator[bytes]:
    head = file.read(PACKED_PIECE_BYTES)
    for magic, new in _PACKERS:
        if head.startswith(magic):
            yield from _decompress_members(file, head, new, magic)
            return
    while head:
        yield head
        head = file.read(PIECE_BYTES)


def _decompress_members(
    file: BinaryIO, data: bytes, new: Callable[[], _Decompressor], magic: bytes
) -> Iterator[bytes]:
    """Decompress all members: compressed files may be joined, and padded with zeros."""
    packed, unpacked = len(data), 0
    while data:
        if not data.startswith(magic[: len(data)]):
            raise _BrokenError("the document goes on with something else after its packed part")
        member = new()
        while not member.eof:
            ended = False
            if member.needs_input and not data:
                data = file.read(PACKED_PIECE_BYTES)
                packed, ended = packed + len(data), not data
            piece, data = _decompress_piece(member, data), b""
            if ended and not piece and not member.eof:
                raise _BrokenError(ENDS_IN_THE_MIDDLE)
            unpacked += len(piece)
            if unpacked > max(RATIO_CHECKED_FROM_BYTES, packed * MAX_RATIO):
                raise _BrokenError(f"the document unpacks to over {MAX_RATIO} times its size")
            if piece:
                yield piece
        data = member.unused_data.lstrip(b"\0")
        while not data and (more := file.read(PACKED_PIECE_BYTES)):
            packed += len(more)
            data = more.lstrip(b"\0")


def _decompress_piece(member: _Decompressor, data: bytes) -> bytes:
    try:
        return member.decompress(data, PIECE_BYTES)
    except Exception as fault:  # zlib.error, OSError, EOFError, ZstdError: one for each packer
        raise _BrokenError(f"the document's compression is broken ({fault})") from fault


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 to UTF-8; leave UTF-8, even if it is broken, as it is without its mark."""
    head = next(pieces, b"")
    encoding, mark = encoding_of(head)
    if encoding == "utf-8":
        if head[mark:]:
            yield head[mark:]
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(head[mark:]).encode(errors="replace")
    for piece in pieces:
        if text := decoder.decode(piece):
            yield text.encode(errors="replace")
    if decoder.getstate()[0]:
        raise _BrokenError(ENDS_IN_THE_MIDDLE)
