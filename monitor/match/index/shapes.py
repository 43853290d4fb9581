"""Topics as logic over numbered leaves; all of one shape are evaluated and scored together.

A tree is a leaf's number (negative: the paper must not have it) or a joint: "and", "or" or a
least count, with its branches. A shape is a tree whose leaves are places; a topic is then one
row of leaves, and a thousand topics of a shape are evaluated by a few operations on rows of
bits, one bit a paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from monitor.match.index.arrays import Numbers
from monitor.match.language.tree import AtLeast, Leaf, Node, Not
from monitor.match.meaning.explain import combine

Tree: TypeAlias = int | tuple[Any, ...]

_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)


def tree_of(node: Node, number: Callable[[Leaf], int]) -> Tree:
    """Return a topic's tree over the numbers of its leaves."""
    match node:
        case AtLeast(count, children):
            joint = "or" if count == 1 else "and" if count == len(children) else count
            return (joint, *(tree_of(child, number) for child in children))
        case Not(leaf):
            return -number(leaf)
        case _:
            return number(node)


def shape_of(tree: Tree) -> tuple[Tree, tuple[int, ...]]:
    """Return a tree's shape and the leaves in its places, counted from 1.

    Trees that differ only in the order of branches have one shape, and so have Ors of nearly as
    many leaves: some places then hold 0, a leaf that no paper has.
    """
    leaves: list[int] = []
    shape = _number_places(_sort_branches(tree), leaves)
    return shape, tuple(leaves)


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


def evaluate(shape: Tree, row: Callable[[int], Any]) -> Any:
    """Return the papers that a shape matches, as rows of bits or truth values.

    `row` gives a new row of the papers that have the leaf of a place; of a place below zero, of
    those that do not.
    """
    if isinstance(shape, int):
        return row(shape)
    joint, *branches = shape
    if isinstance(joint, int):
        return _at_least(joint, [evaluate(branch, row) for branch in branches])
    matching = evaluate(branches[0], row)
    for branch in branches[1:]:
        if joint == "and":
            matching &= evaluate(branch, row)
        else:
            matching |= evaluate(branch, row)
    return matching


def _at_least(count: int, rows: Sequence[Any]) -> Any:
    reached = [rows[0] ^ rows[0]] * count
    for row in rows:
        for already in range(count - 1, 0, -1):
            reached[already] = reached[already] | (reached[already - 1] & row)
        reached[0] = reached[0] | row
    return reached[-1]


def score_pairs(
    shape: Tree,
    leaves: Numbers,
    has: Numbers,
    counts: tuple[Numbers, Numbers],
    information: Numbers,
) -> Numbers:
    """Return the scores of pairs of topics of one shape; NaN for what `explain.score` decides.

    A row a pair: the `leaves` in the places of its topic, whether the paper `has` each, how often
    it does (in the title, in all), and how informative that is.
    """
    positive = np.zeros(leaves.shape[1], bool)
    counts_for = np.zeros(leaves.shape, bool)
    _note_places(shape, has, np.ones(len(leaves), bool), counts_for, positive)
    in_title = counts_for & (counts[0] > 0)
    occurrences = (counts_for * counts[1]).sum(axis=1)
    whole = (information * positive).sum(axis=1)
    shares = (information * (2.0 * in_title + counts_for)).sum(axis=1) / whole
    scores: Numbers = combine(in_title.any(axis=1), shares, np.maximum(occurrences, 1))
    ordered = np.sort(leaves[:, positive], axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)).any(axis=1)
    scores[twice] = np.nan
    return scores


def _note_places(
    tree: Tree, has: Numbers, within: Numbers, counts_for: Numbers, positive: Numbers
) -> None:
    """Mark the places that are not excluded, and those by which each pair matches."""
    if isinstance(tree, int):
        if tree > 0:
            positive[tree - 1] = True
            counts_for[:, tree - 1] = within & has[:, tree - 1]
        return
    for branch in tree[1:]:
        matching = evaluate(branch, lambda place: has[:, abs(place) - 1] ^ (place < 0))
        _note_places(branch, has, within & matching, counts_for, positive)
