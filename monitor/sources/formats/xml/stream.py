"""XML of any size, record by record: nothing is held but the record that is being read.

    bytes ── gzip? unpacked ──> prolog refused or not ──> pull parser ──> root, heads, records

Safe before it is convenient: a document that declares entities is refused before its first
element; depth, elements of a record, single values and what a gzip file unpacks to are capped.
HTML's named characters (`&uuml;`), which dblp uses by a DTD that is never fetched, are read.
"""

from __future__ import annotations

import html.entities
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Protocol, cast
from xml.etree.ElementTree import XML, Element, ParseError, XMLPullParser
from xml.parsers import expat

from monitor.sources.fields.encoding import decode

PIECE = 1024 * 1024
MAX_UNPACKED = 1024 * 1024 * 1024
MAX_RATIO = 100
RATIO_MATTERS_FROM = 64 * 1024 * 1024
MAX_DEPTH = 256
MAX_ELEMENTS = 500_000  # of one record, or between two
MAX_VALUE = 16  # pieces in which no element begins or ends
MAX_RECORDS = 50_000
LARGE = PIECE // 4  # from here on, it matters how fast a document is read
MAX_HELD = 4 * PIECE

_GZIP = b"\x1f\x8b"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
_BLANK = b" \t\r\n"
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)
_DECLARED_UTF8 = re.compile(
    r"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']utf-?8[\"'][^>]{0,100}>", re.I
)
# What stands before the first record where nothing else does.
_HEAD = re.compile(
    rb"\s*(?:<\?xml\b[^<>]*>\s*)?(?:<!DOCTYPE\b[^<>\[\]]*>\s*)?<[^<>!?]+>\s*", re.IGNORECASE
)
_NAMED = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_NAMED = (b"amp", b"lt", b"gt", b"quot", b"apos")
_LONGEST_NAME = 34


class _Parser(Protocol):
    """The pull parser, as it is asked here: for events that begin or end an element."""

    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...

    def read_events(self) -> Iterator[tuple[str, Element]]: ...


class XmlError(Exception):
    """A document that cannot be read any further; the message is a sentence for the user.

    `mendable` says that there may be good records behind the fault.
    """

    def __init__(self, message: str, *, mendable: bool = False) -> None:
        super().__init__(message)
        self.mendable = mendable


def records(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
    most: str = "",
    unread: Sequence[str] = (),
) -> Iterator[Element]:
    """Yield the root as it begins, each of `heads` as it begins and each of `names` as it ends.

    What begins has its attributes and nothing else yet; a record is forgotten once the next one
    is asked for. `content` may be gzip. Raises XmlError, when what came before is still good.
    `most` names the record that large documents consist of, which are read faster by it, and
    `unread` what in these records nobody asks for: it may be missing.
    """
    parser = cast("_Parser", XMLPullParser(events=("start", "end")))
    walk = _Walk(names, heads)
    whole = _Whole(most if len(content) > LARGE else "", unread)
    quiet = 0
    try:
        for piece in chain(_prepared(content), (b"",)):
            if piece.isspace():  # a parser would keep all of it
                piece = b"\n"
                quiet -= 1
            before = walk.seen
            for part in whole.cut_out(piece, walk):
                yield from walk.known(whole.found)
                parser.feed(part)
                yield from walk.through(parser.read_events())
            quiet = 0 if walk.seen > before else quiet + 1
            if quiet > MAX_VALUE:
                raise XmlError("one value of the document is larger than 16 MB")
        parser.close()
        yield from walk.through(parser.read_events())
    except ParseError as fault:
        # What was parsed before the fault is still to be had.
        yield from walk.through(_events_left(parser))
        raise XmlError(_words(fault), mendable=fault.code not in _UNFINISHED) from fault
    except (LookupError, ValueError) as fault:
        raise XmlError(f"the document cannot be decoded: {fault}") from fault


