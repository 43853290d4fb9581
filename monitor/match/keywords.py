"""The keywords of a paper in the search index, and the search expression of a topic.

The index may find too much and never too little: every paper that matches a topic has the keywords
that `search_expression` names. A source's name and an announce type change with every reading, so
they are not among them; nor is what a paper must not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import comb

from monitor.kept import on_forget
from monitor.match.language.tree import (
    And,
    AtLeast,
    Author,
    Edge,
    Label,
    Near,
    Node,
    Not,
    Or,
    Words,
)
from monitor.match.meaning.abbreviations import find_definitions
from monitor.match.meaning.evaluate import fold_label
from monitor.match.meaning.idf import STOP_WORDS
from monitor.match.meaning.names import spellings
from monitor.model import Keyword, Keywords, Paper, SearchExpr
from monitor.text import cut, form_of, ways_to_write, words_of_piece

# A database refuses a longer one; two that begin alike are distinguished by the exact evaluation.
MAX_KEYWORD_LENGTH = 200
# `2 of (a, b, c)` searches for every pair; with more combinations than this, for any one option.
MAX_COMBINATIONS = 20

_SHORT = 64  # bytes of a piece of which the keywords are kept
_MOST_PIECES = 49_152
_UNHELD = re.compile("[\x00-\x20\"'\x7f]")


def paper_keywords(paper: Paper) -> str:
    """Return the keywords of a paper, separated by spaces: each word as written and in its form.

    Some stand there several times.
    """
    keywords = [_of_texts(paper.title, paper.abstract)]
    # Both sides of an abbreviation are cut out of the text, where they may be read differently.
    if definitions := find_definitions(paper.title, paper.abstract):
        keywords.append(_of_texts(*chain.from_iterable(definitions)))
    if paper.venue:
        keywords += [_key(f"venue:{word}") for word in _of_texts(paper.venue).split()]
    names = {
        word for written in paper.authors for name in spellings(written) for word in name.words
    }
    keywords += [_key(f"author:{word}") for word in names]
    keywords += [_key(f"category:{fold_label(value)}") for value in paper.categories]
    return " ".join(keywords)


def _of_texts(*texts: str) -> str:
    pieces = set(b"".join(map(cut, texts)).lower().split(b" "))
    pieces.discard(b"")
    return " ".join(map(_pieces.__getitem__, pieces))


class _Pieces(dict[bytes, str]):
    """The keywords of each piece of a text, worked out once for many papers: about 10 MB."""

    def __missing__(self, piece: bytes) -> str:
        keywords = _of_piece(piece)
        if len(piece) <= _SHORT:
            if len(self) >= _MOST_PIECES:
                self.clear()
            self[piece] = keywords
        return keywords


_pieces = _Pieces()
on_forget(_pieces.clear)


def _of_piece(piece: bytes) -> str:
    if piece.isalnum() and len(piece) <= _SHORT:  # one word of ASCII
        word = piece.decode()
        form = form_of(word)
        return word if word == form else f"{word} {form}"
    forms = {form for word in words_of_piece(piece) for form in (word.form, word.word)}
    return " ".join(map(_key, forms))


def _key(text: str) -> str:
    """Return a keyword as every index can hold it: without spaces and quotes, and not too long."""
    return _UNHELD.sub("_", text)[:MAX_KEYWORD_LENGTH]


def search_expression(node: Node) -> SearchExpr | None:
    """Return what a paper must have to match a tree; None where it may have anything."""
    match node:
        case And(children):
            return _all_of([search_expression(child) for child in children])
        case Or(children):
            return _any_of([search_expression(child) for child in children])
        case AtLeast(count, children):
            return _at_least(count, [search_expression(child) for child in children])
        case Words():
            return _all_of(list(_of_words(node)))
        case Near(_, words):
            return _all_of([part for word in words for part in _of_words(word)])
        case Author():
            return _any_of([_keyword(f"author:{name.family}", node.prefix) for name in node.names])
        case Label("category", value):
            return _keyword(f"category:{value}", node.prefix)
        case Label() | Not():
            return None


def _keyword(text: str, prefix: bool) -> Keyword:
    return Keyword(_key(text), prefix)


def _all_of(parts: Sequence[SearchExpr | None]) -> SearchExpr | None:
    known = tuple(dict.fromkeys(part for part in parts if part is not None))
    return (known[0] if len(known) == 1 else Keywords(True, known)) if known else None


def _any_of(parts: Sequence[SearchExpr | None]) -> SearchExpr | None:
    known = tuple(dict.fromkeys(part for part in parts if part is not None))
    if len(known) == 1 and None not in parts:
        return known[0]
    return None if None in parts else Keywords(False, known)


def _at_least(count: int, parts: Sequence[SearchExpr | None]) -> SearchExpr | None:
    known = [part for part in parts if part is not None]
    count -= len(parts) - len(known)
    if count < 1:
        return None
    if comb(len(known), count) > MAX_COMBINATIONS:
        return _any_of(known)
    return _any_of([_all_of(chosen) for chosen in combinations(known, count)])


def _of_words(term: Words) -> Iterator[SearchExpr | None]:
    """Yield, for each word of a phrase, the ways to write it; stop words only where alone."""
    gaps = [[e for e in term.edges if e.start <= gap < e.end] for gap in range(term.length)]
    telling = [edges for edges in gaps if any(e.prefix or e.key not in STOP_WORDS for e in edges)]
    space = "venue:" if term.fields == ("venue",) else ""
    for edges in telling or gaps:
        yield _any_of([_spellings_of(space, edge) for edge in edges])


def _spellings_of(space: str, edge: Edge) -> SearchExpr | None:
    """Return the keywords of a word in all its spellings; None for one that has too many.

    So papers are found that were indexed before two spellings were listed as one word.
    """
    if edge.prefix:
        return _keyword(f"{space}{edge.key}", True)
    words = ways_to_write(edge.key)
    return _any_of([_keyword(f"{space}{word}", False) for word in words]) if words else None
