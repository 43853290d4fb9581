"""Kind `feed`: RSS, RDF, Atom and JSON Feed.

bytes ── begins with { or [ ──> json_feed ────┐
      └─ XML ──> xml_feed (feedparser) ───────┴──> Entry ──> Paper or Rejected
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from textwrap import shorten

from monitor.errors import DocumentError
from monitor.model import Document, Paper, Reading, Rejected
from monitor.sources.api.values import terms
from monitor.sources.base import Source, failure, reading
from monitor.sources.feed.json_feed import Entry, read_json
from monitor.sources.feed.publisher_cards import bare_title, read_card
from monitor.sources.feed.xml_feed import read_xml
from monitor.sources.fields import MAX_ENTRY, markup
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.dates import FIRST_ONLINE, within_reason
from monitor.sources.fields.identifiers import identifiers_by_place
from monitor.sources.fields.links import absolute_link, http_link, normalise_link
from monitor.sources.fields.markup import text, unescape_tags
from monitor.sources.fields.names import split_names, without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.text import clean, title_lengths, without_placeholder
from monitor.text.latex import accents
from monitor.text.tracking import without_tracking

# Why an entry of nothing is no paper.
NO_TEXT = "entry has no title and no text"
MAX_OPENING = 100  # characters of a text that replace a missing title
MAX_ARXIV_NAME = 40  # characters of "arXiv:2508.13426v1" at the start of a summary

# arXiv's feeds before 2024: "Title. (arXiv:2107.03419v1 [hep-ex] UPDATED)"
_OLD_ARXIV_TITLE = re.compile(
    r"\.?(?<!\s)\s*+\((?P<id>arXiv:[^\s()]{1,40})\s+"
    r"\[(?P<category>[\w.-]+)\](?:\s++(?P<how>[A-Z ]+))?\)$"
)
_OLD_ANNOUNCE = {None: "new", "UPDATED": "replace", "CROSS LISTED": "cross"}
_ARXIV_HOST = re.compile(r"https?://(?:[a-z]{1,10}\.)?arxiv\.org/")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Feed(Source):
    """Reads feeds. What an entry says it was published on counts as its announcement.

    `updated` never does: scrapers and feed builders write the time of their own run there.
    """

    kind = "feed"
    repeats = True

    def read(self, document: Document) -> Reading:
        """Read all entries; the reading is incomplete when the document is cut or ill-formed."""
        content = document.content.removeprefix(_BYTE_ORDER_MARK)
        if not content.strip():
            return failure("the document is empty")
        try:
            if content.lstrip()[:1] in (b"{", b"["):
                feed = read_json(content)
            else:
                feed = read_xml(content, document.url, document.content_type)
        except DocumentError as fault:
            return failure(str(fault))
        records: list[Paper | Rejected] = []
        for number, entry in enumerate(feed.entries, start=1):
            base = document.url or feed.home
            now = self._clock()
            result = entry if isinstance(entry, str) else to_paper(entry, base, now)
            records.append(
                Rejected(f"entry {number}", result) if isinstance(result, str) else result
            )
        return reading(records, feed.complete)


def to_paper(entry: Entry, base: str, now: datetime) -> Paper | str:
    """Turn an entry into a paper, or return why it is none; `base` is the base of its links."""
    if entry.size() > MAX_ENTRY:
        return f"entry is larger than {MAX_ENTRY:,} characters"
    marked = text(unescape_tags(entry.title[: title_lengths.MARKED_UP]))
    title, old_id, old_category, old_announce = _split_title(marked)
    title, byline = bare_title(title, entry.names)
    card = read_card(entry.summary, entry.content, entry.names, title, entry.link)
    abstract = without_placeholder(card.abstract)
    # RSS 2.0 and JSON Feed permit entries without a title, if they have a text.
    title = title or shorten(abstract, MAX_OPENING, placeholder=" …")
    if not title:
        return NO_TEXT
    announce = entry.announce or card.announce or old_announce
    address = absolute_link(entry.link, base)  # names the entry, so no part of it is cut
    url = without_tracking(address)
    # arXiv names the version at the start of a summary, at the latest.
    in_summary = entry.summary[:MAX_ARXIV_NAME] if entry.summary.startswith("arXiv:") else ""
    guid = entry.id if "://" not in entry.id or _names_entries(entry.id, base) else ""
    fields = (guid, *entry.identifiers, old_id, in_summary)
    own = identifiers_by_place(fields, (entry.id, *entry.links, url), [card.doi])
    keys = own.keys
    venue = text(entry.venue) or card.venue
    # arXiv's old feeds date the day, not its entries.
    published = entry.published or card.published or (entry.issued if old_id else None)
    published = within_reason(published, now, FIRST_ONLINE)
    return Paper(
        title=title,
        abstract=abstract,
        authors=_authors(entry.names or (card.names or byline,), "arxiv" in keys),
        affiliations=affiliations(map(accents, entry.affiliations)),
        venue="" if venue == title else venue,  # Taylor & Francis give the article's title
        published=published,
        updated=within_reason(entry.updated, now, FIRST_ONLINE),
        announced=published if announce else None,
        url=url,
        pdf_url=http_link(entry.pdf, base),
        keys=keys,
        keys_in_links=own.keys_in_links,
        keys_in_text=own.keys_in_text,
        categories=terms((*entry.categories, old_category)),
        announce=announce,
        version=own.version,
        withdrawn="arxiv" in keys and says_withdrawn(abstract, text(entry.comment)),
        raw_id=clean(entry.id) or normalise_link(address),
    )


def _names_entries(address: str, base: str) -> bool:
    """Whether a guid that is an address is the feed's own name for an entry.

    Anybody may link to a paper, and most guids repeat the link: only arXiv's feeds, and its API,
    name their entries by their addresses.
    """
    return bool(_ARXIV_HOST.match(address) and _ARXIV_HOST.match(base))


def _split_title(title: str) -> tuple[str, str, str, str]:
    """Return a title without what arXiv's old feeds add to it: identifier, category, how."""
    note = _OLD_ARXIV_TITLE.search(title) if title.endswith(")") else None
    if not note:
        return title, "", "", ""
    how = _OLD_ANNOUNCE.get(note["how"], "")
    return title[: note.start()], note["id"], note["category"], how


def _authors(names: Sequence[str], is_arxiv: bool) -> tuple[str, ...]:
    names = markup.names(names)
    if is_arxiv:
        names = [accents(without_affiliations(name)) for name in names]
    return tuple(split_names(names, given_first=is_arxiv))
