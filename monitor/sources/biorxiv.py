"""Kinds `biorxiv` and `medrxiv`: their details API, and their RSS.

https://api.biorxiv.org: /details/SERVER/FROM/TO/CURSOR/json, where rows are versions: a DOI
with three versions may appear three times. Also read are /pubs and /covid19, which have other names
for the fields.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from msgspec import structs
from pydantic import Field

from monitor.model import Authority, Bound, Document, Paper, Reading
from monitor.setting_types import Unset
from monitor.sources.api.records import ApiSource
from monitor.sources.api.values import (
    NoPaperError,
    Record,
    get_text,
    plain_text,
    terms,
)
from monitor.sources.api.windows import ApiOptions, PageRequest
from monitor.sources.feed.source import Feed
from monitor.sources.fields.dates import partial_date
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.text import given_name_first

_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
# Remains of the mark-up that the servers remove from abstracts.
_FIGURES = re.compile(r"\bO_(FIG|TBL)\b(?:(?!\bO_\1\b).)*?C_\1", re.DOTALL)
_INLINE = re.compile(r"[OC]_SCP(?:LOW|CAP)")
_BLOCKS = re.compile(r"[OC]_(?:ST_ABS|TEXTBOX|LI|UL|OL|QD|FIG|TBL)")
UNDATED_UNTIL = Bound(2019, 12, 11, tzinfo=UTC)  # DOIs have contained the day since then

_FIRST_DATE = re.compile(r"/(?P<day>20\d\d\.\d\d\.\d\d)\.\d+$")
_VERSION = re.compile(r"\dv(?P<version>\d{1,3})(?:$|[?.])")
_WITHDRAWN = re.compile(r"withdraw|removed|removal", re.IGNORECASE)


class PreprintOptions(ApiOptions):
    """Settings of bioRxiv and medRxiv."""

    categories: Annotated[tuple[str, ...], Unset("all")] = Field(
        (), max_length=50, description="categories as the server names them (`cell biology`)"
    )


class BioRxiv(ApiSource):
    """Reads bioRxiv. A row has the date of its version; `published` is that of the first."""

    kind = "biorxiv"
    authority = Authority.EVERY
    Options = PreprintOptions
    options: PreprintOptions
    service = "bioRxiv"
    lists = ("collection",)
    total_path = "messages.0.total"
    cursor_path = ""
    address = "https://api.biorxiv.org"

    def read(self, document: Document) -> Reading:
        if not _XML.match(document.content):
            return super().read(document)
        reading = Feed(self.name, self.options, None, self._clock).read(document)
        return replace(reading, papers=tuple(map(self._from_feed, reading.papers)))

    def paper(self, record: Record) -> Paper:
        title = record.title(*_names("title"))
        doi = _doi(record, "doi", "biorxiv_doi", "preprint_doi", "rel_doi")
        if not doi:
            raise NoPaperError("record has no DOI")
        version = record.number("version")
        at = record.date(*_names("date"))
        published = _first_day(doi, version, at)
        journal = _doi(record, "published", "published_doi")
        return Paper(
            title=title,
            abstract=_abstract(record.text(*_names("abstract"), "rel_abs")),
            authors=record.names(*_names("authors")),
            venue=record.plain("published_journal"),
            published=published,
            updated=at,
            url=self._page_of(record, doi, version),
            keys=keys_of((("doi", doi), ("doi", journal))),
            categories=terms(map(record.text, _names("category"))),
            version=version,
            withdrawn=bool(_WITHDRAWN.search(record.text("type"))),
            raw_id=doi,
        )

    def targets(self) -> Sequence[str]:
        """Return the categories to request: the API takes one at a time."""
        return self.options.categories or ("",)

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page: https://api.biorxiv.org/details/biorxiv/help."""
        first, last = request.window.days
        category = f"?category={quote(request.target)}" if request.target else ""
        return (
            f"{self.base}/details/{self.kind}/{first}/{last}/{request.cursor or 0}/json{category}"
        )

    def _page_of(self, record: Record, doi: str, version: int | None) -> str:
        platform = record.text("server", "preprint_platform", "rel_site") or self.kind
        server = "medrxiv" if platform.lower() == "medrxiv" else "biorxiv"
        return f"https://www.{server}.org/content/{quote(doi)}" + (f"v{version}" if version else "")

    def _from_feed(self, paper: Paper) -> Paper:
        match = _VERSION.search(paper.url)
        version = paper.version or (int(match["version"]) if match else None)
        published = _first_day(get_text(paper.keys, "doi"), version, paper.published)
        return structs.replace(
            paper,
            version=version,
            published=published,
            updated=paper.updated or paper.published,
            announced=None,
            abstract=_abstract(paper.abstract),
            authors=tuple(map(given_name_first, paper.authors)),
        )


class MedRxiv(BioRxiv):
    kind = "medrxiv"
    service = "medRxiv"


def _names(field: str) -> tuple[str, ...]:
    """Return the names of a field in the responses of /details, /pubs and /covid19."""
    return field, f"preprint_{field}", f"rel_{field}"


def _doi(record: Record, *names: str) -> str:
    """Return the DOI under one of several names; "NA" is none."""
    pairs = identifier_pairs(map(record.text, names))
    return next((identifier for scheme, identifier in pairs if scheme == "doi"), "")


def _abstract(text: str) -> str:
    """Remove the remains of lists, headings, small capitals and figures."""
    return plain_text(_INLINE.sub("", _BLOCKS.sub(" ", _FIGURES.sub(" ", text))))


def _first_day(doi: str, version: int | None, at: datetime | None) -> datetime | None:
    """Return the day of the first version of a preprint, of a version and its day.

    The DOI has it. A DOI without a day is older than all that have one, and so is the paper.
    """
    if version in (None, 1):
        return at
    match = _FIRST_DATE.search(doi)
    if not match:
        return UNDATED_UNTIL
    return partial_date(match["day"])[1] or at
