"""YAML, or JSON by the line, to plain values that remember where they stood.

Every scalar stays the text that was written (`0123`, `no`, `12:30`): the settings know what
they want of it, and nothing is guessed on the way. An empty value, `~` and `null` are None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]
Value = dict[str, Any] | list[Any] | str | None

_LOADER: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
_NULLS = {"", "~", "null", "Null", "NULL"}
_TAGS = "tag:yaml.org,2002:"

# Values that stand in a file once may be repeated by aliases (*name) this often, so that a few
# lines cannot grow into gigabytes.
_REPEATS = 100_000

_QUOTES_SWALLOWED = re.compile(r"""^[^#'"]*[:,{[-]\s*(["'])(?:(?!\1).)*\1\s*[^\s,}\]#]""")
# In braces, a value such as `#papers`, with the rest of its line.
_COMMENT_IN_BRACKETS = re.compile(r"""^(?:[^#'"]|"[^"]*"|'[^']*'|(?<=\S)#)*[:,[{-]\s+#\S""")
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands; `double_quoted` when it is a text between double quotes.

    `block` is the line where a text that keeps its lines (`|`) begins, 0 for every other.
    """

    file: str
    line: int
    double_quoted: bool = False
    block: int = 0


@dataclass(slots=True)
class Page:
    """One file as it was understood. `problems` are (path, line, sentence)."""

    value: Value = None
    places: dict[Path, Place] = field(default_factory=dict)
    problems: list[tuple[Path, int, str]] = field(default_factory=list)


def read_page(text: str, file: str) -> Page:
    """Read a YAML text; what is wrong with it is in `problems`, never raised."""
    page = Page()
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        line = text.count("\n", 0, unprintable.start()) + 1
        page.problems.append(((), line, "there is a control character here; remove it"))
        return page
    try:
        root = yaml.compose(text, Loader=_LOADER)
        page.value = _Builder(file, page).build(root, ()) if root else None
    except yaml.MarkedYAMLError as error:
        page.problems.append(((), *_sentence(error, text)))
    except RecursionError:
        page.problems.append(((), 1, "it is nested too deeply, or refers to itself"))
    return page


def on_one_line(value: object) -> str:
    """Write a value as YAML, with as few quotes as it needs."""
    written = yaml.safe_dump(
        value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True
    )
    return written.removesuffix("...\n").strip()


def quote_yaml(query: str) -> str:
    # YAML 1.2, 7.3: single quotes leave double ones alone, but hold printable text only.
    single = "'" + query.replace("'", "''") + "'"
    return single if query.isprintable() else json.dumps(query)


class _Builder:
    def __init__(self, file: str, page: Page) -> None:
        self.file = file
        self.page = page
        self.seen: set[int] = set()
        self.repeats = 0

    def build(self, node: yaml.Node, path: Path, name_line: int = 0) -> Value:
        """Return the value of a node; `name_line` is where its name stands, if it has one."""
        line = node.start_mark.line + 1
        style = node.style if isinstance(node, yaml.ScalarNode) else None
        block = line + 1 if style == "|" else 0
        self.page.places[path] = Place(self.file, name_line or line, style == '"', block)
        self._guard(node, path, line)
        if isinstance(node, yaml.MappingNode):
            return {
                name: self.build(value, (*path, name), line)
                for name, value, line in self._entries(node, path)
            }
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        text: str = node.value
        return None if not style and text in _NULLS else text

    def _guard(self, node: yaml.Node, path: Path, line: int) -> None:
        self.repeats += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeats > _REPEATS:
            raise RecursionError
        if not node.tag.startswith(_TAGS):
            self.page.problems.append(
                (path, line, "a value that begins with ! must be in single quotes")
            )

    def _entries(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, yaml.Node, int]]:
        """Yield the names of a mapping, each once, with their values and lines."""
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.page.problems.append((path, line, "a name must be plain text"))
                continue
            name = key.value
            if name in lines:
                problem = f"“{name}” is defined twice; it is already on line {lines[name]}"
                self.page.problems.append(((*path, name), line, problem))
                continue
            lines[name] = line
            yield name, value, line


def _sentence(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """Say what is wrong without quoting the line, which may hold a password."""
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines() or [""]
    number = min(mark.line, len(lines) - 1) if mark else 0
    line = lines[number]
    if _QUOTES_SWALLOWED.match(line):
        return number + 1, _QUOTE_ALL
    if error.context_mark and "flow" in (error.context or ""):
        first = min(number, error.context_mark.line)
        for at in range(_last_written(lines, first), number + 1):
            if _COMMENT_IN_BRACKETS.match(lines[at]):
                return at + 1, _QUOTE_HASH
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return number + 1, "this line is indented with a tab; use spaces"
    start = error.context_mark.line + 1 if error.context_mark else len(lines)
    problem = f"{error.context}: {error.problem}"
    advice = next(advice for sign, advice in _ADVICE.items() if sign in problem)
    return number + 1, advice.format(start=start)


def _last_written(lines: list[str], before: int) -> int:
    """Return the number of the last line before another that is not blank, 0 if all are."""
    return next((at for at in range(before - 1, 0, -1) if lines[at].strip()), 0)


_QUOTE_ALL = (
    "YAML takes the first pair of quotes as the whole value; put single quotes around all of it, "
    "and write an apostrophe inside twice (Parkinson''s), as in query: '\"multi-agent\" AND agent'"
)
_QUOTE_HASH = (
    "# begins a comment here, so the rest of the line is missing; put the value in double quotes, "
    'as in channel: "#papers"'
)
# Words of the parser, and the advice for them: the first of these that occurs.
_ADVICE = {
    "alias": "a value that begins with * must be in single quotes",
    "start any token": "a value that begins with @, ` or % must be in single quotes",
    "a tag": "a value that begins with ! must be in single quotes",
    "another document": "a second document begins here (---); a file holds one",
    "end of stream": "the quotes opened on line {start} are never closed",
    "mapping values": (
        "this line has a second “: ”, or the line is indented too far; "
        "put text that has a colon in single quotes"
    ),
    "escape": "a backslash in double quotes has a special meaning in YAML; use single quotes",
    "": (
        "this is not valid YAML; look at the indentation, quotes and brackets of this line "
        "and of the one above, where a # begins a comment unless it is in quotes"
    ),
}


# ── topics and subscriptions by the thousand: JSON, one a line ──────────────────────

_NAMED_BY = {"topic": "topics", "subscription": "subscriptions"}
_KINDS = 'a line names its "topic" or its "subscription"'


def read_lines(text: str, file: str) -> Page:
    """Read a JSONL text; what is wrong with it is in `problems`, never raised.

        {"topic": "marl", "query": "\\"multi-agent\\" AND title:reinforcement"}
        {"subscription": "ada", "topics": ["marl"], "email": "ada@example.org"}

    A line names its topic or subscription and has the settings that the same entry has in YAML.
    """
    sections: dict[str, Any] = {}
    page = Page(value=sections)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _read_line(line, number, file, page, sections)
    return page


def _read_line(line: str, number: int, file: str, page: Page, sections: dict[str, Any]) -> None:
    try:
        entry = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        problem = f"this line is not valid JSON: {getattr(error, 'msg', error)}"
        page.problems.append(((), number, problem))
        return
    kinds = [kind for kind in _NAMED_BY if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1 or not isinstance(entry[kinds[0]], str):
        page.problems.append(((), number, f"{_KINDS}, and its settings"))
        return
    name = entry.pop(kinds[0])
    section = _NAMED_BY[kinds[0]]
    where: Path = (section, name)
    if where in page.places:
        problem = f"“{name}” is defined twice; it is already on line {page.places[where].line}"
        page.problems.append((where, number, problem))
        return
    page.places[where] = Place(file, number)
    sections.setdefault(section, {})[name] = entry


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in pairs
    }
    if len(entry) < len(pairs):
        twice = next(name for name in entry if [key for key, _ in pairs].count(name) > 1)
        raise ValueError(f"“{twice}” is defined twice in it")
    return entry


# Every scalar is the text that was written, as in YAML. Made once: to make one takes as long as to
# read a line.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=str
)
