"""A topic as a tree: leaves that each look in some fields, joined by AtLeast and Not.

A leaf matches a paper or it does not; the nodes above are plain logic over that. Fields and
synonyms are pushed down to the leaves when a topic is parsed: `title:(a OR b)` is one of two
leaves, and so is a word with a synonym. Trees are in negation normal form: `Not` stands on leaves
only, so that every other leaf counts for the topic when it matches.

What a leaf matches is defined here and, exactly, by `monitor.match.meaning.evaluate`:
`matches` is the reference evaluation, and every faster one has to agree with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

import msgspec

from monitor.errors import QueryError
from monitor.match.meaning.names import PersonName

TEXT_FIELDS = ("title", "abstract")


class Edge(NamedTuple):
    """One word of a term's lattice, from position `start` to `end`.

    `key` is the singular form that is looked for, or the first letters when `prefix`.
    """

    key: str
    start: int
    end: int
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A word or phrase: any chain of edges from 0 to `length`, within one of `fields`.

    Matches when, in one of the fields, there is a chain of the term's edges from 0 to `length` and
    a chain of adjoining words of the text (each begins at the position where the one before ends)
    that agree word by word: an edge's key is the word's form, or with `prefix` the beginning of
    the word as written. Edges are sorted by (start, end), and numbered so that `start < end`.
    Unless `exact` is empty the paper must write the whole just so, case and all (NFC, any
    white space as one space).
    """

    fields: tuple[str, ...]
    edges: tuple[Edge, ...]
    length: int
    exact: str = ""
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Near:
    """Two or more different words near each other, in any order, within one of `fields`.

    Matches when in one of the fields there is a stretch of positions that holds an occurrence of
    each of `words` and at most `distance` positions more than those occurrences are long:
    `"a b"~5` lets five other words stand between. Every one of `words` has the fields of the
    leaf and is not `exact`. An occurrence that begins or ends inside an abbreviation that the
    paper spells out (a negative position, see `occurrences.Lattice`) does not count here.
    """

    fields: tuple[str, ...]
    words: tuple[Words, ...]
    distance: int
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Author:
    """A name in its spellings, or with `prefix` the first letters of one of its words."""

    names: tuple[PersonName, ...]
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Label:
    """A whole value of a field such as `category`, or with `prefix` its beginning."""

    field: str
    value: str
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Number:
    """The `votes` or `lists` of a paper, from `low` to `high` (None: any); unknown votes never."""

    field: str
    low: int
    high: int | None = None
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Like:
    """Weighted words, of which a paper has a share of at least `bar`: see `meaning.closeness`.

    Each word is one that a topic could also ask for alone. The heaviest is first.
    """

    words: tuple[tuple[Words, int], ...]
    bar: float
    position: int = dataclasses.field(default=0, compare=False)


Leaf: TypeAlias = Words | Near | Author | Label | Number | Like


class Not(msgspec.Struct, frozen=True):
    leaf: Leaf


class AtLeast(msgspec.Struct, frozen=True):
    """Matches when at least `count` of the children do: all for AND, one for OR."""

    count: int
    children: tuple[Node, ...]


Node: TypeAlias = Leaf | Not | AtLeast


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed topic; `warnings` are likely mistakes with their positions.

    It matches a paper when `root` does and, where there is a `threshold`, the total weight of
    the matching leaves reaches it (`evaluate.points`). `weights` names the leaves that
    do not weigh 1. Leaves of one position are one clause: a word and its synonyms.
    """

    text: str
    root: Node
    warnings: tuple[QueryError, ...] = dataclasses.field(default=(), compare=False)
    weights: tuple[tuple[Leaf, float], ...] = ()
    threshold: float = 0.0


def conjunction(nodes: Sequence[Node]) -> Node:
    return at_least(len(nodes), nodes)


def disjunction(nodes: Sequence[Node]) -> Node:
    return at_least(1, nodes)


def at_least(count: int, nodes: Sequence[Node]) -> Node:
    """Return the node that matches when at least `count` (1 to all) of `nodes` do."""
    return nodes[0] if len(nodes) == 1 else AtLeast(count, tuple(nodes))


def negation(node: Node) -> Node:
    """Return `node` negated, in negation normal form."""
    match node:
        case Not(leaf):
            return leaf
        case AtLeast(count, children):
            return at_least(len(children) - count + 1, [negation(child) for child in children])
        case _:
            return Not(node)


def holds(node: Node, leaf_holds: Callable[[Leaf], bool]) -> bool:
    """Whether a tree is true where `leaf_holds` says which of its leaves are."""
    match node:
        case AtLeast(count, children):
            true = (True for child in children if holds(child, leaf_holds))
            return sum(islice(true, count)) == count
        case Not(leaf):
            return not leaf_holds(leaf)
        case _:
            return leaf_holds(node)


def signed_leaves(node: Node) -> Iterator[tuple[Leaf, bool]]:
    """Yield each leaf and whether it is excluded."""
    match node:
        case Not(leaf):
            yield leaf, True
        case AtLeast(_, children):
            for child in children:
                yield from signed_leaves(child)
        case _:
            yield node, False


def every_leaf(node: Node) -> Iterator[Leaf]:
    """Yield all leaves, including those that are excluded."""
    return (leaf for leaf, _ in signed_leaves(node))


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves that are looked for, not those that are excluded."""
    return (leaf for leaf, is_excluded in signed_leaves(node) if not is_excluded)
