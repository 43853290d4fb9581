"""JSON values compressed with zstd (RFC 8878), as digests and their bodies are stored."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import msgspec

from monitor.model import Json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

T = TypeVar("T")

# Level 9 takes four times as long for a twentieth less.
_LEVEL = 3


def pack(value: Any) -> bytes:
    """Return a value of JSON types, dataclasses and structs as compressed JSON."""
    return zstd.compress(msgspec.json.encode(value), level=_LEVEL)


def unpack(packed: bytes, kind: type[T]) -> T:
    """Return a compressed value as the type that it had."""
    return msgspec.json.decode(zstd.decompress(packed), type=kind)


def body_of(row: Any) -> Json:
    """Return the body in a row of `schema.rendered`, `body` or `packed`."""
    return unpack(row.packed, dict[str, Any]) if row.packed else row.body or {}
