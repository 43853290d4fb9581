"""The topic language: text to tree. Its grammar stands in docs/topics.md.

topic   = every { "OR" every }
every   = operand { [ "AND" ] operand }
operand = ( "NOT" | "-" ) operand | [ field ":" ] item
item    = "(" topic ")" | [ "=" ] ( word | phrase )
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import NoReturn

from monitor.errors import QueryError
from monitor.match.names import spellings
from monitor.match.promises import refuse_too_wide
from monitor.match.tree import (
    TEXT_FIELDS,
    Author,
    Edge,
    Label,
    Leaf,
    Node,
    Query,
    Words,
    conjunction,
    disjunction,
    negation,
)
from monitor.match.view import label
from monitor.text import Word, words

FIELDS = ("title", "abstract", "author", "category", "source", "venue", "announce")
MAX_DEPTH = 40
MAX_LENGTH = 20_000

_OTHER_NAMES = {"ti": "title", "abs": "abstract", "au": "author", "cat": "category"}
_OPERATORS = {"&": "AND", "&&": "AND", "|": "OR", "||": "OR", "!": "NOT", "+": "AND"}
_TOKEN = re.compile(
    r"""
      (?P<open>\() | (?P<close>\))
    | (?P<phrase>["“”„«»](?:\\.|[^"“”„«»\\])*["“”„«»]?)
    | (?P<minus>[-\u2010-\u2015\u2212](?=[^\s)]))
    | (?P<exact>=(?=\S))
    | (?P<field>[^\W\d_]\w*:)
    | (?P<word>(?:\\.|[^\s()"“”„«»\\]|\\$)+)
    """,
    re.VERBOSE | re.DOTALL,
)
_EXAMPLES = {"category": "category:cs.*", "source": "source:arxiv", "announce": "announce:new"}
_QUOTES = '"“”„«»'


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def parse_query(text: str) -> Query:
    """Read a topic. Raises `QueryError` with the position of the fault and a hint."""
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"a topic may have {MAX_LENGTH:,} characters",
            MAX_LENGTH,
            "split it into several topics",
        )
    tokens = _tokens(text)
    if tokens[0].kind == "end":
        raise QueryError("the topic is empty", 0, "write a word or a phrase to look for")
    parser = _Parser(tokens)
    root = parser.topic("")
    parser.expect_end()
    refuse_too_wide(root)
    return Query(text, root, _doubts(tokens))


# ── tokens ──────────────────────────────────────────────────────────────────────────


def _tokens(text: str) -> list[_Token]:
    """Cut `text` into tokens, with an `end` behind the last; checks quotes."""
    found: list[_Token] = []
    position = _skip_spaces(text, 0)
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None and match.lastgroup is not None
        token = _Token(match.lastgroup, match.group(), position)
        if token.kind == "word" and token.text in ("AND", "OR", "NOT"):
            token = _Token(token.text, token.text, position)
        if token.kind == "phrase":
            _check_quotes(text, token)
        found.append(token)
        position = _skip_spaces(text, match.end())
    return [*found, _Token("end", "", len(text))]


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _check_quotes(text: str, token: _Token) -> None:
    start, end = token.position, token.position + len(token.text)
    if len(token.text) < 2 or token.text[-1] not in _QUOTES or token.text.endswith('\\"'):
        raise QueryError("this quote is never closed", start, 'close the phrase with another "')
    if text[end : end + 1].strip(") \t\r\n"):
        raise QueryError("a space is missing after the phrase", end, "put a space here")
    if start and text[start - 1] not in "(:=-‐‑‒–—―−" and not text[start - 1].isspace():
        raise QueryError("a space is missing before the phrase", start, "put a space here")


def _doubts(tokens: list[_Token]) -> tuple[QueryError, ...]:
    """Find `and`, `or`, `not` written small between two things: they are plain words."""
    between = tokens[1:-2]
    return tuple(
        QueryError(
            f"'{token.text}' is looked for as a word here",
            token.position,
            f"write {token.text.upper()} in capitals if it is meant to join or exclude",
        )
        for token in between
        if token.kind == "word" and token.text.upper() in ("AND", "OR", "NOT")
    )


# ── tree ────────────────────────────────────────────────────────────────────────────


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def topic(self, field: str) -> Node:
        parts = [self._every(field)]
        while self._next.kind == "OR":
            self._take()
            parts.append(self._every(field))
        return disjunction(parts)

    def expect_end(self) -> None:
        if self._next.kind == "close":
            raise QueryError(
                "this parenthesis closes nothing", self._next.position, "remove it or open one"
            )

    def _every(self, field: str) -> Node:
        parts = [self._operand(field)]
        while self._next.kind not in ("OR", "close", "end"):
            if self._next.kind == "AND":
                self._take()
            parts.append(self._operand(field))
        return conjunction(parts)

    def _operand(self, field: str) -> Node:
        token = self._next
        if token.kind in ("AND", "OR", "close", "end"):
            self._refuse_nothing(token)
        self._take()
        match token.kind:
            case "NOT" | "minus":
                self._deeper(token)
                node = negation(self._operand(field))
                self._depth -= 1
                return node
            case "field":
                return self._in_field(token, field)
            case _:
                return self._item(token, field)

    def _in_field(self, token: _Token, outer: str) -> Node:
        field = _field(token)
        if outer:
            raise QueryError(
                f"{token.text} stands inside {outer}:", token.position, "a field has no fields"
            )
        following = self._next
        if following.kind in ("NOT", "minus"):
            raise QueryError(
                f"{token.text} cannot be followed by {following.text}",
                following.position,
                f"exclude the field as a whole: -{token.text}...",
            )
        return self._operand(field)

    def _item(self, token: _Token, field: str) -> Node:
        if token.kind == "open":
            return self._group(token, field)
        if token.kind != "exact":
            return _leaf(token, field, exact=False)
        item = self._next
        if item.kind not in ("word", "phrase"):
            raise QueryError("= must stand before a word", token.position, "as in =RAG")
        return _leaf(self._take(), field, exact=True)

    def _group(self, token: _Token, field: str) -> Node:
        self._deeper(token)
        node = self.topic(field)
        if self._next.kind != "close":
            raise QueryError("this parenthesis is never closed", token.position, "close it with )")
        self._take()
        self._depth -= 1
        return node

    def _deeper(self, token: _Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryError(
                f"the topic is nested more than {MAX_DEPTH} deep",
                token.position,
                "write it with fewer parentheses",
            )

    def _refuse_nothing(self, token: _Token) -> NoReturn:
        """Say what is missing where an operand should stand and `token` does."""
        before = self._tokens[self._at - 1] if self._at else None
        if before is not None and before.kind == "open" and token.kind == "close":
            raise QueryError("the parentheses are empty", before.position, "put words into them")
        if before is not None and before.kind == "open" and token.kind == "end":
            raise QueryError("this parenthesis is never closed", before.position, "close it with )")
        if before is None or before.kind == "open":
            if token.kind == "close":
                raise QueryError("this parenthesis closes nothing", token.position, "remove it")
            raise QueryError(
                f"{token.text} has nothing before it", token.position, f"remove the {token.text}"
            )
        raise QueryError(
            f"{before.text} is followed by nothing", before.position, "add a word or remove it"
        )


def _field(token: _Token) -> str:
    name = token.text[:-1].lower()
    if name in FIELDS:
        return name
    known = _OTHER_NAMES.get(name) or next((f for f in FIELDS if name[:3] == f[:3]), None)
    nearest = known or next(iter(difflib.get_close_matches(name, FIELDS, 1)), None)
    hint = f"did you mean {nearest}:?" if nearest else f"the fields are {', '.join(FIELDS)}"
    raise QueryError(
        f"there is no field {token.text}", token.position, f"{hint}; quote text that has a colon"
    )


# ── leaves ──────────────────────────────────────────────────────────────────────────


def _leaf(token: _Token, field: str, *, exact: bool) -> Leaf:
    quoted = token.kind == "phrase"
    written = token.text[1:-1] if quoted else token.text
    if not written.strip():
        raise QueryError("the phrase is empty", token.position, "put words between the quotes")
    prefix = written.endswith("*")
    text = written.removesuffix("*")
    _check_star(token, text, prefix)
    if exact and (prefix or field not in ("", "title", "abstract", "venue")):
        raise QueryError(
            "= goes with a whole word of a text only", token.position, "as in =RAG or title:=RAG"
        )
    if field in ("category", "source", "announce"):
        return _label(token, field, text, prefix)
    if field == "author":
        return _author(token, text, prefix)
    fields = (field,) if field else TEXT_FIELDS
    edges, length = _edges(token, text, prefix)
    return Words(fields, edges, length, text if exact else "", token.position)


def _check_star(token: _Token, text: str, prefix: bool) -> None:
    if not text.strip() and prefix:
        raise QueryError("* alone would find everything", token.position, "write letters before it")
    inside = token.text.find("*")
    if "*" in text and not re.search(r"\\\S*\*", text):
        raise QueryError(
            "* stands only at the end of a word", token.position + inside, "as in agent*"
        )
    if prefix and text[-1].isspace():
        raise QueryError("* must follow letters", token.position + inside, "as in agent*")


def _label(token: _Token, field: str, text: str, prefix: bool) -> Label:
    if not label(text):
        raise QueryError(
            f"{field}: has no value to look for", token.position, f"as in {_EXAMPLES[field]}"
        )
    return Label(field, label(text), prefix, token.position)


def _author(token: _Token, text: str, prefix: bool) -> Author:
    names = spellings(text)
    if not names:
        raise QueryError("there is no name to look for", token.position, 'as in author:"Y. Bengio"')
    if prefix and (names[0].given or len(names[0].family) < 2):
        raise QueryError(
            "* goes with one name of two letters or more", token.position, "as in author:beng*"
        )
    return Author(names, prefix, token.position)


def _edges(token: _Token, text: str, prefix: bool) -> tuple[tuple[Edge, ...], int]:
    lattice = () if text in _OPERATORS else words(text)
    if not lattice:
        _refuse_wordless(token)
    length = max(word.end for word in lattice)
    last = max((word for word in lattice if word.end == length), key=lambda word: word.start)
    starred = prefix and last.word.isascii()
    if starred and len(last.word) < 2:
        raise QueryError(
            "* needs two letters or more before it", token.position, "write a longer beginning"
        )
    edges = {_edge(word, starred and word.end == length) for word in lattice}
    return tuple(sorted(edges, key=lambda edge: (edge.start, edge.end))), length


def _edge(word: Word, prefix: bool) -> Edge:
    return Edge(word.word if prefix else word.form, word.start, word.end, prefix)


def _refuse_wordless(token: _Token) -> NoReturn:
    operator = _OPERATORS.get(token.text)
    hint = f"write {operator}" if operator else "a topic needs letters or numbers"
    raise QueryError(f"there is no word in {token.text}", token.position, hint)