class _Walk:
    """Where the parser is: how deep, and in which record."""

    def __init__(self, names: Collection[str], heads: Collection[str]) -> None:
        self.names, self.heads = names, heads
        self.open: list[Element] = []
        self.record: Element | None = None
        self.elements = self.records = self.seen = 0

    def through(self, events: Iterable[tuple[str, Element]]) -> Iterator[Element]:
        for event, element in events:
            self.seen += 1
            found = self.begins(element) if event == "start" else self.ends(element)
            if found is not None:
                yield found

    def known(self, found: Sequence[Element]) -> Iterator[Element]:
        """Take records between two others that are parsed already."""
        for element in found:
            self.seen += 1
            yield self.counted(element)

    def counted(self, record: Element) -> Element:
        self.records, self.elements = self.records + 1, 0
        if self.records > MAX_RECORDS:
            raise XmlError(f"the document has more than {MAX_RECORDS:,} records")
        return record

    def begins(self, element: Element) -> Element | None:
        self.open.append(element)
        if len(self.open) > MAX_DEPTH:
            raise XmlError(f"the document is nested deeper than {MAX_DEPTH} levels")
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise XmlError(f"a record has more than {MAX_ELEMENTS:,} elements")
        if self.record is None and element.tag in self.names:
            self.record, self.elements = element, 0
        return element if len(self.open) == 1 or element.tag in self.heads else None

    def ends(self, element: Element) -> Element | None:
        self.open.pop()
        if self.record is not None and self.record is not element:
            return None
        found, self.record = self.record, None
        if self.open:
            del self.open[-1][:]  # to take one out at a time would shift all the others
        return None if found is None else self.counted(found)


class _Whole:
    """Cuts whole records out of a document and parses them many at a time.

    An event for each of its elements takes longer than all else that is done with a record. What
    is not plainly a list of records is left to the parser that gives events, from there on.
    """

    def __init__(self, name: str, unread: Sequence[str]) -> None:
        self.begin, self.end = f"<{name}>".encode(), f"</{name}>".encode()
        self.unread = [name.encode() for name in unread]
        self.told = b""  # what is not fed to the parser yet
        self.on = bool(name)
        self.found: Sequence[Element] = ()

    def cut_out(self, piece: bytes, walk: _Walk) -> Iterator[bytes]:
        """Yield what the parser is to be fed; `found` are the records before that.

        The last piece is empty. Lines are kept, so that faults behind are told by theirs.
        """
        self.found, told, self.told = (), self.told + piece, b""
        if self.on and not walk.open:
            head, begin, told = told.partition(self.begin)
            yield head  # with which the root begins, as `walk` knows by then
            told = begin + told
            plain = len(walk.open) == 1 and walk.record is None and walk.open[0].tag[:1] != "{"
            head_is_plain = _HEAD.fullmatch(head) and not _ENCODING.match(head)
            self.on = bool(begin and plain and head_is_plain)
        if self.on and piece:
            cut = told.rfind(self.end) + len(self.end)
            if cut >= len(self.end):
                told = self.parsed(told[:cut], walk.names) + told[cut:]
            self.on = self.on and len(told) < MAX_HELD
        if self.on and piece:
            self.told = told.lstrip(b"\n")
            told = told[: len(told) - len(self.told)]
        yield told

    def parsed(self, told: bytes, names: Collection[str]) -> bytes:
        """Parse records, and return what is left of them: as many lines, or all of it."""
        with suppress(ParseError):
            found = list(XML(b"<all>%b</all>" % self.asked_for(told)))
            if all(one.tag in names for one in found):
                self.found = found
                return b"\n" * told.count(b"\n")
        self.on = False
        return told

    def asked_for(self, told: bytes) -> bytes:
        """Return records without what nobody asks for, which is half of them and more."""
        if b"<!" in told:  # a comment may speak of it
            return told
        short = told
        for name in self.unread:
            first, *rest = short.split(b"<%b>" % name)
            behind = [one.rpartition(b"</%b>" % name) for one in rest]
            if any(self.end in piece for piece, _, _ in behind) or any(
                self.end in piece for _, closed, piece in behind if not closed
            ):
                return told  # it has no end
            short = first + b"".join([piece for _, closed, piece in behind if closed])
        return short


