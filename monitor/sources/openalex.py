"""Kind `openalex`: works of OpenAlex, whose abstracts are inverted indexes.

https://developers.openalex.org: /works with cursor paging; any field may be null.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlencode

from pydantic import Field, SecretStr

from monitor.model import RETRACTION, Paper
from monitor.sources.api.records import Listing
from monitor.sources.api.values import (
    Record,
    abstract_of,
    in_order,
    names_of,
    paper_date,
    plain_text,
    terms,
    title_of,
    year_of,
)
from monitor.sources.api.windows import ApiSource, FilterOptions, PageRequest
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.links import first_link
from monitor.sources.fields.publication_types import type_of

PAGE = 100


class OpenAlexOptions(FilterOptions):
    """`query` is free text; `filter` as the API writes it, such as "type:article"."""

    api_key: SecretStr = SecretStr("")
    overlap_days: int = Field(default=30, ge=1, le=365)


class OpenAlex(ApiSource):
    """Reads OpenAlex by the day of publication; papers are added weeks later."""

    kind = "openalex"
    Options = OpenAlexOptions
    options: OpenAlexOptions
    service = "OpenAlex"
    preset = "openalex"
    lists = ("results",)
    address = "https://api.openalex.org"

    def listing(self, response: Record) -> Listing:
        """Find the works; /works/ID returns a single one."""
        works = response.at("results").value
        if not isinstance(works, list):
            alone = _name(response.text("id")) and response.at("error").value is None
            return (
                Listing((response.value,))
                if alone
                else Listing(error=self.describe_error(response))
            )
        page, size = response.number("meta", "page"), response.number("meta", "per_page")
        begin = (page - 1) * (size or 0) if page else 0
        total = response.number("meta", "count")
        return Listing(works, total, begin, response.text("meta", "next_cursor"))

    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn a work into a paper."""
        name = _name(record.text("id") or record.text("ids", "openalex"))
        published = paper_date(record.text("publication_date"), now)
        location = record.at("primary_location")
        type_ = type_of([record.text("type")])
        topics = record.items("topics") or record.items("primary_topic") or record.items("concepts")
        links = (record.text("doi"), location.text("landing_page_url"), record.text("id"))
        return Paper(
            title=title_of(record.text("title"), record.text("display_name")),
            abstract=abstract_of(in_order(record.at("abstract_inverted_index").value)),
            authors=names_of(_authors(record)),
            venue=plain_text(_venue(record)),
            year=year_of(record.text("publication_year"), published),
            published=published,
            url=first_link(links),
            pdf_url=_pdf(record),
            keys=keys_of(_keys(record, name)),
            categories=terms(topic.text("display_name") for topic in topics),
            withdrawn=record.at("is_retracted").value is True and type_ != RETRACTION,
            raw_id=name,
            type=type_,
        )

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page of works."""
        first, last = request.window.days
        options = self.options
        window = f"from_publication_date:{first},to_publication_date:{last}"
        more, key = options.filter, options.api_key.get_secret_value()
        parameters = {
            "filter": f"{window},{more}" if more else window,
            "search": options.query,
            "per_page": str(PAGE),
            "cursor": request.cursor or "*",
            "api_key": key,
            "mailto": "" if key else self.contact,
        }
        return f"{self.base}/works?{urlencode({k: v for k, v in parameters.items() if v})}"


def _name(address: str) -> str:
    """Return "https://openalex.org/W123" as W123."""
    name = address.rstrip("/").rsplit("/", 1)[-1].upper()
    return name if name[:1] == "W" and name[1:].isdigit() else ""


def _authors(record: Record) -> Iterator[str]:
    for authorship in record.items("authorships"):
        yield authorship.text("author", "display_name") or authorship.text("raw_author_name")


def _venue(record: Record) -> str:
    location = record.at("primary_location") or record.at("host_venue")
    names = (location.text("source", "display_name"), location.text("raw_source_name"))
    return next(filter(None, names), "") or record.text("host_venue", "display_name")


def _keys(record: Record, name: str) -> Iterator[tuple[str, str]]:
    """Yield its identifiers, and the arXiv id of any of its locations."""
    yield "openalex", name
    yield "pmid", record.text("ids", "pmid").rstrip("/").rsplit("/", 1)[-1]
    central = record.text("ids", "pmcid").rstrip("/").rsplit("/", 1)[-1].upper()
    yield "pmcid", f"PMC{central}" if central.isdigit() else central
    yield from identifier_pairs([record.text("doi") or record.text("ids", "doi")])
    places = identifier_pairs(
        location.text("landing_page_url") for location in record.items("locations")
    )
    yield from (pair for pair in places if pair[0] == "arxiv")


def _pdf(record: Record) -> str:
    links = (record.text(place, "pdf_url") for place in ("best_oa_location", "primary_location"))
    return first_link(links)
