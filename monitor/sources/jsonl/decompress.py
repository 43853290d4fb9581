"""A dump as a tape: its bytes unpacked as they are read, in UTF-8, with a running digest.

file ── gzip, zstd, bzip2 or plain (by its first bytes) ──> UTF-16 to UTF-8 ──> pieces of 128 KB

Nothing is held but the pieces that are read and not yet digested.
"""

from __future__ import annotations

import bz2
import codecs
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from monitor.sources.fields.encoding import encoding_of

PIECE = 128 * 1024  # what allocators keep for the next piece, and caches hold
PACKED_PIECE = 256 * 1024
# Lists of papers pack 3 to 30 times; what unpacks to more than this is made to fill a disk.
MAX_RATIO = 200
RATIO_MATTERS_FROM = 64 * 1024 * 1024
ENDS_IN_THE_MIDDLE = "the document ends in the middle"


class Tape:
    """The unpacked bytes of a file, read once from the start to the end.

    `given` counts the bytes that `read` and `skip` gave out; `fault` says, once `read` has
    returned nothing, why that is not the whole document ("" where it is).
    """

    def __init__(self, file: BinaryIO) -> None:
        from xxhash import xxh3_128  # not needed but for dumps

        self.given = 0
        self.fault = ""
        self._pieces = _in_utf8(_unpacked(file))
        self._ahead = b""
        self._undigested: deque[memoryview] = deque()
        self._digest = xxh3_128()  # it tells what changed, and keeps no secret
        self._digested = 0

    def peek(self, size: int) -> bytes:
        """Return the next bytes without moving on; fewer than `size` at the end only."""
        while len(self._ahead) < size and (piece := self._next()):
            self._ahead += piece
        return self._ahead[:size]

    def read(self) -> bytes:
        """Return the next piece, and b"" at the end."""
        piece, self._ahead = self._ahead or self._next(), b""
        self.given += len(piece)
        if piece:
            self._undigested.append(memoryview(piece))
        return piece

    def skip(self, offset: int) -> bool:
        """Move on to a byte, digesting all before it; False when the tape ends before."""
        while self.given < offset:
            piece = self.read()
            if not piece:
                return False
            if self.given > offset:
                self._ahead = piece[offset - self.given :]
                self._undigested[-1] = memoryview(piece)[: offset - self.given]
                self.given = offset
            self.passed(self.given)
        return True

    def passed(self, offset: int) -> None:
        """Digest all bytes before `offset`, which never goes back, while caches hold them still."""
        while self._undigested and self._digested < offset:
            piece = self._undigested.popleft()
            told = piece[: offset - self._digested]
            if len(told) < len(piece):
                self._undigested.appendleft(piece[len(told) :])
            self._digest.update(told)
            self._digested += len(told)

    def digest(self, offset: int) -> str:
        """Return the digest of all bytes before `offset`, which never goes back."""
        self.passed(offset)
        return self._digest.hexdigest()

    def _next(self) -> bytes:
        try:
            return next(self._pieces, b"")
        except _BrokenError as broken:
            self.fault = str(broken)
            return b""


class _BrokenError(Exception):
    """Why no more can be unpacked."""


class _Decompressor(Protocol):
    """What bz2, zstd and `_Gzip` have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """A member of a gzip file, with the manners of `bz2.BZ2Decompressor`."""

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


def _zstd() -> _Decompressor:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor()


_PACKERS: tuple[tuple[bytes, Callable[[], _Decompressor]], ...] = (
    (b"\x1f\x8b", _Gzip),
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"BZh", bz2.BZ2Decompressor),
)


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    head = file.read(PACKED_PIECE)
    for magic, new in _PACKERS:
        if head.startswith(magic):
            yield from _members(file, head, new, magic)
            return
    while head:
        yield head
        head = file.read(PIECE)


def _members(
    file: BinaryIO, data: bytes, new: Callable[[], _Decompressor], magic: bytes
) -> Iterator[bytes]:
    """Unpack member after member: packed files may be joined, and padded with zeros."""
    packed, unpacked = len(data), 0
    while data:
        if not data.startswith(magic[: len(data)]):
            raise _BrokenError("the document goes on with something else after its packed part")
        member = new()
        while not member.eof:
            ended = False
            if member.needs_input and not data:
                data = file.read(PACKED_PIECE)
                packed, ended = packed + len(data), not data
            piece, data = _decompressed(member, data), b""
            if ended and not piece and not member.eof:
                raise _BrokenError(ENDS_IN_THE_MIDDLE)
            unpacked += len(piece)
            if unpacked > max(RATIO_MATTERS_FROM, packed * MAX_RATIO):
                raise _BrokenError(f"the document unpacks to over {MAX_RATIO} times its size")
            if piece:
                yield piece
        data = member.unused_data.lstrip(b"\0")
        while not data and (more := file.read(PACKED_PIECE)):
            packed += len(more)
            data = more.lstrip(b"\0")


def _decompressed(member: _Decompressor, data: bytes) -> bytes:
    try:
        return member.decompress(data, PIECE)
    except Exception as fault:  # zlib.error, OSError, EOFError, ZstdError: one for each packer
        raise _BrokenError(f"the document's compression is broken ({fault})") from fault


def _in_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Leave UTF-8 (and what only claims to be) as it is, but for its mark; turn UTF-16 into it."""
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
        if told := decoder.decode(piece):
            yield told.encode(errors="replace")
    if decoder.getstate()[0]:
        raise _BrokenError(ENDS_IN_THE_MIDDLE)
