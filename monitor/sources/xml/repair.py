"""Repairs XML with faults that a person would read over, and reads records one by one.

A broken record affects no other record. Why no parser with recovery does it:
docs/decisions/0006-xml-repair.md.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr, unescape

from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.encoding import decode, is_xml_character
from monitor.sources.xml.stream import XmlError, records

MAX_ESCAPES = 1_000_000
MAX_REPAIRED_BYTES = 64 * 1024 * 1024
MAX_REPAIRED_ESCAPES = 500_000
MAX_BALANCED_BYTES = 2 * MAX_ENTRY  # of one record
MAX_DEPTH = 256
MAX_PASSAGES = 1_000  # comments and such, each of which may be searched to the end

_DECLARATION = re.compile(r"^\s*<\?xml\b[^>]{0,200}\?>")
_ENCODING = re.compile(rb"\s*<\?xml[^>]{0,100}?encoding=[\"']([\w.:-]{1,40})[\"']")
# Each record gets the namespaces of the root, so a root of megabytes is not accepted.
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]{0,100})(\s[^<>]{0,4000})?>")
_ROOT_START = re.compile(r"<[A-Za-z_][\w.:-]{0,100}(?=[\s/>])(?:[^<>]{0,4000})")
_ESCAPE = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:#(\d{1,7}|x[0-9a-f]{1,6});|\w{2,31};)?", re.I
)
_TOKEN = re.compile(
    r"<!--.{0,2000}?-->|<\?.{0,2000}?\?>|<!\[CDATA\[.{0,20000}?\]\]>"
    r"|<(?P<end>/?)(?P<name>[A-Za-z_][\w.-]{0,60}(?::[A-Za-z_][\w.-]{0,60})?)"
    r"(?P<attributes>(?:\s(?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}')*+)?+)>|<",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.:-]{0,100})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_PREFIX = re.compile(
    r"</?([A-Za-z_][\w.-]{0,60}):|\s([A-Za-z_][\w.-]{0,60}):[\w.-]{1,60}\s*=\s*[\"']"
)
_DECLARED_PREFIX = re.compile(r"\sxmlns:([\w.-]+)\s*=")
_END_TAG = re.compile(r"</([^\s<>]+)")
_QUOTES = {"&quot;": '"', "&apos;": "'"}


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
        for element in _below_root(records(content, tags, head_tags), roots):
            count += element.tag in tags
            yield element
        return
    except XmlError as fault:
        is_small = len(content) <= MAX_REPAIRED_BYTES
        if not (fault.repairable and is_small and content.count(b"&") <= MAX_REPAIRED_ESCAPES):
            yield fault
            return
    text = declare_prefixes(repair_escapes(content), spaces[0][1:-1])
    again = _below_root(records(text.encode(errors="replace"), tags, head_tags))
    try:
        for element in again:
            number += element.tag in tags
            if number > count:
                yield element
    except XmlError as fault:
        yield fault
        for part in islice(cut_with_namespaces(text, outer or names), max(number, count), None):
            yield from _read_part(part, tags)


def _below_root(stream: Iterator[Element], roots: Collection[str] = ()) -> Iterator[Element]:
    root = next(stream)
    if roots and root.tag not in roots:
        begins = f"it begins with <{root.tag[:60]}>"
        raise XmlError(f"the document holds no records of this kind: {begins}")
    yield from stream


def _read_part(part: bytes, tags: Collection[str]) -> Iterator[Element | XmlError]:
    """Read a record that stands alone, with its tags balanced if they have to be."""
    try:
        yield from list(_below_root(records(part, tags)))
    except XmlError as fault:
        try:
            if len(part) > MAX_BALANCED_BYTES:
                raise
            yield from list(_below_root(records(balance_tags(part.decode()).encode(), tags)))
        except XmlError:
            yield fault


# ── escapes and records ─────────────────────────────────────────────────────────────


def repair_escapes(content: bytes) -> str:
    """Return the text of a document with escapes that XML knows, and without a declaration."""
    text = _decode(content).lstrip("\ufeff").replace("\0", "")
    if text.count("&") > MAX_ESCAPES:
        return text
    return _ESCAPE.sub(_repair_escape, _DECLARATION.sub("", text))


def cut_with_namespaces(text: str, names: Iterable[str]) -> Iterator[bytes]:
    """Yield each whole element of these names as a document, with the root's namespaces."""
    root = _ROOT.search(text)
    if root is None:
        return
    opening, closing = f"<{root[1]}{(root[2] or '').rstrip('/')}>", f"</{root[1]}>"
    begin = re.compile(rf"<((?:[\w-]+:)?(?:{'|'.join(map(re.escape, names))}))(?=[\s>])")
    starts = ((match.start(), match[1]) for match in begin.finditer(text, root.end()))
    for (start, name), (end, _) in pairwise(chain(starts, [(len(text), "")])):
        last = text.rfind(f"</{name}>", start, end)
        if last >= 0:
            part = text[start : last + len(name) + 3]
            yield f"{opening}{part}{closing}".encode(errors="replace")


def _decode(content: bytes) -> str:
    declared = _ENCODING.match(content)
    if declared:
        try:
            return codecs.decode(content, declared[1].decode())
        except (LookupError, ValueError, TypeError):
            return decode(content)[0]
    return decode(content)[0]


def _repair_escape(match: re.Match[str]) -> str:
    """A character for its HTML name or number, nothing for one that XML forbids, else `&amp;`."""
    if match[1]:
        code = int(match[1][1:], 16) if match[1][0] in "xX" else int(match[1])
        return match.group() if is_xml_character(code) else ""
    character = html.unescape(match.group())
    return f"&amp;{match.group()[1:]}" if character == match.group() else character


# ── tags ────────────────────────────────────────────────────────────────────────────


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
    without a beginning is dropped, and an attribute has one value in quotes.
    """
    if text.count("<!") + text.count("<?") > MAX_PASSAGES:
        return text
    last_ends = {match[1]: match.start() for match in _END_TAG.finditer(text)}
    pieces: list[str] = []
    parents: list[str] = []
    end, has_text = 0, False  # since the innermost element began
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
            attributes = token["attributes"]
            pieces.append(f"<{name}{_repair_attributes(attributes)}>")
            if not attributes.endswith("/"):
                parents.append(name)
                has_text = False
            if len(parents) > MAX_DEPTH:
                return text
    return "".join((*pieces, text[end:])) + "".join(f"</{name}>" for name in reversed(parents))


def _repair_attributes(written: str) -> str:
    values: dict[str, str] = {}
    for name, double_quoted, single_quoted in _ATTRIBUTE.findall(written):
        values.setdefault(name, unescape(double_quoted or single_quoted, _QUOTES))
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in values.items())
    return attributes + "/" * written.endswith("/")
