"""Mark-up to plain text, once: fields hold text, and whatever shows them escapes it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import nh3

from monitor.text import clean

_NAMES = (
    "a|abbr|article|b|bdi|blockquote|body|br|caption|center|cite|code|dd|del|div|dl|dt|em|embed"
    "|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd"
    "|label|li|link|main|mark|math|meta|nav|noscript|object|ol|p|picture|pre|q|s|samp|script"
    "|section|small|source"
    "|span|strike|strong|style|sub|sup|svg|table|tbody|td|tfoot|th|thead|time|title|tr|tt|u|ul"
    "|var|video"
    # of JATS, which some give without its prefix
    "|bold|disp-formula|ext-link|inline-formula|italic|list-item|monospace|sc|sec|styled-content"
    "|tex-math|underline|xref"
    "|scp"  # of Wiley: small capitals
)
# A "<" begins a tag only before a name that HTML has, or one with a prefix (jats:p, mml:math),
# that ends there or has attributes with values: "a <b and c> d" stays what it is.
_TAG = re.compile(
    rf"(?=<[/!a-z])(?:</?(?:{_NAMES}|[a-z]+:[a-z][a-z-]*)"
    r"(?:[\s/]*>|[\s/]+[\w:@.-][\w\s:@.-]*+=(?:[^<>\"']++|\"[^\"]{0,4000}\"|'[^']{0,4000}')*+>)"
    r"|<!--|<!\[CDATA\[|<!doctype\s[^<>]{0,400}>)",
    re.IGNORECASE,
)
_BLOCK_TAG = re.compile(
    r"</?(?:\w+:)?(?:p|br|div|li|ul|ol|dd|dt|h[1-6]|hr|td|th|tr|table|section|title|sec"
    r"|blockquote|figure)\b[^<>]*>|<!\[CDATA\[|\]\]>",
    re.IGNORECASE,
)
_ESCAPED_TAG = re.compile(
    r"&lt;(?P<tag>/?(?:i|b|u|em|strong|sub|sup|scp|p|br|(?:jats|mml):[\w-]+)\b[^&<>]{0,200}?)&gt;",
    re.IGNORECASE,
)
_NOTE_NUMBER = re.compile(r"<sup\b[^<>]{0,100}>[^<>]{0,40}</sup>")


def text(markup: str) -> str:
    """Return clean text without tags ("p<0.05" has none), with entities decoded once."""
    if "<" in markup and _TAG.search(markup):
        markup = _without_tags(markup)
    return clean(html.unescape(markup) if "&" in markup else markup)


def names(markup: Sequence[str]) -> list[str]:
    """Return the clean text of each name, without the raised numbers of notes after it."""
    return [text(_NOTE_NUMBER.sub("", name) if "<sup" in name else name) for name in markup]


def unescape_tags(markup: str) -> str:
    """Restore the tags of a title, which some publishers escape twice."""
    return _ESCAPED_TAG.sub(r"<\g<tag>>", markup) if "&lt;" in markup else markup


def _without_tags(markup: str) -> str:
    """Keep the words of any mark-up, with the entities that they need."""
    pieces = []
    end = 0
    for tag in _TAG.finditer(markup):
        pieces += [markup[end : tag.start()].replace("<", "&lt;"), tag.group()]
        end = tag.end()
    without_false_tags = "".join(pieces) + markup[end:].replace("<", "&lt;")
    return nh3.clean(_BLOCK_TAG.sub(" ", without_false_tags), tags=set())