def _events_left(parser: _Parser) -> Iterator[tuple[str, Element]]:
    """Events before a fault, which the pull parser raises in their order."""
    try:
        yield from parser.read_events()
    except ParseError:
        return


def _words(fault: ParseError) -> str:
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


# ── bytes on their way to the parser ────────────────────────────────────────────────


def _prepared(content: bytes) -> Iterator[bytes]:
    """Pieces that a parser may see: unpacked, of legal characters, without unknown names."""
    pieces = _unpacked(content) if content.startswith(_GZIP) else _sliced(_mended(content))
    first = next(pieces, b"").lstrip(_BLANK)
    refuse(first)
    wide = first.startswith(_MARKS) or b"\0" in first[:200]
    for piece in _chained(first, pieces) if wide else _named(_chained(first, pieces)):
        yield piece if wide else piece.translate(None, _CONTROLS)


def _chained(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _sliced(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


def _mended(content: bytes) -> bytes:
    """A document that says or implies UTF-8 and has other bytes in it, as UTF-8."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.startswith(_MARKS) and (told := _DECLARED_UTF8.match(_begin(content))):
        text = content.decode("utf-16", errors="replace")  # whatever it says
        return text[told.end() :].encode(errors="replace")
    if content.startswith(_MARKS) or _ENCODING.match(content.lstrip()[:300]):
        return content
    try:
        content.decode()
    except UnicodeDecodeError:
        return decode(content)[0].encode(errors="replace")
    return content


def _begin(wide: bytes) -> str:
    return wide[:600].decode("utf-16", errors="replace")


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Unpack gzip of any number of members; XmlError for a broken or a swelling one."""
    given, total = memoryview(content), 0
    while given:
        member = zlib.decompressobj(wbits=31)
        try:
            while not member.eof:
                piece = member.decompress(given, PIECE)
                given = memoryview(member.unused_data if member.eof else member.unconsumed_tail)
                total += len(piece)
                if total > max(RATIO_MATTERS_FROM, min(MAX_UNPACKED, len(content) * MAX_RATIO)):
                    raise XmlError(f"the document unpacks to over {MAX_RATIO} times its size")
                yield piece
                if not (piece or given or member.eof):
                    raise XmlError("the document ends in the middle of its compression")
        except zlib.error as fault:
            raise XmlError("the compression of the document is broken") from fault
        if bytes(given[:2]) != _GZIP:
            return  # padding


class _RootError(Exception):
    pass


def refuse(first: bytes) -> None:
    """Raise XmlError for the first piece of a document that must not reach a parser."""
    if not first.strip():
        raise XmlError("the document is empty")

    def declared(*_: object) -> None:
        raise XmlError("the document declares entities, which no record needs")

    def began(name: str, _: object) -> None:
        if name.lower() == "html":
            raise XmlError("the document is an HTML page")
        raise _RootError

    parser = expat.ParserCreate()
    parser.EntityDeclHandler, parser.StartElementHandler = declared, began
    try:
        parser.Parse(first, False)
    except _RootError:
        return
    except (expat.ExpatError, LookupError, ValueError) as fault:
        raise XmlError("the document is not XML") from fault
    raise XmlError("the document is not XML: no element begins in it")


def _named(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Write HTML's named characters as numbers, also where a name lies across two pieces."""
    rest = b""
    for piece in pieces:
        piece = rest + piece
        begun = piece.rfind(b"&", -_LONGEST_NAME)
        cut = begun if begun >= 0 and b";" not in piece[begun:] else len(piece)
        rest = piece[cut:]
        yield _NAMED.sub(_numbered, piece[:cut])
    yield rest


def _numbered(found: re.Match[bytes]) -> bytes:
    if found[1] in _XML_NAMED:
        return found[0]
    written = html.entities.html5.get(f"{found[1].decode()};")
    return written.encode("ascii", "xmlcharrefreplace") if written else b"&amp;" + found[0][1:]
