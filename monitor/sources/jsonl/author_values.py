"""The names in a record's field of authors, in whatever form a dump has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from monitor.sources.api.values import many, natural, raw
from monitor.sources.fields.names import authors
from monitor.sources.jsonl.rows import parse_cell

MAX_DEPTH = 8  # lists and objects around a name
_AND = re.compile(r"\s+and\s+")
_SCOPUS_ID = re.compile(r" \(\d{4,15}\)(?=;|$)")
_WHOLE = ("name", "fullname", "full_name", "display_name", "fullName", "literal", "author", "text")
_PARTS = (
    ("given", "first", "first_name", "firstName", "firstname", "forename", "given_name"),
    ("middle", "middle_name"),
    ("family", "last", "last_name", "lastName", "lastname", "surname", "family_name"),
    ("suffix",),
)


def names_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yield names in natural order, from one text, one object, or a list of texts or objects."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str):
        parsed = parse_cell(value) if value[:1] in ("[", "{") else value
        if isinstance(parsed, (str, int, float)):
            yield from _names_in_text(value)
        else:
            yield from names_in(parsed)
    elif isinstance(value, Mapping):
        yield from _names_in_object(value, depth + 1)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield natural(item.strip())
            elif isinstance(item, list):  # last, first, suffix
                last, first, suffix, *_ = *map(raw, item[:3]), "", "", ""
                yield " ".join(filter(None, (first, last, suffix)))
            else:
                yield from names_in(item, depth + 1)


def _names_in_text(text: str) -> Iterator[str]:
    """Split "A, B and C", "Doe, J.; Roe, R." and "Doe, Jane and Roe, Rae"."""
    parts = _AND.split(text)
    if len(parts) > 1 and all(part.count(",") == 1 for part in parts):
        yield from map(natural, parts)
    else:
        yield from map(natural, authors([_SCOPUS_ID.sub("", text).replace("|", ";")]))


def _names_in_object(person: Mapping[str, Any], depth: int) -> Iterator[str]:
    for inner in ("author", "authors", "person"):
        if isinstance(person.get(inner), (Mapping, list)):
            yield from names_in(person[inner], depth)
            return
    whole = next(filter(None, (raw(person, name) for name in _WHOLE)), "")
    parts = (
        next(filter(None, (" ".join(map(raw, many(person, name))) for name in names)), "")
        for names in _PARTS
    )
    yield natural(whole) if whole else " ".join(filter(None, parts))
