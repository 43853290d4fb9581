"""A paper as topics see it: its words by form, its names and labels; and what is met there."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property

from monitor.match.names import PersonName, same_person, spellings
from monitor.match.tree import And, Author, Edge, Label, Leaf, Node, Not, Or, Words
from monitor.model import Paper
from monitor.text import Word, words

Span = tuple[int, int]


class Lattice:
    """The words of one text, found by form or by their first letters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.by_form: dict[str, list[Word]] = {}
        for word in words(text):
            self.by_form.setdefault(word.form, []).append(word)

    @cached_property
    def by_word(self) -> dict[str, list[Word]]:
        found: dict[str, list[Word]] = {}
        for alike in self.by_form.values():
            for word in alike:
                found.setdefault(word.word, []).append(word)
        return found

    def occurrences(self, term: Words) -> list[Span]:
        """Return where `term` stands, as spans of the original text in order."""
        spans = self._simple(term.edges[0]) if len(term.edges) == 1 else self._chains(term)
        if term.exact:
            return [s for s in spans if _composed(self.text[slice(*s)]) == _composed(term.exact)]
        return spans

    def _simple(self, edge: Edge) -> list[Span]:
        return sorted(word.span for word in self._find(edge))

    def _find(self, edge: Edge) -> Sequence[Word]:
        if not edge.prefix:
            return self.by_form.get(edge.key, ())
        return [w for word, at in self.by_word.items() if word.startswith(edge.key) for w in at]

    def _chains(self, term: Words) -> list[Span]:
        """Follow the term's edges, in order, through the adjoining words of this text."""
        reached: list[dict[int, int]] = [{} for _ in range(term.length + 1)]
        found: set[Span] = set()
        for edge in term.edges:
            for word in self._find(edge):
                start = word.span[0] if edge.start == 0 else reached[edge.start].get(word.start)
                if start is None:
                    continue
                reached[edge.end][word.end] = start
                if edge.end == term.length:
                    found.add((start, word.span[1]))
        return sorted(found)


def _composed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def label(text: str) -> str:
    """Fold a category, a source's name or an announce type: case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class View:
    """One paper, and the names of the sources it was seen in; worked out as it is asked for."""

    def __init__(self, paper: Paper, sources: Iterable[str] = ()) -> None:
        self.paper = paper
        self.sources = tuple(sources)

    @cached_property
    def title(self) -> Lattice:
        return Lattice(self.paper.title)

    @cached_property
    def abstract(self) -> Lattice:
        return Lattice(self.paper.abstract)

    @cached_property
    def venue(self) -> Lattice:
        return Lattice(self.paper.venue)

    @cached_property
    def authors(self) -> tuple[tuple[str, tuple[PersonName, ...]], ...]:
        return tuple((written, spellings(written)) for written in self.paper.authors)

    def text(self, field: str) -> Lattice:
        lattice: Lattice = getattr(self, field)
        return lattice

    def labels(self, field: str) -> tuple[str, ...]:
        match field:
            case "category":
                return self.paper.categories
            case "source":
                return self.sources
            case _:
                return (self.paper.announce,) if self.paper.announce else ()

    def met_authors(self, leaf: Author) -> list[str]:
        """Return the authors, as written, that `leaf` asks for."""
        return [written for written, names in self.authors if _is_asked_for(leaf, names)]

    def met_labels(self, leaf: Label) -> list[str]:
        """Return the labels, as written, that `leaf` asks for."""
        values = self.labels(leaf.field)
        if leaf.prefix:
            return [value for value in values if label(value).startswith(leaf.value)]
        return [value for value in values if label(value) == leaf.value]


def _is_asked_for(leaf: Author, names: Iterable[PersonName]) -> bool:
    if leaf.prefix:
        beginning = leaf.names[0].family
        return any(word.startswith(beginning) for name in names for word in name.words)
    return any(same_person(asked, name) for asked in leaf.names for name in names)


def meets(node: Node, view: View) -> bool:
    """Whether the paper has what `node` asks for. A phrase never spans two fields."""
    match node:
        case Words():
            return any(view.text(field).occurrences(node) for field in node.fields)
        case And(children):
            return all(meets(child, view) for child in children)
        case Or(children):
            return any(meets(child, view) for child in children)
        case Not(leaf):
            return not meets(leaf, view)
        case Author():
            return bool(view.met_authors(node))
        case Label():
            return bool(view.met_labels(node))


def met_leaves(node: Node, view: View) -> list[Leaf]:
    """Return the leaves by which a paper meets `node`, each once; none when it does not."""
    return list(dict.fromkeys(_met_leaves(node, view)))


def _met_leaves(node: Node, view: View) -> list[Leaf]:
    match node:
        case Not():
            return []
        case Or(children):
            met = [child for child in children if meets(child, view)]
            return [leaf for child in met for leaf in _met_leaves(child, view)]
        case And(children):
            if not meets(node, view):
                return []
            return [leaf for child in children for leaf in _met_leaves(child, view)]
        case _:
            return [node] if meets(node, view) else []
