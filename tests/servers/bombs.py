"""Small compressed answers that unpack to a gigabyte, or do not end."""

from __future__ import annotations

import gzip
import zlib

from tests.servers.web import Answer

ENDLESS = 2**40  # bytes that an answer announces
_PART = gzip.compress(bytes(10_000_000))
# A block of no byte (RFC 1951, 3.2.4): it costs five bytes, and adds nothing to what is unpacked.
_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"


def packed() -> Answer:
    """A gigabyte in one of its thousandths."""
    return Answer(body=_PART * 100, headers={"Content-Encoding": "gzip"})


def packed_twice() -> Answer:
    """A gigabyte in some ten kilobytes."""
    body = gzip.compress(_PART * 100)
    return Answer(body=body, headers={"Content-Encoding": "gzip, gzip"})


def packed_secretly() -> Answer:
    """The same, of which the header names one layer."""
    return Answer(body=packed_twice().body, headers={"Content-Encoding": "gzip"})


def packed_without_end() -> Answer:
    """Blocks of nothing."""
    head = zlib.compressobj(wbits=31).flush(zlib.Z_SYNC_FLUSH)
    body = head + _EMPTY_BLOCK * (16_000_000 // len(_EMPTY_BLOCK))
    return Answer(body=body, headers={"Content-Encoding": "gzip"}, length=ENDLESS)
