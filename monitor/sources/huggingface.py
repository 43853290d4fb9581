"""Kind `huggingface`: the daily papers of Hugging Face, from its JSON API.

https://huggingface.co/api/daily_papers?date=YYYY-MM-DD: a list of objects with `paper`, whose id
is the arXiv id. A day without papers is an empty list.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from monitor.model import FirstRun, Paper
from monitor.sources.api.records import Listing
from monitor.sources.api.values import (
    NoPaperError,
    Record,
    many,
    member,
    names_of,
    number,
    prose,
    raw,
    title_of,
    when,
)
from monitor.sources.api.windows import ApiOptions, ApiSource, PageRequest
from monitor.sources.fields.identifiers import arxiv_id, keys_of
from monitor.sources.fields.links import http_link

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
    lists = ("papers", "dailyPapers")
    address = "https://huggingface.co"
    longest = timedelta(days=1)

    def listing(self, response: object) -> Listing:
        """Find the papers: a list, or the object of a single paper."""
        if isinstance(response, list):
            return Listing(response)
        if raw(response, "id") and raw(response, "title"):
            return Listing((response,))
        return super().listing(response)

    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn an entry of a list, or a paper alone, into a paper."""
        member_paper = member(record, "paper")
        fields = member_paper if isinstance(member_paper, dict) else record
        title = title_of(raw(fields, "title"), raw(record, "title"))
        name = raw(fields, "id")
        if not name:
            raise NoPaperError("record has no id")
        arxiv = arxiv_id(name)
        links = {
            "code": http_link(raw(fields, "githubRepo"), ""),
            "project": http_link(raw(fields, "projectPage"), ""),
        }
        published = raw(fields, "publishedAt") or raw(record, "publishedAt")
        return Paper(
            title=title,
            abstract=prose(raw(fields, "summary") or raw(record, "summary")),
            authors=names_of(raw(one, "name") for one in many(fields, "authors")),
            published=when(published, now),
            url=f"https://arxiv.org/abs/{arxiv}" if arxiv else f"{PAGES}{quote(name)}",
            keys=keys_of((("arxiv", arxiv),)),
            raw_id=prose(name),
            links={name: link for name, link in links.items() if link},
            upvotes=min(number(fields, "upvotes") or 0, MOST_UPVOTES) or None,
        )

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the number of the next page (from 0) after a full one."""
        return str(request.page) if len(listing.items) >= PAGE_SIZE else ""

    def page_url(self, request: PageRequest) -> str:
        """Return the address of the list of one day."""
        query = {"date": request.window.days[1], "limit": PAGE_SIZE}
        more = {"p": request.cursor} if request.cursor else {}
        return f"{self.base}/api/daily_papers?{urlencode(query | more)}"
