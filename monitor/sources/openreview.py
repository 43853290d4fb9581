"""Kind `openreview`: submissions of conferences and journals on OpenReview.

https://docs.openreview.net: /notes of API 2 (every field of `content` is {"value": ...}) and of
API 1 (plain values); dates are milliseconds since 1970; authors are texts or objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from monitor.model import Authority, Paper
from monitor.setting_types import Required
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import NoPaperError, Record, date_in, plain_text, terms, words_in
from monitor.sources.api.windows import ApiOptions, PageRequest
from monitor.sources.fields.dates import FIRST_ONLINE, within_reason
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.links import http_link
from monitor.text import is_anonymous

PAGE = 1_000
SITE = "https://openreview.net"

_DATES = ("pdate", "odate", "cdate", "tcdate")
_WITHDRAWN = re.compile(r"withdrawn|retracted", re.IGNORECASE)
_BIBTEX_DOI = re.compile(r"\bdoi\s*=\s*[{\"]\s*(?P<doi>10\.[^}\"\s]{3,200})", re.IGNORECASE)


class OpenReviewOptions(ApiOptions):
    """Settings of OpenReview."""

    query_settings = ("venues", "invitations")

    venues: Annotated[tuple[str, ...], Required("without `invitations`")] = Field(
        (), max_length=50, description="a list of ids such as `ICLR.cc/2026/Conference`"
    )
    invitations: Annotated[tuple[str, ...], Required("without `venues`")] = Field(
        (),
        max_length=50,
        description="a list of ids such as `ICML.cc/2026/Conference/-/Submission`",
    )


class OpenReview(ApiSource):
    """Reads OpenReview, the last modified first, as far back as needed."""

    kind = "openreview"
    assigns = ("openreview",)
    authority = Authority.EVERY
    Options = OpenReviewOptions
    options: OpenReviewOptions
    service = "OpenReview"
    lists = ("notes",)
    total_path = "count"
    cursor_path = ""
    address = "https://api2.openreview.net"
    longest = timedelta(days=36_500)  # one list, newest first

    def paper(self, record: Record) -> Paper:
        name = record.text("id")
        forum = record.text("forum", "id")
        if record.text("replyto") and name != forum:
            raise NoPaperError("record is a reply to a paper")
        content = record.at("content")
        title = content.title(*_paths("title"))
        published = _first_date(record, *_DATES)
        names = content.names(*_paths("authors"))
        words = words_in(content.first(*_paths("keywords")))
        return Paper(
            title=title,
            abstract=content.plain(*_paths("abstract")),
            authors=tuple(name for name in names if not is_anonymous(name)),
            venue=content.plain(*_paths("venue")),
            year=published.year if published else None,
            published=published,
            updated=_first_date(record, "mdate", "tmdate"),
            url=f"{SITE}/forum?id={quote(forum, safe='')}" if forum else "",
            pdf_url=http_link(content.text(*_paths("pdf")), SITE),
            keys=keys_of(_keys(record, content, forum)),
            categories=terms((*words, content.text(*_paths("primary_area")))),
            withdrawn=_is_withdrawn(record, content),
            raw_id=plain_text(name),
        )

    def targets(self) -> Sequence[str]:
        venues = [f"content.venueid={name}" for name in self.options.venues]
        invitations = [f"invitation={name}" for name in self.options.invitations]
        return (*venues, *invitations)

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return the offset of the next page; "" once notes are older than the window."""
        last = Record(listing.items[-1] if listing.items else None, request.window.end)
        changed = last.number("tmdate") or last.number("tcdate")
        begin = request.window.begin.timestamp() * 1000
        is_old = changed is not None and changed < begin
        return "" if is_old else super().following(listing, request)

    def page_url(self, request: PageRequest) -> str:
        name, _, value = request.target.partition("=")
        parameters = {
            name: value,
            "sort": "tmdate:desc",
            "limit": PAGE,
            "offset": request.cursor or 0,
        }
        return self.address_of("/notes", parameters)


def _paths(field: str) -> tuple[str, str]:
    """Return the paths of a field of `content`, in API 2 and in API 1."""
    return f"{field}.value", field


def _first_date(record: Record, *names: str) -> datetime | None:
    dates = (date_in(record.at(name).value) for name in names)
    moments = (at for at in dates if isinstance(at, datetime))
    return next((at for at in moments if within_reason(at, record.now, FIRST_ONLINE)), None)


def _keys(record: Record, content: Record, forum: str) -> Iterator[tuple[str, str]]:
    """Yield the id of the forum, and the DOI and arXiv id that the note names."""
    yield "openreview", forum
    bibtex = _BIBTEX_DOI.search(content.text(*_paths("_bibtex")))
    texts = record.texts("externalIds")
    texts += [content.text(*_paths(name)) for name in ("html", "pdf", "doi")]
    yield from identifier_pairs((*texts, bibtex["doi"] if bibtex else ""))
    yield from (("dblp", text.removeprefix("dblp:")) for text in texts if text.startswith("dblp:"))


def _is_withdrawn(record: Record, content: Record) -> bool:
    """Whether a note was deleted, or moved to the withdrawn submissions of its venue.

    If that is missing, the venue's name and the invitations show it.
    """
    venue_id = content.text(*_paths("venueid"))
    texts = [venue_id, content.text(*_paths("withdrawal")), record.text("invitation")]
    if not venue_id:
        texts += [content.text(*_paths("venue")), *record.texts("invitations")]
    moved = any(_WITHDRAWN.search(text) for text in texts)
    return moved or record.at("ddate").value is not None
