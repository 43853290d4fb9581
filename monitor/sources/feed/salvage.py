"""The whole values of a JSON list whose end is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_BETWEEN = re.compile(r"[ \t\r\n,]*")


def salvaged(text: str, begins: re.Pattern[str]) -> Iterator[object]:
    """Yield the whole values of a list whose end is missing; `begins` finds its start."""
    found = begins.search(text)
    position = _skip(text, found.end()) if found else len(text)
    decoder = json.JSONDecoder()
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield value
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    found = _BETWEEN.match(text, position)
    return found.end() if found else position
