"""Tags that do not fit put right, in a record that is no well-formed XML: text is what stays.

A `<` that begins no tag is text, what is not closed ends with its parent, an end without a
beginning is dropped, an attribute has one value in quotes, and each prefix a namespace.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr, unescape

MAX_DEPTH = 256
MAX_PASSAGES = 1_000  # comments and such, each of which may be looked for to the end

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
_DECLARED = re.compile(r"\sxmlns:([\w.-]+)\s*=")
_END = re.compile(r"</([^\s<>]+)")
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_ROOT = re.compile(r"<[A-Za-z_][\w.:-]{0,100}(?=[\s/>])(?:[^<>]{0,4000})")


def bound(text: str, namespace: str) -> str:
    """Return a document in which each prefix that its root does not declare is of `namespace`."""
    root = _ROOT.search(text)
    if root is None:
        return text
    used = {one or other for one, other in _PREFIX.findall(text)} - {"xml", "xmlns"}
    declared = set(_DECLARED.findall(root.group()))
    free = sorted(used - declared)
    told = "".join(f" xmlns:{name}={quoteattr(namespace)}" for name in free)
    place = root.start() + len(root.group().rstrip("/ \r\n\t"))
    return text[:place] + told + text[place:]


def balanced(text: str) -> str:
    """Return an element with its tags put right; one that is nested too deep stays as it is."""
    if text.count("<!") + text.count("<?") > MAX_PASSAGES:
        return text
    ends = {found[1]: found.start() for found in _END.finditer(text)}  # the last of each
    pieces: list[str] = []
    parents: list[str] = []
    end, wrote = 0, False  # since the innermost began
    for token in _TOKEN.finditer(text):
        between = text[end : token.start()].replace("]]>", "]]&gt;")
        pieces.append(between)
        wrote = wrote or bool(between.strip())
        end = token.end()
        name = token["name"]
        if name is None:
            told = "&lt;" if token.group() == "<" else token.group()
            if told.startswith(("&lt;", "<![CDATA[")):  # comments go
                pieces.append(told)
                wrote = True
        elif token["end"]:
            if name in parents:
                while parents[-1] != name:
                    pieces.append(f"</{parents.pop()}>")
                pieces.append(f"</{parents.pop()}>")
                wrote = False
        else:
            # A field with text that nothing closes ends where the next begins.
            if wrote and parents and ends.get(parents[-1], -1) < end:
                pieces.append(f"</{parents.pop()}>")
            attributes = token["attributes"]
            alone = attributes.endswith("/")
            pieces.append(f"<{name}{_attributes(attributes)}{'/' if alone else ''}>")
            if not alone:
                parents.append(name)
                wrote = False
            if len(parents) > MAX_DEPTH:
                return text
    pieces.append(text[end:])
    return "".join(pieces) + "".join(f"</{name}>" for name in reversed(parents))


def _attributes(written: str) -> str:
    kept: dict[str, str] = {}
    for name, one, other in _ATTRIBUTE.findall(written):
        kept.setdefault(name, unescape(one or other, _QUOTES))
    return "".join(f" {name}={quoteattr(value)}" for name, value in kept.items())
