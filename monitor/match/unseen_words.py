"""Words of topics that none of some papers has: a slip of the pen, or a word nobody writes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from monitor.match.index import TopicIndex
from monitor.match.tree import TEXT_FIELDS, Edge, Leaf, Near, Query, Words, leaves
from monitor.model import Paper
from monitor.text import words


def unseen_words(
    topics: Mapping[Hashable, Query], papers: Iterable[Paper]
) -> dict[Hashable, list[str]]:
    """Return, for each topic that has some, the words that no paper has, as the topic writes them.

    Only words of the title or abstract count that the topic asks for. A word with synonyms is
    there when one of them is; a word joined by hyphens is one.
    """
    asked = {name: list(_clauses(query)) for name, query in topics.items()}
    units = {unit for clauses in asked.values() for ways in clauses for way in ways for unit in way}
    index = TopicIndex({unit: Query("", unit) for unit in units})
    _, numbers = index.pairs(papers)
    seen = {index.name(number) for number in set(numbers.tolist())}
    found = {name: list(_missing(topics[name], asked[name], seen)) for name in topics}
    return {name: missing for name, missing in found.items() if missing}


def _clauses(query: Query) -> Iterator[list[list[Words]]]:
    """Yield each clause of a topic: the ways to say it, of which each is some words."""
    said = sorted(leaves(query.root), key=lambda leaf: leaf.position)
    for _, ways in groupby(said, key=lambda leaf: leaf.position):
        yield [list(_units(leaf)) for leaf in ways]


def _units(leaf: Leaf) -> Iterator[Words]:
    """Yield the words of a phrase, each as what would find it alone."""
    if isinstance(leaf, Near):
        for one in leaf.words:
            yield from _units(one)
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


def _missing(
    query: Query, clauses: Iterable[list[list[Words]]], seen: set[Hashable]
) -> Iterator[str]:
    missing = (
        unit
        for ways in clauses
        if not any(seen.issuperset(way) for way in ways)
        for unit in ways[0]
        if unit not in seen
    )
    written = _as_written(query.text)
    yield from dict.fromkeys(written.get(_key(unit)) or _key(unit) for unit in missing)


def _key(unit: Words) -> str:
    """Return what stands for a unit: its longest word, with * for a beginning."""
    longest = max(unit.edges, key=lambda edge: edge.end - edge.start)
    return unit.exact or longest.key + "*" * longest.prefix


def _as_written(text: str) -> Mapping[str, str]:
    """Return the words of a topic by their keys."""
    found: dict[str, str] = {}
    for word in words(text):
        start, end = word.span
        found.setdefault(word.form, text[start:end])
        if text[end : end + 1] == "*":
            found.setdefault(f"{word.word}*", text[start : end + 1])
    return found
