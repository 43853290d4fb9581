"""Well-formed XML feeds to entries, fast: expat, and elements that are let go once they are read.

    bytes ──> plain UTF-8? ──> expat ──> only what has a rule here? ──> entries, one by one
                 └── no ──────────────────────────┴── no ──> None: feedparser reads it

Whatever this reads, feedparser reads the same, as a test holds for every fixture and for generated
feeds. What it has no rule for it declines rather than differ: markup inside of texts, xml:base,
media and podcast modules, dates in other forms, fields that stand twice where one counts, addresses
of mail as authors. The rules are those of feedparser's `mixin` and `namespaces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from monitor.sources.shared.entries import Entry, parse_date
from monitor.sources.shared.feednames import DeclinedError, Names
from monitor.sources.shared.feedvalues import is_utf8, joined, mended, moment

PIECE = 64 * 1024
MAX_PIECES = 16  # in which nothing ends
MAX_DEPTH = 16  # beside the entries
T = TypeVar("T")

_FEED_DATES = ("lastbuilddate", "updated", "modified", "dc:date", "dcterms:modified")
_NOT_BESIDE = ("source", "rss", "feed", "rdf:rdf", "channel", "item", "entry")
_IDENTIFIERS = ("dc:identifier", "prism:doi", "arxiv:doi")
_VENUES = ("prism:publicationname", "arxiv:journal_ref", "arxiv:journal_reference")
_ONCE = frozenset({"summary", "published", "updated", "id"})
_MANY = frozenset({"title", "category", "link", "author", "content", "enclosure"})
_OF_PERSONS = ("name", "email", "uri")
_OF_NAMED = ("arxiv:affiliation",)
_PDF = "application/pdf"
_NONE: dict[str, str] = {}


def each_entry(
    content: bytes,
    told: Callable[[Entry], T],
    url: str = "",
    content_type: str = "",
    most: int = 5_000,
) -> list[T] | None:
    """Return what `told` makes of each entry of a feed that came from `url`, as soon as it ends.

    None for a document to decline: one without entries or with more than `most`, one that has
    relative links and came from nowhere, and all that is ill-formed.
    """
    if not is_utf8(content, url, content_type):
        return None
    try:
        return [told(entry) for entry in _Walk(url, most).entries_of(content)] or None
    except (DeclinedError, expat.ExpatError, UnicodeDecodeError):
        return None


class _Walk:
    """A document on its way through expat, which builds elements of it without us."""

    def __init__(self, url: str, most: int) -> None:
        self.base = joined(url, url) if url else ""
        self.issued: datetime | None = None
        self.read = self.entries = 0
        self.most = most
        self.root: Element | None = None
        self.tree = tree = TreeBuilder()
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text, parser.buffer_size = True, PIECE
        parser.StartDoctypeDeclHandler = _declined
        parser.StartElementHandler = self.begins
        parser.EndElementHandler, parser.CharacterDataHandler = tree.end, tree.data

    def begins(self, name: str, attributes: dict[str, str]) -> None:
        """Begin the root, and nothing else."""
        self.names = Names(name, attributes)
        self.root = self.tree.start(name, attributes)
        self.parser.StartElementHandler = self.tree.start

    def entries_of(self, content: bytes) -> Iterator[Entry]:
        read, since = 0, 0
        for begin in range(0, len(content), PIECE):
            self.parser.Parse(content[begin : begin + PIECE], False)
            yield from self.taken(self.root, ended=False)
            read, since = self.read, 0 if self.read > read else since + 1
            if since > MAX_PIECES:
                raise DeclinedError
        self.parser.Parse(b"", True)
        yield from self.taken(self.root, ended=True)

    def taken(self, parent: Element | None, ended: bool) -> Iterator[Entry]:
        """Read what has ended of the children of a feed or its channel, and let it go."""
        if parent is None:
            return
        inside = parent.tag.lower()
        children = parent[:] if ended else parent[:-1]
        for child in children:
            self.read += 1
            known = self.names.beside(child.tag, child.attrib)
            if known in ("item", "entry"):
                yield self.entry(child, inside)
            elif known == "channel":
                if parent is not self.root or child.attrib.keys() - {"rdf:about"}:
                    raise DeclinedError
                yield from self.taken(child, ended=True)
            else:
                self.beside(child, known, inside, 1)
        del parent[: len(children)]
        for child in parent:
            if parent is self.root and child.tag == "channel":
                yield from self.taken(child, ended=False)

    def entry(self, element: Element, inside: str) -> Entry:
        self.entries += 1
        allowed = element.attrib.keys() <= {"rdf:about", "xml:lang"}
        if not allowed or inside not in self.names.parents or self.entries > self.most:
            raise DeclinedError
        entry = _entry(element, self.names, self.base, self.issued)
        if "arxiv.org/api/errors" in entry.id:
            raise DeclinedError
        return entry

    def beside(self, element: Element, known: str, inside: str, depth: int) -> None:
        """Read what stands beside the entries: the date of the feed alone matters."""
        if known in _NOT_BESIDE or depth > MAX_DEPTH:
            raise DeclinedError
        for part in element:
            self.beside(part, self.names.beside(part.tag, part.attrib), known, depth + 1)
        text = (element[-1].tail if len(element) else element.text) or ""
        if known in _FEED_DATES:
            if inside not in ("channel", "feed"):
                raise DeclinedError
            issued = moment(text.strip())
            if self.entries and issued != self.issued:
                raise DeclinedError  # the entries before it have another
            self.issued = issued
        elif known == "title" and text.strip().startswith("Feed error for query:"):
            raise DeclinedError


def _declined(*_: object) -> None:
    raise DeclinedError


def _person(author: Element) -> str:
    """Return whom an author in parts names."""
    person = ""
    for part in author:
        if len(part) or part.keys():
            raise DeclinedError
        person = _named(part.tag, (part.text or "").strip(), person)
    return person


def _named(part: str, text: str, person: str) -> str:
    if part == "name":
        return text
    if part in _OF_PERSONS or (part in _OF_NAMED and person):
        return person
    raise DeclinedError


class _Fields(NamedTuple):
    """The fields of an entry, sorted by what they say."""

    title: str
    said: dict[str, str]  # what is said once
    contents: list[str]
    categories: list[str]
    people: list[str]
    persons: list[str]  # authors in parts
    links: list[tuple[str, dict[str, str], str]]
    is_address: bool  # the identifier


def _fields(element: Element, names: Names) -> _Fields:
    title = ""
    said: dict[str, str] = {}
    contents: list[str] = []
    categories: list[str] = []
    people: list[str] = []
    persons: list[str] = []
    links: list[tuple[str, dict[str, str], str]] = []
    is_address = True
    roles = names.roles
    for field in element:
        # What has no attributes would make a dictionary of them.
        attributes = field.attrib if field.keys() else _NONE
        role = roles.get(field.tag) or names.learn(field.tag, attributes)
        if attributes and not names.allows(role, attributes):
            raise DeclinedError
        if len(field):
            if role != "author":
                raise DeclinedError
            persons.append(_person(field))
            continue
        text = (field.text or "").strip()
        if role not in _MANY:
            if role in said and role in _ONCE:
                raise DeclinedError
            said[role] = text
            if role == "id" and attributes:
                is_address = attributes.get("isPermaLink", "true") == "true"
        elif role == "author":
            people.append(mended(text))
        elif role == "category":
            if attributes:
                categories.append(attributes.get("term", ""))
            categories.append(mended(text))
        elif role == "title":
            title = title or mended(text)
        elif role == "content":
            contents.append(mended(text))
        else:
            links.append((role, attributes, text))
    return _Fields(title, said, contents, categories, people, persons, links, is_address)


def _entry(element: Element, names: Names, base: str, issued: datetime | None) -> Entry:
    title, said, contents, categories, people, persons, links, is_address = _fields(element, names)
    content = max(contents, key=len) if contents else ""
    summary = mended(said["summary"]) if "summary" in said else (contents or ("",))[0]
    updated = moment(said.get("updated", ""))
    own = element.get("rdf:about", "")
    if "id" in said:
        own = _identifier(said["id"], base if is_address else None)
    page, pdf, linked = _linked(links, base)
    page = page or (own if own.startswith(("http://", "https://")) else "")
    if page and not base and "://" not in page:
        raise DeclinedError
    return Entry(
        title,
        "" if summary == content else summary,
        content,
        _authors(people, persons),
        own,
        page,
        pdf,
        (
            own,
            *[mended(said[role]) for role in _IDENTIFIERS if role in said],
            *linked,
            summary[:40].partition(" Announce ")[0] if summary.startswith("arXiv:") else "",
        ),
        _published(said) or (updated if names.is_rss else None),
        updated,
        issued,
        tuple(filter(None, categories)),
        mended(said.get("arxiv:announce_type", "")),
        next((mended(said[role]) for role in _VENUES if said.get(role)), ""),
        mended(said.get("arxiv:comment", "")),
    )


def _authors(texts: list[str], persons: list[str]) -> tuple[str, ...]:
    """Authors as texts, or in parts; feedparser mixes up those of both forms."""
    if persons and (texts or "" in persons):
        raise DeclinedError
    if texts and "@" in "".join(texts):
        raise DeclinedError
    return tuple(texts or persons)


def _linked(told: list[tuple[str, dict[str, str], str]], base: str) -> tuple[str, str, list[str]]:
    """Return the page, the PDF, and the addresses that may name an identifier."""
    page, pdf, named = "", "", []
    for role, link, text in told:
        if role == "enclosure":
            address = link.get("url", "")
        elif "href" in link:
            address = joined(base, link["href"])
        else:
            address = mended(joined(base, text)).replace("&amp;", "&") if text else ""
        is_page = role == "link" and link.get("rel", "alternate").lower() == "alternate"
        if is_page:
            page = page or address
        if is_page or link.get("title") == "doi":
            named.append(address)
        if link.get("type", "").lower() == _PDF:
            pdf = pdf or address
    return page, pdf, named


def _identifier(told: str, base: str | None) -> str:
    return mended(told if base is None or not told else joined(base, told))


def _published(said: dict[str, str]) -> datetime | None:
    at = moment(said.get("published", ""))
    told = said.get("prism:publicationdate")
    return at or (parse_date(mended(told)) if told else None)
