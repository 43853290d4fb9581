"""Turns records of dblp into papers, from the JSON and the XML of its search and from dblp.xml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element

from monitor.model import Paper, Rejected
from monitor.sources.fields.dates import parse_date, within_reason
from monitor.sources.fields.identifiers import identifiers
from monitor.sources.fields.limits import MAX_ENTRY
from monitor.sources.fields.links import http_link
from monitor.sources.fields.markup import text
from monitor.sources.formats.api.values import many, member, raw
from monitor.text import clean

# The names in the search for the elements of dblp.xml.
TYPES = {
    "article": "Journal Articles",
    "inproceedings": "Conference and Workshop Papers",
    "proceedings": "Editorship",
    "book": "Books and Theses",
    "incollection": "Parts in Books or Collections",
    "phdthesis": "Books and Theses",
    "mastersthesis": "Books and Theses",
    "data": "Data and Artifacts",
    "www": "home page",
}
_INFORMAL = "Informal and Other Publications"
_HOMONYM = re.compile(r"\s+\d{4}$")
_OPENREVIEW = re.compile(r"openreview\.net/(?:forum|pdf)\?id=([\w-]+)")
_ARXIV_VOLUME = re.compile(r"abs/(.+)")


@dataclass(frozen=True, slots=True)
class Record:
    """A publication in dblp, from any of its formats."""

    key: str
    title: str
    authors: Sequence[str]
    venues: Sequence[str]
    year: str
    type: str
    dois: Sequence[str]
    links: Sequence[str]
    volume: str = ""
    changed: str = ""
    withdrawn: bool = False


def from_json(hit: object) -> Record:
    info = member(hit, "info")
    return Record(
        key=raw(info, "key"),
        title=_text_of(member(info, "title")),
        authors=[_text_of(one) for one in many(info, "authors", "author")],
        venues=[_text_of(one) for one in many(info, "venue")],
        year=raw(info, "year"),
        type=raw(info, "type"),
        dois=[_text_of(one) for one in many(info, "doi")],
        links=[_text_of(one) for one in (*many(info, "ee"), *many(info, "url"))],
        volume=raw(info, "volume"),
    )


def _text_of(value: object) -> str:
    """Return a value that is a text, or an object with a text."""
    return raw(value, "text") if isinstance(value, Mapping) else raw({"text": value}, "text")


def from_xml(element: Element) -> Record:
    inner = element.find("info")
    info = element if inner is None else inner
    tag, kind = info.tag, info.get("publtype", "")
    named = TYPES.get(tag, "") if kind != "informal" else _INFORMAL
    return Record(
        key=clean(info.get("key", "") or _first(info, "key")),
        title=_first(info, "title"),
        authors=_all(info, "authors/author", "author") or _all(info, "editor"),
        venues=_all(info, "venue", "journal") or _all(info, "booktitle") or _all(info, "school"),
        year=_first(info, "year"),
        type=_first(info, "type") or named,
        dois=_all(info, "doi"),
        links=_all(info, "ee", "url"),
        volume=_first(info, "volume"),
        changed=info.get("mdate", ""),
        withdrawn=kind == "withdrawn",
    )


def _all(element: Element, *paths: str) -> list[str]:
    return ["".join(one.itertext()) for path in paths for one in element.iterfind(path)]


def _first(element: Element, path: str) -> str:
    return next(iter(_all(element, path)), "")


def to_paper(record: Record, where: str, now: datetime) -> Paper | Rejected:
    if record.type == TYPES["www"]:
        return Rejected(where, "record is a home page, not a paper")
    if sum(map(len, (record.title, *record.authors, *record.links))) > MAX_ENTRY:
        return Rejected(where, f"record is larger than {MAX_ENTRY:,} characters")
    title = _without_stop(text(record.title))
    if not title:
        return Rejected(where, "record has no title")
    volume = _ARXIV_VOLUME.fullmatch(record.volume.strip())
    named = [*record.dois, *record.links, f"arxiv:{volume[1]}" if volume else ""]
    keys, _ = identifiers(named)
    review = next(filter(None, map(_OPENREVIEW.search, record.links)), None)
    key = text(record.key)
    year = record.year.strip()
    return Paper(
        title=title,
        authors=tuple(filter(None, (_HOMONYM.sub("", text(name)) for name in record.authors))),
        venue=", ".join(map(text, record.venues)),
        year=int(year) if year.isascii() and year.isdigit() and len(year) == 4 else None,
        updated=within_reason(parse_date(record.changed), now),
        url=_link(record),
        keys=({"dblp": key} if key else {})
        | dict(keys)
        | ({"openreview": review[1]} if review else {}),
        categories=(text(record.type),) if record.type.strip() else (),
        withdrawn=record.withdrawn or "withdrawn" in record.type.lower(),
        raw_id=key,
    )


def _without_stop(title: str) -> str:
    """Drop the full stop that dblp adds to every title, but no ellipsis."""
    return title[:-1].rstrip() if title.endswith(".") and not title.endswith("..") else title


def _link(record: Record) -> str:
    """Return the publisher's page, else that of dblp, whose links are relative in dblp.xml."""
    links = (http_link(link, "") for link in record.links)
    own = f"https://dblp.org/rec/{record.key}" if re.fullmatch(r"[\w/.:-]+", record.key) else ""
    return next(filter(None, links), own)
