"""One good dump of five papers in each form, for the contract tests, and packed ones."""

from __future__ import annotations

import bz2
import gzip
import json
import sys
from collections.abc import Callable
from typing import Any

from monitor.sources.base import Source
from monitor.sources.jsonl.source import Jsonl


def zstd(content: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd as packer
    else:
        from backports import zstd as packer
    return packer.compress(content)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "zstd": zstd,
    "bzip2": bz2.compress,
}


def record(number: int, **more: Any) -> dict[str, Any]:
    """Return a record with the names that a paper has."""
    return {"title": f"Paper {number}", "abstract": f"It has the number {number}."} | more


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


FIVE = [record(number) for number in range(5)]
LINES = lines(*FIVE)
LIST = json.dumps(FIVE, indent=1).encode()
TABLE = b"title,abstract\n" + b"".join(
    b'Paper %d,"It has, they say,\nthe number %d."\n' % (n, n) for n in range(5)
)
KINDS: list[tuple[type[Source], bytes]] = [
    (Jsonl, LINES),
    (Jsonl, LIST),
    (Jsonl, TABLE),
    (Jsonl, gzip.compress(LINES, mtime=0)),
]
