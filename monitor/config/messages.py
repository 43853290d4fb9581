"""Faults in plain words: what a user wrote, what was wanted, the nearest right word."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from pydantic_core import ErrorDetails

from monitor.errors import QueryError

_EXCERPT = 60


def sentence(error: ErrorDetails) -> str:
    """Say what a validator found, in the words of the file and not in those of a library.

    The value is shown only where a number, a date or one of a few words was wanted: such a
    setting holds no secret.
    """
    kind = error["type"]
    context = error.get("ctx") or {}
    if kind == "missing":
        return "is missing"
    if error["input"] is None:
        return "is empty"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        return f"should be {context[_BOUNDS[kind][0]]} {_BOUNDS[kind][1]}, not “{error['input']}”"
    if kind in ("too_long", "string_too_long"):
        unit = "characters" if isinstance(error["input"], str) else "entries"
        count = context.get("actual_length") or len(error["input"])
        return f"should have at most {context['max_length']:,} {unit}, not {count:,}"
    if kind in ("literal_error", "enum"):
        return f"should be {context['expected'].replace(chr(39), '')}, not {_shown(error)}"
    for prefix, wanted in _WANTED.items():
        if kind.startswith(prefix):
            plain = wanted in (_LIST, _SETTINGS, _TEXT)
            return f"should be {wanted}, not {_shown(error, hidden=plain)}"
    return error["msg"].replace("Input", "it", 1)


def _shown(error: ErrorDetails, *, hidden: bool = False) -> str:
    value = error["input"]
    if isinstance(value, dict):
        return "a group of settings"
    if isinstance(value, list):
        return "a list"
    return "a text" if hidden else f"“{value}”"


_TEXT = "a text"
_LIST = "a list"
_SETTINGS = "settings (name: value)"
_WANTED: Mapping[str, str] = {
    "string": _TEXT,
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "date": "a date such as 2026-08-31",
    "time_delta": "a duration such as 6h",
    "tuple": _LIST,
    "list": _LIST,
    "path": _TEXT,
    "frozen_set": _LIST,
    "dict": _SETTINGS,
    "model": _SETTINGS,
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("ge", "or more"),
    "less_than_equal": ("le", "or less"),
}


class WrongQueryError(ValueError):
    """A query that is wrong; `lines` of it stand before the fault."""

    def __init__(self, query: str, fault: QueryError) -> None:
        super().__init__(pointed(query, fault))
        self.lines = query.count("\n", 0, fault.position)


def pointed(query: str, fault: QueryError) -> str:
    """Show a query with a caret under the place where it went wrong."""
    line = query.replace("\n", " ").replace("\t", " ")
    start = max(0, fault.position - _EXCERPT)
    before = line[start : fault.position]
    excerpt = before + line[fault.position : fault.position + _EXCERPT]
    caret = " " * sum(_width(character) for character in before) + "^"
    hint = f"\n    {fault.hint}" if fault.hint else ""
    return f"{fault.message}\n    {excerpt}\n    {caret}{hint}"


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
