"""Words that a configuration declares equivalent: a topic with one of them matches any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from monitor.match.language.tree import Edge
from monitor.text import Word, words, words_to_find

# A phrase of many synonyms has ever more ways to be written: these are the first.
MAX_WAYS = 32


class Term(NamedTuple):
    """The lattice of a word or phrase: see `tree.Words`."""

    edges: tuple[Edge, ...]
    length: int


def term(text: str) -> Term:
    """Return the lattice of what is looked for; without edges where it has no word."""
    return _term_of(words_to_find(text))


def bare_term(text: str) -> Term:
    """Return the lattice of a text without the signs of ions and stars."""
    return _term_of([word for word in words(text) if word.word])


def _term_of(lattice: Sequence[Word]) -> Term:
    edges = {Edge(word.form, word.start, word.end) for word in lattice}
    ordered = sorted(edges, key=lambda edge: (edge.start, edge.end))
    return Term(tuple(ordered), max((word.end for word in lattice), default=0))


class Synonyms:
    """Groups of words and phrases that stand for each other."""

    def __init__(self, groups: Iterable[Sequence[str]] = ()) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        self._by_first_word: dict[str, list[tuple[Term, tuple[Term, ...]]]] = {}
        self._words: list[list[set[str]]] = []
        for group in self.groups:
            alike = tuple(dict.fromkeys(member for member in map(term, group) if member.edges))
            self._words.append([{edge.key for edge in member.edges} for member in alike])
            for member in alike:
                self._by_first_word.setdefault(member.edges[0].key, []).append((member, alike))

    def bearing_on(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Return the groups that may apply to a topic, by the words in its text."""
        forms = {word.form for word in words(text)}
        return tuple(
            group
            for group, members in zip(self.groups, self._words, strict=True)
            if any(words <= forms for words in members)
        )

    def variants(self, written: Term) -> list[Term]:
        """Return a term and its variants with synonyms, itself first; at most 32."""
        variants = [written]
        if not any(edge.key in self._by_first_word for edge in written.edges):
            return variants
        # From the last to the first, so that what is replaced moves nothing still to come.
        for start in range(written.length - 1, -1, -1):
            others = (other for term in variants for other in self._substitutions(term, start))
            variants = list(dict.fromkeys([*variants, *others]))[:MAX_WAYS]
        return variants

    def _substitutions(self, written: Term, start: int) -> Iterator[Term]:
        edges = set(written.edges)
        for edge in written.edges:
            for part, alike in self._by_first_word.get(edge.key, ()) if edge.start == start else ():
                if {_shift(e, start) for e in part.edges} <= edges:
                    yield from (
                        _substitute(written, start, part, other) for other in alike if other != part
                    )


def _shift(edge: Edge, by: int) -> Edge:
    return edge._replace(start=edge.start + by, end=edge.end + by)


def _substitute(written: Term, start: int, member: Term, other: Term) -> Term:
    """Replace `member` at `start` by `other`; words joined across its ends are left out."""
    end = start + member.length
    longer = other.length - member.length
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
