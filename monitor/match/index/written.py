"""Topics from their text, quickly: what many topics share is read by the parser once.

Most topics are words and phrases in one of a few arrangements: `(_ OR _) AND _`. The parser
reads each arrangement once, with words of our own in its places, and each different word or
phrase once; a topic is then put together. Whatever is not so plain goes to the parser whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from monitor.errors import QueryError
from monitor.match.index.leaves import Leaves
from monitor.match.index.shapes import Tree, negated, tree_of
from monitor.match.promises import STOP_WORDS
from monitor.match.query import parse_query
from monitor.match.synonyms import Synonyms
from monitor.match.tree import Node
from monitor.text import singular

LONGEST = 2_000
MOST_REMEMBERED = 200_000

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


class Written:
    """Reads topics to trees over the numbers of their leaves."""

    def __init__(self, leaves: Leaves, synonyms: Synonyms) -> None:
        self._leaves = leaves
        self._synonyms = synonyms
        self._arrangements: dict[str, Tree | None] = {}
        self._operands: dict[str, Tree | None] = {}

    def tree(self, text: str) -> Tree | None:
        """Return the tree of a topic, None for one that the parser must read whole."""
        if len(text) > LONGEST or "_" in text:
            return None
        arranged = _remembered(self._arrangements, _OPERAND.sub("_", text), _arrangement)
        if arranged is None:
            return None
        operands = [
            _remembered(self._operands, written, self._operand)
            for written in _OPERAND.findall(text)
        ]
        return _filled(arranged, operands)

    def _operand(self, written: str) -> Tree | None:
        bare = written.strip('"')
        if not self._synonyms.groups and _PLAIN.fullmatch(bare):
            forms = [singular(word) for word in bare.lower().split()]
            if not STOP_WORDS.issuperset(forms):
                return self._leaves.phrase(forms)
        try:
            return tree_of(parse_query(written, self._synonyms).root, self._leaves.number)
        except QueryError:
            return None  # it may be right in its topic, or wrong in another way


def _remembered(
    memory: dict[str, Tree | None], key: str, find: Callable[[str], Tree | None]
) -> Tree | None:
    if key not in memory:
        if len(memory) >= MOST_REMEMBERED:
            memory.clear()
        memory[key] = find(key)
    return memory[key]


def _arrangement(text: str) -> Tree | None:
    """Return the tree of `text` over its places, the `_`, counted from 1."""
    if not _ARRANGEMENT.fullmatch(text):
        return None
    places = text.count("_")
    ours = [f"{_PLACE}{place}" for place in range(1, places + 1)]
    try:
        root = parse_query(text.replace("_", "%s") % tuple(ours)).root
    except QueryError:
        return None
    known: dict[Node, int] = {parse_query(word).root: at for at, word in enumerate(ours, 1)}
    try:
        return tree_of(root, known.__getitem__)
    except KeyError:
        return None  # a word such as ANDOR


def _filled(arranged: Tree, operands: Sequence[Tree | None]) -> Tree | None:
    """Return an arrangement with trees in its places."""
    if isinstance(arranged, int):
        tree = operands[abs(arranged) - 1]
        return tree if arranged > 0 or tree is None else negated(tree)
    branches = [_filled(branch, operands) for branch in arranged[1:]]
    return None if None in branches else (arranged[0], *branches)
