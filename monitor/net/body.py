"""The body of an answer, decoded under a cap."""

from __future__ import annotations

import zlib

from monitor.errors import FetchError

MAX_BYTES = 15 * 1024 * 1024
MAX_RATIO = 100  # a feed compresses 5 to 20 times
RATIO_MATTERS_FROM = 1024 * 1024


class Decoder:
    """Decodes as it comes and stops at the cap: a compression bomb is small on the wire."""

    def __init__(self, encoding: str, cap: int) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise FetchError(f"the answer is encoded as {encoding[:40]!r}, which was not asked for")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._cap = cap
        self.content = bytearray()
        self.received = 0

    @property
    def ended(self) -> bool:
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
            self._keep(self._gzip.decompress(chunk, self._cap - len(self.content) + 1))
        except zlib.error as fault:
            raise FetchError("the answer's compression is broken") from fault
        return self._gzip.unused_data

    def _keep(self, decoded: bytes) -> None:
        self.content += decoded
        if len(self.content) > self._cap:
            raise FetchError(f"the answer is larger than {self._cap:,} bytes")
        if len(self.content) > max(RATIO_MATTERS_FROM, self.received * MAX_RATIO):
            raise FetchError(f"the answer unpacks to over {MAX_RATIO} times its size")
