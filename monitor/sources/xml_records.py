"""Reads XML of any size record by record; only the current record is held in memory.

A document that declares entities is refused before its first element, and so is one that
decompresses to too much. HTML's named characters (`&uuml;`), which dblp uses with a DTD that is
never fetched, are written as numbers.

Faults that a person would read over are repaired, and a broken record affects no other record. Why
no parser with recovery does it: docs/decisions/0006-xml-repair.md.
"""

from __future__ import annotations

import codecs
import html
import html.entities
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import chain, islice, pairwise
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.encoding import (
    CompressionError,
    declared_encoding,
    decode,
    decompress,
    is_xml_character,
    refusal_of,
)

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

_HTML_NAME = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_NAMES = (b"amp", b"lt", b"gt", b"quot", b"apos")
_MAX_NAME_CHARS = 34
MAX_REPAIRED_BYTES = 64 * 1024 * 1024
MAX_REPAIRED_ESCAPES = 500_000
MAX_BALANCED_BYTES = 2 * MAX_ENTRY  # of one record
MAX_PASSAGES = 1_000  # comments and such, each of which may be searched to the end

_DECLARATION = re.compile(r"^\s*<\?xml\b[^>]{0,200}\?>")
# Each record gets the namespaces of the root, so a root of megabytes is not accepted.
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]{0,100})(\s[^<>]{0,4000})?>")
_ROOT_START = re.compile(r"<[A-Za-z_][\w.:-]{0,100}(?=[\s/>])(?:[^<>]{0,4000})")
_ESCAPE = re.compile(r"&(?:#(\d{1,7}|x[0-9a-f]{1,6});|(?![a-z][a-z0-9]{1,31};))", re.I)
_TOKEN = re.compile(
    r"<!--(?:(?!-->|<!--).){0,2000}+-->|<\?(?:(?!\?>|<\?).){0,2000}+\?>"
    r"|<!\[CDATA\[(?:(?!\]\]>|<!\[CDATA).){0,20000}+\]\]>"
    r"|<(?P<end>/?)(?P<name>[A-Za-z_][\w.-]{0,60}(?::[A-Za-z_][\w.-]{0,60})?)"
    r"(?P<attributes>(?:\s(?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}')*+)?+)>|<",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.:-]{0,100})\s*=\s*(?:\"[^<\"]*\"|'[^<']*')", re.ASCII)
_PREFIX = re.compile(
    r"</?([A-Za-z_][\w.-]{0,60}):|\s([A-Za-z_][\w.-]{0,60}):[\w.-]{1,60}\s*=\s*[\"']"
)
_DECLARED_PREFIX = re.compile(r"\sxmlns:([\w.-]+)\s*=")
_END_TAG = re.compile(r"</([^\s<>]+)")


class XmlError(Exception):
    """A document that cannot be read any further; the message is for the user.

    `repairable` if there may be good records after the fault.
    """

    def __init__(self, message: str, *, repairable: bool = False) -> None:
        super().__init__(message)
        self.repairable = repairable


def read_elements(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
    *,
    roots: Collection[str] = (),
    outer: Collection[str] = (),
    spaces: Sequence[str] = ("",),
) -> Iterator[Element | XmlError]:
    """Yield the elements that `records` yields after a root and, after a fault, those that follow.

    A document with faults is read with its escapes and prefixes repaired, and if it still has one,
    record by record. An XmlError explains what is missing there, or that the root is none of
    `roots`. `outer` are those of `names` that never stand within another; by default all of them.
    `spaces` are the namespaces that names may have.
    """
    tags, head_tags = ({f"{s}{name}" for s in spaces for name in of} for of in (names, heads))
    count = number = 0
    try:
        for element in records(content, tags, head_tags, roots):
            count += element.tag in tags
            yield element
        return
    except XmlError as fault:
        is_small = len(content) <= MAX_REPAIRED_BYTES
        if not (fault.repairable and is_small and content.count(b"&") <= MAX_REPAIRED_ESCAPES):
            yield fault
            return
    text = declare_prefixes(repair_escapes(content), spaces[0][1:-1])
    again = records(text.encode(errors="replace"), tags, head_tags)
    try:
        for element in again:
            number += element.tag in tags
            if number > count:
                yield element
    except XmlError as fault:
        yield fault
        for part in islice(cut_with_namespaces(text, outer or names), max(number, count), None):
            yield from _read_part(part, tags)


def _read_part(part: bytes, tags: Collection[str]) -> Iterator[Element | XmlError]:
    """Read a record that stands alone, with its tags balanced if they have to be."""
    try:
        yield from list(records(part, tags))
    except XmlError as fault:
        try:
            if len(part) > MAX_BALANCED_BYTES:
                raise
            yield from list(records(balance_tags(part.decode()).encode(), tags))
        except XmlError:
            yield fault


