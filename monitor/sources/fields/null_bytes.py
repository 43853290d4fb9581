"""NUL bytes where text was, as a power failure and a truncated log leave them.

A file system may record the new size of a file before its content. A program that goes on writing
to a log that was truncated leaves a gap up to its old position.
"""

from __future__ import annotations

import re

from monitor.model import Rejected
from monitor.sources.fields.encoding import encoding_of

MIN_RUN = 16  # fewer are stray characters of a text
RUN = re.compile(rb"(\0{%d,})" % MIN_RUN)
_ANYWHERE = re.compile(rb"\A\0++|\0{%d,}+|\0++\Z" % MIN_RUN)
_GZIP = b"\x1f\x8b"


def describe_nulls(count: int) -> str:
    return f"{count:,} NUL bytes in place of text"


def is_null(content: bytes) -> bool:
    """Return whether content has NUL bytes and no others."""
    return content.startswith(b"\0") and not content.strip(b"\0")


def drop_nulls(content: bytes) -> tuple[bytes, tuple[Rejected, ...]]:
    """Return a document without its runs of NUL bytes, and where they were.

    A run in the middle becomes a line end, so that what follows it begins a line. In UTF-16 and
    UTF-32 NUL bytes belong to characters, and in gzip, which may be padded with them, to numbers.
    """
    if b"\0" not in content:
        return content, ()
    rest = content.lstrip(b"\0")
    if rest.startswith(_GZIP):
        leading = len(content) - len(rest)
        return rest, (_rejected(0, leading),) if leading else ()
    if encoding_of(content)[0] != "utf-8":
        return content, ()
    rejected: list[Rejected] = []

    def line_end(run: re.Match[bytes]) -> bytes:
        rejected.append(_rejected(run.start(), len(run.group())))
        return b"\n" if run.start() > 0 and run.end() < len(content) else b""

    return _ANYWHERE.sub(line_end, content), tuple(rejected)


def _rejected(start: int, count: int) -> Rejected:
    return Rejected(f"byte {start}", describe_nulls(count))
