"""Turns a topic written as lists into a topic of the language, with the same words and tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Signs of an item in the language: quotes, parentheses, a field, ~ and ^, or an operator.
_LANGUAGE = re.compile(
    r'["“”„«»()~^]|(?<!\w)[\d_]*+[^\W\d_]\w*+:|(?:^|\s)[-\u2010-\u2015\u2212]|\b(?:AND|OR|NOT)\b'
)


def item_query(item: str) -> str:
    """Return an item of a list in the language: its words are a phrase, or it is a topic itself."""
    item = item.strip()
    if _LANGUAGE.search(item):
        return f"({item})"
    if len(item.split()) < 2:
        return item
    return f'="{item[1:]}"' if item.startswith("=") else f'"{item}"'


def field_query(field: str, value: str) -> str:
    """Return a name or category in the language."""
    quoted = value.strip().replace('"', "")
    return f'{field}:"{quoted}"'


def lists_query(
    any_of: Sequence[str] = (),
    all_of: Sequence[str] = (),
    none_of: Sequence[str] = (),
    authors: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> str:
    """Return the topic that lists stand for.

    A paper must have one of `any_of`, all of `all_of`, none of `none_of`, one of the authors and
    one of the categories; an empty list asks for nothing.
    """
    groups = [
        map(item_query, any_of),
        *([item_query(item)] for item in all_of),
        (field_query("author", name) for name in authors),
        (field_query("category", name) for name in categories),
    ]
    parts = [*filter(None, map(_either, groups)), *(f"NOT {item_query(item)}" for item in none_of)]
    return " AND ".join(parts)


def _either(items: Iterable[str]) -> str:
    queries = list(items)
    return queries[0] if len(queries) == 1 else f"({' OR '.join(queries)})" if queries else ""
