"""Lines of configuration that a page offers to copy: pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from monitor.model import Topic

_LONGEST_NAME = 40


def topic_yaml(query: str, topics: Iterable[Topic]) -> str:
    """Return a query as a topic of monitor.yaml, under a name that no other topic has."""
    words = re.sub(r"\b(?:AND|OR|NOT|[a-z]+:)", " ", query)
    stem = "-".join(re.findall(r"[a-z0-9]+", words.lower()))[:_LONGEST_NAME].strip("-") or "topic"
    taken, name, number = {topic.name for topic in topics}, stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return f"topics:\n  {name}:\n    query: {_quoted(query)}\n"


def _quoted(text: str) -> str:
    """Return a text as YAML reads it: in single quotes, which leave double ones alone.

    YAML 1.2, 7.3: what is no line of printable text is written as JSON is.
    """
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
