"""Regular expressions and wildcards: words with an alphabet of signs that ours does not have."""

from __future__ import annotations

import re
from string import ascii_lowercase

from monitor.match.foreign_syntax.rule import FIRST, rule

_MESSAGE = "{found} is part of a regular expression; a topic is made of words"
_HINT = (
    "write agent* for words that begin so, (agent OR robot) for either, "
    '"agent robot"~5 for words near each other'
)
_FORMS = "write its forms, as in (woman OR women), or its beginning, as in wom*"

# [Aa] and [sz], but not [gh]: neighbours in the alphabet name a bond (benzo[gh]perylene), and a
# capital before a small letter an element ([Fe]hydrogenase).
_LETTERS = r"\[(?P<one>[A-Za-z])(?P<other>[A-Za-z])\]"
_EITHER_LETTER = re.compile(rf"(?P<head>\w*){_LETTERS}(?P<tail>\w*)")
_OPTIONAL = re.compile(r"(?P<head>\w*)(?P<letter>\w)\?(?P<tail>\w*)")
_NEIGHBOURS = "|".join(f"{one}{chr(ord(one) + 1)}" for one in ascii_lowercase[:-1])
_CASES = "|".join(f"{one.upper()}{one}|{one}{one.upper()}" for one in ascii_lowercase)


EXPRESSIONS = tuple(
    rule(pattern, _MESSAGE, _HINT, in_phrases=in_phrases, capitals=True)
    for pattern, in_phrases in (
        (r"^/.+/[gimsux]*$", False),
        (r"\\b[A-Za-z]+\??\\b|\\[BDSWbdsw](?![A-Za-z{])", True),
        (r"\(\?(?:[:=!<]|[imsx]+\))", False),
        (rf"\.\*(?=[^\s)\"”»])|\.\+|{FIRST}\.[*+]", True),
        (rf"\[(?:{_CASES}|(?!{_NEIGHBOURS})[a-z]{{2}})\](?=\w)", True),
        (r"\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9])+\]", True),
        (rf"{FIRST}\([^\s|()]{{2,}}(?:\|[^\s|()]{{2,}})+\)", False),
        (r"(?<=[A-Za-z])\{\d+,\d*\}", True),
    )
)
RULES = (
    *EXPRESSIONS,
    rule(
        r"(?<!\w)\w+(?P<at>[?])(?=[^\W\d_])",
        "? is not a wildcard for one letter",
        _FORMS,
        in_phrases=True,
    ),
    rule(
        r"(?<![\w$\\{])[A-Za-z]+(?P<at>\$)[A-Za-z]+(?![\w$}])",
        "$ is not a wildcard for one letter",
        _FORMS,
        in_phrases=True,
    ),
)

_STEPS = (
    (r"^/(.+)/[gimsux]*$", r"\1"),
    (r"\\[bB]|\(\?[imsx]+\)|(?<!\S)\^|\$(?!\S)", ""),
    (r"\(\?:", "("),
    (r"(?<=\w\w)(?:\.\*|\\w[*+]|\.\+|\[a-z\][*+])\??(?=[\s)]|$)", "*"),
    (r"\.[*+]\??|\\s[*+]?", " "),
    (r"\|", " OR "),
)


def to_topic(expression: str) -> str:
    """Return what a regular expression would be as a topic; it need not be one."""
    topic = expression
    for pattern, replacement in _STEPS:
        topic = re.sub(pattern, replacement, topic)
    topic = _EITHER_LETTER.sub(_either_letter, topic)
    return _OPTIONAL.sub(_with_and_without, topic)


def _either_letter(match: re.Match[str]) -> str:
    head, one, other, tail = match.group("head", "one", "other", "tail")
    if one.lower() == other.lower():
        return f"{head}{one}{tail}".lower()
    return f"({head}{one}{tail} OR {head}{other}{tail})"


def _with_and_without(match: re.Match[str]) -> str:
    head, letter, tail = match.group("head", "letter", "tail")
    if letter == "s" and not tail:  # a plural is one word with its singular
        return head
    return f"({head}{letter}{tail} OR {head}{tail})"
