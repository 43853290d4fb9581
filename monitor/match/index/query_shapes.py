"""Topics as logic over numbered leaves; all topics of one shape are evaluated together.

A tree is a leaf's number (negative: the paper must not have it) or a joint: "and", "or" or a
least count, with its branches. A shape is a tree whose leaves are places; a topic is then one
row of leaves, and a thousand topics of a shape are evaluated by a few operations on rows of
bits, one bit a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np

from monitor.match.index.arrays import Column, Numbers
from monitor.match.tree import And, AtLeast, Leaf, Node, Not, Or

Tree: TypeAlias = int | tuple[Any, ...]

MAX_PLACES = 48
_MAX_CHOICES = 12
_MIN_GONE = 1_000
_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)


def tree_of(node: Node, number: Callable[[Leaf], int]) -> Tree:
    """Return a topic's tree over the numbers of its leaves."""
    match node:
        case And(children):
            return ("and", *(tree_of(child, number) for child in children))
        case Or(children):
            return ("or", *(tree_of(child, number) for child in children))
        case AtLeast(count, children):
            return (count, *(tree_of(child, number) for child in children))
        case Not(leaf):
            return -number(leaf)
        case _:
            return number(node)


def negate(tree: Tree) -> Tree:
    """Return the tree of the papers that `tree` does not match."""
    if isinstance(tree, int):
        return -tree
    joint, *branches = tree
    if isinstance(joint, int):
        return (len(branches) - joint + 1, *map(negate, branches))
    return ("or" if joint == "and" else "and", *map(negate, branches))


def shape_of(tree: Tree) -> tuple[Tree, list[int]]:
    """Return a tree's shape and the leaves in its places, counted from 1.

    Trees that differ only in the order of branches have one shape, and so have Ors of nearly as
    many leaves: some places then hold 0, a leaf that no paper has.
    """
    leaves: list[int] = []
    return _number_places(_sort_branches(tree), leaves), leaves


def _sort_branches(tree: Tree) -> Tree:
    if isinstance(tree, int):
        return tree
    joint, *branches = tree
    branches = [_sort_branches(branch) for branch in branches]
    branches.sort(key=_outline)
    if joint == "or" and all(isinstance(branch, int) and branch > 0 for branch in branches):
        size = next((size for size in _SIZES if size >= len(branches)), len(branches))
        branches += [0] * (size - len(branches))
    return (joint, *branches)


def _outline(tree: Tree) -> str:
    if isinstance(tree, int):
        return "-" if tree < 0 else "+"
    return f"{tree[0]}({' '.join(map(_outline, tree[1:]))})"


def _number_places(tree: Tree, leaves: list[int]) -> Tree:
    if isinstance(tree, int):
        leaves.append(abs(tree))
        return -len(leaves) if tree < 0 else len(leaves)
    return (tree[0], *(_number_places(branch, leaves) for branch in tree[1:]))


def evaluate(tree: Tree, row: Callable[[int], Any], every: Any) -> Any:
    """Return the papers that `tree` matches: rows of bits, or whole numbers as such.

    `row` gives the papers that have a leaf, `every` all papers.
    """
    if isinstance(tree, int):
        return row(tree) if tree >= 0 else every ^ row(-tree)
    joint, *branches = tree
    if isinstance(joint, int):
        return _at_least(joint, [evaluate(branch, row, every) for branch in branches])
    matching = evaluate(branches[0], row, every)
    for branch in branches[1:]:
        if joint == "and":
            matching &= evaluate(branch, row, every)
        else:
            matching |= evaluate(branch, row, every)
    return matching


def _at_least(count: int, rows: Sequence[Any]) -> Any:
    """Return the papers that are in at least `count` of `rows`."""
    reached = [rows[0] ^ rows[0]] * count
    for row in rows:
        for already in range(count - 1, 0, -1):
            reached[already] = reached[already] | (reached[already - 1] & row)
        reached[0] = reached[0] | row
    return reached[-1]


def may_match(tree: Tree, there: Callable[[int], Any]) -> Any:
    """Return which topics could match at all, by which leaves are `there`; True for any."""
    if isinstance(tree, int):
        return there(tree) if tree >= 0 else True
    joint, *branches = tree
    flags = [may_match(branch, there) for branch in branches]
    if isinstance(joint, int):
        return sum(flags) >= joint
    matching = flags[0]
    for flag in flags[1:]:
        matching = matching & flag if joint == "and" else matching | flag
    return matching


def needs(tree: Tree) -> list[tuple[int, ...]]:
    """Return choices of leaves: a paper that the tree matches has one leaf of each choice."""
    if isinstance(tree, int):
        return [(tree,)] if tree >= 0 else []
    joint, *branches = tree
    choices = [needs(branch) for branch in branches]
    if joint == "and":
        return [choice for every in choices for choice in every][:_MAX_CHOICES]
    # Of an Or one branch matches; of n branches with at least k one of any n - k + 1.
    some = len(branches) if joint == "or" else len(branches) - joint + 1
    choices = [choice for choice in choices if choice]
    found: list[tuple[int, ...]] = []
    for group in combinations(choices, some):
        for picked in product(*group):
            found.append(tuple(dict.fromkeys(leaf for choice in picked for leaf in choice)))
            if len(found) == _MAX_CHOICES:
                return found
    return found


class Group:
    """The topics of one shape: a row of leaves and a topic's number each, -1 once it is gone."""

    def __init__(self, shape: Tree, places: int) -> None:
        self.shape = shape
        self.places = places
        self.topics = Column("i")
        self._leaves = Column("i")
        self._gone = 0

    def __len__(self) -> int:
        return len(self.topics)

    def add(self, topic: int, leaves: list[int]) -> int:
        """Add a topic and return its row."""
        self.topics.append(topic)
        self._leaves.extend(leaves)
        return len(self.topics) - 1

    def remove(self, row: int) -> bool:
        """Take a topic away, and return whether by now most of the rows are of no use."""
        self.topics[row] = -1
        self._gone += 1
        return self._gone > _MIN_GONE and 2 * self._gone > len(self)

    def close_gaps(self) -> Numbers:
        """Forget the topics that are gone, and return those of the rows there are now."""
        kept = np.flatnonzero(self.topics.values() >= 0)
        topics, leaves = self.topics.values()[kept], self.leaves()[kept]
        self.topics, self._leaves, self._gone = Column("i"), Column("i"), 0
        self.topics.extend(topics.tolist())
        self._leaves.extend(leaves.ravel().tolist())
        return topics

    def leaves(self) -> Numbers:
        """Return a row of leaves for each topic."""
        return self._leaves.values().reshape(-1, self.places)

    def needs(self, costs: Numbers) -> tuple[Numbers, Numbers]:
        """Return pairs of (leaf, row): a topic matches a paper only with one of its leaves here.

        Of each topic the choice that costs least is taken. Leaf 0 stands for no leaf: the topic
        needs none.
        """
        leaves = self.leaves()
        choices = needs(self.shape)
        if not choices:
            return np.zeros(len(leaves), np.int32), np.arange(len(leaves))
        places = [np.array(choice) - 1 for choice in choices]
        sums = np.stack([costs[leaves[:, place]].sum(axis=1) for place in places])
        best = sums.argmin(axis=0)
        found = [
            (leaves[rows][:, place].ravel(), np.repeat(rows, len(place)))
            for place, rows in (
                (place, np.flatnonzero(best == i)) for i, place in enumerate(places)
            )
        ]
        leaf, row = (np.concatenate(column) for column in zip(*found, strict=True))
        return leaf[leaf > 0], row[leaf > 0]