def records(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
    roots: Collection[str] = (),
) -> Iterator[Element]:
    """Yield each of `heads` below the root as it begins, and each of `names` as it ends.

    An element that begins has only its attributes yet. A record is discarded when the next one is
    requested. `content` may be gzip. Raises XmlError, also for a root not in `roots`;
    what was yielded before it is still good.
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
                record = element
                elements = 0
            if len(parents) == 1 and roots and element.tag not in roots:
                begins = f"it begins with <{element.tag[:60]}>"
                raise XmlError(f"the document holds no records of this kind: {begins}")
            if len(parents) > 1 and element.tag in heads:
                yield element
            continue
        parents.pop()
        if record is not None and record is not element:
            continue
        if parents:
            del parents[-1][:]  # removing one at a time would shift all the others
        if record is not None:
            record = None
            elements = 0
            count = count + 1
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
    except CompressionError as fault:
        raise XmlError(str(fault)) from fault
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


def prepare(content: bytes) -> Iterator[bytes]:
    """Yield pieces that a parser may see: decompressed, with legal characters and known names."""
    file = BytesIO(content if content.startswith(_GZIP) else _to_utf8(content))
    pieces = decompress(file, PIECE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES)
    first = next(pieces, b"").lstrip(_BLANK)
    _check(first)
    for piece in _replace_html_names(chain((first,), pieces)):
        yield piece.translate(None, _CONTROLS)


def _to_utf8(content: bytes) -> bytes:
    """Return a document as UTF-8, without the declaration of another encoding; raises XmlError."""
    content = content.removeprefix(codecs.BOM_UTF8)
    declared = declared_encoding(content)
    if refusal := refusal_of(declared):
        raise XmlError(refusal)
    encoding = declared or "utf-8"
    text = ""
    if declared or b"\0" not in content[:200]:
        with suppress(LookupError, ValueError):
            text = content.decode(encoding)
            if encoding in ("utf-8", "utf8") and b"\0" not in content[:200]:
                return content
    text = text or decode(content)[0]
    return _DECLARATION.sub("", text.lstrip("\ufeff")).encode(errors="replace")


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
    parser.EntityDeclHandler = refuse_entity
    parser.StartElementHandler = check_root
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


def repair_escapes(content: bytes) -> str:
    """Return the text of a document with escapes that XML knows, and without a declaration."""
    text = _to_utf8(content).decode(errors="replace").replace("\0", "")
    return _ESCAPE.sub(_repair_escape, _DECLARATION.sub("", text))


def cut_with_namespaces(text: str, names: Iterable[str]) -> Iterator[bytes]:
    """Yield each whole element of these names as a document, with the root's namespaces."""
    root = _ROOT.search(text)
    if root is None:
        return
    opening = f"<{root[1]}{(root[2] or '').rstrip('/')}>"
    closing = f"</{root[1]}>"
    begin = re.compile(rf"<((?:[\w-]+:)?(?:{'|'.join(map(re.escape, names))}))(?=[\s>])")
    starts = ((match.start(), match[1]) for match in begin.finditer(text, root.end()))
    for (start, name), (end, _) in pairwise(chain(starts, [(len(text), "")])):
        last = text.rfind(f"</{name}>", start, end)
        if last >= 0:
            part = text[start : last + len(name) + 3]
            yield f"{opening}{part}{closing}".encode(errors="replace")


def _repair_escape(match: re.Match[str]) -> str:
    """A number of a character stays, unless XML forbids it; any other `&` is no escape."""
    if not match[1]:
        return "&amp;"
    return match.group() if is_xml_character(match[1]) else ""


def declare_prefixes(text: str, namespace: str) -> str:
    """Declare each prefix that the root does not declare as one of `namespace`."""
    root = _ROOT_START.search(text)
    if root is None:
        return text
    used = {element or attribute for element, attribute in _PREFIX.findall(text)} - {"xml", "xmlns"}
    missing = sorted(used - set(_DECLARED_PREFIX.findall(root.group())))
    declarations = "".join(f" xmlns:{prefix}={quoteattr(namespace)}" for prefix in missing)
    end = root.start() + len(root.group().rstrip("/ \r\n\t"))
    return text[:end] + declarations + text[end:]


def balance_tags(text: str) -> str:
    """Make an element well-formed; one that is nested too deep stays as it is.

    A `<` that begins no tag becomes text, what is not closed ends with its parent, an end tag
    without a beginning is dropped, and so are attributes without quotes.
    """
    if text.count("<!") + text.count("<?") > MAX_PASSAGES:
        return text
    last_ends = {match[1]: match.start() for match in _END_TAG.finditer(text)}
    pieces: list[str] = []
    parents: list[str] = []
    end = 0
    # Since the innermost element began.
    has_text = False
    for token in _TOKEN.finditer(text):
        between = text[end : token.start()].replace("]]>", "]]&gt;")
        pieces.append(between)
        has_text = has_text or bool(between.strip())
        end = token.end()
        name = token["name"]
        if name is None:
            if token.group() == "<" or token.group().startswith("<![CDATA["):  # not comments
                pieces.append("&lt;" if token.group() == "<" else token.group())
                has_text = True
        elif token["end"]:
            if name in parents:
                while parents[-1] != name:
                    pieces.append(f"</{parents.pop()}>")
                pieces.append(f"</{parents.pop()}>")
                has_text = False
        else:
            # A field with text that nothing closes ends where the next begins.
            if has_text and parents and last_ends.get(parents[-1], -1) < end:
                pieces.append(f"</{parents.pop()}>")
            attributes = {match[1]: match[0] for match in _ATTRIBUTE.finditer(token["attributes"])}
            is_empty = token["attributes"].endswith("/")
            pieces.append(f"<{' '.join((name, *attributes.values()))}{'/' * is_empty}>")
            if not is_empty:
                parents.append(name)
                has_text = False
            if len(parents) > MAX_DEPTH:
                return text
    return "".join((*pieces, text[end:])) + "".join(f"</{name}>" for name in reversed(parents))
