"""Parses the leaves of a topic: a word, phrase, name or label."""

from __future__ import annotations

import re
from typing import NoReturn

from monitor.errors import QueryError
from monitor.match.language.synonyms import Synonyms, Term
from monitor.match.language.tokens import Token
from monitor.match.language.tree import (
    TEXT_FIELDS,
    Author,
    Edge,
    Label,
    Near,
    Node,
    Words,
    disjunction,
)
from monitor.match.meaning.evaluate import fold_label
from monitor.match.meaning.names import spellings
from monitor.text import words

MAX_NEAR_WORDS = 10

_INSTEAD = {
    **dict.fromkeys(("&", "+"), "write AND"),
    **dict.fromkeys((",", ";", "/"), "write OR for either, AND for both"),
    "|": "write OR",
    **dict.fromkeys(("!", "-", "–", "—", "−"), "write -robot, with no space, to exclude a word"),
    "=": "write =RAG, with no space, for exactly this form, and title:RAG for a field",
}
_EXAMPLES = {"category": "category:cs.*", "source": "source:arxiv", "announce": "announce:new"}


def parse_leaf(token: Token, field: str, synonyms: Synonyms, *, exact: bool) -> Node:
    """Return the node of a word or phrase in a field; "" stands for title or abstract.

    It is an Or where the words have synonyms. Raises QueryError.
    """
    quoted = token.kind == "phrase"
    written = token.text[1:-1] if quoted else token.text
    if not written.strip():
        raise QueryError("the phrase is empty", token.position, "put words between the quotes")
    fields = (field,) if field else TEXT_FIELDS
    if token.distance is not None:
        return _near(token, fields, written, exact=exact)
    prefix = written.endswith("*")
    text = written.removesuffix("*")
    _check_star(token, text, prefix)
    if exact and (prefix or field not in ("", "title", "abstract", "venue")):
        raise QueryError(
            "= works only with a whole word", token.position, "as in =RAG or title:=RAG"
        )
    if field in ("category", "source", "announce"):
        return _label(token, field, text, prefix)
    if field == "author":
        return _author(token, text, prefix)
    term = _term(token, text, prefix)
    if exact:
        return Words(fields, *term, text, token.position)
    variants = [term] if prefix else synonyms.variants(term)
    return disjunction([Words(fields, *variant, "", token.position) for variant in variants])


def _check_star(token: Token, text: str, prefix: bool) -> None:
    if not text.strip() and prefix:
        raise QueryError("* alone would find everything", token.position, "write letters before it")
    inside = token.text.find("*")
    if "*" in text and not re.search(r"\\\S*\*", text):
        raise QueryError(
            "* is allowed only at the end of a word",
            token.position + inside,
            "as in agent*; write other forms out, as in (woman OR women)",
        )
    if prefix and text[-1].isspace():
        raise QueryError("* must follow letters", token.position + inside, "as in agent*")


def _label(token: Token, field: str, text: str, prefix: bool) -> Label:
    if not fold_label(text):
        raise QueryError(
            f"{field}: has no value to look for", token.position, f"as in {_EXAMPLES[field]}"
        )
    return Label(field, fold_label(text), prefix, token.position)


def _author(token: Token, text: str, prefix: bool) -> Author:
    names = spellings(text)
    if not names:
        raise QueryError("there is no name to look for", token.position, 'as in author:"Y. Bengio"')
    if prefix and (names[0].given_names or len(names[0].family) < 2):
        raise QueryError(
            "* goes with one name of two letters or more", token.position, "as in author:beng*"
        )
    return Author(names, prefix, token.position)


def _term(token: Token, text: str, prefix: bool) -> Term:
    lattice = () if text in _INSTEAD else words(text)
    if not lattice:
        _refuse_wordless(token)
    length = max(word.end for word in lattice)
    last = max((word for word in lattice if word.end == length), key=lambda word: word.start)
    starred = prefix and last.word.isascii()
    if starred and len(last.word) < 2:
        raise QueryError(
            "* needs two letters or more before it", token.position, "write a longer beginning"
        )
    edges = {
        Edge(word.word, word.start, word.end, True)
        if starred and word.end == length
        else Edge(word.form, word.start, word.end)
        for word in lattice
    }
    return Term(tuple(sorted(edges, key=lambda edge: (edge.start, edge.end))), length)


def _refuse_wordless(token: Token) -> NoReturn:
    hint = _INSTEAD.get(token.text, "a topic needs letters or numbers")
    raise QueryError(f"there is no word in {token.text}", token.position, hint)


def _near(token: Token, fields: tuple[str, ...], written: str, *, exact: bool) -> Near:
    """Read the words of `"a b"~5`, each of which may end with a star."""
    distance = token.distance
    assert distance is not None, "a phrase without ~ is not a proximity search"
    if fields[0] in ("author", "category", "source", "announce"):
        raise QueryError(
            f"{fields[0]}: has no words near each other", token.position, "leave out the ~"
        )
    if exact:
        raise QueryError(
            "= and ~ do not go together", token.position, "look for the form or for the distance"
        )
    near_words: list[Words] = []
    for match in re.finditer(r"\S+", written):
        part = token._replace(text=match.group(), position=token.position + 1 + match.start())
        prefix = part.text.endswith("*")
        text = part.text.removesuffix("*")
        _check_star(part, text, prefix)
        if words(text):
            near_words.append(Words(fields, *_term(part, text, prefix), "", part.position))
    if not 2 <= len(near_words) <= MAX_NEAR_WORDS or len(set(near_words)) < len(near_words):
        raise QueryError(
            f"~ needs 2 to {MAX_NEAR_WORDS} different words",
            token.position,
            'as in "agent policy"~5',
        )
    return Near(fields, tuple(near_words), distance, token.position)
