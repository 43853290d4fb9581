"""Operators of other search engines: && and ||, NEAR/5, ANDNOT, lists of values."""

from __future__ import annotations

import re
from itertools import product

from monitor.match.foreign_syntax.rule import FIRST, LAST, OPERAND, QUOTES, Found, rule

# `a NEAR/5 b` with groups is rewritten as pairs of words, up to this many.
_MAX_PAIRS = 12
_DISTANCE = r"(?:(?:[OP]?NEAR|PRE|NEXT|[WN])/|NEAR:|ADJ|AROUND ?\()(?P<number>\d+)\)?"


def _rewrite_near(found: Found) -> str:
    """Rewrite `a NEAR/5 b`, also with groups: `(a OR b) NEAR/5 c`."""
    sides = [_alternatives(found.groups[side]) for side in ("left", "right")]
    if not all(sides) or len(sides[0]) * len(sides[1]) > _MAX_PAIRS:
        return found.text
    distance = min(int(found.groups["number"][:4]), 100)
    pairs = [f'"{one} {other}"~{distance}' for one, other in product(*sides)]
    return pairs[0] if len(pairs) == 1 else f"({' OR '.join(pairs)})"


def _alternatives(operand: str) -> list[str]:
    """Return the words that an operand offers; none where it is more than that."""
    inner = operand[1:-1] if operand[0] == "(" else operand
    words = [word.strip().strip(QUOTES) for word in inner.split(" OR ")]
    return words if all(re.fullmatch(r"[\w-]+\*?", word) for word in words) else []


def _rewrite_list(found: Found) -> str:
    """Rewrite `category:cs.LG,cs.AI`."""
    field, values = found.groups["field"], found.groups["of"].split(",")
    return f"({' OR '.join(f'{field}:{value}' for value in values if value)})"


OPERATORS = (
    rule(
        rf"{FIRST}(?:ANDNOT|andnot|AndNot|AND[-/]NOT){LAST}",
        "{found} is not an operator here",
        "write NOT",
        "NOT",
        capitals=True,
    ),
    rule(
        rf"{FIRST}(?:AND/OR|OR/AND){LAST}",
        "{found} is not an operator here",
        "write OR",
        "OR",
        capitals=True,
    ),
    rule(
        rf"{FIRST}(?:\{{(?=[^{{}}]* (?:AND|OR|NOT) )(?P<one>[^{{}}]*)\}}"
        r"|\[(?=[^][]* (?:AND|OR|NOT) )(?P<other>[^][]*)\])",
        "only ( and ) group what stands between them",
        "write (agent OR robot)",
        lambda found: f"({found.groups['one']}{found.groups['other']})",
        capitals=True,
    ),
    rule(r" ?&& ?", "{found} is not an operator here", "write AND", " AND "),
    rule(r" ?\|\| ?", "{found} is not an operator here", "write OR", " OR "),
    rule(
        rf"{FIRST}#\d+(?= (?:AND|OR|NOT)\b)|(?<=\bAND )#\d+|(?<=\bOR )#\d+|(?<=\bNOT )#\d+",
        "{found} is a line of a search history, which is not known here",
        "write out what that line looks for",
        capitals=True,
    ),
    rule(r" & ", "", rewrite=" AND "),
    rule(r" \| ", "", rewrite=" OR "),
    rule(
        rf"(?P<left>{FIRST}{OPERAND}) {_DISTANCE} (?P<right>{OPERAND})", "", rewrite=_rewrite_near
    ),
    rule(
        rf"(?<![^\s(){QUOTES}])(?P<at>{_DISTANCE})(?=\s)",
        "{at} is not an operator here",
        'write "agent robot"~5 for words with at most five others between them',
        in_phrases=True,
    ),
    rule(
        rf"{FIRST}(?P<field>category|source|announce):(?P<of>[^\s\"()]+,[^\s\"()]+)",
        "{field}: takes one value",
        "write {field}: before each of several, joined by OR",
        _rewrite_list,
    ),
)
