"""XML with faults that a person would read over: escapes put right, records taken one by one."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from monitor.sources.fields.encoding import decode

MAX_ESCAPES = 1_000_000

_DECLARATION = re.compile(r"^\s*<\?xml\b[^>]{0,200}\?>")
_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,100}?encoding=[\"']([\w.:-]{1,40})[\"']")
# Each record gets the root's namespaces, so a root of megabytes is none.
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]{0,100})(\s[^<>]{0,4000})?>")
_ESCAPE = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:#(\d{1,7}|x[0-9a-f]{1,6});|\w{2,31};)?", re.I
)


def repaired(content: bytes) -> str:
    """Return the text of a document with its escapes as XML has them, and no declaration."""
    text = _decoded(content).lstrip("\ufeff").replace("\0", "")
    if text.count("&") > MAX_ESCAPES:
        return text
    return _ESCAPE.sub(_escape, _DECLARATION.sub("", text))


def apart(text: str, names: Iterable[str]) -> Iterator[bytes]:
    """Yield each whole element of these names as a document, with the root's namespaces."""
    root = _ROOT.search(text)
    if root is None:
        return
    opening, closing = f"<{root[1]}{(root[2] or '').rstrip('/')}>", f"</{root[1]}>"
    begin = re.compile(rf"<((?:[\w-]+:)?(?:{'|'.join(map(re.escape, names))}))(?=[\s>])")
    begun = ((found.start(), found[1]) for found in begin.finditer(text, root.end()))
    for (start, name), (end, _) in pairwise(chain(begun, [(len(text), "")])):
        last = text.rfind(f"</{name}>", start, end)
        if last >= 0:
            part = text[start : last + len(name) + 3]
            yield f"{opening}{part}{closing}".encode(errors="replace")


def _decoded(content: bytes) -> str:
    declared = _ENCODING.match(content)
    if declared:
        try:
            return codecs.decode(content, declared[1].decode())
        except (LookupError, ValueError, TypeError):
            return decode(content)[0]
    return decode(content)[0]


def _escape(found: re.Match[str]) -> str:
    """A character for its HTML name or number, nothing for one that XML forbids, else `&amp;`."""
    if found[1]:
        code = int(found[1][1:], 16) if found[1][0] in "xX" else int(found[1])
        legal = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE
        return found.group() if legal or 0xFFFF < code <= 0x10FFFF else ""
    character = html.unescape(found.group())
    return f"&amp;{found.group()[1:]}" if character == found.group() else character
