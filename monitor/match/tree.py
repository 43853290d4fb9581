"""A topic as a tree: leaves that ask something of one field, joined by And, Or and Not.

Trees are kept in negation normal form: `Not` stands on leaves only, so that every other leaf
counts for the topic when it is met.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from monitor.errors import QueryError
from monitor.match.names import PersonName

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

    Unless `exact` is empty the paper must write it just so, case and all.
    """

    fields: tuple[str, ...]
    edges: tuple[Edge, ...]
    length: int
    exact: str = ""
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Author:
    """A name in its spellings, or with `prefix` the first letters of one of its words."""

    names: tuple[PersonName, ...]
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Label:
    """A whole value of `category`, `source` or `announce`, or with `prefix` its beginning."""

    field: str
    value: str
    prefix: bool = False
    position: int = dataclasses.field(default=0, compare=False)


Leaf: TypeAlias = Words | Author | Label


@dataclass(frozen=True, slots=True)
class Not:
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class And:
    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple[Node, ...]


Node: TypeAlias = Leaf | Not | And | Or


@dataclass(frozen=True, slots=True)
class Query:
    """A topic that was understood; `warnings` are doubts with their positions."""

    text: str
    root: Node
    warnings: tuple[QueryError, ...] = dataclasses.field(default=(), compare=False)


def conjunction(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def disjunction(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))


def negation(node: Node) -> Node:
    """Return `node` negated, in negation normal form."""
    match node:
        case Not(leaf):
            return leaf
        case And(children):
            return Or(tuple(negation(child) for child in children))
        case Or(children):
            return And(tuple(negation(child) for child in children))
        case _:
            return Not(node)


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves that are asked for, not those that are excluded."""
    match node:
        case Not():
            return
        case And(children) | Or(children):
            for child in children:
                yield from leaves(child)
        case _:
            yield node
