"""Names of authors: one field may hold many, as "A, B and C" or "Doe, J., Roe, R."."""

from __future__ import annotations

import re
from collections.abc import Iterable

from monitor.sources.fields.markup import text

_NOT_SHOWN = re.compile(r",?\s*\bet al\.?(?=\W|$)|\(\d+ additional authors not shown\)", re.I)
_BETWEEN_NAMES = re.compile(r",|\s(?:and|&)\s|(?<=ollaboration):")
# What after a comma is no other name: a suffix, or initials.
_OF_NAME_BEFORE = re.compile(r"(?:(?i:jr|sr|ii|iii|iv|phd|md)\.?|(?:[^\W\d_]{1,2}\.[ -]?)+)$")


def authors(names: Iterable[str]) -> list[str]:
    """Return single names in order, from fields that may have mark-up in them."""
    return split_names(map(text, names))


def split_names(names: Iterable[str]) -> list[str]:
    """Return single names in order; `et al.` and mail addresses are not names."""
    single = [name for name in names if name]
    if len(single) == 1:
        single = _split_line(single[0])
    return [
        name
        for name in single
        if (name[:1].isalpha() or any(map(str.isalpha, name))) and "@" not in name
    ]


def _split_line(line: str) -> list[str]:
    lowered = line.lower()
    if "et al" in lowered or "additional" in lowered:
        line = _NOT_SHOWN.sub("", line)
    if ";" in line or " | " in line:
        return [name.strip() for name in line.replace(" | ", ";").split(";")]
    parts = [part.strip() for part in _BETWEEN_NAMES.split(line)]
    parts = [part for part in parts if part]
    if len(parts) == 2 and all(" " not in part for part in parts) and "," in line:
        return [line]  # "Doe, Jane"
    names: list[str] = []
    for part in parts:
        if names and _OF_NAME_BEFORE.match(part):
            names[-1] = f"{names[-1]}, {part}"
        else:
            names.append(part)
    return names
