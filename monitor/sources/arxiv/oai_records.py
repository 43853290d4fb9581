"""Records of arXiv's OAI-PMH: `arXiv`, `arXivRaw`, `arXivOld` and `oai_dc` to papers.

https://info.arxiv.org/help/oa/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from monitor.model import Paper
from monitor.sources.fields.arxiv_text import accents, says_withdrawn, without_affiliations
from monitor.sources.fields.dates import parse_date, within_reason
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.limits import MAX_CATEGORIES
from monitor.sources.fields.names import authors
from monitor.sources.formats.api.records import MAX_NAMES
from monitor.sources.formats.oai import dublin_core
from monitor.sources.formats.oai.envelope import NO_TITLE, Record, deleted, every, first, local

_VERSION = re.compile(r"v?(\d{1,4})$")
_COMMENT = re.compile(r"Comments?: ", re.IGNORECASE)
_EMPTY = re.compile(r"0\s*kb?$", re.IGNORECASE)
FORMATS = ("arXiv", "arXivRaw", "arXivOld")


def paper(record: Record, now: datetime) -> Paper | str:
    """Turn a record into a paper, or say why it is none; a deleted one is a withdrawn paper."""
    told = record.metadata
    if record.deleted or told is None:
        identifier = _bare(record.identifier)
        keys = {"arxiv": identifier} if identifier else {"oai": record.identifier}
        return deleted(record, keys, _page(identifier))
    return _own(record, told, now) if local(told) in FORMATS else _dublin(record, told, now)


def _own(record: Record, told: Element, now: datetime) -> Paper | str:
    identifier = _bare(first(told, "id")) or _bare(record.identifier)
    title, abstract = first(told, "title"), first(told, "abstract")
    if not title:
        return NO_TITLE
    versions = sorted(_versions(told), key=lambda found: found[0])
    dois = (part for text in every(told, "doi") for part in re.split(r"[\s,;]+", text))
    keys, _ = identifiers((f"arXiv:{identifier}", *dois))
    published = versions[0][1] if versions else parse_date(first(told, "created"))
    updated = versions[-1][1] if versions else parse_date(first(told, "updated"))
    return Paper(
        title=title,
        abstract=abstract,
        authors=tuple(islice(_authors(told), MAX_NAMES)),
        venue=first(told, "journal-ref"),
        published=within_reason(published, now),
        updated=within_reason(updated or published, now),
        url=_page(identifier),
        keys=keys,
        categories=tuple(first(told, "categories").split())[:MAX_CATEGORIES],
        version=versions[-1][0] if versions else None,
        withdrawn=says_withdrawn(abstract, first(told, "comments")) or _emptied(told),
        raw_id=record.identifier,
    )


def _dublin(record: Record, told: Element, now: datetime) -> Paper | str:
    """`oai_dc` of arXiv: the dates of all versions, and the comment as another description."""
    found = dublin_core.paper(record, now)
    if isinstance(found, str):
        return found
    comments = [_COMMENT.sub("", t) for t in every(told, "description") if _COMMENT.match(t)]
    dates = [at for at in map(parse_date, every(told, "date")) if at]
    return replace(
        found,
        url=_page(_bare(record.identifier)) or found.url,
        updated=within_reason(max(dates, default=None), now),
        venue="",
        withdrawn=says_withdrawn(found.abstract, " ".join(comments)),
    )


def _versions(told: Element) -> Iterator[tuple[int, datetime | None]]:
    for version in told.iterfind("{*}version"):
        number = _VERSION.match(version.get("version", "").strip())
        if number:
            yield int(number[1]), parse_date(first(version, "date"))


def _emptied(told: Element) -> bool:
    """arXiv keeps a withdrawn version as one of no size, whose source is to be ignored (I)."""
    last = max(told.iterfind("{*}version"), key=_number, default=None)
    size, kind = first(last, "size"), first(last, "source_type")
    return bool(_EMPTY.match(size)) and "I" in kind


def _number(version: Element) -> int:
    found = _VERSION.match(version.get("version", "").strip())
    return int(found[1]) if found else 0


def _authors(told: Element) -> Iterator[str]:
    """Names in parts (`arXiv`), or all in one line with affiliations (`arXivRaw`, `arXivOld`)."""
    listed = told.find("{*}authors")
    parts = list(listed if listed is not None else ())
    if not parts:
        yield from authors([accents(without_affiliations(first(told, "authors")))])
    for part in parts:
        names = (first(part, name) for name in ("forenames", "keyname", "suffix"))
        name = " ".join(accents(name) for name in names if name).strip(" ,")
        if any(map(str.isalpha, name)):  # ":" stands behind collaborations
            yield name


def _bare(told: str) -> str:
    return arxiv_id(told.rpartition(":")[2])


def _page(identifier: str) -> str:
    return f"https://arxiv.org/abs/{identifier}" if identifier else ""
