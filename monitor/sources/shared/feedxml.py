"""Well-formed XML feeds to entries, fast: one walk of expat, no tree.

    bytes ──> plain UTF-8? ──> expat ──> only what has a rule here? ──> entries
                 └── no ──────────────────────────┴── no ──> None: feedparser reads it

Whatever this reads, feedparser reads the same, as a test holds for every fixture and for generated
feeds. What it has no rule for it declines rather than differ: markup inside of texts, xml:base,
media and podcast modules, dates in other forms, fields that stand twice where one counts, addresses
of mail as authors. The rules are those of feedparser's `mixin` and `namespaces`.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from xml.parsers import expat

from monitor.sources.shared.entries import Entry, parse_date
from monitor.sources.shared.feednames import DeclinedError, Names
from monitor.sources.shared.feedvalues import is_utf8, joined, mended, moment

MAX_DEPTH = 16  # beside the entries

_FEED_DATES = ("lastbuilddate", "updated", "modified", "dc:date", "dcterms:modified")
_NOT_BESIDE = ("source", "rss", "feed", "rdf:rdf")
_IDENTIFIERS = ("dc:identifier", "prism:doi", "arxiv:doi")
_VENUES = ("prism:publicationname", "arxiv:journal_ref", "arxiv:journal_reference")
_ONCE = frozenset({"summary", "published", "updated", "id"})
_MANY = frozenset({"title", "category", "link", "author", "content", "enclosure"})
_OF_PERSONS = ("name", "email", "uri")
_OF_NAMED = ("arxiv:affiliation",)
_PDF = "application/pdf"


def read_entries(
    content: bytes, url: str = "", content_type: str = "", most: int = 5_000
) -> list[Entry] | None:
    """Return the entries of a feed that came from `url`, or None for a document to decline.

    A feed without entries or with more than `most` is declined, like all that is ill-formed.
    """
    if not is_utf8(content, url, content_type):
        return None
    try:
        return _Walk(url, most).entries_of(content)
    except (DeclinedError, expat.ExpatError, UnicodeDecodeError):
        return None


class _Walk:
    """Where expat is in a document, beside the entries: each entry takes its own elements."""

    def __init__(self, url: str, most: int) -> None:
        self.base = joined(url, url) if url else ""
        self.most = most
        self.names: Names | None = None
        self.found: list[Entry] = []
        self.issued: datetime | None = None
        self.beside: list[str] = []  # what is open
        self.texts: list[str] = []
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text, parser.buffer_size = True, 1 << 16
        parser.CharacterDataHandler = self.texts.append
        parser.StartDoctypeDeclHandler = _declined
        parser.StartElementHandler, parser.EndElementHandler = self.begins, self.ends

    def entries_of(self, content: bytes) -> list[Entry]:
        self.parser.Parse(content, True)
        if not self.found or "arxiv.org/api/errors" in self.found[0].id:
            raise DeclinedError
        if self.found[0].issued != self.issued:  # told behind the entries
            return [entry._replace(issued=self.issued) for entry in self.found]
        return self.found

    def begins(self, name: str, attributes: dict[str, str]) -> None:
        self.texts.clear()
        if self.names is None:
            self.names = Names(name, attributes)
            self.beside.append(name.lower())
            return
        known = self.names.beside(name, attributes)
        if known in ("item", "entry"):
            allowed = attributes.keys() <= {"rdf:about", "xml:lang"}
            if not allowed or self.beside[-1] not in self.names.parents:
                raise DeclinedError
            self.begins_entry(self.names, attributes.get("rdf:about", ""))
            return
        if known in _NOT_BESIDE or len(self.beside) > MAX_DEPTH:
            raise DeclinedError
        if known == "channel" and (len(self.beside) > 1 or attributes.keys() - {"rdf:about"}):
            raise DeclinedError
        self.beside.append(known)

    def begins_entry(self, names: Names, about: str) -> None:
        if len(self.found) == self.most:
            raise DeclinedError
        told = _Told(self, names, about)
        self.parser.StartElementHandler = told.begins
        self.parser.EndElementHandler = told.ends

    def ends_entry(self, entry: Entry) -> None:
        self.found.append(entry)
        self.parser.StartElementHandler = self.begins
        self.parser.EndElementHandler = self.ends

    def ends(self, _name: str) -> None:
        known, text = self.beside.pop(), "".join(self.texts).strip()
        self.texts.clear()
        if known in _FEED_DATES:
            if self.beside[-1] not in ("channel", "feed"):
                raise DeclinedError
            self.issued = moment(text)
        elif known == "title" and text.startswith("Feed error for query:"):
            raise DeclinedError


def _declined(*_: object) -> None:
    raise DeclinedError


class _Link(NamedTuple):
    rel: str
    type: str
    title: str
    href: str


class _Told:
    """What the elements of one entry say. Its handlers run for each of them, so they are short."""

    __slots__ = (
        *("about", "attributes", "authors", "base", "categories", "contents", "field"),
        *(
            "in_parts",
            "is_address",
            "links",
            "names",
            "person",
            "roles",
            "said",
            "texts",
            "title",
            "walk",
        ),
    )

    def __init__(self, walk: _Walk, names: Names, about: str) -> None:
        self.walk = walk
        self.texts = walk.texts
        self.base = walk.base
        self.names = names
        self.roles = names.roles
        self.about = about
        self.title = ""
        self.said: dict[str, str] = {}
        self.contents: list[str] = []
        self.links: list[_Link] = []
        self.categories: list[str] = []
        self.authors: list[str] = []
        self.attributes: dict[str, str] | None = None  # of the field that is open
        self.is_address = True  # the identifier
        self.in_parts = False  # the authors
        self.person: str | None = None

    def begins(self, name: str, attributes: dict[str, str]) -> None:
        self.texts.clear()
        if self.attributes is not None:
            self.begins_part(name, attributes)
            return
        self.field, self.attributes = name, attributes

    def begins_part(self, name: str, attributes: dict[str, str]) -> None:
        """Only authors have parts."""
        known = self.names.learn(self.field, self.attributes or {})
        allowed = name in _OF_PERSONS or (name in _OF_NAMED and self.person)
        if known != "author" or attributes or not allowed:
            raise DeclinedError
        self.walk.parser.StartElementHandler = _declined
        self.walk.parser.EndElementHandler = self.ends_part

    def ends_part(self, name: str) -> None:
        if name == "name":
            self.person = "".join(self.texts).strip()
        self.person = self.person or ""
        self.texts.clear()
        self.walk.parser.StartElementHandler = self.begins
        self.walk.parser.EndElementHandler = self.ends

    def ends(self, name: str) -> None:
        attributes = self.attributes
        if attributes is None:
            self.walk.ends_entry(self.entry())
            return
        role = self.roles.get(name) or self.names.learn(name, attributes)
        if attributes and not self.names.allows(role, attributes):
            raise DeclinedError
        self.attributes = None
        text = "".join(self.texts).strip()
        if role not in _MANY:
            if role in self.said and role in _ONCE:
                raise DeclinedError
            self.said[role] = text
            if role == "id" and attributes:
                self.is_address = attributes.get("isPermaLink", "true") == "true"
        elif role == "category":
            self.categories += attributes.get("term", ""), mended(text)
        elif role == "link":
            self.links.append(self.link(attributes, text))
        elif role == "author":
            self.author(text)
        elif role == "title":
            self.title = self.title or mended(text)
        elif role == "content":
            self.contents.append(mended(text))
        else:  # an enclosure
            kind, href = attributes.get("type", ""), attributes.get("url", "")
            self.links.append(_Link("enclosure", kind.lower(), "", href))

    def link(self, told: dict[str, str], text: str) -> _Link:
        href = told.get("href")
        address = "" if href is None else joined(self.base, href)
        if href is None and text:
            address = mended(joined(self.base, text)).replace("&amp;", "&")
        rel, kind = told.get("rel", "alternate"), told.get("type", "text/html")
        return _Link(rel.lower(), kind.lower(), told.get("title", ""), address)

    def author(self, text: str) -> None:
        """An author in parts, or as a text; feedparser mixes up those of both forms."""
        in_parts = self.person is not None
        mixed = bool(self.authors) and in_parts != self.in_parts
        if mixed or self.person == "" or (not in_parts and "@" in text):
            raise DeclinedError
        self.authors.append(mended(text) if self.person is None else self.person)
        self.in_parts, self.person = in_parts, None

    def identifier(self) -> str:
        told = self.said.get("id")
        if told is None:
            return self.about
        return mended(joined(self.base, told) if self.is_address and told else told)

    def text(self, role: str) -> str:
        return mended(self.said.get(role, ""))

    def entry(self) -> Entry:
        content = max(self.contents, key=len, default="")
        if "summary" in self.said:
            summary = self.text("summary")
        else:
            summary = self.contents[0] if self.contents else ""
        updated = moment(self.said.get("updated", ""))
        published = moment(self.said.get("published", ""))
        published = published or parse_date(self.text("prism:publicationdate"))
        own = self.identifier()
        page, pdf, named = "", "", [own]
        named += map(self.text, _IDENTIFIERS)
        for link in self.links:
            if link.rel == "alternate":
                page = page or link.href
            if link.rel == "alternate" or link.title == "doi":
                named.append(link.href)
            if link.type == _PDF:
                pdf = pdf or link.href
        if summary.startswith("arXiv:"):
            named.append(summary[:40])
        return Entry(
            title=self.title,
            summary="" if summary == content else summary,
            content=content,
            names=tuple(self.authors),
            id=own,
            link=page or (own if own.startswith(("http://", "https://")) else ""),
            pdf=pdf,
            identifiers=tuple(named),
            published=published or (updated if self.names.is_rss else None),
            updated=updated,
            issued=self.walk.issued,
            categories=tuple(filter(None, self.categories)),
            announce=self.text("arxiv:announce_type"),
            venue=next(filter(None, map(self.text, _VENUES)), ""),
            comment=self.text("arxiv:comment"),
        )
