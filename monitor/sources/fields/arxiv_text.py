"""What arXiv writes into one line: names with affiliations, notes of withdrawal."""

from __future__ import annotations

import re

_PARENTHESES = re.compile(r"([()])")
_GAP = re.compile(r"\s+(?=[,;]|$)")
_AFFILIATION = re.compile(r"\s*\([^()]*\)")
_WITHDRAWN_TEXT = re.compile(
    r"\W*(?:this|the|our) (?:\w+ )?(?:paper|article|submission|manuscript|preprint|e-?print|work"
    r"|version|note|letter|draft)\b[^.]{0,40}? (?:has|have|had|is|was|will) (?:\w+ ){0,3}?"
    r"withdrawn\b",
    re.IGNORECASE,
)
_WITHDRAWN_COMMENT = re.compile(
    r"\W*(?:paper|article|submission|manuscript|version)? ?withdrawn\b", re.IGNORECASE
)


def without_affiliations(names: str) -> str:
    """Drop what is in parentheses after names, nested ones too."""
    if "(" not in names and ")" not in names:
        return _GAP.sub("", names)
    pieces, depth = [], 0
    for part in _PARENTHESES.split(names):
        depth += {"(": 1, ")": -1}.get(part, 0)
        if depth == 0 and part != ")":
            pieces.append(part)
        depth = max(depth, 0)
    if depth:  # one that is never closed may hold names
        return _AFFILIATION.sub("", names)
    return _GAP.sub("", "".join(pieces))


def says_withdrawn(abstract: str, comment: str) -> bool:
    """Whether an abstract or a comment begins by saying that the paper is withdrawn."""
    if _WITHDRAWN_TEXT.match(abstract):
        return True
    if "withdrawn" not in comment.lower():
        return False
    return bool(_WITHDRAWN_TEXT.match(comment) or _WITHDRAWN_COMMENT.match(comment))
