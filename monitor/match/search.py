"""Searching stored papers for a topic by keywords, before their texts are matched.

It may find too much and never too little: every paper that matches a topic has the keywords that
`search_expression` names. A source's name and an announce type change with every reading, so they
are no keywords; nor is what a paper must not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import comb

from monitor.match.language.tree import (
    AtLeast,
    Author,
    Edge,
    Label,
    Like,
    Near,
    Node,
    Not,
    Number,
    Words,
)
from monitor.match.meaning.closeness import least_words
from monitor.match.meaning.evaluate import fold_label
from monitor.match.meaning.idf import STOP_WORDS
from monitor.match.meaning.names import folded_spellings, spellings
from monitor.match.meaning.occurrences import find_definitions
from monitor.model import Keyword, Keywords, Paper, SearchExpr
from monitor.text import cut, form_of, ways_to_write, words_of_piece
from monitor.text.symbols import look_alike

# A database refuses a longer one; two that begin alike are distinguished by the exact evaluation.
MAX_KEYWORD_LENGTH = 200
# `2 of (a, b, c)` searches for every pair; with more combinations than this, for any one option.
MAX_COMBINATIONS = 20

_SHORT = 64  # bytes of a piece whose keywords are kept for further papers
_MOST_PIECES = 49_152
_UNHELD = re.compile("[\x00-\x20\"'\x7f]")


def paper_keywords(paper: Paper) -> str:
    """Return the words of a paper as written and in their forms, parted by spaces, some twice."""
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
    """The keywords of each short piece of a text, for many papers: about 10 MB.

    An `lru_cache` takes 25% longer for each paper.
    """

    def __missing__(self, piece: bytes) -> str:
        keywords = _of_piece(piece)
        if len(piece) <= _SHORT:
            if len(self) >= _MOST_PIECES:
                self.clear()
            self[piece] = keywords
        return keywords


_pieces = _Pieces()


def _of_piece(piece: bytes) -> str:
    if piece.isalnum() and len(piece) <= _SHORT:  # one word of ASCII
        word = piece.decode()
        form = form_of(word)
        return word if word == form else f"{word} {form} {look_alike(word)}".rstrip()
    forms = {form for word in words_of_piece(piece) for form in (word.form, word.word) if form}
    return " ".join(map(_key, forms))


def _key(text: str) -> str:
    """Return a keyword as every index can hold it: without spaces and quotes, and not too long."""
    return _UNHELD.sub("_", text)[:MAX_KEYWORD_LENGTH]


def search_expression(node: Node) -> SearchExpr | None:
    """Return what a paper must have to match a tree; None where it may have anything."""
    match node:
        case AtLeast(count, children):
            return _at_least(count, [search_expression(child) for child in children])
        case Words():
            return _all_of(list(_of_words(node)))
        case Near(_, words):
            return _all_of([part for word in words for part in _of_words(word)])
        case Author():
            families = chain.from_iterable(folded_spellings(name.family) for name in node.names)
            return _any_of([_keyword(f"author:{family}", node.prefix) for family in families])
        case Like():
            return _any_of([_all_of(list(_of_words(word))) for word in least_words(node)])
        case Label("category", value):
            return _keyword(f"category:{value}", node.prefix)
        case Label() | Number() | Not():
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
