"""Turns Dublin Core (`oai_dc`) of any repository into papers.

Its elements are optional, repeatable and free text; docs/sources.md lists what is read from each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from xml.etree.ElementTree import Element

from monitor.model import Paper
from monitor.sources.api.values import (
    NO_TITLE,
    NoPaperError,
    doi_link,
    first_published,
    names_of,
    terms,
)
from monitor.sources.fields.dates import parse_date, partial_date
from monitor.sources.fields.identifiers import Keys, identifiers, keys_of, openreview_id
from monitor.sources.fields.links import first_link
from monitor.sources.oai.envelope import Record, deleted_paper, every, first, local
from monitor.text import given_name_first, without_placeholder
from monitor.text.latex import accents

_DATES = ("issued", "date", "created", "available")
# "Doe, Jane; University of Sand" of OJS; "Doe, Jane; Roe, Rae" of others
_SEVERAL = re.compile(r"(?:(?<!\s)\s++)?;\s*")
_A_NAME = re.compile(r"[^\W\d_][\w.'’-]*(?:,? [^\W\d_][\w.'’-]*){1,5}$")
_A_PLACE = re.compile(
    r"\b(?:univ|inst|dep|dipart|fac|fak|col+eg|cent(?:er|re|ro)|hospi|school|lab|acad|minist|escola"
    r"|escuela|of\b|f[uü]r\b)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"https?:|[\w.+-]+@", re.IGNORECASE)
# "Doe, Jane, 1956-"; "Doe, Jane, Ph. D. Institute of Sand"
_LIFETIME = re.compile(r",?(?<!\s)\s*+\(?\b\d{4}\s*-\s*(?:\d{4})?\)?$|(?<=\w),\s*Ph\. ?D\..*$")
_FULLER = re.compile(r"(?<=\S)\s\([^()]{1,80}\)$")  # "Doe, Jane (Jane Ann)"
# "ARXIV : 1901.00001" of HAL
_SCHEME = re.compile(r"(?P<scheme>arxiv|pubmed|doi) : (?=\S)", re.IGNORECASE)
# OpenAIRE's guidelines: another identifier of the same paper
_SAME = re.compile(
    r"info:eu-repo/semantics/altIdentifier/(?P<scheme>doi|arxiv|pmid)/", re.IGNORECASE
)
_NO_ABSTRACT = re.compile(
    r"(?:comments?:|keywords?\b|issn\b|isbn\b|doi\b|notes?:|peer.?review|submitted by"
    r"|made available|approved for|international audience|audience |\d+ (?:pages|p\.)"
    r"|includes (?:bibliograph|index)|thesis \(|(?:cataloged|title) from)",
    re.IGNORECASE,
)
_SHORT = 100
_NO_VENUE = re.compile(r"https?:|(?:issn|isbn|doi|urn|eissn)\b|[\d\s:;.,-]+$", re.IGNORECASE)


def paper(record: Record, now: datetime) -> Paper:
    """Turn a record into a paper, a deleted one into a withdrawn paper; raises NoPaperError."""
    metadata = record.metadata
    if record.deleted or metadata is None:
        return deleted_paper(record, {"oai": record.identifier})
    title = first(metadata, "title")
    if not title:
        has_fields = any(every(metadata, "creator", "identifier", "date"))
        other = f"record is in {local(metadata)}, not Dublin Core"
        raise NoPaperError(NO_TITLE if has_fields else other)
    year, published = _dates(every(metadata, *_DATES), now)
    keys, version = _keys(record.identifier, metadata)
    return Paper(
        title=title,
        abstract=_abstract(metadata),
        authors=names_of(_names(every(metadata, "creator"))),
        venue=_venue(every(metadata, "source", "bibliographicCitation")),
        year=year,
        published=published,
        url=first_link(every(metadata, "identifier")) or doi_link(keys),
        keys=keys,
        categories=terms(every(metadata, "subject")),
        version=version,
        raw_id=record.identifier,
    )


def _abstract(metadata: Element) -> str:
    """Return the first long text that is not a note about the record."""
    texts = [*every(metadata, "abstract"), *every(metadata, "description")]
    fit = [text for text in texts if without_placeholder(text) and not _NO_ABSTRACT.match(text)]
    return next((text for text in fit if len(text) > _SHORT), max(fit, key=len, default=""))


def _names(creators: Iterable[str]) -> Iterator[str]:
    for creator in creators:
        if not _NO_NAME.match(creator):
            names = map(_strip_name, _split_names(accents(creator)))
            yield from map(given_name_first, names)


def _strip_name(name: str) -> str:
    """Remove the years of a life, and what initials stand for."""
    short = _LIFETIME.sub("", name)
    return _FULLER.sub("", short) if "," in short else short


def _split_names(text: str) -> list[str]:
    """Split the names of one element: after a semicolon is another name, or an affiliation."""
    first, *others = _SEVERAL.split(text)
    alike = [other for other in others if other.count(",") == first.count(",") <= 1]
    return [first, *(name for name in alike if _A_NAME.match(name) and not _A_PLACE.search(name))]


def _venue(texts: Iterable[str]) -> str:
    names = (text.split(";")[0].strip() for text in texts if not _NO_VENUE.match(text))
    return next((name for name in names if name), "")


def _dates(texts: Iterable[str], now: datetime) -> tuple[int | None, datetime | None]:
    """Return the year and the day of publication.

    Repositories also date the deposit and the end of an embargo: the earliest is publication.
    """
    dates: list[tuple[int, datetime | None]] = []
    for text in texts:
        at = parse_date(text)
        year, day = (at.year, at) if at else partial_date(text)
        if year and year <= now.year + 1 and "embargo" not in text:
            dates.append((year, day))
    return first_published(dates, now)


def _keys(identifier: str, metadata: Element) -> tuple[Keys, int | None]:
    own = (_SCHEME.sub(r"\g<scheme>:", text, 1) for text in every(metadata, "identifier", "doi"))
    same = (
        _SAME.sub(r"\g<scheme>:", text, 1)
        for text in every(metadata, "relation")
        if _SAME.match(text)
    )
    named = (identifier, *own, *same)
    keys, version = identifiers(named)
    oai = "" if "arxiv" in identifiers((identifier,))[0] else identifier
    return {**keys, **keys_of((("oai", oai), ("openreview", openreview_id(named))))}, version
