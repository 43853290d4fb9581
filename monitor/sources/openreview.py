"""Kind `openreview`: submissions of conferences and journals on OpenReview.

https://docs.openreview.net: /notes of API 2 (every field of `content` is {"value": ...}) and of
API 1 (plain values); dates are milliseconds since 1970; authors are texts or objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from pydantic import Field

from monitor.model import Paper
from monitor.sources.api.records import Listing
from monitor.sources.api.values import (
    NoPaperError,
    Record,
    abstract_of,
    at_milliseconds,
    names_of,
    plain_text,
    terms,
    title_of,
)
from monitor.sources.api.windows import ApiOptions, ApiSource, PageRequest
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.links import http_link
from monitor.sources.fields.names import authors

PAGE = 1_000
SITE = "https://openreview.net"

_DATES = ("pdate", "odate", "cdate", "tcdate")
_WITHDRAWN = re.compile(r"withdrawn|retracted", re.IGNORECASE)
_BIBTEX_DOI = re.compile(r"\bdoi\s*=\s*[{\"]\s*(?P<doi>10\.[^}\"\s]{3,200})", re.IGNORECASE)


class OpenReviewOptions(ApiOptions):
    """`venues` are ids such as "ICLR.cc/2026/Conference"; `invitations` those of submissions."""

    query_settings = ("venues", "invitations")

    venues: tuple[str, ...] = Field(default=(), max_length=50)
    invitations: tuple[str, ...] = Field(default=(), max_length=50)


class OpenReview(ApiSource):
    """Reads OpenReview, the last modified first, as far back as needed."""

    kind = "openreview"
    Options = OpenReviewOptions
    options: OpenReviewOptions
    service = "OpenReview"
    lists = ("notes",)
    address = "https://api2.openreview.net"
    longest = timedelta(days=36_500)  # one list, newest first

    def listing(self, response: Record) -> Listing:
        """Find the notes and their total number; a document may be a single note."""
        if response.text("id") and response.at("content").is_object:
            return Listing((response.value,))
        notes = super().listing(response)
        return notes if notes.error else Listing(notes.items, response.number("count"))

    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn a note into a paper; reviews and comments are not papers."""
        name, forum = record.text("id"), record.text("forum") or record.text("id")
        if record.text("replyto") and name != forum:
            raise NoPaperError("record is a reply to a paper")
        content = record.at("content")
        title = title_of(_word(content, "title"))
        dates = (at_milliseconds(record.at(name).value, now) for name in _DATES)
        published = next((at for at in dates if at), None)
        words = [*_list(content, "keywords"), _word(content, "primary_area")]
        return Paper(
            title=title,
            abstract=abstract_of(_word(content, "abstract")),
            authors=names_of(_authors(content)),
            venue=plain_text(_word(content, "venue")),
            year=published.year if published else None,
            published=published,
            updated=at_milliseconds(record.at("mdate").value or record.at("tmdate").value, now),
            url=f"{SITE}/forum?id={quote(forum, safe='')}" if forum else "",
            pdf_url=http_link(_word(content, "pdf"), SITE),
            keys=keys_of(_keys(record, content, forum)),
            categories=terms(words),
            withdrawn=_is_withdrawn(record, content),
            raw_id=plain_text(name),
        )

    def targets(self) -> Sequence[str]:
        """Return the venues and invitations to request, one after the other."""
        venues = [f"content.venueid={name}" for name in self.options.venues]
        invitations = [f"invitation={name}" for name in self.options.invitations]
        return (*venues, *invitations)

    def following(self, listing: Listing, request: PageRequest) -> str:
        """Return where the next page begins; "" once notes are older than the window."""
        seen = request.before + len(listing.items)
        if not listing.items or (listing.total is not None and seen >= listing.total):
            return ""
        last = Record(listing.items[-1])
        changed = last.number("tmdate") or last.number("tcdate")
        begin = request.window.begin.timestamp() * 1000
        return "" if changed is not None and changed < begin else str(seen)

    def page_url(self, request: PageRequest) -> str:
        """Return the address of a page of notes, the last modified first."""
        name, _, value = request.target.partition("=")
        parameters = {
            name: value,
            "sort": "tmdate:desc",
            "limit": PAGE,
            "offset": request.cursor or 0,
        }
        return f"{self.base}/notes?{urlencode(parameters)}"


def _value(content: Record, name: str) -> Record:
    """Return a field of either API: {"value": ...} or the value itself."""
    field = content.at(name).value
    return Record(field["value"] if isinstance(field, dict) and "value" in field else field)


def _word(content: Record, name: str) -> str:
    return _value(content, name).text()


def _list(content: Record, name: str) -> list[str]:
    """Return a list of words, also from one text with commas or semicolons."""
    items = _value(content, name).items()
    if len(items) == 1 and isinstance(items[0].value, str):
        return [part.strip() for part in re.split(r"[,;]", items[0].value)]
    return [item.text() for item in items]


def _authors(content: Record) -> Iterator[str]:
    """Yield names from texts or objects, or from one text; none of anonymous authors."""
    people = _value(content, "authors").items()
    line = [person.value for person in people if isinstance(person.value, str)]
    for name in authors(line) if line and len(people) == 1 else map(_name_of, people):
        if name.lower() not in ("anonymous", "anonymous authors"):
            yield name


def _name_of(author: Record) -> str:
    if isinstance(author.value, str):
        return author.value.strip()
    parts = " ".join(filter(None, (author.text("first"), author.text("last"))))
    return author.text("fullname") or author.text("name") or parts or author.text()


def _keys(record: Record, content: Record, forum: str) -> Iterator[tuple[str, str]]:
    """Yield the id of the forum, and the DOI and arXiv id that the note names."""
    yield "openreview", forum
    bibtex = _BIBTEX_DOI.search(_word(content, "_bibtex"))
    texts = record.texts("externalIds")
    texts += [_word(content, "html"), _word(content, "pdf"), _word(content, "doi")]
    yield from identifier_pairs((*texts, bibtex["doi"] if bibtex else ""))
    yield from (("dblp", text.removeprefix("dblp:")) for text in texts if text.startswith("dblp:"))


def _is_withdrawn(record: Record, content: Record) -> bool:
    """Whether a note was deleted, or moved to the withdrawn submissions of its venue.

    If that is missing, the venue's name and the invitations show it.
    """
    place = _word(content, "venueid")
    texts = [place, _word(content, "withdrawal"), record.text("invitation")]
    if not place:
        texts += [_word(content, "venue"), *record.texts("invitations")]
    moved = any(_WITHDRAWN.search(text) for text in texts)
    return moved or record.at("ddate").value is not None
