"""Parses topics quickly: what many topics share is parsed once.

Most topics are words and phrases in one of a few arrangements: `(_ OR _) AND _`. The parser
reads each arrangement once, with words of our own in its places, and each different word or
phrase once; a topic is then put together. Whatever is not so plain goes to the parser whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from monitor.errors import QueryError
from monitor.match.foreign_syntax import may_be_foreign
from monitor.match.index.query_shapes import Tree, negate, tree_of
from monitor.match.index.terms import Leaves
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.too_broad import STOP_WORDS
from monitor.match.tree import And, Author, Label, Node, Not, Or, Query, Words, negation
from monitor.text import form_of

MAX_LENGTH = 2_000
MAX_REMEMBERED = 200_000
MAX_NODES = 20_000

_OPERAND = re.compile(
    r"""(?<![^\s(])
    (?: (?:title|abstract|venue|author|category|source|announce): )?
    (?: "[^"“”„«»\\*]*" | (?!(?:AND|OR|NOT)(?![\w-])) [A-Za-z0-9]+ (?:-[A-Za-z0-9]+)* )
    (?![^\s)])""",
    re.VERBOSE,
)
_ARRANGEMENT = re.compile(r"(?:_|AND|OR|NOT|[\s()])+")
_PLAIN = re.compile(r"[A-Za-z0-9 ]+")
_PLACE = "qzplaceq"


class _Arrangement(NamedTuple):
    """An arrangement with places for leaves: as a tree over places, counted from 1, and whole."""

    tree: Tree
    root: Node
    places: dict[Node, int]


class ParseCache:
    """Reads topics to trees over the numbers of their leaves, and again to queries."""

    def __init__(self, leaves: Leaves, synonyms: Synonyms) -> None:
        self._leaves = leaves
        self._synonyms = synonyms
        self._arrangements: dict[str, _Arrangement | None] = {}
        self._operands: dict[str, Tree | None] = {}
        self._nodes: dict[str, Node | None] = {}

    def tree(self, text: str) -> tuple[Tree, bool] | None:
        """Return the tree of a topic, None for one that the parser must read whole.

        And whether something in it has synonyms.
        """
        arranged = self._arrangement_of(text)
        if arranged is None:
            return None
        operands = [
            _get_or_add(self._operands, written, self._operand)
            for written in _OPERAND.findall(text)
        ]
        tree = _fill(arranged.tree, operands)
        if tree is None:
            return None
        return tree, any(not isinstance(operand, int) for operand in operands)

    def query(self, text: str) -> Query:
        """Return a topic as the parser reads it. Raises QueryError."""
        arranged = self._arrangement_of(text)
        if arranged is not None:
            found = list(_OPERAND.finditer(text))
            nodes = [_get_or_add(self._nodes, one.group(), self._node, MAX_NODES) for one in found]
            if None not in nodes:
                at = [one.start() for one in found]
                moved = [_shift(node, by) for node, by in zip(nodes, at, strict=True) if node]
                return Query(text, _put_together(arranged.root, arranged.places, moved))
        return parse_query(text, self._synonyms)

    def _arrangement_of(self, text: str) -> _Arrangement | None:
        if len(text) > MAX_LENGTH or "_" in text:
            return None
        return _get_or_add(self._arrangements, _OPERAND.sub("_", text), _arrangement)

    def _operand(self, written: str) -> Tree | None:
        if may_be_foreign(written):
            return None
        bare = written.strip('"')
        if not self._synonyms.groups and _PLAIN.fullmatch(bare):
            forms = [form_of(word) for word in bare.lower().split()]
            if not STOP_WORDS.issuperset(forms):
                return self._leaves.phrase(forms)
        node = self._node(written)
        return None if node is None else tree_of(node, self._leaves.number)

    def _node(self, written: str) -> Node | None:
        try:
            return parse_query(written, self._synonyms).root
        except QueryError:
            return None  # it may be right in its topic, or wrong in another way


_Found = TypeVar("_Found")


def _get_or_add(
    memory: dict[str, _Found],
    key: str,
    find: Callable[[str], _Found],
    most: int = MAX_REMEMBERED,
) -> _Found:
    if key not in memory:
        if len(memory) >= most:
            memory.clear()
        memory[key] = find(key)
    return memory[key]


def _arrangement(text: str) -> _Arrangement | None:
    """Return what the parser makes of `text`, whose places are `_`."""
    if not _ARRANGEMENT.fullmatch(text):
        return None
    places = text.count("_")
    ours = [f"{_PLACE}{place}" for place in range(1, places + 1)]
    try:
        root = parse_query(text.replace("_", "%s") % tuple(ours)).root
    except QueryError:
        return None
    place_by_leaf: dict[Node, int] = {parse_query(word).root: at for at, word in enumerate(ours, 1)}
    try:
        return _Arrangement(tree_of(root, place_by_leaf.__getitem__), root, place_by_leaf)
    except KeyError:
        return None  # a word such as ANDOR


def _put_together(node: Node, places: Mapping[Node, int], nodes: Sequence[Node]) -> Node:
    """Return an arrangement with nodes in its places."""
    match node:
        case And(children):
            return And(tuple(_put_together(child, places, nodes) for child in children))
        case Or(children):
            return Or(tuple(_put_together(child, places, nodes) for child in children))
        case Not(leaf):
            return negation(nodes[places[leaf] - 1])
        case _:
            return nodes[places[node] - 1]


def _shift(node: Node, by: int) -> Node:
    """Return an operand as it is when it stands so much further on."""
    if isinstance(node, Or):
        return Or(tuple(_shift(child, by) for child in node.children))
    assert isinstance(node, Words | Author | Label), "an operand is a leaf, or one with synonyms"
    return replace(node, position=node.position + by) if by else node


def _fill(arranged: Tree, operands: Sequence[Tree | None]) -> Tree | None:
    """Return an arrangement with trees in its places."""
    if isinstance(arranged, int):
        tree = operands[abs(arranged) - 1]
        return tree if arranged > 0 or tree is None else negate(tree)
    branches = [_fill(branch, operands) for branch in arranged[1:]]
    return None if None in branches else (arranged[0], *branches)
