"""Kind `huggingface`: the daily papers of Hugging Face, from its JSON API.

https://huggingface.co/api/daily_papers?date=YYYY-MM-DD: a list of objects with `paper`, whose id
is the arXiv id. A day without papers is an empty list.
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

from monitor.model import FirstRun, Paper
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import NoPaperError, Record, plain_text
from monitor.sources.api.windows import ApiOptions, PageRequest
from monitor.sources.fields.identifiers import arxiv_id, keys_of

PAGE_SIZE = 100
# As many as a column of the store takes.
MOST_UPVOTES = 2**31 - 1
PAGES = "https://huggingface.co/papers/"


class HuggingFace(ApiSource):
    """Reads daily papers. `publishedAt` is the date of the paper; that of its list is not."""

    kind = "huggingface"
    search_site = "huggingface"
    Options = ApiOptions
    default_first_run = FirstRun.DELIVER
    service = "Hugging Face"
    lists = ("", "papers", "dailyPapers")
    address = "https://huggingface.co"
    longest = timedelta(days=1)

    def paper(self, record: Record) -> Paper:
        """Turn an entry of a list, or a paper alone, into a paper."""
        fields = record.at("paper") if record.at("paper").is_object else record
        title = record.title("paper.title", "title")
        name = fields.text("id")
        if not name:
            raise NoPaperError("record has no id")
        arxiv = arxiv_id(name)
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
            upvotes=min(fields.number("upvotes") or 0, MOST_UPVOTES) or None,
        )

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the number of the next page (from 0) after a full one."""
        return str(request.page) if len(listing.items) >= PAGE_SIZE else ""

    def page_url(self, request: PageRequest) -> str:
        parameters = {"date": request.window.days[1], "limit": PAGE_SIZE, "p": request.cursor}
        return self.address_of("/api/daily_papers", parameters)
