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
from monitor.sources.api.values import MAX_NAMES, arxiv_link
from monitor.sources.fields import MAX_CATEGORIES
from monitor.sources.fields.dates import parse_date, within_reason
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.names import authors, without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.sources.oai import dublin_core
from monitor.sources.oai.envelope import (
    NO_TITLE,
    Record,
    deleted_paper,
    every,
    first,
    local,
)
from monitor.text.latex import accents

_VERSION = re.compile(r"v?(\d{1,4})$")
_COMMENT = re.compile(r"Comments?: ", re.IGNORECASE)
_NO_SIZE = re.compile(r"0\s*kb?$", re.IGNORECASE)
FORMATS = ("arXiv", "arXivRaw", "arXivOld")


def paper(record: Record, now: datetime) -> Paper | str:
    """Turn a record into a paper, or return why it is none; a deleted one is withdrawn."""
    metadata = record.metadata
    if record.deleted or metadata is None:
        identifier = _arxiv_id(record.identifier)
        keys = {"arxiv": identifier} if identifier else {"oai": record.identifier}
        return deleted_paper(record, keys, arxiv_link(keys))
    read = _paper_of_arxiv if local(metadata) in FORMATS else _paper_of_dublin_core
    return read(record, metadata, now)


def _paper_of_arxiv(record: Record, metadata: Element, now: datetime) -> Paper | str:
    identifier = _arxiv_id(first(metadata, "id")) or _arxiv_id(record.identifier)
    title, abstract = first(metadata, "title"), first(metadata, "abstract")
    if not title:
        return NO_TITLE
    versions = sorted(_versions(metadata), key=lambda version: version[0])
    dois = (part for text in every(metadata, "doi") for part in re.split(r"[\s,;]+", text))
    keys, _ = identifiers((f"arXiv:{identifier}", *dois))
    published = versions[0][1] if versions else parse_date(first(metadata, "created"))
    updated = versions[-1][1] if versions else parse_date(first(metadata, "updated"))
    return Paper(
        title=title,
        abstract=abstract,
        authors=tuple(islice(_authors(metadata), MAX_NAMES)),
        venue=first(metadata, "journal-ref"),
        published=within_reason(published, now),
        updated=within_reason(updated or published, now),
        url=arxiv_link(keys),
        keys=keys,
        categories=tuple(first(metadata, "categories").split())[:MAX_CATEGORIES],
        version=versions[-1][0] if versions else None,
        withdrawn=says_withdrawn(abstract, first(metadata, "comments")) or _is_empty(metadata),
        raw_id=record.identifier,
    )


def _paper_of_dublin_core(record: Record, metadata: Element, now: datetime) -> Paper | str:
    """`oai_dc` of arXiv: the dates of all versions, and the comment as another description."""
    paper = dublin_core.paper(record, now)
    if isinstance(paper, str):
        return paper
    comments = [_COMMENT.sub("", t) for t in every(metadata, "description") if _COMMENT.match(t)]
    dates = [at for at in map(parse_date, every(metadata, "date")) if at]
    return replace(
        paper,
        url=arxiv_link(paper.keys) or paper.url,
        updated=within_reason(max(dates, default=None), now),
        venue="",
        withdrawn=says_withdrawn(paper.abstract, " ".join(comments)),
    )


def _versions(metadata: Element) -> Iterator[tuple[int, datetime | None]]:
    for version in metadata.iterfind("{*}version"):
        if number := _version_number(version):
            yield number, parse_date(first(version, "date"))


def _is_empty(metadata: Element) -> bool:
    """arXiv keeps a withdrawn version as one of no size, whose source is to be ignored (I)."""
    last = max(metadata.iterfind("{*}version"), key=_version_number, default=None)
    size, kind = first(last, "size"), first(last, "source_type")
    return bool(_NO_SIZE.match(size)) and "I" in kind


def _version_number(version: Element) -> int:
    number = _VERSION.match(version.get("version", "").strip())
    return int(number[1]) if number else 0


def _authors(metadata: Element) -> Iterator[str]:
    """Names in parts (`arXiv`), or all in one line with affiliations (`arXivRaw`, `arXivOld`)."""
    element = metadata.find("{*}authors")
    parts = list(element if element is not None else ())
    if not parts:
        yield from authors([accents(without_affiliations(first(metadata, "authors")))])
    for part in parts:
        names = (first(part, name) for name in ("forenames", "keyname", "suffix"))
        name = " ".join(accents(name) for name in names if name).strip(" ,")
        if any(map(str.isalpha, name)):  # ":" follows collaborations
            yield name


def _arxiv_id(identifier: str) -> str:
    return arxiv_id(identifier.rpartition(":")[2])
