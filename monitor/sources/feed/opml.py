"""The feeds of an OPML file, which feed readers export, as sources of `monitor.yaml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

from monitor.sources.xml_records import records
from monitor.text.arxiv_categories import as_arxiv_writes

# The feeds of arXiv, whose kind fills in the days that they leave out.
_ARXIV = re.compile(r"https?://(?:rss|export)\.arxiv\.org/(?:rss|atom)/([\w.+-]+)", re.IGNORECASE)
MAX_NAME_CHARS = 40


def read_opml(content: bytes, taken: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the settings of a source for each feed, by a name made of its title.

    None has a name of `taken`. A feed that is listed twice is one source. Raises XmlError.
    """
    sources: dict[str, dict[str, Any]] = {}
    for outline in records(content, (), heads={"outline"}, roots={"opml"}):
        attributes = {name.lower(): value.strip() for name, value in outline.attrib.items()}
        url = re.sub("^feed:(?=//)", "http:", attributes.get("xmlurl", ""))  # some write so
        if not url.lower().startswith(("http://", "https://")):
            continue
        source: dict[str, Any] = {"kind": "feed", "url": url.replace("${", "$${")}
        if arxiv := _ARXIV.fullmatch(unquote(url)):
            source = {
                "kind": "arxiv",
                "categories": [as_arxiv_writes(name) or name for name in arxiv[1].split("+")],
            }
        if source not in sources.values():
            title = attributes.get("title") or attributes.get("text", "")
            sources[_new_name(title, url, {*sources, *taken})] = source
    return sources


def _new_name(title: str, url: str, taken: Collection[str]) -> str:
    """Return a name in small ASCII letters that is not taken yet."""
    host = url.split("/")[2].rpartition("@")[2]  # without a password
    name = _plain(title) or _plain(host) or "feed"
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(n for n in numbered if n not in taken)


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters)[:MAX_NAME_CHARS].strip("-")
