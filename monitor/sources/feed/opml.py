"""The feeds of an OPML file, which feed readers export, as sources of `monitor.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

from monitor.setting_types import LONGEST_DISPLAY_NAME
from monitor.sources.xml_records import records
from monitor.text import clean
from monitor.text.arxiv_categories import as_arxiv_writes

# The feeds of arXiv, whose kind fills in the days that they leave out.
_ARXIV = re.compile(r"https?://(?:rss|export)\.arxiv\.org/(?:rss|atom)/([\w.+-]+)", re.IGNORECASE)
MAX_NAME_CHARS = 40


def read_opml(content: bytes, taken: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the settings of a source for each feed, by a name made of its title.

    None has a name of `taken`. A feed that is listed twice is one source. Raises XmlError.
    """
    sources: dict[str, dict[str, Any]] = {}
    names, seen = _NewNames(taken), set[str]()
    for outline in records(content, (), heads={"outline"}, roots={"opml"}):
        attributes = {name.lower(): value.strip() for name, value in outline.attrib.items()}
        url = re.sub("^feed:(?=//)", "http:", attributes.get("xmlurl", ""))  # some write so
        arxiv = _ARXIV.fullmatch(unquote(url))
        if not url.lower().startswith(("http://", "https://")):
            continue
        categories = [as_arxiv_writes(n) or n for n in arxiv[1].split("+")] if arxiv else []
        feed = "+".join(categories) or url
        if feed in seen:
            continue
        seen.add(feed)
        title = attributes.get("title") or attributes.get("text", "")
        name = names.make(title, url)
        source: dict[str, Any] = {"kind": "feed", "url": _literal(url)}
        if categories:
            source = {"kind": "arxiv", "categories": categories}
        display_name = clean(title)
        if shown := display_name[:LONGEST_DISPLAY_NAME].strip():
            source["title"] = _literal(shown)
        sources[name] = source
    return sources


def _literal(text: str) -> str:
    """Return a text as a setting in which no variable of the environment is read."""
    return text.replace("${", "$${")


class _NewNames:
    """Names in small ASCII letters, each given once."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)
        self._last_numbers: dict[str, int] = {}

    def make(self, title: str, url: str) -> str:
        host = url.split("/")[2].rpartition("@")[2]  # without a password
        stem = name = _plain(title) or _plain(host) or "feed"
        while name in self._taken:
            self._last_numbers[stem] = self._last_numbers.get(stem, 1) + 1
            name = f"{stem}-{self._last_numbers[stem]}"
        self._taken.add(name)
        return name


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters)[:MAX_NAME_CHARS].strip("-")
