"""JSON Feed 1.0 and 1.1 (https://jsonfeed.org/version/1.1), and lists that look like it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from monitor.errors import DocumentError
from monitor.sources.api.values import date_in, first_text, get_list, get_text
from monitor.sources.fields.encoding import decode

MAX_ENTRIES = 5_000
_LISTS = ("items", "entries", "papers", "articles", "elements")
_SUMMARIES = ("abstract", "summary", "description")
_CONTENTS = ("content_text", "content_html", "content", "contents")
_DATES = ("date_published", "published", "published_at", "date", "pubDate", "isoDate")
_UPDATES = ("date_modified", "updated", "updated_at")
_LINKS = ("url", "link", "external_url", "canonical", "alternate")
_IDENTIFIERS = ("doi", "arxiv", "arxiv_id")
_PDF = "application/pdf"
_NEXT_ITEM = re.compile(r"[^ \t\r\n,]")
_LIST_BEGINS = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*\[|^\s*\[')


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The fields of one entry, still as mark-up."""

    # "" is allowed where the entry has a text.
    title: str = ""
    # In XML, "" if it repeats the content.
    summary: str = ""
    # In XML, the longest of several.
    content: str = ""
    # The values of its author fields; one may name several people.
    names: tuple[str, ...] = ()
    # The guid or id, which may be an address.
    id: str = ""
    # The page of the entry, perhaps a relative address.
    link: str = ""
    # The address of an attached PDF, "" for none.
    pdf: str = ""
    # The values of its fields for identifiers, beside `id`; some may be "".
    identifiers: tuple[str, ...] = ()
    # The addresses of its pages, in which identifiers are looked for.
    links: tuple[str, ...] = ()

    # Aware, like the other dates. In RSS and RDF it may be the only date of the entry.
    published: datetime | None = None
    # Many feeds have the time of their own making here.
    updated: datetime | None = None
    # The date of the whole feed; None in JSON.
    issued: datetime | None = None
    # As the feed gives them, perhaps with "" among them.
    categories: tuple[str, ...] = ()
    # The kind of announcement in arXiv's feeds, "" in others.
    announce: str = ""
    # The journal, by the fields of PRISM and arXiv.
    venue: str = ""
    # The comment in answers of arXiv's API: it may say that the paper is withdrawn.
    comment: str = ""
    # The affiliations of all authors in answers of arXiv's API.
    affiliations: tuple[str, ...] = ()

    def size(self) -> int:
        short = (self.title, self.id, self.link, self.venue, *self.names, *self.categories)
        return len(self.summary) + len(self.content) + len("".join(short))


@dataclass(frozen=True, slots=True)
class FeedEntries:
    """The entries of a document, or the reason why an entry is none.

    `complete` is false when the document was cut off or is ill-formed; `home` is the address that
    the feed says it has, else that of its page.
    """

    entries: tuple[Entry | str, ...]
    complete: bool = True
    home: str = ""


def read_json(content: bytes) -> FeedEntries:
    """Read the list of items, up to where the document is cut off; raises DocumentError."""
    text, _ = decode(content)
    try:
        feed = json.loads(text)
    except RecursionError:
        raise DocumentError("the JSON is nested too deeply") from None
    except ValueError:
        if salvaged := list(salvage(text, _LIST_BEGINS)):
            return _feed_entries(salvaged, complete=False)
        raise DocumentError("the JSON cannot be read") from None
    feed = {_LISTS[0]: feed} if isinstance(feed, list) else feed
    items = next((feed[key] for key in _LISTS if isinstance(feed.get(key), list)), None)
    # An empty answer without a version may be any service's way to say that it failed.
    if items is None or not (items or "jsonfeed.org" in str(feed.get("version", ""))):
        raise DocumentError("the JSON is not a feed: it has no list of items")
    return _feed_entries(items, home=_text(feed, ("feed_url", "home_page_url")))


def salvage(text: str, begins: re.Pattern[str]) -> Iterator[object]:
    """Yield the whole values of a JSON list whose end is missing; `begins` finds its start."""
    start = begins.search(text)
    position = start.end() if start else len(text)
    decoder = json.JSONDecoder()
    while item := _NEXT_ITEM.search(text, position):
        try:
            value, position = decoder.raw_decode(text, item.start())
        except (ValueError, RecursionError):
            return
        yield value


def _feed_entries(items: list[Any], complete: bool = True, home: str = "") -> FeedEntries:
    if len(items) > MAX_ENTRIES:
        raise DocumentError(f"the feed has more than {MAX_ENTRIES:,} entries")
    entries = tuple(
        _entry(item) if isinstance(item, Mapping) else "entry is not an object" for item in items
    )
    return FeedEntries(entries, complete, home)


# ── items, of whatever types their values are ───────────────────────────────────────


def _entry(item: Mapping[str, Any]) -> Entry:
    return Entry(
        title=_text(item, ("title", "name")),
        summary=_text(item, _SUMMARIES),
        content=_text(item, _CONTENTS),
        names=tuple(_names(item.get("authors")) or _names(item.get("author"))),
        id=_text(item, ("id", "guid")),
        link=_text(item, _LINKS),
        pdf=_text(item, ("pdf_url", "pdf")) or _pdf_attachment(item),
        identifiers=tuple(
            f"arxiv:{_text(item, (key,))}" if key.startswith("arxiv") else _text(item, (key,))
            for key in _IDENTIFIERS
        ),
        links=tuple(_text(item, (key,)) for key in ("id", "guid", *_LINKS)),
        published=_date(_text(item, _DATES)),
        updated=_date(_text(item, _UPDATES)),
        categories=tuple(_names(item.get("tags")) or _names(item.get("categories"))),
    )


def _text(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next(filter(None, (_to_text(item.get(name)) for name in names)), "")


def _to_text(value: object) -> str:
    """A text or number, also of the first object of a list, as in Google Reader's format."""
    first = next(iter(get_list(value)), None)
    return first_text(first, ("", "content", "value", "href"))


def _pdf_attachment(item: Mapping[str, Any]) -> str:
    attachments = get_list(item, "attachments")
    urls = (get_text(a, "url") for a in attachments if get_text(a, "mime_type") == _PDF)
    return next(urls, "")


def _date(text: str) -> datetime | None:
    """A date as standards or people write it, or seconds or milliseconds since 1970."""
    at = date_in(text)
    return at if isinstance(at, datetime) else None


def _names(value: object) -> list[str]:
    """Names of authors or tags: a string, an object with a name, or a list of either."""
    return [name for part in get_list(value) if (name := first_text(part, ("", "name", "term")))]
