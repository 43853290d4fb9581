"""A paper as topics see it: its words by form, its names and labels; and what is met there.

This is the plain reading of a topic, written to be obviously right; `monitor.match.index` is the
fast one.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, count
from typing import NamedTuple

from monitor.match.abbreviations import Definition, definitions
from monitor.match.names import PersonName, same_person, spellings
from monitor.match.tree import (
    And,
    AtLeast,
    Author,
    Edge,
    Label,
    Leaf,
    Near,
    Node,
    Not,
    Or,
    Query,
    Words,
)
from monitor.model import Paper
from monitor.text import Word, words

Span = tuple[int, int]


class Found(NamedTuple):
    """A place where a term stands: its positions in the lattice, and its characters."""

    start: int
    end: int
    span: Span


class Lattice:
    """The words of one text, found by form or by their first letters.

    Where the text writes an abbreviation that the paper defines, the words it stands for are in
    the lattice as well, and the abbreviation where those words are: each further chain of words
    begins and ends where what is written does, has its characters as its span, and inner
    positions of its own, which are negative. `extended` adds them.
    """

    def __init__(self, text: str, defined: Iterable[Definition] = ()) -> None:
        self.text = text
        self._occurrences: dict[Words | Near, list[Span]] = {}
        self.by_form = _grouped(words(text))
        for word in extended(self, defined):
            self.by_form.setdefault(word.form, []).append(word)

    @cached_property
    def by_word(self) -> dict[str, list[Word]]:
        found: dict[str, list[Word]] = {}
        for alike in self.by_form.values():
            for word in alike:
                found.setdefault(word.word, []).append(word)
        return found

    def occurrences(self, term: Words | Near) -> list[Span]:
        """Return where `term` stands, as spans of the original text in order."""
        known = self._occurrences.get(term)
        if known is None:
            found = self._near(term) if isinstance(term, Near) else self.found(term)
            known = self._occurrences[term] = sorted({one.span for one in found})
        return known

    def found(self, term: Words) -> list[Found]:
        """Return every occurrence of a word or phrase."""
        found = self._simple(term.edges[0]) if len(term.edges) == 1 else self._chains(term)
        if term.exact:
            wanted = _composed(term.exact)
            return [one for one in found if _composed(self.text[slice(*one.span)]) == wanted]
        return found

    def _simple(self, edge: Edge) -> list[Found]:
        return [Found(word.start, word.end, word.span) for word in self._find(edge)]

    def _find(self, edge: Edge) -> Sequence[Word]:
        if not edge.prefix:
            return self.by_form.get(edge.key, ())
        return [w for word, at in self.by_word.items() if word.startswith(edge.key) for w in at]

    def _chains(self, term: Words) -> list[Found]:
        """Follow the term's edges, in order, through the adjoining words of this text.

        `reached` holds, for each position of the term, where in the text it can be, and the
        first words of the chains that lead there.
        """
        reached: list[dict[int, set[Word]]] = [{} for _ in range(term.length + 1)]
        found: set[Found] = set()
        for edge in term.edges:
            for word in self._find(edge):
                firsts = {word} if edge.start == 0 else reached[edge.start].get(word.start)
                if firsts is None:
                    continue
                if edge.end < term.length:
                    reached[edge.end].setdefault(word.end, set()).update(firsts)
                    continue
                for first in firsts:
                    found.add(Found(first.start, word.end, (first.span[0], word.span[1])))
        return sorted(found)

    def _near(self, term: Near) -> Iterator[Found]:
        """Yield the occurrences of the term's words in each stretch that holds all of them."""
        found = [[f for f in self.found(word) if min(f.start, f.end) >= 0] for word in term.words]
        if not all(found):
            return
        stretches = _stretches([_by_length(alike) for alike in found], term.distance)
        starts = [start for start, _ in stretches]
        furthest = list(accumulate((end for _, end in stretches), max))
        for one in chain.from_iterable(found):
            before = bisect_right(starts, one.start)
            if before and one.end <= furthest[before - 1]:
                yield one


# The positions at which a word of a proximity begins, in order, by how many positions it takes.
_ByLength = Mapping[int, Sequence[int]]


def _by_length(found: Iterable[Found]) -> _ByLength:
    lengths: dict[int, list[int]] = {}
    for start, end in sorted({(one.start, one.end) for one in found}):
        lengths.setdefault(end - start, []).append(start)
    return dict(sorted(lengths.items(), reverse=True))


def _stretches(words: Sequence[_ByLength], distance: int) -> list[tuple[int, int]]:
    """Return, for each start in order, the longest stretch of positions that has every word.

    At most `distance` positions of a stretch are of none of the words.
    """
    at = [(begin, begin + length) for by in words for length, all in by.items() for begin in all]
    ends = sorted({end for _, end in at})
    longest = sum(max(by) for by in words) + distance
    stretches = []
    for start in sorted({start for start, _ in at}):
        last = bisect_right(ends, start + longest)
        for end in reversed(ends[bisect_right(ends, start, 0, last) : last]):
            lengths = [_longest_inside(by, start, end) for by in words]
            if not all(lengths):
                break  # a shorter stretch has no more words
            if end - start - sum(lengths) <= distance:
                stretches.append((start, end))
                break
    return stretches


