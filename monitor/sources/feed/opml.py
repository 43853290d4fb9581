"""The feeds of an OPML file, which feed readers export, as sources of `monitor.yaml`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

from monitor.setting_types import LONGEST_DISPLAY_NAME, literal
from monitor.sources.xml_records import records
from monitor.text import clean
from monitor.text.arxiv_categories import as_arxiv_writes
from monitor.text.new_names import NewNames

# The feeds of arXiv, whose kind fills in the days that they leave out.
_ARXIV = re.compile(r"https?://(?:rss|export)\.arxiv\.org/(?:rss|atom)/([\w.+-]+)", re.IGNORECASE)


def read_opml(content: bytes, taken: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the settings of a source for each feed, by a name made of its title.

    None has a name of `taken`. A feed that is listed twice is one source. Raises XmlError.
    """
    sources: dict[str, dict[str, Any]] = {}
    names = NewNames(taken)
    seen = set[str]()
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
        host = url.split("/")[2].rpartition("@")[2]  # without a password
        name = names.make(title, host, "feed")
        source: dict[str, Any] = {"kind": "feed", "url": literal(url)}
        if categories:
            source = {"kind": "arxiv", "categories": categories}
        display_name = clean(title)
        if shown := display_name[:LONGEST_DISPLAY_NAME].strip():
            source["title"] = literal(shown)
        sources[name] = source
    return sources
