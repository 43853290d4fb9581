"""Reads XML of any size record by record; only the current record is held in memory.

    bytes ── safe_input ──> pull parser ──> root, heads, records

Depth, elements of a record, records, and the size of a single value are capped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from monitor.sources.xml.safe_input import XmlError, prepare

MAX_DEPTH = 256
MAX_ELEMENTS = 500_000  # of one record, or between two
MAX_VALUE_PIECES = 16  # in which no element begins or ends
MAX_RECORDS = 50_000


def records(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
) -> Iterator[Element]:
    """Yield the root and each of `heads` as they begin, and each of `names` as it ends.

    An element that begins has only its attributes yet. A record is discarded when the next one is
    requested. `content` may be gzip. Raises XmlError; what was yielded before it is still good.
    """
    parser: Any = XMLPullParser(events=("start", "end"))
    walk = _Walk(names, heads)
    quiet = 0
    try:
        for piece in chain(prepare(content), (b"",)):
            if piece.isspace():  # a parser would keep all of it
                piece = b"\n"
                quiet -= 1
            before = walk.seen
            parser.feed(piece)
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
            complete = self._begin(element) if event == "start" else self._end(element)
            if complete is not None:
                yield complete

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
        record, self.record = self.record, None
        if self.open:
            del self.open[-1][:]  # removing one at a time would shift all the others
        if record is not None:
            self.records, self.elements = self.records + 1, 0
            if self.records > MAX_RECORDS:
                raise XmlError(f"the document has more than {MAX_RECORDS:,} records")
        return record


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