def _longest_inside(by_length: _ByLength, start: int, end: int) -> int:
    """Return the positions that the longest occurrence in a stretch takes, 0 for none."""
    for length, begins in by_length.items():
        first = bisect_left(begins, start)
        if first < len(begins) and begins[first] + length <= end:
            return length
    return 0


def _grouped(found: Iterable[Word]) -> dict[str, list[Word]]:
    by_form: dict[str, list[Word]] = {}
    for word in found:
        by_form.setdefault(word.form, []).append(word)
    return by_form


def extended(lattice: Lattice, defined: Iterable[Definition]) -> list[Word]:
    """Return what abbreviations add to a lattice that has none: long for short, short for long.

    The short form counts where its capitals are those of the definition, with or without the s
    of a plural; the long form in all its spellings.
    """
    added: list[Word] = []
    inner = count(-1, -1)
    for short, long in defined:
        for written, other in ((short, long), (long, short)):
            meant = words(other)
            for one in lattice.found(_term(written)):
                if written is long or same_letters(lattice.text[slice(*one.span)], short):
                    added += _laid(meant, one, inner)
    return added


def _term(written: str) -> Words:
    lattice = sorted(words(written), key=lambda word: (word.start, word.end))
    edges = tuple(Edge(word.form, word.start, word.end) for word in lattice)
    return Words((), edges, max((word.end for word in lattice), default=0))


def same_letters(written: str, short: str) -> bool:
    return written in (short, f"{short}s") or short == f"{written}s"


def _laid(meant: Sequence[Word], where: Found, inner: Iterator[int]) -> Iterator[Word]:
    """Lay words over a place of the text."""
    length = max((word.end for word in meant), default=0)
    at = {0: where.start, length: where.end}
    for word in meant:
        for position in (word.start, word.end):
            if position not in at:
                at[position] = next(inner)
        yield Word(word.form, word.word, at[word.start], at[word.end], where.span)


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
    def defined(self) -> tuple[Definition, ...]:
        """The abbreviations that the paper defines: they count in its title and abstract."""
        return definitions(self.paper.title, self.paper.abstract)

    @cached_property
    def title(self) -> Lattice:
        return Lattice(self.paper.title, self.defined)

    @cached_property
    def abstract(self) -> Lattice:
        return Lattice(self.paper.abstract, self.defined)

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
        return [written for written, names in self.authors if is_asked_for(leaf, names)]

    def met_labels(self, leaf: Label) -> list[str]:
        """Return the labels, as written, that `leaf` asks for."""
        values = self.labels(leaf.field)
        if leaf.prefix:
            return [value for value in values if label(value).startswith(leaf.value)]
        return [value for value in values if label(value) == leaf.value]


def is_asked_for(leaf: Author, names: Iterable[PersonName]) -> bool:
    if leaf.prefix:
        beginning = leaf.names[0].family
        return any(word.startswith(beginning) for name in names for word in name.words)
    return any(same_person(asked, name) for asked in leaf.names for name in names)


def meets(node: Node, view: View) -> bool:
    """Whether the paper has what `node` asks for. A phrase never spans two fields."""
    match node:
        case Words() | Near():
            return any(view.text(field).occurrences(node) for field in node.fields)
        case And(children):
            return all(meets(child, view) for child in children)
        case Or(children):
            return any(meets(child, view) for child in children)
        case AtLeast(least, children):
            return sum(meets(child, view) for child in children) >= least
        case Not(leaf):
            return not meets(leaf, view)
        case Author():
            return bool(view.met_authors(node))
        case Label():
            return bool(view.met_labels(node))


def answers(query: Query, view: View) -> bool:
    """Whether the paper meets the topic: its tree and, where it has one, its threshold."""
    return meets(query.root, view) and (
        not query.threshold or points(query, view) >= query.threshold
    )


def points(query: Query, view: View) -> float:
    """Return the sum of the weights of the clauses by which a paper meets the tree."""
    return total(met_leaves(query.root, view), dict(query.weights))


def total(found: Iterable[Leaf], weights: Mapping[Leaf, float]) -> float:
    """Return the sum of the weights of leaves, 1 where none is given.

    Equal leaves count once, and so do those of one position: a word and its synonyms.
    """
    by_clause: dict[int, float] = {}
    for leaf in dict.fromkeys(found):
        weight = weights.get(leaf, 1.0)
        by_clause[leaf.position] = max(weight, by_clause.get(leaf.position, weight))
    return sum(by_clause.values())


def met_leaves(node: Node, view: View) -> list[Leaf]:
    """Return the leaves by which a paper meets `node`, each once; none when it does not."""
    return list(dict.fromkeys(_met_leaves(node, view)))


def _met_leaves(node: Node, view: View) -> list[Leaf]:
    match node:
        case Not():
            return []
        case Or(children) | AtLeast(_, children):
            if not meets(node, view):
                return []
            met = [child for child in children if meets(child, view)]
            return [leaf for child in met for leaf in _met_leaves(child, view)]
        case And(children):
            if not meets(node, view):
                return []
            return [leaf for child in children for leaf in _met_leaves(child, view)]
        case _:
            return [node] if meets(node, view) else []
