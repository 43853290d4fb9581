"""Records of XML documents, also of documents with faults: a broken record costs itself only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from xml.etree.ElementTree import Element

from monitor.sources.formats.xml.repair import repaired
from monitor.sources.formats.xml.stream import XmlError, records

MAX_MENDED = 64 * 1024 * 1024
MAX_ESCAPES = 500_000


def elements(
    content: bytes,
    names: Collection[str],
    heads: Collection[str] = (),
    outer: Collection[str] = (),
    most: str = "",
    unread: Sequence[str] = (),
) -> Iterator[Element | XmlError]:
    """Yield what `records` yields; of a document with faults, the records behind them too.

    An XmlError among them says what is missing there. `outer` are those of `names` that never
    stand within another, where not all are. `most` is what most of the records are called,
    `unread` what of these nobody asks for.
    """
    count = 0
    try:
        for element in records(content, names, heads, most, unread):
            count += element.tag in names
            yield element
    except XmlError as fault:
        yield fault
        if fault.mendable and len(content) <= MAX_MENDED and content.count(b"&") <= MAX_ESCAPES:
            yield from _behind(content, outer or names, count)


def _behind(content: bytes, names: Collection[str], count: int) -> Iterator[Element | XmlError]:
    for part in islice(_apart(repaired(content), names), count, None):
        try:
            yield from islice(records(part, names), 1, None)  # behind the root as it begins
        except XmlError as fault:
            yield fault


def _apart(text: str, names: Collection[str]) -> Iterator[bytes]:
    """Cut a document where its records begin; what has no end is left out."""
    begin = re.compile(rf"<({'|'.join(map(re.escape, names))})(?=[\s>])")
    begun = [found.start() for found in begin.finditer(text)]
    for start, end in pairwise([*begun, len(text)]):
        name = text[start + 1 : start + 40].split(">")[0].split()[0]
        closing = f"</{name}>"
        last = text.rfind(closing, start, end)
        if last >= 0:
            yield text[start : last + len(closing)].encode(errors="replace")
