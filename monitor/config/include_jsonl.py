"""Topics and subscriptions by the thousand: a line each, to the values that a YAML file has.

    {"topic": "marl", "query": "\\"multi-agent\\" AND title:reinforcement"}
    {"subscription": "ada", "topics": ["marl"], "email": "ada@example.org"}

A line names its topic or subscription and has the settings that the same entry has in YAML.
"""

from __future__ import annotations

import json
from typing import Any

from monitor.config.yaml_positions import Page, Path, Place, Value

_SECTIONS = {"topic": "topics", "subscription": "subscriptions"}
_KINDS = 'a line names its "topic" or its "subscription"'


def read_lines(text: str, file: str) -> Page:
    """Read a JSONL text; what is wrong with it is in `problems`, never raised."""
    sections: dict[str, Any] = {}
    page = Page(value=sections)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            _read(line, number, file, page, sections)
    return page


def _read(line: str, number: int, file: str, page: Page, sections: dict[str, Any]) -> None:
    try:
        entry = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        said = f"this line is not valid JSON: {getattr(error, 'msg', error)}"
        page.problems.append(((), number, said))
        return
    kinds = [kind for kind in _SECTIONS if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1 or not isinstance(entry[kinds[0]], str):
        page.problems.append(((), number, f"{_KINDS}, and its settings"))
        return
    name = entry.pop(kinds[0])
    section = _SECTIONS[kinds[0]]
    where: Path = (section, name)
    if where in page.places:
        said = f"“{name}” is defined twice; it is already on line {page.places[where].line}"
        page.problems.append((where, number, said))
        return
    page.places[where] = Place(file, number)
    sections.setdefault(section, {})[name] = _as_text(entry)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name in found if [key for key, _ in pairs].count(name) > 1)
        raise ValueError(f"“{twice}” is defined twice in it")
    return found


# Made once: to make one takes as long as to read a line.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def _as_text(value: Any) -> Value:
    """Return a value as YAML gives it: every scalar is the text that was written."""
    if isinstance(value, dict):
        return {name: _as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None or isinstance(value, str) else f"{value}"
