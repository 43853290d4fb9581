"""Splits a topic into tokens with their positions."""

from __future__ import annotations

import re
from typing import NamedTuple

from monitor.errors import QueryError
from monitor.text import MAX_DIGITS

QUOTES = '"“”„«»'
MAX_WEIGHT = 100.0
MAX_DISTANCE = 100

_MINUS = r"[-\u2010-\u2015\u2212](?=[^\s)])"
_PATTERN = r"""\s*(?:
      (?P<open>\() | (?P<close>\))
    | (?P<phrase>["“”„«»](?:\\.|[^"“”„«»\\])*["“”„«»]?)
    | (?P<minus>%s)
    | (?P<exact>=(?=\S))
    | (?P<field>[^\W\d_]\w*:)
    | %s
    )"""
_FLAGS = re.VERBOSE | re.DOTALL
_WORD = r'(?P<word>(?:\\.|[^\s()"“”„«»\\]|\\$)+)'
_LISTED = r"""(?P<comma>,)
    | (?P<word>(?:\\.|[^\s(),"“”„«»\\]|\\$|(?<=\d),(?=\d{3}(?!\d)))+)"""
_TOKEN = re.compile(_PATTERN % (_MINUS, _WORD), _FLAGS)
# In the list of `2 of (a, b)` a comma parts the items.
_TOKEN_OF_LIST = re.compile(_PATTERN % (_MINUS, _LISTED), _FLAGS)

_BEHIND = re.compile(r"(?P<near>~(?P<distance>\d*))?(?P<raised>\^(?P<weight>\d*(?:\.\d+)?))?")
# x^2, H^1 and 10^6 are formulas: a weight follows two letters or more.
_WEIGHED = re.compile(r"(?=[^$]*[^\W\d_])([^$]+[^\\$])\^(\d*(?:\.\d+)?)", re.DOTALL)
_FUZZY = re.compile(r"[^\W_]~\d*")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


class Token(NamedTuple):
    """A piece of a topic: `distance` of a phrase, `weight` of what ends here."""

    kind: str
    text: str
    position: int
    weight: float = 1.0
    distance: int | None = None

    def fault(self, message: str, hint: str, offset: int = 0) -> QueryError:
        return QueryError(message, self.position + offset, hint)


def tokens(text: str) -> list[Token]:
    """Cut `text` into tokens, with an `end` behind the last.

    Raises QueryError for quotes, `~` and `^` that cannot be understood.
    """
    token_list: list[Token] = []
    lists: list[bool] = []
    end = 0
    while match := (_TOKEN_OF_LIST if lists and lists[-1] else _TOKEN).match(text, end):
        kind = str(match.lastgroup)
        token = Token(kind, match[kind], match.start(kind))
        end = match.end()
        match token.kind:
            case "word":
                token = _word(token)
            case "phrase":
                token, end = _phrase(text, token)
            case "open":
                lists.append(_counts(token_list))
            case "close":
                lists = lists[:-1]
                token, end = _read_weight(text, token, end)
        token_list.append(token)
    return [*token_list, Token("end", "", len(text))]


def _word(token: Token) -> Token:
    text = token.text
    if text in _OPERATORS:
        return token._replace(kind=text)
    if "~" in text and _FUZZY.fullmatch(text[text.rindex("~") - 1 :]):
        raise token.fault(
            "~ must follow a phrase",
            'as in "agent policy"~5; for other endings write agent*',
            text.rindex("~"),
        )
    weighed = _WEIGHED.fullmatch(text) if "^" in text else None
    if not weighed:
        return token
    at = token.position + weighed.end(1)
    return token._replace(text=weighed[1], weight=_weight(weighed[2], at))


def _phrase(text: str, token: Token) -> tuple[Token, int]:
    """Check the quotes of a phrase, and read the distance and weight after it."""
    start = token.position
    end = token.position + len(token.text)
    if len(token.text) < 2 or token.text[-1] not in QUOTES or token.text.endswith('\\"'):
        raise QueryError("this quote is never closed", start, 'close the phrase with another "')
    if start and text[start - 1] not in "(:=,-‐‑‒–—―−" and not text[start - 1].isspace():
        raise QueryError("a space is missing before the phrase", start, "put a space here")
    behind = _BEHIND.match(text, end)
    if behind and behind["near"]:
        distance = behind["distance"]
        if not distance or len(distance) > MAX_DIGITS or int(distance) > MAX_DISTANCE:
            wanted = f"~ needs a number up to {MAX_DISTANCE}"
            raise QueryError(wanted, end, 'as in "agent policy"~5')
        token = token._replace(distance=int(distance))
        end = behind.end("near")
    token, end = _read_weight(text, token, end)
    if text[end : end + 1].strip("), \t\r\n"):
        raise QueryError("a space is missing after the phrase", end, "put a space here")
    return token, end


def _read_weight(text: str, token: Token, end: int) -> tuple[Token, int]:
    behind = _BEHIND.match(text, end)
    if behind is None or behind["near"] or not behind["raised"]:
        return token, end
    return token._replace(weight=_weight(behind["weight"], end)), behind.end()


def _weight(written: str, position: int) -> float:
    weight = float(written) if written else 0.0
    if not 0 < weight <= MAX_WEIGHT:
        raise QueryError(
            f"a weight is a number above 0, up to {MAX_WEIGHT:.0f}", position, "as in agent^3"
        )
    return weight


def _counts(before: list[Token]) -> bool:
    """Whether `2 of` stands before a parenthesis; the two words become one token."""
    if len(before) < 2 or before[-1].text.lower() != "of" or before[-1].kind != "word":
        return False
    number = before[-2]
    if number.kind != "word" or not number.text.isdecimal():
        return False
    before[-2:] = [number._replace(kind="of")]
    return True
