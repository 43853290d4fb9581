"""A cheap test of whether a text may have the phrases of a topic.

It may accept too much but never rejects a match: a search reads thousands of papers that have the
words of a phrase, for a few in which they occur together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

from monitor.match.language.tree import And, Edge, Near, Node, Or, Words
from monitor.match.meaning.abbreviations import find_definitions
from monitor.text import beginnings, letters

MAX_CHAINS = 32
# What may follow the beginning of a word: of `index` in "indices", `ind` and five more.
_REST = b"[^ \n]{0,6}"
_ANY_REST = b"[^ \n]{0,60}"
_GAP = b"[^a-z0-9\n]{0,60}"
_WORDS = b"(?:[^ \n]{0,60}+ {1,60}+){0,%d}[^ \n]{0,60}"
# The patterns count to 60, so that no text takes long; a text with a longer run is not tested.
# `bytes.translate` and `in` find such runs ten times as fast as a pattern does.
_LONG_RUN = b"x" * 60
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_IN_A_WORD = bytes(ord(" ") if byte in b" \n" else ord("x") for byte in range(256))
_IN_A_GAP = bytes(ord(" ") if byte in _LETTERS | {10} else ord("x") for byte in range(256))

Prefilter = Callable[[str, str], bool]


def build_prefilter(node: Node) -> Prefilter | None:
    """Return a test of (title, abstract) that is true where they match a tree; None for no test.

    A single word is tested only where it is the whole tree: among others it would take longer than
    it saves, since the search index names few papers without it.
    """
    if isinstance(node, Words) and node.length == 1:
        return _of_phrase(node)
    return _build(node)


def _build(node: Node) -> Prefilter | None:
    match node:
        case And(children):
            tests = [test for test in map(_build, children) if test]
            return _all(tests) if tests else None
        case Or(children):
            built = [_build(child) for child in children]
            tests = [test for test in built if test]
            return _any(tests) if len(tests) == len(built) else None
        case Words() if node.length > 1:
            return _of_phrase(node)
        case Near(_, (one, other)) if one.length == other.length == 1:
            return _test([one, other], lambda chains: _near(chains[0], chains[1], node.distance))
        case _:
            return None


def _of_phrase(term: Words) -> Prefilter | None:
    return _test([term], lambda chains: b"|".join(map(_phrase, chains[0])))


def _all(tests: Sequence[Prefilter]) -> Prefilter:
    return lambda title, abstract: all(test(title, abstract) for test in tests)


def _any(tests: Sequence[Prefilter]) -> Prefilter:
    return lambda title, abstract: any(test(title, abstract) for test in tests)


_Chain = tuple[Edge, ...]


def _test(
    terms: Sequence[Words], pattern: Callable[[Sequence[Sequence[_Chain]]], bytes]
) -> Prefilter | None:
    if "venue" in terms[0].fields:
        return None
    chains = [_chains(term) for term in terms]
    if not all(chains):
        return None
    compiled = re.compile(pattern(chains))
    edges = chain.from_iterable(term.edges for term in terms)
    begin = tuple({letters(beginning) for edge in edges for beginning in _begins(edge)})

    def prefilter(title: str, abstract: str) -> bool:
        text = letters(title) + b"\n" + letters(abstract)
        if compiled.search(text) or _has_long_run(text):
            return True
        return _may_abbreviate(begin, title, abstract)

    return prefilter


def _chains(term: Words) -> Sequence[_Chain]:
    """Return the ways through the edges of a term; none where they or spellings are too many."""
    chains: dict[int, list[_Chain]] = {0: [()]}
    for edge in term.edges:
        if not _begins(edge):
            return ()
        chains.setdefault(edge.end, []).extend(
            (*chain_before, edge) for chain_before in chains.get(edge.start, ())
        )
        if len(chains[edge.end]) > MAX_CHAINS:
            return ()
    return chains.get(term.length, ())


def _phrase(chain: _Chain) -> bytes:
    return _GAP.join(map(_written, chain))


def _near(first: Sequence[_Chain], second: Sequence[_Chain], distance: int) -> bytes:
    a, b = (b"(?:" + b"|".join(map(_phrase, chains)) + b")" for chains in (first, second))
    between = _WORDS % (distance + 1)
    return a + between + b + b"|" + b + between + a


def _written(edge: Edge) -> bytes:
    begin = b"|".join(re.escape(letters(beginning)) for beginning in _begins(edge))
    return b"(?:" + begin + b")" + (_ANY_REST if edge.prefix else _REST)


def _begins(edge: Edge) -> tuple[str, ...]:
    return (edge.key,) if edge.prefix else beginnings(edge.key)


def _has_long_run(text: bytes) -> bool:
    return _LONG_RUN in text.translate(_IN_A_WORD) or _LONG_RUN in text.translate(_IN_A_GAP)


def _may_abbreviate(begin: Sequence[bytes], title: str, abstract: str) -> bool:
    """Return whether an abbreviation that the paper defines may stand for one of the words."""
    texts = [letters(" ".join(definition)) for definition in find_definitions(title, abstract)]
    return any(beginning in written for written in texts for beginning in begin)
