"""Cleans a field of a record: its characters, and what stands for nothing or for a withdrawal."""

from __future__ import annotations

import re
import unicodedata

_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """Return `text` as stored: NFC, one line, single spaces, no control or bidi characters.

    LaTeX and mathematics stay as they were written.
    """
    line = text.strip()
    if "  " in line or not line.isprintable():  # printable is no space but " "
        visible = re.sub("[\ud800-\udfff]", "\ufffd", _UNWANTED.sub("", " ".join(line.split())))
        line = " ".join(visible.split())
    return unicodedata.normalize("NFC", line)


_WITHDRAWN_MARK = re.compile(
    r"(?:(?P<open>[\[(*]\s*)?(?:retracted|withdrawn|removed)"
    r"(?: (?:article|paper|chapter|publication|preprint|manuscript))?"
    r"\s*(?(open)[\])*]\s*[:：]?|[:：]))\s*(?=\S)",
    re.IGNORECASE,
)


def without_withdrawal(title: str) -> str:
    """Return a title without the mark of a withdrawn paper ("RETRACTED ARTICLE: ...")."""
    match = _WITHDRAWN_MARK.match(title)
    return title[match.end() :] if match else title


_NEXT_FIELD = re.compile(
    r"\}\s*,\s*(?:abstract|author|booktitle|doi|editor|eprint|isbn|issn|journal|journaltitle|keywords"
    r"|month|note|number|pages|publisher|series|url|volume|year)\s*=\s",
    re.IGNORECASE,
)


def without_next_fields(title: str) -> str:
    """Return a stored title without the fields of BibTeX that older versions read into it."""
    field = _NEXT_FIELD.search(title) if "}" in title else None
    return title[: field.start()].rstrip() if field else title


# Numbers of 18 digits fit into the 64 bits of a database.
MAX_DIGITS = 18


def whole_number(text: str) -> int | None:
    """Return the number that a text is; None for anything but 1 to 18 digits of ASCII."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS else None


# In letters and digits alone: "N/A" is "na", and "." is "".
PLACEHOLDERS = (
    "", "abstract", "abstractnotavailable", "abstractunavailable", "na", "nan", "nil", "noabstract",
    "noabstractavailable", "none", "notapplicable", "notavailable", "null", "unavailable",
)  # fmt: skip
_MAX_CHARS = 60


def without_placeholder(abstract: str) -> str:
    """Return an abstract, or "" for a placeholder such as "N/A", "none" or "."."""
    if len(abstract) > _MAX_CHARS:
        return abstract
    return "" if "".join(filter(str.isalnum, abstract.casefold())) in PLACEHOLDERS else abstract
