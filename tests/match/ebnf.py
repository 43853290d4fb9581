"""Texts that a grammar in EBNF (ISO/IEC 14977, the part the docs use) makes, at random."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r"""\s*("[^"]*"|'[^']*'|\w+|[|,{}\[\]();=])""")
# What the grammar does not spell out.
CLASSES = {"letter": "abdgkmnßéβ深", "digit": "12"}

Node = tuple[str, object]


class Grammar:
    """Rules by name. `made` are the rules that some text was made with."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self.rules: dict[str, Node] = {}
        self.made: set[str] = set()
        while self._tokens:
            name = self._take()
            assert self._take() == "="
            self.rules[name] = self._choice()
            assert self._take() == ";"

    def _take(self) -> str:
        return self._tokens.pop(0)

    def _choice(self) -> Node:
        ways = [self._sequence()]
        while self._tokens[0] == "|":
            self._take()
            ways.append(self._sequence())
        return ("choice", ways)

    def _sequence(self) -> Node:
        parts = [self._part()]
        while self._tokens[0] == ",":
            self._take()
            parts.append(self._part())
        return ("sequence", parts)

    def _part(self) -> Node:
        token = self._take()
        for opening, closing, kind in ("{", "}", "repeat"), ("[", "]", "option"), ("(", ")", "one"):
            if token == opening:
                inside = self._choice()
                assert self._take() == closing
                return (kind, inside)
        return ("text", token[1:-1]) if token[0] in "\"'" else ("name", token)

    def make(self, name: str, random: Random, depth: int = 0) -> str:
        """Return a text of the rule `name`; ever shorter ways the deeper it stands."""
        if name in CLASSES:
            return random.choice(CLASSES[name])
        self.made.add(name)
        return self._made(self.rules[name], random, depth + 1)

    def _made(self, node: Node, random: Random, depth: int) -> str:
        match node:
            case "text", str(text):
                return text
            case "name", str(name):
                return self.make(name, random, depth)
            case "choice", list(ways):
                return self._made(
                    ways[-1] if depth > random.randint(2, 12) else random.choice(ways),
                    random,
                    depth,
                )
            case "sequence", list(parts):
                return "".join(self._made(part, random, depth) for part in parts)
            case "one", inside:
                return self._made(inside, random, depth)  # type: ignore[arg-type]
            case kind, inside:
                often = (0, 0, 0, 1) if kind == "option" else (0, 0, 0, 1, 2)
                times = 0 if depth > 10 else random.choice(often)
                return "".join(self._made(inside, random, depth) for _ in range(times))  # type: ignore[arg-type]
