"""Repairing mojibake: encodings mistaken for each other.

Only what has one reading is repaired; anything else stays, and is compared letter by letter.
"""

from __future__ import annotations

import re

# UTF-8 read as Latin-1: ü arrives as Ã¼, and after compatibility folding as Ã 1/4.
_TWICE = re.compile(r"[ÃãÄä] ?(1/4|[\u0080-\u00bf])")
# A curly quote, a dash or an ellipsis read the same way, its last bytes lost.
_SIGN = re.compile(r"â ?(?:\?\?|''|\? ?¦|€[\u0080-\u00ff“”’œ™])")
# Latin-1 read as ISO 8859-5: ü arrives as ќ, in the middle of a Latin word.
_CYRILLIC = re.compile("[\u0401-\u045f]")
_MIXED = re.compile("[A-Za-z][\u0401-\u045f]|[\u0401-\u045f][A-Za-z]")


def repair(text: str) -> str:
    """Return `text` with letters restored where the mistake is obvious."""
    if text.isascii():
        return text
    text = _SIGN.sub(" ", _TWICE.sub(_once, text))
    if _MIXED.search(text):
        text = _CYRILLIC.sub(lambda m: m[0].encode("iso8859-5", "replace").decode("latin-1"), text)
    return text


def _once(match: re.Match[str]) -> str:
    second = 0xBC if match[1] == "1/4" else ord(match[1])
    first = 0xC3 if match[0][0] in "Ãã" else 0xC4
    return bytes([first, second]).decode()
