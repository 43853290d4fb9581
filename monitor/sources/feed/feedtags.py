"""The tags of well-formed XML, cut out of it: expat says first that it is well-formed.

There no < stands but where a tag begins, or a comment, a CDATA section or an instruction: these
are asides. So texts and tags are found without a tree, which takes longer to build than to read.
"""

from __future__ import annotations

import re
from xml.parsers import expat


class DeclinedError(Exception):
    """Says that a document is left to feedparser; it never leaves the fast reader."""


_ASIDE = re.compile(
    rb"<!--.*?(?P<comment>-->|\Z)|<!\[CDATA\[(?P<text>.*?)(?P<section>\]\]>|\Z)"
    rb"|<\?.*?(?P<instruction>\?>|\Z)",
    re.DOTALL,
)
_TAG = re.compile(r"([^\s/]+)((?:\s+[^\s=]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)")
_ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_REFERENCE = re.compile(r"&(?:#([0-9]+)|#x([0-9a-fA-F]+)|([a-z]+));")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


# What stands between < and >: name, attributes, and whether the element ends at once.
Tag = tuple[str, dict[str, str], bool]


def last_aside(content: bytes) -> int:
    """Return the byte at which the last aside of a UTF-8 document begins, -1 for none.

    Raises ExpatError where it is not well-formed, its namespaces included, and DeclinedError where
    it declares a type.
    """
    if b"\0" in content:
        raise DeclinedError  # UTF-16, which expat would read
    last = -1
    parser = expat.ParserCreate("utf-8", " ")

    def aside(*_: object) -> None:
        nonlocal last
        last = parser.CurrentByteIndex

    parser.CommentHandler = parser.ProcessingInstructionHandler = aside
    parser.StartCdataSectionHandler = aside
    parser.StartDoctypeDeclHandler = _declined
    parser.Parse(content, True)
    return last


def _declined(*_: object) -> None:
    raise DeclinedError


def without_asides(told: bytes) -> bytes:
    """Return a part of a document in which the texts of CDATA sections are texts as others.

    Raises DeclinedError where an aside does not end in this part.
    """
    return _ASIDE.sub(_plain, told)


def _plain(aside: re.Match[bytes]) -> bytes:
    if not any(aside.group("comment", "section", "instruction")):
        raise DeclinedError
    return (aside["text"] or b"").replace(b"&", b"&amp;").replace(b"<", b"&lt;")


def tag(told: bytes) -> Tag:
    """Read a tag; DeclinedError for one with a > in it, at which it was cut."""
    found = _TAG.fullmatch(told.decode())
    if not found:
        raise DeclinedError
    name, attributes, end = found.groups()
    given = {key: value(double or single) for key, double, single in _ATTRIBUTE.findall(attributes)}
    return name, given, bool(end)


def value(told: str) -> str:
    """Return what is between the quotes of an attribute as it is meant."""
    return told if told.isprintable() and "&" not in told else decoded(_spaced(told))


def _spaced(told: str) -> str:
    return told.replace("\n", " ").replace("\t", " ")


def decoded(text: str) -> str:
    """Return a text with the characters for which there are references."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    return _NAMED[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16))
