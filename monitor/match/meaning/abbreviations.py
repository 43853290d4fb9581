"""The abbreviations that a paper itself defines: `graph neural networks (GNNs)`.

After A. Schwartz and M. Hearst, A simple algorithm for identifying abbreviation definitions in
biomedical text, Pacific Symposium on Biocomputing 8 (2003), 451-462: the letters of the short
form are looked for from right to left in the words before its parentheses, and the first one
must begin a word. Beyond the paper, a short form needs a capital letter here, so that no common
word is ever taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from monitor.text import MAX_TEXT_LENGTH

MAX_SHORT_LENGTH = 10
MAX_DEFINITIONS = 50

_PARENTHESES = re.compile(r"\(([^()]{2,200})\)")
_LISTED = re.compile("[,;]")
# Up to the last boundary, since `.*` takes as much as it can.
_UP_TO_SENTENCE = re.compile(r".*(?:[.;:!?](?=\s)|[()])", re.DOTALL)
_SHORT = re.compile(r"\w[^\s]*(?: [^\s]+)?")


class Definition(NamedTuple):
    """A short form and what it stands for, both as the paper writes them."""

    short: str
    long: str


def find_definitions(*texts: str) -> tuple[Definition, ...]:
    """Return what the texts define, the first definition of each short form, at most 50."""
    definitions: dict[str, Definition] = {}
    for text in (each[:MAX_TEXT_LENGTH] for each in texts):
        if "(" in text:
            for definition in _definitions_in(text):
                definitions.setdefault(definition.short, definition)
                if len(definitions) == MAX_DEFINITIONS:
                    return tuple(definitions.values())
    return tuple(definitions.values())


def _definitions_in(text: str) -> Iterator[Definition]:
    done = 0
    for parentheses in _PARENTHESES.finditer(text):
        written = text[done : parentheses.start()]
        done = parentheses.end()
        inside = _LISTED.split(parentheses[1], maxsplit=1)[0].strip()
        inside_is_short = _is_short(inside)
        if not inside_is_short and "".join(written.rsplit(None, 1)[-1:]).islower():
            continue  # what most parentheses are: neither side is a short form
        before = _sentence(written)
        if before and inside_is_short:
            long = _long_form(inside, _last_words(before, inside))
            if long:
                yield Definition(inside, long)
        elif before and _is_short(short := before.rsplit(None, 1)[-1]):
            long = _long_form(short, inside)
            if long == inside:
                yield Definition(short, long)


def _sentence(before: str) -> str:
    """Return what stands before a parenthesis, back to the end of the sentence before."""
    earlier = _UP_TO_SENTENCE.match(before)
    return before[earlier.end() if earlier else 0 :].strip()


def _is_short(text: str) -> bool:
    return (
        2 <= len(text) <= MAX_SHORT_LENGTH
        and not text.islower()  # as most are, which is seen at once
        and _SHORT.fullmatch(text) is not None
        and any(letter.isupper() for letter in text)
    )


def _last_words(before: str, short: str) -> str:
    """Return as many words before a short form as it can stand for."""
    count = min(len(short) + 5, 2 * len(short))
    return " ".join(before.rsplit(None, count)[-count:])


def _long_form(short: str, text: str) -> str:
    """Return the shortest end of `text` that has the letters of `short` in order; "" if none."""
    at = len(text) - 1
    letters = [(i, letter) for i, letter in enumerate(short.lower()) if letter.isalnum()]
    lowered = text.lower()
    for index, letter in reversed(letters):
        at = lowered.rfind(letter, 0, at + 1)
        while index == letters[0][0] and at > 0 and lowered[at - 1].isalnum():
            at = lowered.rfind(letter, 0, at)
        if at < 0:
            return ""
        at -= 1
    long = text[text.rfind(" ", 0, at + 1) + 1 :]
    return long if _is_likely(short, long, len(letters)) else ""


def _is_likely(short: str, long: str, letters: int) -> bool:
    words = re.split(r"[\s-]+", long)
    return (
        len(long) > len(short)
        and len(words) <= min(letters + 5, 2 * letters)
        and short.lower() not in (word.lower() for word in words)
    )
