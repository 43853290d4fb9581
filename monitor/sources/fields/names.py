"""Names of authors: one field may hold many, as "A, B and C" or "Doe, J., Roe, R."."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from monitor.text import A_SUFFIX, PARTICLES, SUFFIX

_NOT_SHOWN = re.compile(
    r",?(?<!\s)\s*+\bet al\.?(?=\W|$)|\(\d+ additional authors not shown\)", re.I
)
_AND = re.compile(r",?(?<!\s)\s++(?:and|&)\s+")
_COMMA = re.compile(r"(?:(?<!\s)\s++)?,\s*")
_BETWEEN_NAMES = re.compile(r",|\s(?:and|&)\s|(?<=ollaboration):")
_CHINESE_SEPARATORS = str.maketrans("；、，", ";;,")
# After a comma, part of the name before it: a suffix, or initials.
_OF_NAME_BEFORE = re.compile(rf"(?:{A_SUFFIX}|(?:[^\W\d_]{{1,2}}\.[ -]?)+)$")
# One word, or particles before it.
_FAMILY_NAME = re.compile(rf"(?:(?i:{'|'.join(sorted(PARTICLES))})\s+)*[^\W\d_][\w'’.-]*$")
MAX_NESTED = 4  # parentheses
_AFFILIATION = re.compile(r"(?:(?<!\s)\s++)?\([^()]*\)")
_INITIAL = re.compile(r"(?:^|[\s.-])[^\W\d_]\.?(?=$|[\s.-])")
# "S.Katrych", "Yu.I.Manin", "J.-P.Serre" have both names in one word; St.John is a family name.
_INITIALS_AND_NAME = re.compile(
    rf"(?!(?i:st|{'|'.join(sorted(PARTICLES))})\.)"
    r"(?:[^\W\d_]{1,2}\.-?){1,6}[^\W\d_]['’]?[^\W\d_]"
)


def split_names(names: Iterable[str], *, given_first: bool = False) -> list[str]:
    """Return single names in order; `et al.` and mail addresses are not names.

    `given_first` where the source never writes "Family, Given".
    """
    single = [name for name in names if name]
    if len(single) == 1:
        single = _split_line(single[0], given_first)
    return [name for name in single if any(map(str.isalpha, name)) and "@" not in name]


def _split_line(line: str, given_first: bool) -> list[str]:
    line = _NOT_SHOWN.sub("", line).translate(_CHINESE_SEPARATORS)
    if ";" in line or " | " in line:
        return [name.strip() for name in line.replace(" | ", ";").split(";")]
    if not given_first and (turned := _family_names_first(line)):
        return turned
    names: list[str] = []
    for part in filter(None, map(str.strip, _BETWEEN_NAMES.split(line))):
        if names and _OF_NAME_BEFORE.match(part):
            names[-1] = f"{names[-1]}, {part}"
        else:
            names.append(part)
    return names


def _family_names_first(line: str) -> list[str]:
    """Return the names of a line whose family names come first, as "Doe, Jane and Roe, Rae".

    [] for any other line. "Doe, Jane, Roe, Rae" may be four people, unless all have initials.
    """
    if line.lower() == line.upper():  # a script without capitals, as Chinese: no given name behind
        return []
    chunks = [_COMMA.split(chunk.strip()) for chunk in _AND.split(line)]
    families = [chunk[0] for chunk in chunks]
    if len(chunks) == 1:
        [parts] = chunks
        families = parts[::2]
        rest = parts[1::2]
        if len(families) != len(rest) or SUFFIX.match(rest[0]) or not all(rest):
            return []
        are_turned = len(rest) == 1 or all(map(_INITIAL.search, rest))
        if not are_turned or not all(map(_is_family_name, families)):
            return []
        return [f"{family}, {other}" for family, other in zip(families, rest, strict=True)]
    are_turned = all(map(_is_turned, chunks)) and any(map(_is_family_name, families))
    if not are_turned or any(map(_INITIAL.search, families)):
        return []
    return [", ".join(chunk) for chunk in chunks]


def _is_family_name(name: str) -> bool:
    return bool(_FAMILY_NAME.match(name)) and not _INITIALS_AND_NAME.match(name)


def joins_people(name: str) -> bool:
    """Whether a name is that of several people with glued initials, as "I.Grosu, L.Tugulan"."""
    parts = _COMMA.split(name)
    return len(parts) > 1 and all(map(_INITIALS_AND_NAME.match, parts))


def _is_turned(parts: Sequence[str]) -> bool:
    """Whether a name is in two parts, or three with a suffix: "Doe, Jane, Jr."."""
    return all(parts) and (len(parts) == 2 or (len(parts) == 3 and bool(SUFFIX.match(parts[2]))))


def without_affiliations(names: str) -> str:
    """Drop what arXiv has in parentheses after names, nested ones too."""
    for _ in range(MAX_NESTED if "(" in names else 0):
        names = _AFFILIATION.sub("", names)
    return names
