"""Kind `openalex`: works of OpenAlex, whose abstracts are inverted indexes.

https://developers.openalex.org: /works with cursor paging; any field may be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from pydantic import SecretStr

from monitor.model import RETRACTION, Authority, Bound, Paper
from monitor.sources.api.records import ApiSource
from monitor.sources.api.values import Record, in_order, names_of, plain_text, terms, words_in
from monitor.sources.api.windows import ApiKey, FilterOptions, OverlapDays, PageRequest
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.dates import within_reason
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.publication_types import type_of

PAGE = 100
_VENUES = (
    "primary_location.source.display_name",
    "primary_location.raw_source_name",
    "host_venue.display_name",
)


class OpenAlexOptions(FilterOptions):
    """Settings: a `query` of free text, or a `filter` such as "type:article"."""

    api_key: ApiKey = SecretStr("")
    overlap_days: OverlapDays = 30


class OpenAlex(ApiSource):
    """Reads OpenAlex by the day of publication; papers are added weeks later."""

    kind = "openalex"
    assigns = ("openalex",)
    authority = Authority.EVERY
    Options = OpenAlexOptions
    options: OpenAlexOptions
    service = "OpenAlex"
    preset = "openalex"
    lists = ("results",)
    total_path = "meta.count"
    cursor_path = "meta.next_cursor"
    address = "https://api.openalex.org"

    def paper(self, record: Record) -> Paper:
        name = _name(record.text("id", "ids.openalex"))
        dated = record.date("publication_date")
        type_ = type_of([record.text("type")])
        people = record.items("authorships")
        return Paper(
            title=record.title("title", "display_name"),
            abstract=plain_text(in_order(record.at("abstract_inverted_index").value)),
            authors=names_of(p.text("author.display_name", "raw_author_name") for p in people),
            affiliations=affiliations(_institutions(people)),
            venue=record.plain(*_VENUES),
            year=record.year("publication_year", at=dated),
            published=within_reason(_day_or_year(dated), record.now),
            url=record.link("doi", "primary_location.landing_page_url", "id"),
            pdf_url=record.link("best_oa_location.pdf_url", "primary_location.pdf_url"),
            keys=keys_of(_keys(record, name)),
            categories=terms(words_in(record.first("topics", "primary_topic", "concepts"))),
            withdrawn=record.at("is_retracted").value is True and type_ != RETRACTION,
            raw_id=name,
            type=type_,
        )

    def page_url(self, request: PageRequest) -> str:
        first, last = request.window.days
        window = f"from_publication_date:{first},to_publication_date:{last}"
        key = self.options.api_key.get_secret_value()
        parameters = {
            "filter": ",".join(filter(None, (window, self.options.filter))),
            "search": self.options.query,
            "per_page": PAGE,
            "cursor": request.cursor or "*",
            "api_key": key,
            "mailto": "" if key else self.contact,
        }
        return self.address_of("/works", parameters)


def _day_or_year(dated: datetime | None) -> datetime | None:
    """Return a date; 1 January is how OpenAlex writes a year, which has no day until it is over."""
    if not dated or (dated.month, dated.day) != (1, 1):
        return dated
    return Bound(dated.year, 12, 31, tzinfo=UTC)


def _name(address: str) -> str:
    """Return "https://openalex.org/W123" as W123."""
    name = address.rstrip("/").rsplit("/", 1)[-1].upper()
    return name if name[:1] == "W" and name[1:].isdigit() else ""


def _institutions(people: Iterable[Record]) -> Iterator[str]:
    """Yield the institutions of each author; what the paper says, where OpenAlex knows none."""
    for person in people:
        known = [one.text("display_name") for one in person.items("institutions")]
        if any(known):
            yield from known
        else:
            yield from person.texts("raw_affiliation_strings")


def _keys(record: Record, name: str) -> Iterator[tuple[str, str]]:
    """Yield its identifiers, and the arXiv id of any of its locations."""
    yield "openalex", name
    yield "pmid", record.text("ids.pmid").rstrip("/").rsplit("/", 1)[-1]
    central = record.text("ids.pmcid").rstrip("/").rsplit("/", 1)[-1].upper()
    yield "pmcid", f"PMC{central}" if central.isdigit() else central
    yield from identifier_pairs([record.text("doi", "ids.doi")])
    pages = (location.text("landing_page_url") for location in record.items("locations"))
    yield from (pair for pair in identifier_pairs(pages) if pair[0] == "arxiv")
