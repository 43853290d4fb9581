"""Papers as an Atom 1.0 feed (RFC 4287). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from monitor.digest.links import pdf_url, title_link
from monitor.model import Paper
from monitor.sources.fields.encoding import is_xml_character

_ATOM = "http://www.w3.org/2005/Atom"
# The year of the first feed, which with the host makes a unique tag URI (RFC 4151).
_SINCE = "2026"
_GENERATOR = "Paper Monitor"


@dataclass(frozen=True, slots=True)
class FeedPaper:
    """A paper of a feed, with the time when it was last news.

    `search` names the site where a paper without a link is searched for. Our own page of it would
    ask for a login, which feed readers do not have.
    """

    id: int
    paper: Paper
    updated: datetime
    search: str = ""


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its papers, newest first.

    `name` stays the same for ever, as in "topic/marl", and so does `host`; `address` is where the
    feed is read, `page` the page with the same papers.
    """

    title: str
    name: str
    host: str
    address: str
    page: str
    updated: datetime
    papers: tuple[FeedPaper, ...] = ()


def write_feed(feed: Feed) -> bytes:
    root = Element("feed", {"xmlns": _ATOM})
    _text(root, "id", _tag(feed, f"feed/{feed.name}"))
    _text(root, "title", feed.title)
    _text(root, "updated", _moment(feed.updated))
    # The author of papers without one: RFC 4287, 4.1.1, wants one.
    _author(root, _GENERATOR)
    _text(root, "generator", _GENERATOR)
    _link(root, "self", feed.address, "application/atom+xml")
    _link(root, "alternate", feed.page, "text/html")
    for paper in feed.papers:
        _entry(SubElement(root, "entry"), feed, paper)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _entry(entry: Element, feed: Feed, listed: FeedPaper) -> None:
    paper = listed.paper
    _text(entry, "id", _tag(feed, f"paper/{listed.id}"))
    _text(entry, "title", paper.title)
    _text(entry, "updated", _moment(listed.updated))
    if paper.day:
        _text(entry, "published", _moment(paper.day))
    for name in paper.authors:
        _author(entry, name)
    _link(entry, "alternate", title_link(paper, listed.search).url, "text/html")
    _link(entry, "related", pdf_url(paper), "application/pdf")
    for category in paper.categories:
        SubElement(entry, "category", {"term": _permitted(category)})
    # Without a link a summary is wanted even where there is nothing to say (RFC 4287, 4.1.2).
    _text(entry, "summary", paper.abstract)


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _permitted(text)


def _author(parent: Element, name: str) -> None:
    _text(SubElement(parent, "author"), "name", name)


def _link(parent: Element, relation: str, address: str, kind: str) -> None:
    if address:
        SubElement(parent, "link", {"rel": relation, "href": _permitted(address), "type": kind})


def _tag(feed: Feed, name: str) -> str:
    return f"tag:{feed.host},{_SINCE}:{name}"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _permitted(text: str) -> str:
    """Leave out what XML does not permit: controls and halves of surrogate pairs."""
    return "".join(letter for letter in text if is_xml_character(ord(letter)))
