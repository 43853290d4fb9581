"""Well-formed XML feeds to entries, fast: one walk of expat, no tree.

    bytes ──> plain UTF-8? ──> expat ──> only what has a rule here? ──> entries
                 └── no ──────────────────────────┴── no ──> None: feedparser reads it

Whatever this reads, feedparser reads the same, as a test holds for every fixture and for generated
feeds. What it has no rule for it declines rather than differ: markup inside of texts, xml:base,
media and podcast modules, dates in other forms, fields that stand twice where one counts, addresses
of mail as authors. The rules are those of feedparser's `mixin` and `namespaces`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
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
        self.about = ""
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
            self.inside = _inside(self.texts, partial(self.ends_entry, self.names))
            self.beside.append(name.lower())
            return
        known = self.names.beside(name, attributes)
        if known in ("item", "entry"):
            allowed = attributes.keys() <= {"rdf:about", "xml:lang"}
            if not allowed or self.beside[-1] not in self.names.parents:
                raise DeclinedError
            self.begins_entry(attributes.get("rdf:about", ""))
            return
        if known in _NOT_BESIDE or len(self.beside) > MAX_DEPTH:
            raise DeclinedError
        if known == "channel" and (len(self.beside) > 1 or attributes.keys() - {"rdf:about"}):
            raise DeclinedError
        self.beside.append(known)

    def begins_entry(self, about: str) -> None:
        if len(self.found) == self.most:
            raise DeclinedError
        self.about = about
        self.parser.StartElementHandler, self.parser.EndElementHandler = self.inside

    def ends_entry(self, names: Names, fields: list[_Field]) -> None:
        self.found.append(_entry(fields, names, self.base, self.about, self.issued))
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


# Name, attributes, text, and of an author in parts the name that they tell.
_Field = tuple[str, dict[str, str], str, str | None]


def _inside(
    texts: list[str], ended: Callable[[list[_Field]], None]
) -> tuple[Callable[[str, dict[str, str]], None], Callable[[str], None]]:
    """Return what begins and ends elements of entries; `ended` is told the fields of each entry.

    They run for every element of a document: what they need they hold, and they decide nothing.
    """
    fields: list[_Field] = []
    clear, keep = texts.clear, fields.append
    held: dict[str, str] | None = None  # the attributes of the field that is open
    part = ""  # of it
    person: str | None = None

    def begins(name: str, attributes: dict[str, str]) -> None:
        nonlocal held, part
        clear()
        if held is None:
            held = attributes
        elif part or attributes:
            raise DeclinedError
        else:
            part = name

    def ends(name: str) -> None:
        nonlocal held, part, person
        if held is None:
            ended(fields)
            fields.clear()
        elif part:
            person, part = _named(part, "".join(texts).strip(), person), ""
            clear()
        else:
            keep((name, held, "".join(texts).strip(), person))
            held = person = None

    return begins, ends


def _named(part: str, text: str, person: str | None) -> str:
    """Return whom an author in parts names, as far as they are told."""
    if part == "name":
        return text
    if part in _OF_PERSONS or (part in _OF_NAMED and person):
        return person or ""
    raise DeclinedError


def _entry(
    fields: list[_Field], names: Names, base: str, about: str, issued: datetime | None
) -> Entry:
    """Sort the fields of an entry by what they say."""
    title = ""
    said: dict[str, str] = {}
    contents: list[str] = []
    categories: list[str] = []
    people: list[tuple[str, str | None]] = []
    links: list[tuple[str, dict[str, str], str]] = []
    is_address = True  # the identifier
    roles = names.roles
    for name, attributes, text, person in fields:
        role = roles.get(name) or names.learn(name, attributes)
        if attributes and not names.allows(role, attributes):
            raise DeclinedError
        if person is not None and role != "author":
            raise DeclinedError  # only authors have parts
        if role not in _MANY:
            if role in said and role in _ONCE:
                raise DeclinedError
            said[role] = text
            if role == "id" and attributes:
                is_address = attributes.get("isPermaLink", "true") == "true"
        elif role == "author":
            people.append((text, person))
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
    content = max(contents, key=len) if contents else ""
    summary = mended(said["summary"]) if "summary" in said else (contents or ("",))[0]
    updated = moment(said.get("updated", ""))
    own = _identifier(said["id"], base if is_address else None) if "id" in said else about
    page, pdf, linked = _linked(links, base)
    return Entry(
        title,
        "" if summary == content else summary,
        content,
        _authors(people),
        own,
        page or (own if own.startswith(("http://", "https://")) else ""),
        pdf,
        (
            own,
            *[mended(said[role]) for role in _IDENTIFIERS if role in said],
            *linked,
            summary[:40] if summary.startswith("arXiv:") else "",
        ),
        _published(said) or (updated if names.is_rss else None),
        updated,
        issued,
        tuple(filter(None, categories)),
        mended(said.get("arxiv:announce_type", "")),
        next((mended(said[role]) for role in _VENUES if said.get(role)), ""),
        mended(said.get("arxiv:comment", "")),
    )


def _authors(told: list[tuple[str, str | None]]) -> tuple[str, ...]:
    """Authors in parts, or as texts; feedparser mixes up those of both forms."""
    parted = [person for _, person in told if person is not None]
    if not parted:
        texts = [mended(text) for text, _ in told]
        if "@" in "".join(texts):
            raise DeclinedError
        return tuple(texts)
    if len(parted) < len(told) or "" in parted:
        raise DeclinedError
    return tuple(parted)


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
