"""Words that a configuration declares equivalent: a topic with one of them matches any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from monitor.match.language.tree import Edge
from monitor.text import words

# A phrase of many synonyms has ever more ways to be written: these are the first.
MAX_WAYS = 32


class Term(NamedTuple):
    """What a word or phrase looks for: see `tree.Words`."""

    edges: tuple[Edge, ...]
    length: int


def term(text: str) -> Term:
    """Return the lattice of a text; without edges where it has no word."""
    lattice = words(text)
    edges = {Edge(word.form, word.start, word.end) for word in lattice}
    ordered = sorted(edges, key=lambda edge: (edge.start, edge.end))
    return Term(tuple(ordered), max((word.end for word in lattice), default=0))


class Synonyms:
    """Groups of words and phrases, each of which stands for every other of its group.

    A text without words is left out.
    """

    def __init__(self, groups: Iterable[Sequence[str]] = ()) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        self._by_first_word: dict[str, list[tuple[Term, tuple[Term, ...]]]] = {}
        self._words: list[list[set[str]]] = []
        for group in self.groups:
            alike = tuple(dict.fromkeys(one for one in map(term, group) if one.edges))
            self._words.append([{edge.key for edge in one.edges} for one in alike])
            for one in alike:
                self._by_first_word.setdefault(one.edges[0].key, []).append((one, alike))

    def bearing_on(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Return the groups that may apply to a topic, by the words in its text."""
        forms = {word.form for word in words(text)}
        return tuple(
            group
            for group, ways in zip(self.groups, self._words, strict=True)
            if any(words <= forms for words in ways)
        )

    def ways(self, written: Term) -> list[Term]:
        """Return a term and its variants with synonyms, itself first; at most 32."""
        ways = [written]
        if not any(edge.key in self._by_first_word for edge in written.edges):
            return ways
        # From the last to the first, so that what is replaced moves nothing still to come.
        for start in range(written.length - 1, -1, -1):
            ways += [other for way in ways for other in self._substitutions(way, start)]
        return list(dict.fromkeys(ways))[:MAX_WAYS]

    def _substitutions(self, way: Term, start: int) -> Iterator[Term]:
        edges = set(way.edges)
        for edge in way.edges:
            for one, alike in self._by_first_word.get(edge.key, ()) if edge.start == start else ():
                if {_shift(e, start) for e in one.edges} <= edges:
                    yield from (_substitute(way, start, one, o) for o in alike if o != one)


def _shift(edge: Edge, by: int) -> Edge:
    return edge._replace(start=edge.start + by, end=edge.end + by)


def _substitute(written: Term, start: int, one: Term, other: Term) -> Term:
    """Put `other` where `one` stands; a word joined across its ends is no more."""
    end, longer = start + one.length, other.length - one.length
    before = [edge for edge in written.edges if edge.end <= start]
    after = [edge for edge in written.edges if edge.start >= end]
    edges = [
        *before,
        *(_shift(edge, start) for edge in other.edges),
        *(_shift(edge, longer) for edge in after),
    ]
    ordered = sorted(edges, key=lambda edge: (edge.start, edge.end))
    return Term(tuple(ordered), written.length + longer)


NO_SYNONYMS = Synonyms()
