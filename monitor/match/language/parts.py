"""The parts of a query: each term by itself, as it is written."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from monitor.match.language.tokens import Token, tokens
from monitor.match.language.tree import (
    TEXT_FIELDS,
    Author,
    Label,
    Leaf,
    Query,
    disjunction,
    signed_leaves,
)


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A term with its field, where it stands in the text, and the query that it is alone.

    Synonyms belong to the term. `is_excluded` where papers must not have it.
    """

    text: str
    position: int
    query: Query
    is_excluded: bool = False


def split_parts(query: Query) -> tuple[QueryPart, ...]:
    """Return the terms of a query in the order in which they are written."""
    token_list = tokens(query.text)
    starts = [token.position for token in token_list]
    by_token: dict[int, list[tuple[Leaf, bool]]] = defaultdict(list)
    for leaf, is_excluded in signed_leaves(query.root):
        by_token[bisect_right(starts, leaf.position) - 1].append((leaf, is_excluded))
    return tuple(_part(query.text, token_list, at, by_token[at]) for at in sorted(by_token))


def _part(
    text: str, token_list: list[Token], at: int, leaves: list[tuple[Leaf, bool]]
) -> QueryPart:
    alone = [leaf for leaf, _ in leaves]
    written = text[token_list[at].position : token_list[at + 1].position].strip()
    if at and token_list[at - 1].kind == "exact":
        written = f"={written}"
    written = f"{_field(alone[0])}{written}"
    root = disjunction(list(dict.fromkeys(alone)))
    is_excluded = all(excluded for _, excluded in leaves)
    return QueryPart(written, token_list[at].position, Query(written, root), is_excluded)


def _field(leaf: Leaf) -> str:
    match leaf:
        case Author():
            return "author:"
        case Label(field):
            return f"{field}:"
        case _:
            return "" if leaf.fields == TEXT_FIELDS else f"{leaf.fields[0]}:"
