"""The differences between the answers of two commits, and which of them are intended."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

INTENDED = Path(__file__).with_name("intended.toml")


@dataclass
class Intended:
    """Changed lines that `line` finds in answers whose `part/key` `key` finds, and why they may."""

    key: re.Pattern[str]
    line: re.Pattern[str]
    reason: str
    seen: int = 0

    def covers(self, key: str, line: str) -> bool:
        return bool(self.key.search(key) and self.line.search(line))


@dataclass(frozen=True)
class Difference:
    """The changed lines of one answer, with - or +, that no entry of `intended.toml` covers."""

    key: str
    lines: list[str] = field(default_factory=list)


def read_intended(path: Path = INTENDED) -> list[Intended]:
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("intended", [])
    return [
        Intended(re.compile(e.get("key", "")), re.compile(e.get("line", "")), e["reason"])
        for e in entries
    ]


def read_answers(path: Path) -> dict[str, str]:
    """Return the answers of a part; a key given twice has all its answers."""
    answers: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, text = json.loads(line)
        answers[key] = f"{answers[key]}\n{text}" if key in answers else text
    return answers


def differences(
    part: str, before: Mapping[str, str], after: Mapping[str, str], intended: list[Intended]
) -> Iterator[Difference]:
    """Yield what changed and is not intended; entries count what they cover."""
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        lines = list(changed_lines(old, new))
        name = f"{part}/{key}"
        left = []
        for line in lines:
            covering = [entry for entry in intended if entry.covers(name, line)]
            for entry in covering:
                entry.seen += 1
            left += [] if covering else [line]
        if left:
            yield Difference(name, left)


def changed_lines(old: str | None, new: str | None) -> Iterator[str]:
    if old is None or new is None:
        yield "- (there was such an answer)" if new is None else "+ (there was no such answer)"
        return
    before, after = old.splitlines(), new.splitlines()
    for line in difflib.unified_diff(before, after, n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield line
