"""Reads XML of any size record by record; only the current record is held in memory.

    bytes ── gzip? decompressed ──> refused or not ──> control characters and HTML's names replaced
          ──> pull parser ──> root, heads, records

A document that declares entities is refused before its first element, and so is one that
decompresses to too much. HTML's named characters (`&uuml;`), which dblp uses with a DTD that is
never fetched, are written as numbers. Depth, elements of a record, records, and the size of a
single value are capped.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from monitor.sources.fields.encoding import CompressionError, decode, decompress

MAX_DEPTH = 256
MAX_ELEMENTS = 500_000  # of one record, or between two
MAX_VALUE_PIECES = 16  # in which no element begins or ends
MAX_RECORDS = 50_000
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


def records(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
) -> Iterator[Element]:
    """Yield the root and each of `heads` as they begin, and each of `names` as it ends.

    An element that begins has only its attributes yet. A record is discarded when the next one is
    requested. `content` may be gzip. Raises XmlError; what was yielded before it is still good.
    """
    parents: list[Element] = []
    record: Element | None = None
    elements = count = 0
    for event, element in _events(content):
        if event == "start":
            parents.append(element)
            elements += 1
            if len(parents) > MAX_DEPTH:
                raise XmlError(f"the document is nested deeper than {MAX_DEPTH} levels")
            if elements > MAX_ELEMENTS:
                raise XmlError(f"a record has more than {MAX_ELEMENTS:,} elements")
            if record is None and element.tag in names:
                record, elements = element, 0
            if len(parents) == 1 or element.tag in heads:
                yield element
            continue
        parents.pop()
        if record is not None and record is not element:
            continue
        if parents:
            del parents[-1][:]  # removing one at a time would shift all the others
        if record is not None:
            record, elements, count = None, 0, count + 1
            if count > MAX_RECORDS:
                raise XmlError(f"the document has more than {MAX_RECORDS:,} records")
            yield element


def _events(content: bytes) -> Iterator[tuple[str, Element]]:
    """Yield when elements begin ("start") and end, also those before a fault."""
    parser: Any = XMLPullParser(events=("start", "end"))
    quiet = 0  # pieces since the last event
    try:
        for piece in chain(prepare(content), (b"",)):
            is_blank = piece.isspace()  # a parser would keep all of it
            parser.feed(b"\n" if is_blank else piece)
            quiet += not is_blank
            for event in parser.read_events():
                quiet = 0
                yield event
            if quiet > MAX_VALUE_PIECES:
                raise XmlError("one value of the document is larger than 16 MB")
        parser.close()
        yield from parser.read_events()
    except ParseError as fault:
        with suppress(ParseError):  # which the parser raises again after the events before it
            yield from parser.read_events()
        raise XmlError(_message(fault), repairable=fault.code not in _UNFINISHED) from fault
    except (LookupError, ValueError) as fault:
        raise XmlError(f"the document cannot be decoded: {fault}") from fault


def _message(fault: ParseError) -> str:
    line, column = fault.position
    if fault.code in _UNFINISHED:
        return f"the document ends in the middle, in line {line}"
    return f"the document is not well-formed XML: line {line}, column {column + 1}"


_UNFINISHED = {
    expat.errors.codes[name]
    for name in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}


# ── what a parser may see ───────────────────────────────────────────────────────────


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
