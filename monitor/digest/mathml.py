"""Formulas of titles and abstracts as MathML, for pages; mails show readable Unicode.

A digest stores its texts with formulas in Unicode, and beside them where each came from. A page
puts MathML where the Unicode of a formula stands, and leaves the others as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from markupsafe import Markup, escape

from monitor.kept import kept
from monitor.model import Formula
from monitor.text import clean

_LONGEST = 300
# The presentation elements and attributes of MathML Core that the converter writes. It escapes no
# text and keeps addresses: all others are refused.
_ELEMENTS = frozenset(
    {
        *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded", "mphantom"),
        *("msup", "msub", "msubsup", "mover", "munder", "munderover", "mfrac", "msqrt", "mroot"),
        *("mtable", "mtr", "mtd"),
    }
)
_ATTRIBUTES = frozenset(
    {
        *("stretchy", "fence", "form", "accent", "accentunder", "mathvariant", "displaystyle"),
        *("scriptlevel", "linethickness", "columnalign", "lspace", "rspace", "width", "height"),
        *("depth", "minsize", "maxsize", "movablelimits"),
    }
)
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_PIECES = re.compile(r"(<[^>]*>)")


def put_formulas(text: str, formulas: Iterable[Formula]) -> Markup:
    """Return text or HTML with its formulas as MathML, but for those that marks or tags cut."""
    html = text if isinstance(text, Markup) else escape(clean(text))
    known = {str(escape(formula.text)): formula.tex for formula in formulas}
    if not known:
        return html
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    pieces = _PIECES.split(html)
    for at in range(0, len(pieces), 2):
        pieces[at] = pattern.sub(lambda match: to_mathml(known[match[0]]) or match[0], pieces[at])
    return Markup("".join(pieces))


@kept(4_096)
def to_mathml(tex: str) -> str:
    """Return a formula as MathML, "" if it cannot be converted, or not to MathML alone."""
    if len(tex) > _LONGEST:
        return ""
    from latex2mathml.converter import convert  # its tables take long to import

    try:
        math = ElementTree.fromstring(convert(tex))
    except Exception:  # the converter raises errors of many kinds; the formula stays in Unicode
        return ""
    for element in math.iter():
        name = element.tag.removeprefix(_NAMESPACE)
        if name not in _ELEMENTS or "\\" in (element.text or ""):
            return ""
        element.tag = name
        element.attrib = {k: v for k, v in element.attrib.items() if k in _ATTRIBUTES}
    return ElementTree.tostring(math, encoding="unicode")
