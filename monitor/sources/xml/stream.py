"""Reads XML of any size record by record; only the current record is held in memory.

    bytes ── safe_input ──> pull parser ──> root, heads, records

Depth, elements of a record, records, and the size of a single value are capped.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any
from xml.etree.ElementTree import XML, Element, ParseError, XMLPullParser
from xml.parsers import expat

from monitor.sources.xml.safe_input import OTHER_ENCODING, PIECE_BYTES, XmlError, prepare

MAX_DEPTH = 256
MAX_ELEMENTS = 500_000  # of one record, or between two
MAX_VALUE_PIECES = 16  # in which no element begins or ends
MAX_RECORDS = 50_000
BULK_FROM_BYTES = PIECE_BYTES // 4
MAX_HELD_BYTES = 4 * PIECE_BYTES

# What may come before the first record of a plain list.
_HEAD = re.compile(
    rb"\s*(?:<\?xml\b[^<>]*>\s*)?(?:<!DOCTYPE\b[^<>\[\]]*>\s*)?<[^<>!?]+>\s*", re.IGNORECASE
)


def records(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
    bulk: str = "",
) -> Iterator[Element]:
    """Yield the root and each of `heads` as they begin, and each of `names` as it ends.

    An element that begins has only its attributes yet. A record is discarded when the next one is
    requested. `content` may be gzip. Raises XmlError; what was yielded before it is still good.
    `bulk` names the record of which large documents consist, so that they are read faster.
    """
    parser: Any = XMLPullParser(events=("start", "end"))
    walk = _Walk(names, heads)
    bulk_parser = _BulkParser(bulk if len(content) > BULK_FROM_BYTES else "")
    quiet = 0
    try:
        for piece in chain(prepare(content), (b"",)):
            if piece.isspace():  # a parser would keep all of it
                piece = b"\n"
                quiet -= 1
            before = walk.seen
            for part in bulk_parser.cut_out(piece, walk):
                yield from walk.add(bulk_parser.records)
                parser.feed(part)
                yield from walk.follow(parser.read_events())
            quiet = 0 if walk.seen > before else quiet + 1
            if quiet > MAX_VALUE_PIECES:
                raise XmlError("one value of the document is larger than 16 MB")
        parser.close()
        yield from walk.follow(parser.read_events())
    except ParseError as fault:
        # What was parsed before the fault is still available.
        yield from walk.follow(_events_left(parser))
        raise XmlError(_message(fault), repairable=fault.code not in _UNFINISHED) from fault
    except (LookupError, ValueError) as fault:
        raise XmlError(f"the document cannot be decoded: {fault}") from fault


class _Walk:
    """The position of the parser: its depth and the current record."""

    def __init__(self, names: Collection[str], heads: Collection[str]) -> None:
        self.names, self.heads = names, heads
        self.open: list[Element] = []
        self.record: Element | None = None
        self.elements = self.records = self.seen = 0

    def follow(self, events: Iterable[tuple[str, Element]]) -> Iterator[Element]:
        for event, element in events:
            self.seen += 1
            found = self._begin(element) if event == "start" else self._end(element)
            if found is not None:
                yield found

    def add(self, records: Sequence[Element]) -> Iterator[Element]:
        """Yield records that are already parsed."""
        for element in records:
            self.seen += 1
            yield self._count(element)

    def _count(self, record: Element) -> Element:
        self.records, self.elements = self.records + 1, 0
        if self.records > MAX_RECORDS:
            raise XmlError(f"the document has more than {MAX_RECORDS:,} records")
        return record

    def _begin(self, element: Element) -> Element | None:
        self.open.append(element)
        if len(self.open) > MAX_DEPTH:
            raise XmlError(f"the document is nested deeper than {MAX_DEPTH} levels")
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise XmlError(f"a record has more than {MAX_ELEMENTS:,} elements")
        if self.record is None and element.tag in self.names:
            self.record, self.elements = element, 0
        return element if len(self.open) == 1 or element.tag in self.heads else None

    def _end(self, element: Element) -> Element | None:
        self.open.pop()
        if self.record is not None and self.record is not element:
            return None
        found, self.record = self.record, None
        if self.open:
            del self.open[-1][:]  # removing one at a time would shift all the others
        return None if found is None else self._count(found)


class _BulkParser:
    """Cuts whole records out of a document and parses many at a time.

    Events for each of their elements would take longer than everything else that is done with
    them. From the first part on that is not plainly a list of records, the rest of a document is
    left to the parser with events.
    """

    def __init__(self, name: str) -> None:
        self._begin, self._end = f"<{name}>".encode(), f"</{name}>".encode()
        self._held = b""  # not yet fed to the parser
        self._enabled = bool(name)
        self.records: Sequence[Element] = ()

    def cut_out(self, piece: bytes, walk: _Walk) -> Iterator[bytes]:
        """Yield what to feed to the parser; `records` are the records before that.

        The last piece is empty. Line ends are kept, so that the lines of later faults are right.
        """
        self.records, text, self._held = (), self._held + piece, b""
        if self._enabled and not walk.open:
            head, begin, text = text.partition(self._begin)
            yield head  # the root begins with it, as `walk` then knows
            text = begin + text
            plain = len(walk.open) == 1 and walk.record is None and walk.open[0].tag[:1] != "{"
            head_is_plain = _HEAD.fullmatch(head) and not OTHER_ENCODING.match(head)
            self._enabled = bool(begin and plain and head_is_plain)
        if self._enabled and piece:
            cut = text.rfind(self._end) + len(self._end)
            if cut >= len(self._end):
                text = self._parse(text[:cut], walk.names) + text[cut:]
            self._enabled = self._enabled and len(text) < MAX_HELD_BYTES
        if self._enabled and piece:
            self._held = text.lstrip(b"\n")
            text = text[: len(text) - len(self._held)]
        yield text

    def _parse(self, text: bytes, names: Collection[str]) -> bytes:
        """Parse records and return as many line ends in their place, or else the text."""
        with suppress(ParseError):
            found = list(XML(b"<all>%b</all>" % text))
            if all(one.tag in names for one in found):
                self.records = found
                return b"\n" * text.count(b"\n")
        self._enabled = False
        return text


def _events_left(parser: Any) -> Iterator[tuple[str, Element]]:
    """Yield the events before a fault, which the pull parser raises after them."""
    try:
        yield from parser.read_events()
    except ParseError:
        return


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
