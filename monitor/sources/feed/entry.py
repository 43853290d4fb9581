"""One entry of any feed to a paper: text, names, identifiers, links and dates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import shorten

import msgspec

from monitor.model import Paper
from monitor.sources.api.values import terms
from monitor.sources.feed.publisher_cards import (
    SENTENCE_END,
    Card,
    bare_title,
    card_of_items,
    card_of_labels,
    card_of_lines,
    pubmed_abstract,
    read_card,
    without_heading,
)
from monitor.sources.fields import MAX_ENTRY, MAX_TITLE, markup
from monitor.sources.fields.dates import within_reason
from monitor.sources.fields.identifiers import identifiers
from monitor.sources.fields.links import absolute_link, http_link, normalise_link, without_tracking
from monitor.sources.fields.markup import text, unescape_tags
from monitor.sources.fields.names import split_names, without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.text import clean, without_placeholder
from monitor.text.latex import accents

MAX_OPENING = 100  # characters of a text that replace a missing title
MAX_ARXIV_NAME = 40  # characters of "arXiv:2508.13426v1" at the start of a summary

# arXiv's feeds before 2024: "Title. (arXiv:2107.03419v1 [hep-ex] UPDATED)"
_OLD_ARXIV_TITLE = re.compile(
    r"\.?\s*\((?P<id>arXiv:[^\s()]{1,40})\s+\[(?P<category>[\w.-]+)\](?:\s+(?P<how>[A-Z ]+))?\)$"
)
_OLD_ANNOUNCE = {None: "new", "UPDATED": "replace", "CROSS LISTED": "cross"}
# arXiv's feeds since: "arXiv:2508.13426v1 Announce Type: cross Abstract: As large ..."
_ARXIV_SUMMARY = re.compile(r"^(?P<id>arXiv:\S+) Announce Type: (?P<how>[\w-]+) Abstract: ")
_CUT_OFF = ("...", "…", "[…]", "[...]")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What a feed says of one entry, still as mark-up.

    `names` are the values of its author fields, `identifiers` of all fields that may name one
    (never running text); `published` and `updated` are aware or None; `issued` is the date of
    the whole feed.
    """

    title: str = ""
    summary: str = ""
    content: str = ""
    names: tuple[str, ...] = ()
    id: str = ""
    link: str = ""
    pdf: str = ""
    identifiers: tuple[str, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    issued: datetime | None = None
    categories: tuple[str, ...] = ()
    announce: str = ""
    venue: str = ""
    comment: str = ""

    def size(self) -> int:
        short = (self.title, self.id, self.link, self.venue, *self.names, *self.categories)
        return len(self.summary) + len(self.content) + len("".join(short))


@dataclass(frozen=True, slots=True)
class FeedEntries:
    """The entries of a document, or the reason why an entry is none.

    `complete` is false when the document was cut off or is ill-formed; `home` is the address that
    the feed says it has, else that of its page.
    """

    entries: tuple[Entry | str, ...] = ()
    error: str = ""
    complete: bool = True
    home: str = ""


def paper(entry: Entry, base: str, now: datetime) -> Paper | str:
    """Turn an entry into a paper, or return why it is none; `base` is the base of its links."""
    if entry.size() > MAX_ENTRY:
        return f"entry is larger than {MAX_ENTRY:,} characters"
    marked = text(unescape_tags(entry.title[:MAX_TITLE]))
    title, old_id, old_category, old_announce = _split_title(marked)
    title, byline = bare_title(title, entry.names)
    card, announce = _abstract(entry, title)
    abstract = without_placeholder(card.abstract)
    # RSS 2.0 and JSON Feed permit entries without a title, if they have a text.
    title = title or shorten(abstract, MAX_OPENING, placeholder=" …")
    if not title:
        return "entry has no title and no text"
    announce = entry.announce or announce or old_announce
    address = absolute_link(entry.link, base)  # names the entry, so no part of it is cut
    url = without_tracking(address)
    keys, version = _identify(entry, (url, card.doi, old_id))
    venue = text(entry.venue) or card.venue
    # arXiv's old feeds date the day, not its entries.
    published = entry.published or card.published or (entry.issued if old_id else None)
    published = within_reason(published, now)
    return Paper(
        title=title,
        abstract=abstract,
        authors=_authors(entry.names or (card.names or byline,), "arxiv" in keys),
        venue="" if venue == title else venue,  # Taylor & Francis give the article's title
        published=published,
        updated=within_reason(entry.updated, now),
        announced=published if announce else None,
        url=url,
        pdf_url=http_link(entry.pdf, base),
        keys=keys,
        categories=terms((*entry.categories, old_category)),
        announce=announce,
        version=version,
        withdrawn="arxiv" in keys and says_withdrawn(abstract, text(entry.comment)),
        raw_id=clean(entry.id) or normalise_link(address),
    )


def _split_title(title: str) -> tuple[str, str, str, str]:
    """Return a title without what arXiv's old feeds add to it: identifier, category, how."""
    note = _OLD_ARXIV_TITLE.search(title) if title.endswith(")") else None
    if not note:
        return title, "", "", ""
    how = _OLD_ANNOUNCE.get(note["how"], "")
    return title[: note.start()], note["id"], note["category"], how


def _identify(
    entry: Entry, more: tuple[str, ...]
) -> tuple[Mapping[str, str | tuple[str, ...]], int | None]:
    """Return keys and version; arXiv names the version at the start of a summary, at the latest."""
    values = (*entry.identifiers, *more)
    keys, version = identifiers(values)
    if version is None and entry.summary.startswith("arXiv:"):
        return identifiers((*values, entry.summary[:MAX_ARXIV_NAME]))
    return keys, version


def _authors(names: Sequence[str], is_arxiv: bool) -> tuple[str, ...]:
    names = markup.names(names)
    if is_arxiv:
        names = [accents(without_affiliations(name)) for name in names]
    return tuple(split_names(names))


def _abstract(entry: Entry, title: str) -> tuple[Card, str]:
    """Return the abstract without what feeds put before it, and how arXiv announced it."""
    summary, content = entry.summary, text(without_heading(entry.content))
    if card := (card_of_lines(summary, title) or card_of_items(summary) or card_of_labels(summary)):
        return card, ""
    summary = without_placeholder(text(without_heading(summary)))
    if arxiv := _ARXIV_SUMMARY.match(summary):
        return Card(summary[arxiv.end() :]), arxiv["how"]
    if abstract := pubmed_abstract(content):
        return Card(abstract), ""
    card = read_card(summary, entry.names, title)
    if summary.endswith(_CUT_OFF) and len(content) > len(summary):
        card = Card("")
    if content and not (card.abstract or card.venue):
        card = (
            card_of_items(entry.content)
            or card_of_labels(entry.content)
            or read_card(_prose(content, title), entry.names)
        )
    return card, ""


def _prose(content: str, title: str) -> str:
    """Leave out the heading of a content that is a whole page, and all of it if it has no sentence.

    Some feeds carry the card of an overview page instead: title, names, kind, day.
    """
    if not f"{content} ".startswith(f"{title} "):
        return content
    rest = content.removeprefix(title).strip()
    if not SENTENCE_END.search(rest):
        return ""
    return rest if rest[0].isupper() else content  # else the title is how a sentence begins
