"""Kind `huggingface`: the daily papers of Hugging Face, from its JSON API.

https://huggingface.co/api/daily_papers?date=YYYY-MM-DD: a list of objects with `paper`, whose id
is the arXiv id. A day without papers is an empty list. With `query` it reads the answer of
https://huggingface.co/api/papers/search?q=QUERY, a list of the same objects, in one request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

from msgspec import structs
from pydantic import Field

from monitor.model import Document, FirstRun, ListedDay, Paper, Reading, SiteNote
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import NoPaperError, Record, plain_text
from monitor.sources.api.windows import ApiOptions, PageRequest, Window
from monitor.sources.base import list_name
from monitor.sources.fields.dates import parse_date
from monitor.sources.fields.identifiers import arxiv_id, keys_of
from monitor.text import whole_number

PAGE_SIZE = 100
# As many as a column of the store takes.
MOST_UPVOTES = 2**31 - 1
PAGES = "https://huggingface.co/papers/"


class HuggingFaceOptions(ApiOptions):
    """Settings of Hugging Face."""

    query: str = Field(
        "", description="a search with the site's own search, instead of the daily papers"
    )


class HuggingFace(ApiSource):
    """Reads daily papers. `publishedAt` is the date of the paper; that of its list is not."""

    kind = "huggingface"
    search_site = "huggingface"
    Options = HuggingFaceOptions
    options: HuggingFaceOptions
    default_first_run = FirstRun.DELIVER
    service = "Hugging Face"
    lists = ("", "papers", "dailyPapers")
    address = "https://huggingface.co"
    longest = timedelta(days=1)

    def paper(self, record: Record) -> Paper:
        """Turn an entry of a list, or a paper alone, into a paper."""
        fields = record.at("paper") if record.has("paper") else record
        title = record.title("paper.title", "title")
        name = fields.text("id")
        if not name:
            raise NoPaperError("record has no id")
        arxiv = arxiv_id(name)
        votes = fields.number("upvotes")
        links = {"code": fields.link("githubRepo"), "project": fields.link("projectPage")}
        return Paper(
            title=title,
            abstract=record.plain("paper.summary", "summary"),
            authors=fields.names("authors"),
            published=record.date("paper.publishedAt", "publishedAt"),
            url=f"https://arxiv.org/abs/{arxiv}" if arxiv else f"{PAGES}{quote(name)}",
            keys=keys_of((("arxiv", arxiv),)),
            raw_id=plain_text(name),
            links={name: link for name, link in links.items() if link},
            upvotes=None if votes is None else min(votes, MOST_UPVOTES),
            site_note=_site_note(name, record, fields),
        )

    def read(self, document: Document) -> Reading:
        """Read a list or a page of it; each paper has its rank in the list."""
        reading = super().read(document)
        asked = parse_qs(urlsplit(document.url).query)
        before = PAGE_SIZE * min(whole_number(asked.get("p", [""])[0]) or 0, self.max_pages)
        listed = ListedDay(None, document=list_name(document))
        if document.url:
            day = parse_date(asked.get("date", [""])[0]) or document.at
            listed = ListedDay(min(day, document.at).date())
        papers = (
            structs.replace(paper, listed=(structs.replace(listed, rank=before + number),))
            for number, paper in enumerate(reading.papers, start=1)
        )
        return replace(reading, papers=tuple(papers))

    @property
    def vouches_for_dates(self) -> bool:
        """Whether dates count: a paper that is new among the answers to a question is new."""
        return not self.options.query

    def windows(self, state: Mapping[str, str]) -> Iterator[Window]:
        """Yield the days of the daily papers; a search has no days."""
        if not self.options.query:
            return super().windows(state)
        now = self._clock()
        return iter([Window(now, now)])

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the number of the next page (from 0) after a full one; a search has one page."""
        if self.options.query:
            return ""
        return str(request.page) if len(listing.items) >= PAGE_SIZE else ""

    def page_url(self, request: PageRequest) -> str:
        if self.options.query:
            return self.address_of("/api/papers/search", {"q": self.options.query})
        parameters = {"date": request.window.days[1], "limit": PAGE_SIZE, "p": request.cursor}
        return self.address_of("/api/daily_papers", parameters)


def _site_note(name: str, entry: Record, fields: Record) -> SiteNote | None:
    """Return the summary that a model of the site wrote, and the account that claims the paper."""
    line = fields.plain("ai_summary")
    organization = fields.plain("organization.fullname", "organization.name")
    organization = organization or entry.plain("organization.fullname", "organization.name")
    if not line and not organization:
        return None
    return SiteNote("Hugging Face", f"{PAGES}{quote(name)}", line, organization)
