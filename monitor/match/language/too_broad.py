"""Refuses topics that match nearly every paper: only exclusions, or only very common words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from monitor.errors import QueryError
from monitor.match.language.tree import And, AtLeast, Leaf, Near, Node, Not, Or, Words

_STOP_WORDS = (
    "a an and are as at be but by can for from had has have in into is it its not of on or our "
    "s such than that the their then there these they this those to was we were which while "
    "will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


def refuse_too_broad(root: Node) -> None:
    """Raise `QueryError` when a paper with none of the words, or stop words alone, would do."""
    if _matches_if(root, lambda _: False):
        raise QueryError(
            "the topic only says what a paper must not have, and would find nearly everything",
            next(leaf.position for leaf, negated in _all_leaves(root) if negated),
            "add a term that must match, and exclude from that",
        )
    if _matches_if(root, _is_stop_words):
        raise QueryError(
            "this topic contains only very common words and would match everything",
            next(leaf.position for leaf, _ in _all_leaves(root) if _is_stop_words(leaf)),
            "add a word that says what it is about",
        )


def _matches_if(node: Node, leaf_matches: Callable[[Leaf], bool]) -> bool:
    """Whether a tree matches a paper with only the leaves for which the test is true."""
    match node:
        case Not():
            return True
        case And(children):
            return all(_matches_if(child, leaf_matches) for child in children)
        case Or(children):
            return any(_matches_if(child, leaf_matches) for child in children)
        case AtLeast(count, children):
            return sum(_matches_if(child, leaf_matches) for child in children) >= count
        case _:
            return leaf_matches(node)


def _is_stop_words(leaf: Leaf) -> bool:
    if isinstance(leaf, Near):
        return all(_is_stop_words(word) for word in leaf.words)
    if not isinstance(leaf, Words) or leaf.exact or leaf.fields == ("venue",):
        return False
    parts = [edge for edge in leaf.edges if edge.end - edge.start == 1]
    return all(not edge.prefix and edge.key in STOP_WORDS for edge in parts)


def _all_leaves(node: Node) -> Iterator[tuple[Leaf, bool]]:
    """Yield each leaf and whether it is excluded."""
    match node:
        case Not(leaf):
            yield leaf, True
        case And(children) | Or(children) | AtLeast(_, children):
            for child in children:
                yield from _all_leaves(child)
        case _:
            yield node, False
