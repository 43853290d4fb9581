"""The topic language: text to tree. Its grammar is in docs/decisions/0010-grammar.md.

topic   = every { "OR" every }
every   = operand { [ "AND" | "&" | "|" ] operand }  (& and | mean AND, with a warning)
operand = ( "NOT" | "-" ) operand | [ field ":" ] item
item    = ( "(" topic ")" | count "of" "(" topic { "," topic } ")" | leaf ) [ "^" weight ]
leaf    = [ "=" ] ( word | phrase [ "~" distance ] )
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import NoReturn

from monitor.errors import QueryError
from monitor.match.language.mistakes import ALSO_WORDS, find_warnings, refuse_foreign
from monitor.match.language.sentences import Sentence, find_sentence
from monitor.match.language.synonyms import NO_SYNONYMS, Synonyms, Term
from monitor.match.language.tokens import QUOTES, Token, tokens
from monitor.match.language.tree import (
    TEXT_FIELDS,
    AtLeast,
    Author,
    Edge,
    Label,
    Leaf,
    Near,
    Node,
    Not,
    Number,
    Query,
    Words,
    at_least,
    conjunction,
    disjunction,
    every_leaf,
    holds,
    leaves,
    negation,
    signed_leaves,
)
from monitor.match.like import learned_from_text, like_leaf
from monitor.match.meaning.evaluate import fold_label, total_weight
from monitor.match.meaning.idf import STOP_WORDS
from monitor.match.meaning.names import spellings
from monitor.model import Topic
from monitor.text import MAX_DIGITS, words, words_to_find

_FOREIGN_SIGNS = {
    "&": ("“&” is read as AND: all of these words must occur", "AND"),
    "|": ("“|” does not mean OR: all of these words must occur", "OR"),
}
NUMBERS = ("votes", "lists")
_LABELS = ("category", "source", "announce", "has")
FIELDS = ("title", "abstract", "author", "venue", *_LABELS, *NUMBERS)
_COMPARISON = re.compile(r"(?P<sign>>=?|<=?|=)(?P<number>\d{1,9})")
_ESCAPED_STAR = re.compile(r"(?<=\w)\\\*")
MAX_DEPTH = 40
MAX_LENGTH = 20_000
MAX_NEAR_WORDS = 10
# Topics that stay parsed, of about two kilobytes each.
MAX_PARSED = 2_000

_INSTEAD = {
    **dict.fromkeys(("&", "+"), "write AND"),
    **dict.fromkeys((",", ";", "/"), "write OR for either, AND for both"),
    "|": "write OR",
    **dict.fromkeys(("!", "-", "–", "—", "−"), "write -robot, with no space, to exclude a word"),
    "=": "write =RAG, with no space, for exactly this form, and title:RAG for a field",
}
_EXAMPLES = {"category": "category:cs.*", "source": "source:arxiv", "announce": "announce:new"}
_HAS = ("code", "data", "project", "video")


def parse_query(text: str, synonyms: Synonyms = NO_SYNONYMS, threshold: float = 0.0) -> Query:
    """Parse a topic. Raises `QueryError` with the position of the fault and a hint.

    Words that have `synonyms` match any of them. A paper whose matched terms weigh less than
    `threshold` in total does not match the topic.
    """
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"a topic may have {MAX_LENGTH:,} characters",
            MAX_LENGTH,
            "split it into several topics",
        )
    refuse_foreign(text)
    try:
        return _read(text, synonyms, threshold)
    except QueryError:
        refuse_foreign(text, closely=True)
        raise


def parse_topic(topic: Topic) -> Query:
    """Parse a topic with its synonyms, its threshold and what it is like. Raises QueryError."""
    if topic.like:
        return _parse_like(topic)
    return parse_query(topic.query, _synonyms(topic.synonyms), topic.threshold)


@lru_cache(MAX_PARSED)
def _parse_like(topic: Topic) -> Query:
    assert topic.like, "other topics have a query alone"
    near = like_leaf(topic.words or learned_from_text(topic.like))
    if not topic.query:
        return Query("", near)
    query = parse_query(topic.query, _synonyms(topic.synonyms), topic.threshold)
    return dataclasses.replace(query, root=conjunction([query.root, near]))


@lru_cache(MAX_PARSED)
def parse_once(
    text: str, groups: tuple[tuple[str, ...], ...] = (), threshold: float = 0.0
) -> Query:
    """Parse a topic that is read again: when its configuration is checked, and to match papers.

    `groups` are its synonyms. Raises QueryError.
    """
    return parse_query(text, _synonyms(groups), threshold)


def asks_for_numbers(topic: Topic) -> bool:
    """Whether a topic asks for votes or lists; not one that is parked."""
    query = topic.query.lower()
    if not any(f"{field}:" in query for field in NUMBERS):
        return False
    try:
        return any(isinstance(leaf, Number) for leaf in every_leaf(parse_topic(topic).root))
    except QueryError:
        return False


@lru_cache(maxsize=1_024)
def _synonyms(groups: tuple[tuple[str, ...], ...]) -> Synonyms:
    return Synonyms(groups)


def _read(text: str, synonyms: Synonyms, threshold: float) -> Query:
    token_list = tokens(text)
    if token_list[0].kind == "end":
        raise QueryError("the topic is empty", 0, "write a word or a phrase to look for")
    parser = _Parser(token_list, synonyms)
    root = parser.topic("")
    parser.expect_end()
    _refuse_too_broad(text, root)
    weights = parser.weights
    _refuse_unreachable(root, weights, threshold)
    capitals = _doubt_capitals(root, token_list)
    sentence = _find_sentence(text, token_list)
    sentences = [_doubt_sentence(sentence)] if sentence else []
    doubts = (*find_warnings(text, token_list), *parser.warnings, *capitals, *sentences)
    warnings = tuple(sorted(doubts, key=lambda doubt: doubt.position))
    return Query(text, root, warnings, tuple(weights.items()), threshold)


def _refuse_unreachable(root: Node, weights: Mapping[Leaf, float], threshold: float) -> None:
    if threshold > (most := total_weight(leaves(root), weights)):
        raise QueryError(
            f"no paper can reach a threshold of {threshold:g}",
            0,
            f"all search terms weigh {most:g} together",
        )


def _refuse_too_broad(text: str, root: Node) -> None:
    """Raise `QueryError` when a paper with no word, or with stop words alone, would match."""
    if holds(root, lambda _: False):
        raise QueryError(
            "the topic only says what a paper must not have, and would find nearly everything",
            next(leaf.position for leaf, is_excluded in signed_leaves(root) if is_excluded),
            "add a term that must match, and exclude from that",
        )
    if holds(root, _is_stop_words):
        common = [leaf for leaf in every_leaf(root) if _is_stop_words(leaf)]
        if number := next((leaf for leaf in common if isinstance(leaf, Number)), None):
            raise QueryError(
                f"nearly every paper that has {number.field} would match, since they begin low",
                number.position,
                "add a word that must occur beside it, or write as in votes:>10",
            )
        raise _too_common(text, root, common[0])


def _too_common(text: str, root: Node, common: Leaf) -> QueryError:
    every = list(every_leaf(root))
    if len(every) > 1 and all(map(_is_stop_words, every)):
        message = "this topic contains only very common words and would match everything"
        return QueryError(message, common.position, "add a word that says what it is about")
    token = next(token for token in tokens(text) if token.position == common.position)
    word = token.text.strip(QUOTES)
    add = "add a word that must occur beside it, or leave it out"
    hint = f"write ={word} for the abbreviation" if word.isupper() and len(word) > 1 else add
    return token.fault(f"“{word}” is too common: with it, the topic would match everything", hint)


def meant_by(text: str) -> str:
    """Return the query that is meant by a valid topic with a sentence, "" for any other."""
    sentence = _find_sentence(text, tokens(text))
    return sentence.query if sentence else ""


def _find_sentence(text: str, token_list: Sequence[Token]) -> Sentence | None:
    """Return a sentence of a topic if the query that is meant is valid: it has none itself."""
    if sentence := find_sentence(text, token_list):
        with suppress(QueryError):
            parse_query(sentence.query)
            return sentence
    return None


def _doubt_sentence(sentence: Sentence) -> QueryError:
    return QueryError(
        f"all {sentence.words} words must occur, which hardly any paper has",
        sentence.position,
        f"to find what is meant, write {sentence.query}, or give the sentence to like:",
    )


def _doubt_capitals(root: Node, token_list: Sequence[Token]) -> Iterator[QueryError]:
    """Yield warnings of abbreviations that are also words, where one alone makes a paper match."""
    _, enough = _find_enough(root)
    for token in token_list:
        word = token.text.strip(f"{QUOTES}.")
        if token.position in enough and word.isupper() and word.lower() in ALSO_WORDS:
            message = f"{word} also finds “{word.lower()}”, since case does not matter"
            yield token.fault(message, f"write ={word} for the abbreviation alone")


def _find_enough(node: Node) -> tuple[bool, set[int]]:
    """Return whether a tree is true without any word, else where words are that alone suffice."""
    match node:
        case AtLeast(count, children):
            parts = [_find_enough(child) for child in children]
            missing = count - sum(is_true for is_true, _ in parts)
            times = Counter(chain.from_iterable(positions for _, positions in parts))
            return missing <= 0, {at for at, number in times.items() if number >= missing > 0}
        case Not():
            return True, set()
        case Words() if not node.exact and node.fields != ("venue",):
            return False, {node.position}
        case _:
            return False, set()


def _is_stop_words(leaf: Leaf) -> bool:
    if isinstance(leaf, Near):
        return all(_is_stop_words(word) for word in leaf.words)
    if isinstance(leaf, Number):
        return not leaf.low
    if not isinstance(leaf, Words) or leaf.exact or leaf.fields == ("venue",):
        return False
    parts = [edge for edge in leaf.edges if edge.end - edge.start == 1]
    return all(not edge.prefix and edge.key in STOP_WORDS for edge in parts)


class _Parser:
    def __init__(self, token_list: Sequence[Token], synonyms: Synonyms) -> None:
        self.weights: dict[Leaf, float] = {}
        self.warnings: list[QueryError] = []
        self._tokens = token_list
        self._synonyms = synonyms
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
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
        while self._next.kind not in ("OR", "close", "comma", "end"):
            if self._next.kind == "AND":
                self._take()
            elif self._at_lone_sign():
                self.warnings.append(_sign_warning(*self._tokens[self._at - 1 : self._at + 2]))
                self._take()
            parts.append(self._operand(field))
        return conjunction(parts)

    def _at_lone_sign(self) -> bool:
        behind = self._tokens[self._at + 1].kind if self._next.text in _FOREIGN_SIGNS else "end"
        return behind not in ("AND", "OR", "close", "comma", "end")

    def _operand(self, field: str) -> Node:
        token = self._next
        if token.kind in ("AND", "OR", "close", "comma", "end"):
            self._refuse_missing_operand(token)
        self._take()
        match token.kind:
            case "NOT" | "minus":
                return self._negation(token, field)
            case "field":
                return self._in_field(token, field)
            case _:
                return self._item(token, field)

    def _negation(self, token: Token, field: str) -> Node:
        self._nest(token)
        weights_before = len(self.weights)
        node = negation(self._operand(field))
        if len(self.weights) > weights_before:
            self.warnings.append(
                token.fault("a weight counts only for search terms", "leave it out")
            )
        self._depth -= 1
        return node

    def _in_field(self, token: Token, outer: str) -> Node:
        field = _field(token)
        if outer:
            raise token.fault(f"{token.text} is inside {outer}:", "a field has no fields")
        following = self._next
        if following.kind in ("NOT", "minus"):
            raise following.fault(
                f"{token.text} cannot be followed by {following.text}",
                f"exclude the field as a whole: -{token.text}...",
            )
        return self._operand(field)

    def _item(self, token: Token, field: str) -> Node:
        match token.kind:
            case "open":
                return self._group(token, field)
            case "of":
                return self._some_of(token, field)
            case "exact":
                item = self._next
                if item.kind not in ("word", "phrase"):
                    raise token.fault("= must be followed by a word", "as in =RAG")
                return self._leaf(self._take(), field, exact=True)
            case _:
                return self._leaf(token, field, exact=False)

    def _leaf(self, token: Token, field: str, *, exact: bool) -> Node:
        node = _parse_leaf(token, field, self._synonyms, exact=exact)
        self._weigh(node, token.weight)
        return node

    def _weigh(self, node: Node, weight: float) -> None:
        if weight != 1.0:
            for leaf in set(leaves(node)):
                self.weights[leaf] = self.weights.get(leaf, 1.0) * weight

    def _group(self, token: Token, field: str) -> Node:
        self._nest(token)
        node = self.topic(field)
        self._close(token, node)
        return node

    def _close(self, opened: Token, node: Node) -> None:
        if self._next.kind != "close":
            raise opened.fault("this parenthesis is never closed", "close it with )")
        self._weigh(node, self._take().weight)
        self._depth -= 1

    def _some_of(self, token: Token, field: str) -> Node:
        """Read `2 of (a, b, c)`."""
        opened = self._take()
        self._nest(opened)
        items = [self.topic(field)]
        while self._next.kind == "comma":
            self._take()
            items.append(self.topic(field))
        if len(token.text) > MAX_DIGITS or not 1 <= int(token.text) <= len(items):
            raise token.fault(
                f"{token.text} of {len(items)} can never match",
                "separate the options with commas: 2 of (a, b, c)",
            )
        if len(set(items)) < len(items):
            raise token.fault("the same option is listed twice", "remove one")
        node = at_least(int(token.text), items)
        self._close(opened, node)
        return node

    def _nest(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise token.fault(
                f"the topic is nested more than {MAX_DEPTH} deep", "write it with fewer parentheses"
            )

    def _refuse_missing_operand(self, token: Token) -> NoReturn:
        before = self._tokens[self._at - 1] if self._at else None
        if before is not None and before.kind == "open" and token.kind == "close":
            raise before.fault("the parentheses are empty", "put words into them")
        if token.kind == "comma" or (before is not None and before.kind == "comma"):
            raise token.fault("an option is missing here", "write a word or remove the comma")
        if before is None or (before.kind == "open" and token.kind != "end"):
            raise token.fault(f"{token.text} has nothing before it", f"remove the {token.text}")
        raise before.fault(f"{before.text} is followed by nothing", "add a word or remove it")


def _sign_warning(before: Token, sign: Token, behind: Token) -> QueryError:
    message, joint = _FOREIGN_SIGNS[sign.text]
    words = before.kind == behind.kind == "word"
    instead = f"{before.text} {joint} {behind.text}" if words else joint
    return sign.fault(message, f"write {instead}")


def _field(token: Token) -> str:
    name = token.text[:-1].lower()
    if name in FIELDS:
        return name
    nearest = next(iter(difflib.get_close_matches(name, FIELDS, 1)), None)
    fields = f"the fields are {', '.join(f'{known}:' for known in FIELDS)}."
    hint = f"did you mean {nearest}:?" if nearest else fields
    raise token.fault(
        f"there is no field {token.text}", f"{hint} To search for the text itself, quote it."
    )


# ── leaves ──────────────────────────────────────────────────────────────────────────


def _parse_leaf(token: Token, field: str, synonyms: Synonyms, *, exact: bool) -> Node:
    """Return the node of a word or phrase in a field; "" stands for title or abstract.

    It is an Or where the words have synonyms. Raises QueryError.
    """
    quoted = token.kind == "phrase"
    written = token.text[1:-1] if quoted else token.text
    if not written.strip():
        raise token.fault("the phrase is empty", "put words between the quotes")
    fields = (field,) if field else TEXT_FIELDS
    if field in NUMBERS:
        return _number(token, field, f"={written}" if exact else written)
    if token.distance is not None:
        return _near(token, fields, written, exact=exact)
    text, prefix = _read_star(token, written)
    if exact and (prefix or field not in ("", "title", "abstract", "venue")):
        raise token.fault("= works only with a whole word", "as in =RAG or title:=RAG")
    if field in _LABELS:
        return _label(token, field, text, prefix)
    if field == "author":
        return _author(token, text, prefix)
    term = _term(token, text, prefix)
    if exact:
        return Words(fields, *term, text, token.position)
    variants = [term] if prefix else synonyms.variants(term)
    return disjunction([Words(fields, *variant, "", token.position) for variant in variants])


def _read_star(token: Token, written: str) -> tuple[str, bool]:
    """Return a text without the star that ends a beginning, and whether it had one."""
    prefix = written.endswith("*") and not written.endswith("\\*")
    text = written.removesuffix("*") if prefix else written
    if not text.strip() and prefix:
        raise token.fault("* alone would find everything", "write letters before it")
    inside = token.text.find("*")
    if "*" in text and not re.search(r"\\[^\s\\*]*\*", text):
        raise token.fault(
            "* is allowed only at the end of a word",
            "as in agent*; write other forms out, as in (woman OR women); "
            r'if the star is part of a name, write \*, as in "C\*-algebra"',
            inside,
        )
    if prefix and text[-1].isspace():
        raise token.fault("* must follow letters", "as in agent*", inside)
    return _ESCAPED_STAR.sub("*", text), prefix


def _number(token: Token, field: str, text: str) -> Number:
    compared = _COMPARISON.fullmatch(text) if token.distance is None else None
    if not compared:
        raise token.fault(f"{field}: needs a comparison with a number", f"as in {field}:>10")
    number = int(compared["number"])
    sign = compared["sign"]
    if sign == "<" and not number:
        raise token.fault("no number is below 0", f"as in {field}:>10")
    low = 0 if "<" in sign else number + (sign == ">")
    high = None if ">" in sign else number - (sign == "<")
    return Number(field, low, high, token.position)


def _label(token: Token, field: str, text: str, prefix: bool) -> Label:
    if field == "has" and (prefix or fold_label(text) not in _HAS):
        raise token.fault(f"there is no has:{token.text}", f"it may be {', '.join(_HAS)}")
    if not fold_label(text):
        raise token.fault(f"{field}: has no value to look for", f"as in {_EXAMPLES[field]}")
    return Label(field, fold_label(text), prefix, token.position)


def _author(token: Token, text: str, prefix: bool) -> Author:
    names = spellings(text)
    if not names:
        raise token.fault("there is no name to look for", 'as in author:"Y. Bengio"')
    if prefix and (names[0].given_names or len(names[0].family) < 2):
        raise token.fault("* goes with one name of two letters or more", "as in author:beng*")
    return Author(names, prefix, token.position)


def _term(token: Token, text: str, prefix: bool) -> Term:
    lattice = () if text in _INSTEAD else words_to_find(text)
    if not lattice:
        hint = _INSTEAD.get(token.text, "a topic needs letters or numbers")
        raise token.fault(f"there is no word in {token.text}", hint)
    length = max(word.end for word in lattice)
    last = max((word for word in lattice if word.end == length), key=lambda word: word.start)
    starred = prefix and last.word.isascii()
    if starred and len(last.word) < 2:
        hint = rf"write a longer beginning, or {text}\* if the star is part of a name"
        raise token.fault("* needs two letters or more before it", hint)
    edges = {
        Edge(word.word, word.start, word.end, True)
        if starred and word.end == length
        else Edge(word.form, word.start, word.end)
        for word in lattice
    }
    return Term(tuple(sorted(edges, key=lambda edge: (edge.start, edge.end))), length)


def _near(token: Token, fields: tuple[str, ...], written: str, *, exact: bool) -> Near:
    """Read the words of `"a b"~5`; any of them may end with a star."""
    distance = token.distance
    assert distance is not None, "a phrase without ~ is not a proximity search"
    if fields[0] in ("author", *_LABELS):
        raise token.fault(f"{fields[0]}: has no words near each other", "leave out the ~")
    if exact:
        raise token.fault("= and ~ do not go together", "look for the form or for the distance")
    near_words: list[Words] = []
    for match in re.finditer(r"\S+", written):
        part = token._replace(text=match.group(), position=token.position + 1 + match.start())
        text, prefix = _read_star(part, part.text)
        if words(text):
            near_words.append(Words(fields, *_term(part, text, prefix), "", part.position))
    if not 2 <= len(near_words) <= MAX_NEAR_WORDS or len(set(near_words)) < len(near_words):
        raise token.fault(
            f"~ needs 2 to {MAX_NEAR_WORDS} different words", 'as in "agent policy"~5'
        )
    return Near(fields, tuple(near_words), distance, token.position)
