"""The body of an answer, decoded under a cap, in memory or into a file."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from monitor.errors import FetchError

MAX_BYTES = 15 * 1024 * 1024
MAX_RATIO = 100  # a feed compresses 5 to 20 times
RATIO_MATTERS_FROM = 1024 * 1024
PIECE = 1024 * 1024


class Decoder:
    """Decodes as it comes and stops at the cap: a compression bomb is small on the wire.

    What is decoded goes into `file` where there is one, else into `content`.
    """

    def __init__(self, encoding: str, cap: int, file: BinaryIO | None = None) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise FetchError(f"the answer is encoded as {encoding[:40]!r}, which was not requested")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._cap = cap
        self._file = file
        self.content = bytearray()
        self.size = 0
        self.received = 0

    @property
    def is_complete(self) -> bool:
        return self._gzip is None or self._gzip.eof

    def feed(self, chunk: bytes) -> None:
        self.received += len(chunk)
        while chunk:
            chunk = self._take(chunk)

    def _take(self, chunk: bytes) -> bytes:
        """Decode a chunk; return what belongs to a further member of the gzip file."""
        if self._gzip is None:
            self._keep(chunk)
            return b""
        if self._gzip.eof:
            self._gzip = zlib.decompressobj(wbits=31)
        try:
            left = self._cap - self.size + 1  # a byte over the cap, and of a file at most a piece
            self._keep(self._gzip.decompress(chunk, min(left, PIECE) if self._file else left))
        except zlib.error as fault:
            raise FetchError("the answer's compression is broken") from fault
        return self._gzip.unused_data or self._gzip.unconsumed_tail

    def _keep(self, decoded: bytes) -> None:
        self.size += len(decoded)
        if self.size > self._cap:
            raise FetchError(f"the answer is larger than {self._cap:,} bytes")
        if self.size > max(RATIO_MATTERS_FROM, self.received * MAX_RATIO):
            raise FetchError(f"the answer unpacks to over {MAX_RATIO} times its size")
        if self._file is None:
            self.content += decoded
            return
        try:
            self._file.write(decoded)
        except OSError as fault:
            raise FetchError(f"the answer cannot be saved: {fault.strerror}") from fault
