"""JSON Feed 1.0 and 1.1 (https://jsonfeed.org/version/1.1), and lists that look like it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from monitor.sources.feed.entry import Entry
from monitor.sources.fields.dates import parse_any_date
from monitor.sources.fields.encoding import decode

MAX_WITHIN = 8  # objects around a name
_LISTS = ("items", "entries", "papers", "articles", "elements")
_SUMMARIES = ("abstract", "summary", "description")
_CONTENTS = ("content_text", "content_html", "content", "contents")
_DATES = ("date_published", "published", "published_at", "date", "pubDate", "isoDate")
_UPDATES = ("date_modified", "updated", "updated_at")
_LINKS = ("url", "link", "external_url", "canonical", "alternate")
_IDENTIFIERS = ("id", "guid", *_LINKS, "doi", "arxiv", "arxiv_id")
_PDF = "application/pdf"
_BETWEEN_ITEMS = re.compile(r"[ \t\r\n,]*")
_LIST_BEGINS = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*\[|^\s*\[')


@dataclass(frozen=True, slots=True)
class JsonList:
    """The items of a document as JSON values; `whole` is false when it was cut off.

    `home` is the address that the feed says it has, else that of its page.
    """

    items: tuple[object, ...] = ()
    error: str = ""
    whole: bool = True
    home: str = ""


def read_json(content: bytes) -> JsonList:
    """Find the list of items; of a document that is cut off, the items before the cut."""
    text, _ = decode(content)
    try:
        return _items(json.loads(text))
    except RecursionError:
        return JsonList(error="the JSON is nested too deeply", whole=False)
    except ValueError:
        items = tuple(salvage(text, _LIST_BEGINS))
        return JsonList(items, "" if items else "the JSON cannot be read", whole=False)


def salvage(text: str, begins: re.Pattern[str]) -> Iterator[object]:
    """Yield the whole values of a JSON list whose end is missing; `begins` finds its start."""
    start = begins.search(text)
    position = _skip_gap(text, start.end()) if start else len(text)
    decoder = json.JSONDecoder()
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return
        yield value
        position = _skip_gap(text, position)


def _skip_gap(text: str, position: int) -> int:
    gap = _BETWEEN_ITEMS.match(text, position)
    return gap.end() if gap else position


def _items(told: object) -> JsonList:
    named = isinstance(told, Mapping) and "jsonfeed.org" in str(told.get("version", ""))
    found = told if isinstance(told, list) else None
    if isinstance(told, Mapping):
        found = next((told[key] for key in _LISTS if isinstance(told.get(key), list)), None)
    if found is None or (not found and not named):
        # An empty answer without a version may be any service's way to say that it failed.
        return JsonList(error="the JSON is no feed: it has no list of items", whole=False)
    home = _text(told, ("feed_url", "home_page_url")) if isinstance(told, Mapping) else ""
    return JsonList(tuple(found), home=home)


def entry(item: Mapping[str, Any]) -> Entry:
    """Read an item, of whatever types its values are."""
    return Entry(
        title=_text(item, ("title", "name")),
        summary=_text(item, _SUMMARIES),
        content=_text(item, _CONTENTS),
        names=tuple(_names(item.get("authors")) or _names(item.get("author"))),
        id=_text(item, ("id", "guid")),
        link=_text(item, _LINKS),
        pdf=_text(item, ("pdf_url", "pdf")) or _attached(item),
        identifiers=tuple(_known(key, _text(item, (key,))) for key in _IDENTIFIERS),
        published=_date(_text(item, _DATES)),
        updated=_date(_text(item, _UPDATES)),
        categories=tuple(_names(item.get("tags")) or _names(item.get("categories"))),
    )


def _text(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of several fields that says something."""
    return next(filter(None, (_said(item.get(name)) for name in names)), "")


def _said(told: object) -> str:
    """A text or number, also of the first object of a list, as Google Reader's heirs have it."""
    if isinstance(told, list):
        told = told[0] if told else None
    if isinstance(told, Mapping):
        told = next((told[name] for name in ("content", "value", "href") if told.get(name)), None)
    return str(told) if isinstance(told, (str, int, float)) and str(told).strip() else ""


def _attached(item: Mapping[str, Any]) -> str:
    told = item.get("attachments")
    files = [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []
    return next((_said(one.get("url")) for one in files if one.get("mime_type") == _PDF), "")


def _date(told: str) -> datetime | None:
    """A date as standards or people write it, or milliseconds since 1970."""
    if told.isascii() and told.isdecimal() and len(told) == 13:
        return datetime.fromtimestamp(int(told) / 1000, UTC)
    return parse_any_date(told)


def _known(key: str, value: str) -> str:
    return f"arxiv:{value}" if key.startswith("arxiv") else value


def _names(told: object, within: int = 0) -> list[str]:
    """Names of authors or tags: a string, an object with a name, or a list of either."""
    if within > MAX_WITHIN:
        return []
    if isinstance(told, str):
        return [told] if told.strip() else []
    if isinstance(told, Mapping):
        return _names(told.get("name") or told.get("term"), within + 1)
    if isinstance(told, list):
        return [name for one in told if not isinstance(one, list) for name in _names(one, within)]
    return []
