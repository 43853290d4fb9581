"""Prepares the bytes of a document for an XML parser.

    bytes ── gzip? decompressed ──> refused or not ──> control characters and HTML's names replaced

A document that declares entities is refused before its first element, and so is one that
decompresses to too much. HTML's named characters (`&uuml;`), which dblp uses with a DTD that is
never fetched, are written as numbers.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from xml.parsers import expat

from monitor.sources.fields.compression import CompressionError, decompress
from monitor.sources.fields.encoding import decode

PIECE_BYTES = 1024 * 1024
MAX_UNPACKED_BYTES = 1024 * 1024 * 1024
MAX_RATIO = 100
_GZIP = b"\x1f\x8b"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
_BLANK = b" \t\r\n"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

OTHER_ENCODING = re.compile(
    rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE
)
_DECLARED_UTF8 = re.compile(
    r"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']utf-?8[\"'][^>]{0,100}>", re.I
)
_HTML_NAME = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_NAMES = (b"amp", b"lt", b"gt", b"quot", b"apos")
_MAX_NAME_CHARS = 34


class XmlError(Exception):
    """A document that cannot be read any further; the message is for the user.

    `repairable` if there may be good records after the fault.
    """

    def __init__(self, message: str, *, repairable: bool = False) -> None:
        super().__init__(message)
        self.repairable = repairable


def prepare(content: bytes) -> Iterator[bytes]:
    """Yield pieces that a parser may see: decompressed, with legal characters and known names."""
    is_gzip = content.startswith(_GZIP)
    pieces = _decompress(content) if is_gzip else _slice(_repair_encoding(content))
    first = next(pieces, b"").lstrip(_BLANK)
    _check(first)
    wide = first.startswith(_UTF16_MARKS) or b"\0" in first[:200]
    pieces = chain((first,), pieces)
    for piece in pieces if wide else _replace_html_names(pieces):
        yield piece if wide else piece.translate(None, _CONTROLS)


def _slice(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), PIECE_BYTES):
        yield content[start : start + PIECE_BYTES]


def _repair_encoding(content: bytes) -> bytes:
    """Return a document that declares or implies UTF-8 and has other bytes in it as UTF-8."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    start = content[:600].decode("utf-16", errors="replace")
    if content.startswith(_UTF16_MARKS) and (declaration := _DECLARED_UTF8.match(start)):
        text = content.decode("utf-16", errors="replace")  # the declaration is wrong
        return text[declaration.end() :].encode(errors="replace")
    if content.startswith(_UTF16_MARKS) or OTHER_ENCODING.match(content.lstrip()[:300]):
        return content
    try:
        content.decode()
    except UnicodeDecodeError:
        return decode(content)[0].encode(errors="replace")
    return content


def _decompress(content: bytes) -> Iterator[bytes]:
    try:
        yield from decompress(BytesIO(content), PIECE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES)
    except CompressionError as fault:
        raise XmlError(str(fault)) from fault


class _RootError(Exception):
    pass


def _check(first: bytes) -> None:
    """Raise XmlError if the first piece of a document must not reach a parser."""
    if not first.strip():
        raise XmlError("the document is empty")

    def refuse_entity(*_: object) -> None:
        raise XmlError("the document declares entities, which no record needs")

    def check_root(name: str, _: object) -> None:
        if name.lower() == "html":
            raise XmlError("the document is an HTML page")
        raise _RootError

    parser = expat.ParserCreate()
    parser.EntityDeclHandler, parser.StartElementHandler = refuse_entity, check_root
    try:
        parser.Parse(first, False)
    except _RootError:
        return
    except (expat.ExpatError, LookupError, ValueError) as fault:
        raise XmlError("the document is not XML") from fault
    raise XmlError("the document is not XML: no element begins in it")


def _replace_html_names(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Write HTML's named characters as numbers, even if a name is split between two pieces."""
    rest = b""
    for piece in pieces:
        piece = rest + piece
        start = piece.rfind(b"&", -_MAX_NAME_CHARS)
        cut = start if start >= 0 and b";" not in piece[start:] else len(piece)
        rest = piece[cut:]
        yield _HTML_NAME.sub(_to_number, piece[:cut])
    yield rest


def _to_number(match: re.Match[bytes]) -> bytes:
    if match[1] in _XML_NAMES:
        return match[0]
    character = html.entities.html5.get(f"{match[1].decode()};")
    return character.encode("ascii", "xmlcharrefreplace") if character else b"&amp;" + match[0][1:]
