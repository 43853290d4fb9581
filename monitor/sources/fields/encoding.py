"""Bytes to text: compression, encodings not or wrongly declared, NUL bytes in place of text."""

from __future__ import annotations

import bz2
import codecs
import gzip
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedIOBase
from itertools import pairwise
from typing import BinaryIO, cast

from monitor.model import Rejected

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE = 100_000
_FOREIGN = re.compile(r"[^\x00-\x7f\ufffd]")
# First bytes of files that no kind of source reads; a .docx is a ZIP archive, too.
_SIGNATURES = (
    (b"PK\x03\x04", "a ZIP archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of Microsoft Office"),
    (b"SQLite format 3\0", "an SQLite database"),
)
_MAIL = re.compile(r"(?:(?:[A-Z][\w-]*:|From |\t| ).*\n)*?(?i:mime-version:|received: from )")
_FORMATS = (
    (re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE), "a web page (HTML)"),
    (re.compile(r"From: <Saved by "), "a web page (MHTML)"),
    (re.compile(r"(?:\s*<\?xml[^>]{0,200}\?>)?\s*<(?:rss|feed|rdf:RDF)\b"), "a feed"),
    (re.compile(r"\s*<(?:!doctype|\?xml)", re.IGNORECASE), "XML"),
    (re.compile(r'\s*(?:\[\s*)?\{\s*"'), "JSON"),
    (re.compile(r"\x1f"), "a compressed file"),
    (re.compile(r"\s*@[A-Za-z]+\s*\{[^\s,{}]{1,200},"), "BibTeX"),
    (re.compile(r"\s*(?:TY  |PMID)- "), "RIS"),
    (_MAIL, "an e-mail"),
)
# The kind of source for a format of another kind's file.
_KIND_OF_FORMAT = {"a feed": "feed", "JSON": "jsonl", "BibTeX": "bibtex", "RIS": "ris"}
_NULLS = re.compile(r"\0{16,}")  # a crash leaves them between good records
_SHOWN = bytes(code for code in range(256) if code >= 32 or 9 <= code <= 13)


_DECLARED = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")
# Codecs of Python that no document may name. In UTF-7, "+ADw-" is a "<" that no check of bytes
# sees (https://www.rfc-editor.org/rfc/rfc2152); the others take long, or are no encodings.
_REFUSED = frozenset(("utf-7", "idna", "punycode", "raw-unicode-escape", "unicode-escape"))


def declared_encoding(content: bytes) -> str:
    """Return the encoding that a declaration of XML names, in small letters, or ""."""
    declared = _DECLARED.match(content)
    return declared[1].decode("ascii", "replace").lower() if declared else ""


def refusal_of(encoding: str) -> str:
    """Return why a document that names this encoding is not read, or ""."""
    try:
        name = codecs.lookup(encoding).name.replace("_", "-")
    except (LookupError, ValueError):
        return ""
    return f"the document says that it is in {name.upper()}, which is not read" * (name in _REFUSED)


def decode(content: bytes) -> tuple[str, bool]:
    """Return the text and whether it is whole: false when it ends inside a character.

    A byte-order mark decides. Without one, zero bytes reveal UTF-16, and all else is read as UTF-8,
    line by line, with Windows-1252 for lines that are not. Never raises.
    """
    encoding, mark = encoding_of(content)
    content = content[mark:]
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(content)
        return text, not decoder.getstate()[0]
    except UnicodeDecodeError:
        if encoding != "utf-8":
            return content.decode(encoding, "replace"), False
    if looks_binary(content[:SAMPLE].decode("latin-1")):
        return content.decode("latin-1"), False  # no text, and not worth repairing
    return "".join(map(decode_line, content.splitlines(keepends=True))), True


def encoding_of(content: bytes) -> tuple[str, int]:
    """Return the encoding of a text by its first bytes, and the length of its byte-order mark."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding, len(mark)
    sample = content[:4096]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = sample[first::2].count(0)  # nearly every second byte of Latin text
        if zeros * 10 > len(sample) * 4 and sample[1 - first :: 2].count(0) * 10 < zeros:
            return encoding, 0
    return "utf-8", 0


def decode_line(line: bytes) -> str:
    """Decode a line of a text in mixed encodings: UTF-8, even with faults, or Windows-1252."""
    with suppress(UnicodeDecodeError):
        return line.decode()
    repaired = line.decode("utf-8", "replace")
    return repaired if _FOREIGN.search(repaired) else line.decode("cp1252", "replace")


def looks_binary(text: str) -> bool:
    """Whether over one character in a hundred is a control character, without runs of NUL."""
    text = _NULLS.sub("", text)
    return len(text.encode(errors="replace").translate(None, _SHOWN)) * 100 > len(text)


def numbered_parts(text: str, starts: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of a text that begin at `starts`: line (from 1), start and end of each."""
    line = 1
    counted = 0
    for start, end in pairwise([*starts, len(text)]):
        line += text.count("\n", counted, start)
        counted = start
        yield line, start, end


def is_xml_character(number: str) -> bool:
    """Whether XML permits a character, by its number as in a reference: "10", "x1F"."""
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    return (
        code in (9, 10, 13)
        or 32 <= code < 0xD800
        or 0xE000 <= code < 0xFFFE
        or 0xFFFF < code <= 0x10FFFF
    )


def binary_format(content: bytes) -> str:
    """Return what a document is by its first bytes, if no kind of source can read it, or ""."""
    return next((name for first, name in _SIGNATURES if content.startswith(first)), "")


def find_fault(text: str, expected: str, sample: int = 0) -> str:
    """Return why a decoded document is no text in the format `expected`, or "".

    One of fewer characters than `sample` may have any: there may be good records between them.
    """
    if not text.strip().strip("\0"):
        return "the document is empty"
    format_ = next((name for first, name in _FORMATS if first.match(text)), "")
    if not format_ and len(text) > sample and looks_binary(text[:SAMPLE]):
        return "the document is not text"
    if not format_ or format_ in expected:
        return ""
    kind = _KIND_OF_FORMAT.get(format_)
    remedy = f"; the kind {kind} reads such files" if kind else ""
    return f"the document is {format_}, not {expected}{remedy}"


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

    A run becomes a line end, so that what follows it begins a line. In UTF-16 and UTF-32, NUL bytes
    belong to characters, and gzip may be padded with them.
    """
    is_text = not content.startswith(_GZIP) and encoding_of(content)[0] == "utf-8"
    runs = list(_ANYWHERE.finditer(content)) if is_text and b"\0" in content else ()
    if not runs:
        return content, ()
    return _ANYWHERE.sub(b"\n", content).lstrip(b"\n"), tuple(
        Rejected(f"byte {run.start()}", describe_nulls(len(run.group()))) for run in runs
    )


# ── compression ─────────────────────────────────────────────────────────────────────

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
    if head.startswith(_GZIP):
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
        return content.read1(size)  # returns the content before a fault first
    except EOFError as fault:
        raise CompressionError(ENDS_IN_THE_MIDDLE) from fault
    except Exception as fault:  # zlib.error, OSError, ZstdError: one for each format
        raise CompressionError(f"the document's compression is broken ({fault})") from fault
