"""The rows of papers and sightings, and the types that they become."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from monitor.model import ListedDay, Paper, Sighting, StoredPaper
from monitor.store.paper_drafts import Draft
from monitor.store.raw_rows import parse_list, parse_moment

# The scheme of links, which are keys too. `Paper.url` has the link, `Paper.keys` leaves it out.
LINK = "url"
_LINKS = msgspec.json.Decoder(dict[str, str])
_LISTED = msgspec.json.Decoder(tuple[ListedDay, ...])


def columns(draft: Draft | StoredPaper) -> dict[str, Any]:
    """Return the columns of a paper's row, without its id."""
    paper = draft.paper
    return {
        "title": paper.title,
        "abstract": paper.abstract,
        "authors": paper.authors,
        "venue": paper.venue,
        "year": paper.year,
        "categories": paper.categories,
        "url": paper.url,
        "pdf_url": paper.pdf_url,
        "published_at": paper.published,
        "updated_at": paper.updated,
        "announced_at": paper.announced,
        "first_seen_at": draft.first_seen,
        "news_at": draft.news_at,
        "revision": draft.revision,
        "version": paper.version,
        "withdrawn": paper.withdrawn,
        "purged_at": None,
        "type": paper.type or None,
        "links": msgspec.json.encode(paper.links).decode() if paper.links else None,
        "upvotes": paper.upvotes,
        "precision": paper.precision or None,
        "listed": msgspec.json.encode(paper.listed).decode() if paper.listed else None,
    }


class SightingRow(NamedTuple):
    """A row of `schema.sighting`, its columns in order."""

    source: str
    raw_id: str
    paper_id: int
    document: str
    version: int | None
    announce: str
    fingerprint: str
    first_seen_at: datetime | str
    last_seen_at: datetime | str
    why: str | None
    past: str | None
    mark: int | None


class PaperRow(NamedTuple):
    """A row of `schema.paper`, its columns in order."""

    id: int
    title: str
    abstract: str
    authors: str | list[str]
    venue: str
    year: int | None
    categories: str | list[str]
    url: str
    pdf_url: str
    published_at: datetime | str | None
    updated_at: datetime | str | None
    announced_at: datetime | str | None
    first_seen_at: datetime | str
    news_at: datetime | str | None
    revision: int
    version: int | None
    withdrawn: bool | int
    purged_at: datetime | str | None
    type: str | None
    links: str | None
    upvotes: int | None
    precision: str | None
    listed: str | None


def to_sighting(row: SightingRow) -> Sighting:
    """Return a sighting without its text."""
    return Sighting(
        row.source,
        row.raw_id,
        row.version,
        row.announce,
        row.fingerprint,
        parse_moment(row.first_seen_at),
        parse_moment(row.last_seen_at),
        row.document,
        tuple(row.past.split()) if row.past else (),
        row.why or "",
    )


def to_stored_paper(row: PaperRow, keys: Sequence[tuple[str, str]]) -> StoredPaper:
    """Return a stored paper with its identifiers."""
    by_scheme: dict[str, tuple[str, ...]] = {}
    for scheme, value in keys:
        if scheme != LINK:
            by_scheme[scheme] = (*by_scheme.get(scheme, ()), value)
    paper = Paper(
        title=row.title,
        abstract=row.abstract,
        authors=parse_list(row.authors),
        venue=row.venue,
        year=row.year,
        published=parse_moment(row.published_at) if row.published_at else None,
        updated=parse_moment(row.updated_at) if row.updated_at else None,
        announced=parse_moment(row.announced_at) if row.announced_at else None,
        url=row.url,
        pdf_url=row.pdf_url,
        keys={s: v[0] if len(v) == 1 else v for s, v in by_scheme.items()},
        categories=parse_list(row.categories),
        version=row.version,
        withdrawn=bool(row.withdrawn),
        type=row.type or "",
        links=_LINKS.decode(row.links) if row.links else {},
        upvotes=row.upvotes,
        precision=row.precision or "",
        listed=_LISTED.decode(row.listed) if row.listed else (),
    )
    return StoredPaper(
        row.id,
        paper,
        parse_moment(row.first_seen_at),
        parse_moment(row.news_at) if row.news_at else None,
        row.revision,
        row.purged_at is not None,
    )
