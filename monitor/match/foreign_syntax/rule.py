"""A rule finds one kind of foreign syntax in a topic, and may rewrite it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

QUOTES = '"“”„«»'
FIRST = r"(?<![^\s(])"  # at the beginning of a word
LAST = r"(?![^\s)])"  # at its end
# What an operator or a tag stands beside: a phrase, a group without groups, a word.
OPERAND = rf"(?:[{QUOTES}][^{QUOTES}]*[{QUOTES}]|\([^()]*\)|[^\s()\[\]{QUOTES}]+)"
JOINED = r"(?:(?:AND|OR|NOT) )?"

_PHRASE = re.compile(rf"\\.|[{QUOTES}](?:\\.|[^{QUOTES}\\])*[{QUOTES}]?", re.DOTALL)


class Found(NamedTuple):
    """What a rule found, and its groups as they were written ("" for one that is not there)."""

    text: str
    groups: dict[str, str]


Rewrite = Callable[[Found], str]


@dataclass(frozen=True)
class Rule:
    """One kind of syntax: what is wrong with it, and what to do.

    `message` and `hint` may name {found} and the groups of the pattern; the fault stands at the
    group `at`. A rule without a message only rewrites. With `in_phrases` faults are found between
    quotes, too; only what stands outside is ever rewritten.
    """

    written: str
    message: str
    hint: str = ""
    rewrite: Rewrite | None = None
    in_phrases: bool = False
    capitals: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled for the first topic that needs it, as few do: not at each start."""
        return re.compile(self.written, re.NOFLAG if self.capitals else re.IGNORECASE)


def rule(
    pattern: str,
    message: str,
    hint: str = "",
    rewrite: Rewrite | str | None = None,
    *,
    in_phrases: bool = False,
    capitals: bool = False,
) -> Rule:
    """Make a rule. `rewrite` may be a text; case counts in the pattern with `capitals`."""
    if isinstance(rewrite, str):
        return Rule(pattern, message, hint, lambda _: rewrite, in_phrases, capitals)
    return Rule(pattern, message, hint, rewrite, in_phrases, capitals)


def mask_phrases(text: str) -> str:
    """Return `text` with an x for each character between quotes, so that no rule looks there."""
    return _PHRASE.sub(lambda match: _as_x(match[0]), text)


def _as_x(phrase: str) -> str:
    if phrase[0] == "\\" or len(phrase) < 2:
        return phrase
    return phrase[0] + "x" * (len(phrase) - 2) + phrase[-1]


def found_in(match: re.Match[str], text: str) -> Found:
    """Return a match, made in the masked text, with the words of `text`."""
    spans = {name: match.span(name) for name in match.re.groupindex}
    groups = {name: text[start:end] if start >= 0 else "" for name, (start, end) in spans.items()}
    return Found(text[match.start() : match.end()], groups)


def apply_rewrite(pattern: re.Pattern[str], rewrite: Rewrite, text: str) -> str:
    """Return `text` with everything rewritten that the pattern finds outside of phrases."""
    pieces: list[str] = []
    done = 0
    for match in pattern.finditer(mask_phrases(text)):
        pieces += (text[done : match.start()], rewrite(found_in(match, text)))
        done = match.end()
    return "".join((*pieces, text[done:]))
