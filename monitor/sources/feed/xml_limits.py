"""Which XML documents a feed parser may read: without entities, and of bounded size and depth."""

from __future__ import annotations

import re
from xml.parsers import expat

MAX_ENTRIES = 5_000
MAX_DEPTH = 256
MAX_ENTRY_ELEMENTS = 20_000  # papers have up to some 5,000 authors
MAX_ILL_FORMED_BYTES = 2 * 1024 * 1024  # the tolerant parser is slow

ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:item|entry)[\s>]")
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_PROLOG_END = re.compile(rb"<[A-Za-z_]")
_ENTITIES = re.compile(rb"<!(?:ENTITY|DOCTYPE[^>\[]{0,1000}\[)", re.IGNORECASE)


def find_refusal(content: bytes) -> str:
    """Return why a document must not reach the parser, or "" when it may."""
    plain = content.replace(b"\0", b"")  # of UTF-16, the letters
    if _HTML.match(plain):
        return "the document is an HTML page, not a feed"
    root = _PROLOG_END.search(plain)
    if _ENTITIES.search(plain, 0, root.start() if root else len(plain)):
        return "the document declares entities, which no feed needs"
    if sum(1 for _ in ENTRY.finditer(plain)) > MAX_ENTRIES:
        return f"the feed has more than {MAX_ENTRIES:,} entries"
    try:
        well_formed = _is_xml(content)
    except _RefusedError as reason:
        return str(reason)
    if not well_formed and len(content) > MAX_ILL_FORMED_BYTES:
        return "the document is large and not well-formed XML"
    return ""


class _RefusedError(Exception):
    pass


def _is_xml(content: bytes) -> bool:
    """Whether a document is well-formed; _RefusedError for more or deeper elements than allowed."""
    depth = elements = 0

    def on_start(name: str, _attributes: object) -> None:
        nonlocal depth, elements
        depth += 1
        elements = 0 if name.endswith(("item", "entry")) else elements + 1
        if depth > MAX_DEPTH:
            raise _RefusedError(f"the document is nested deeper than {MAX_DEPTH} levels")
        if elements > MAX_ENTRY_ELEMENTS:
            raise _RefusedError(f"an entry has more than {MAX_ENTRY_ELEMENTS:,} elements")

    def on_end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = on_start, on_end
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True
