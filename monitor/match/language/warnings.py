"""Likely mistakes in a topic that parses: reported as warnings, since it may be intended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from monitor.errors import QueryError
from monitor.match.language.foreign import FIRST, LAST, mask_phrases
from monitor.match.language.tokens import Token

_OPERATORS = ("AND", "OR", "NOT")
_FOREIGN_OPERATORS = {"UND": "AND", "ODER": "OR", "NICHT": "NOT", "AND/OR": "OR", "OR/AND": "OR"}
_NEAR = {"NEAR", "SAME", "ADJ"}
_ANY_OPERATOR = {*_OPERATORS, *_FOREIGN_OPERATORS, *_NEAR, "XOR"}
_TEXT_FIELDS = {"title:", "abstract:", "venue:"}
_SEPARATORS = ",;，；、"
_LISTED = re.compile(rf"[^\W\d_][^\W_]+[{_SEPARATORS}][^\W\d_][^\W_]+")
_GLUED = re.compile(r"(?=\S*[a-z])[^\W\d_]{3,}(?P<sign>[&|+])[^\W\d_]{3,}")
_ENTITY = re.compile(r"&#?\w+;$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}")
_CATEGORY = re.compile(
    r"(?:cs|math|stat|eess|econ|physics|q-bio|q-fin)\.[A-Z]{2}|(?:astro-ph|cond-mat)\.[A-Za-z-]{2,}"
)
_OTHER_QUOTES = re.compile(
    rf"{FIRST}(?:''|['`‘‚‹「『])(?P<of>\w[^'`’‘›」』]*\s[^'`’‘›」』]*\w)(?:''|['`’‘›」』]){LAST}"
)
_OPENED = re.compile("['`‘‚‹「『{]")
_BRACES = re.compile(rf"{FIRST}\{{(?P<of>[\w-]+(?:\s[\w-]+)+)\}}{LAST}")


def find_warnings(text: str, tokens: Sequence[Token]) -> Iterator[QueryError]:
    """Yield what is probably not intended, with its position and what to write instead.

    `tokens` are those of `text`, the end among them.
    """
    for at, token in enumerate(tokens[:-1]):
        word = token.text
        if token.kind == "word" and (not word.isalnum() or word.upper() in _ANY_OPERATOR):
            yield from _word_warnings(tokens, at)
    outside = mask_phrases(text) if _OPENED.search(text) else ""
    for pattern in (_OTHER_QUOTES, _BRACES):
        for match in pattern.finditer(outside):
            yield QueryError(
                f"{match[0]} is looked for word by word, not as a phrase",
                match.start(),
                f'write "{match["of"]}" to find the words next to each other',
            )


def _word_warnings(tokens: Sequence[Token], at: int) -> Iterator[QueryError]:
    token, text = tokens[at], tokens[at].text
    joins = tokens[at + 1].kind != "end"
    if joins and text.upper() in (_OPERATORS if at else ("NOT",)):
        yield QueryError(
            f"'{text}' is looked for as a word here",
            token.position,
            f"write {text.upper()} in capitals if it is meant to join or exclude",
        )
    elif joins and at:
        yield from _foreign_operator(token)
    before = tokens[at - 1] if at else None
    if before and before.kind == "field" and before.text.lower() not in _TEXT_FIELDS:
        return
    if joins and _ends_item(token) and not (before and _ends_item(before)):
        yield _list_warning(tokens, at)
    if _LISTED.search(text):
        yield QueryError(
            f"{text} is looked for as one phrase",
            token.position,
            f"write {_either(re.split(f'[{_SEPARATORS}]', text))} to find any of the words",
        )
    yield from _spelling_warnings(token)
    if _CATEGORY.fullmatch(text) and not any(other.text.lower() == "category:" for other in tokens):
        yield QueryError(
            f"{text} is looked for in the title and the abstract",
            token.position,
            f"write category:{text} for the category",
        )


def _foreign_operator(token: Token) -> Iterator[QueryError]:
    text = token.text
    message = f"'{text}' is looked for as a word here"
    if text.upper() in _FOREIGN_OPERATORS and (text.isupper() or "/" in text):
        yield QueryError(
            message, token.position, f"write {_FOREIGN_OPERATORS[text.upper()]} to join"
        )
    elif text == "XOR":
        yield QueryError(
            message, token.position, "write (a OR b) NOT (a b) for one without the other"
        )
    elif text in _NEAR:
        hint = 'write "agent robot"~15 for two words near each other'
        yield QueryError(message, token.position, hint)


def _ends_item(token: Token) -> bool:
    """Whether a comma or the like stands behind a word; `&amp;` is a character."""
    text = token.text
    return token.kind == "word" and text[-1] in _SEPARATORS and not _ENTITY.search(text)


def _list_warning(tokens: Sequence[Token], at: int) -> QueryError:
    """Warn of the first comma of `agent, llm, robot`; the hint is the whole list if it is plain."""
    token = tokens[at]
    listed = [token]
    while _ends_item(listed[-1]) and tokens[at + len(listed)].kind == "word":
        listed.append(tokens[at + len(listed)])
    words = [item.text.rstrip(_SEPARATORS) for item in listed]
    either = _either(words) if len(words) > 1 else "OR between them"
    return QueryError(
        f"“{token.text[-1]}” does not mean OR: all of these words must be there",
        token.position + len(token.text) - 1,
        f"write {either} to find any of them",
    )


def _spelling_warnings(token: Token) -> Iterator[QueryError]:
    text, position = token.text, token.position
    if _INITIALS.fullmatch(text):
        bare = text.replace(".", "").upper()
        yield QueryError(
            f"{text} finds only papers that write the dots",
            position,
            f'write ({bare} OR "{text}") to find both spellings',
        )
    if glued := _GLUED.fullmatch(text):
        words = text.split(glued["sign"])
        either = _either(words) if glued["sign"] == "|" else " AND ".join(words)
        yield QueryError(f"{text} is looked for as one phrase", position, f"write {either}")
    if text[-1] in "?$" and text[:-1].isalpha():
        yield QueryError(
            f"“{text[-1]}” is not a wildcard for one letter",
            position + len(text) - 1,
            f"write {text[:-1]}; a plural is found, too, and {text[:-1]}* finds all that begins so",
        )


def _either(words: Sequence[str]) -> str:
    return f"({' OR '.join(word for word in words if word)})"
