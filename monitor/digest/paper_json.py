"""A paper as JSON: in the answers of commands and the API, and in the bodies of webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

from msgspec import Struct, structs

from monitor.model import Paper
from monitor.model.paper_fields import Use, names_of
from monitor.text.addresses import paper_links

Answer = dict[str, Any]

OF_LISTED_DAY = "source day rank year_guessed"


def pick(value: object, names: str) -> Answer:
    """Return the named attributes of a value as JSON; an `error` of "" is null."""
    picked = {name: plain(getattr(value, name)) for name in names.split()}
    return picked | ({"error": picked["error"] or None} if "error" in picked else {})


def plain(value: Any) -> Any:
    """Turn a frozen value into JSON: times in ISO 8601, everything else unchanged."""
    if isinstance(value, date):  # or a time
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Struct):
        return plain(structs.asdict(value))
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def paper_fields(paper: Paper, use: Use) -> Answer:
    """Return the fields of a paper that have a use, in the order of the table of fields."""
    answer: Answer = {}
    for name in names_of(use):
        value = getattr(paper, name)
        answer |= _AS[name](paper) if name in _AS else {name: plain(value)}
    return answer


def _published(paper: Paper) -> Answer:
    month = None if paper.day else paper.month
    return {
        "published": plain(paper.day),
        "published_month": f"{month:%Y-%m}" if month else None,
    }


def _listed(paper: Paper) -> Answer:
    """Return the days on which lists had a paper."""
    return {"listed": [pick(listed, OF_LISTED_DAY) for listed in paper.listed]}


def keys_json(keys: Mapping[str, str | tuple[str, ...]]) -> Answer:
    """Return identifiers by scheme: a single value as text, several as a list."""
    return {
        scheme: value[0] if len(value) == 1 else value if isinstance(value, str) else list(value)
        for scheme, value in keys.items()
    }


# Fields whose JSON is not their plain value.
_AS: Mapping[str, Callable[[Paper], Answer]] = {
    "published": _published,
    "listed": _listed,
    "upvotes": lambda paper: {"lists": len(paper.recent_lists), "votes": paper.upvotes},
    "links": lambda paper: {"links": [pick(link, "kind url") for link in paper_links(paper)]},
    "keys": lambda paper: {"keys": keys_json(paper.keys)},
    "about": lambda paper: {"about": keys_json(paper.about)},
}
