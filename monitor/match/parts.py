"""The terms of a topic one by one, and those of its words that no paper has."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, groupby

from monitor.match.index import TopicIndex
from monitor.match.language.tokens import Token, tokens
from monitor.match.language.tree import (
    TEXT_FIELDS,
    Author,
    Edge,
    Label,
    Leaf,
    Like,
    Near,
    Number,
    Query,
    Words,
    disjunction,
    every_leaf,
    leaves,
    signed_leaves,
)
from monitor.model import Paper
from monitor.text import words


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A term with its field, its position in the text, and the query that it is alone.

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
        if isinstance(leaf, Like):
            continue
        by_token[bisect_right(starts, leaf.position) - 1].append((leaf, is_excluded))
    parts = [_part(query.text, token_list, at, by_token[at]) for at in sorted(by_token)]
    likes = [leaf for leaf in every_leaf(query.root) if isinstance(leaf, Like)]
    parts += [QueryPart("like:", len(query.text), Query("", leaf)) for leaf in likes]
    return tuple(parts)


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
        case Label(field) | Number(field):
            return f"{field}:"
        case Like():
            return "like:"
        case _:
            return "" if leaf.fields == TEXT_FIELDS else f"{leaf.fields[0]}:"


# ── words that no paper has ─────────────────────────────────────────────────────────


def find_unseen_words(
    topics: Mapping[Hashable, Query], papers: Iterable[Paper]
) -> dict[Hashable, list[str]]:
    """Return, for each topic that has some, the words that no paper has, as the topic writes them.

    Only words that the topic looks for in the title or abstract are checked. A word with synonyms
    is seen when one of them is; words joined by hyphens count as one.
    """
    clauses_of = {name: list(_clauses(query)) for name, query in topics.items()}
    alternatives = chain.from_iterable(chain.from_iterable(clauses_of.values()))
    units = set(chain.from_iterable(alternatives))
    index = TopicIndex({unit: Query("", unit) for unit in units})
    _, numbers = index.pairs(papers)
    seen = {index.name(number) for number in set(numbers.tolist())}
    unseen = {name: list(_unseen_units(topics[name], clauses_of[name], seen)) for name in topics}
    return {name: missing for name, missing in unseen.items() if missing}


def _clauses(query: Query) -> Iterator[list[list[Words]]]:
    """Yield each clause of a topic: its alternatives (a word and its synonyms), each as words."""
    ordered = sorted(leaves(query.root), key=lambda leaf: leaf.position)
    for _, alternatives in groupby(ordered, key=lambda leaf: leaf.position):
        yield [list(_units(leaf)) for leaf in alternatives]


def _units(leaf: Leaf) -> Iterator[Words]:
    """Yield the words of a phrase, each as a term that finds it alone."""
    if isinstance(leaf, Near):
        for word in leaf.words:
            yield from _units(word)
    if not isinstance(leaf, Words) or leaf.fields == ("venue",):
        return
    if leaf.exact:
        yield replace(leaf, fields=TEXT_FIELDS)
        return
    start = 0
    for cut in range(1, leaf.length + 1):
        if any(edge.start < cut < edge.end for edge in leaf.edges):
            continue
        within = [edge for edge in leaf.edges if start <= edge.start and edge.end <= cut]
        edges = tuple(Edge(e.key, e.start - start, e.end - start, e.prefix) for e in within)
        yield Words(TEXT_FIELDS, edges, cut - start, "", leaf.position)
        start = cut


def _unseen_units(
    query: Query, clauses: Iterable[list[list[Words]]], seen: set[Hashable]
) -> Iterator[str]:
    missing = (
        unit
        for alternatives in clauses
        if not any(seen.issuperset(alternative) for alternative in alternatives)
        for unit in alternatives[0]
        if unit not in seen
    )
    written = _as_written(query.text.replace(r"\*", "*"))
    yield from dict.fromkeys(written.get(_key(unit)) or _key(unit) for unit in missing)


def _key(unit: Words) -> str:
    """Return the text to show for a unit: its longest word, with * for a prefix."""
    longest = max(unit.edges, key=lambda edge: edge.end - edge.start)
    return unit.exact or longest.key + "*" * longest.prefix


def _as_written(text: str) -> Mapping[str, str]:
    written: dict[str, str] = {}
    for word in words(text):
        start, end = word.span
        written.setdefault(word.form, text[start:end])
        if text[end : end + 1] == "*":
            written.setdefault(f"{word.word}*", text[start : end + 1])
    return written
