"""Whether a paper matches a topic, and by which of its words.

This is the reference evaluation, written to be obviously correct; `monitor.match.index` is the
fast one and has to agree with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import cached_property, partial

from monitor.match.language.tree import (
    AtLeast,
    Author,
    Label,
    Leaf,
    Like,
    Node,
    Not,
    Number,
    Query,
    Words,
    holds,
)
from monitor.match.meaning.closeness import closeness
from monitor.match.meaning.names import PersonName, matches_name, spellings
from monitor.match.meaning.occurrences import Definition, Lattice, find_definitions
from monitor.model import Paper
from monitor.text.addresses import paper_links


def fold_label(text: str) -> str:
    """Fold a category, a source's name or an announce type: case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class View:
    """One paper, and the names of the sources it was seen in; computed when needed."""

    def __init__(self, paper: Paper, sources: Iterable[str] = ()) -> None:
        self.paper = paper
        self.sources = tuple(sources)
        self._lattices: dict[str, Lattice] = {}

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The abbreviations that the paper defines: they count in its title and abstract."""
        return find_definitions(self.paper.title, self.paper.abstract)

    @cached_property
    def authors(self) -> tuple[tuple[str, tuple[PersonName, ...]], ...]:
        return tuple((written, spellings(written)) for written in self.paper.authors)

    def text(self, field: str) -> Lattice:
        """Return the words of the title, abstract or venue."""
        if field not in self._lattices:
            definitions = () if field == "venue" else self.definitions
            self._lattices[field] = Lattice(getattr(self.paper, field), definitions)
        return self._lattices[field]

    def labels(self, field: str) -> tuple[str, ...]:
        match field:
            case "category":
                return self.paper.categories
            case "source":
                return self.sources
            case "has":
                links = paper_links(self.paper)
                return tuple(dict.fromkeys(kind for link in links for kind in link.kinds))
            case _:
                return (self.paper.announce,) if self.paper.announce else ()

    def number(self, field: str) -> int | None:
        """Return the votes of the paper, if known, or the lists of its last 30 days in lists."""
        return self.paper.upvotes if field == "votes" else len(self.paper.recent_lists)

    def counts(self, leaf: Words) -> tuple[int, int]:
        """Return how often a word of the title and abstract is in the title, and in all."""
        in_title, in_abstract = (len(self.text(f).occurrences(leaf)) for f in leaf.fields)
        return in_title, in_title + in_abstract

    def closeness(self, leaf: Like) -> float:
        return closeness(leaf, self.counts)

    def matching_authors(self, leaf: Author) -> list[str]:
        return [written for written, names in self.authors if matches_author(leaf, names)]

    def matching_labels(self, leaf: Label) -> list[str]:
        values = self.labels(leaf.field)
        if leaf.prefix:
            return [value for value in values if fold_label(value).startswith(leaf.value)]
        return [value for value in values if fold_label(value) == leaf.value]


def matches_author(leaf: Author, names: Iterable[PersonName]) -> bool:
    if leaf.prefix:
        beginning = leaf.names[0].family
        return any(word.startswith(beginning) for name in names for word in name.words)
    return any(matches_name(asked, name) for asked in leaf.names for name in names)


def matches_number(leaf: Number, value: int | None) -> bool:
    return value is not None and leaf.low <= value and (leaf.high is None or value <= leaf.high)


def matches(node: Node, view: View) -> bool:
    """Whether `node` matches the paper. A phrase never spans two fields."""
    return holds(node, partial(_leaf_matches, view))


def _leaf_matches(view: View, leaf: Leaf) -> bool:
    match leaf:
        case Author():
            return bool(view.matching_authors(leaf))
        case Label():
            return bool(view.matching_labels(leaf))
        case Number():
            return matches_number(leaf, view.number(leaf.field))
        case Like():
            return view.closeness(leaf) >= leaf.bar
        case _:
            return any(view.text(field).occurrences(leaf) for field in leaf.fields)


def matches_topic(query: Query, view: View) -> bool:
    """Whether the topic matches the paper: its tree and, where it has one, its threshold."""
    return matches(query.root, view) and points(query, view) >= query.threshold


def points(query: Query, view: View) -> float:
    """Return the sum of the weights of the clauses that match a paper."""
    return total_weight(matching_leaves(query.root, view), dict(query.weights))


def total_weight(leaves: Iterable[Leaf], weights: Mapping[Leaf, float]) -> float:
    """Return the sum of the weights of leaves, 1 where none is given.

    Equal leaves count once, and so do those of one position: a word and its synonyms. Nearness to
    a text is no term, and has no weight.
    """
    by_clause: dict[int, float] = {}
    for leaf in dict.fromkeys(leaves):
        if isinstance(leaf, Like):
            continue
        weight = weights.get(leaf, 1.0)
        by_clause[leaf.position] = max(weight, by_clause.get(leaf.position, weight))
    return sum(by_clause.values())


def matching_leaves(node: Node, view: View) -> list[Leaf]:
    """Return the leaves by which `node` matches a paper, each once; none when it does not."""
    return list(dict.fromkeys(_collect_leaves(node, view)))


def _collect_leaves(node: Node, view: View) -> list[Leaf]:
    if not matches(node, view):
        return []
    match node:
        case AtLeast(_, children):
            return [leaf for child in children for leaf in _collect_leaves(child, view)]
        case Not():
            return []
        case _:
            return [node]
