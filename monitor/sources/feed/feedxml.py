"""Well-formed XML feeds to entries, fast: cut at their tags, without a tree.

    bytes ──> plain UTF-8? ──> well-formed? ──> only what has a rule here? ──> entries, one by one
                 └── no ───────────┴── no ────────────────┴── no ──> None: feedparser reads it

Whatever this reads, feedparser reads the same, as a test holds for every fixture and for generated
feeds. What it has no rule for it declines rather than differ: markup inside of texts, xml:base,
media and podcast modules, dates in other forms, fields that stand twice where one counts, addresses
of mail as authors. The rules are those of feedparser's `mixin` and `namespaces`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeVar
from xml.parsers import expat

from monitor.sources.feed.entry import Entry, parse_date
from monitor.sources.feed.feednames import IGNORED, Names
from monitor.sources.feed.feedtags import DeclinedError, decoded, last_aside, tag, without_asides
from monitor.sources.feed.feedvalues import is_utf8, joined, moment, repaired

BLOCK = 64 * 1024
MAX_BLOCK = 1024 * 1024  # an entry that ends so late is none of a paper
MAX_DEPTH = 16  # beside the entries
MAX_KNOWN = 1_000
T = TypeVar("T")

_ROOT = re.compile(rb"<([A-Za-z][\w:.-]*)")
_FEED_DATES = ("lastbuilddate", "updated", "modified", "dc:date", "dcterms:modified")
_NOT_BESIDE = ("source", "rss", "feed", "rdf:rdf", "channel", "item", "entry")
_IDENTIFIERS = ("dc:identifier", "prism:doi", "arxiv:doi")
_ONCE = frozenset({"summary", "published", "updated", "id"})
_MANY = frozenset({"title", "category", "link", "author", "content", "enclosure"})
_OF_PERSONS = (b"email", b"uri")
_OF_NAMED = (b"arxiv:affiliation",)
_PDF = "application/pdf"
_NONE: dict[str, str] = {}
_ENDS = ord("/")


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
        return [told(entry) for entry in _Walk(url, most).entries(content)] or None
    except (DeclinedError, expat.ExpatError):
        return None


class _Walk:
    """A document on its way from tag to tag."""

    def __init__(self, url: str, most: int) -> None:
        self.base = joined(url, url) if url else ""
        self.issued: datetime | None = None
        self.most, self.count = most, 0
        self.open: list[str] = []  # the elements around what is read
        self.text = b""  # behind the last tag beside the entries
        self.known: dict[bytes, tuple[str, bool]] = {}  # tags beside the entries

    def entries(self, content: bytes) -> Iterator[Entry]:
        last, root = last_aside(content), _ROOT.search(content)
        kind = b"entry" if root and root[1] == b"feed" else b"item"
        for begin, block in _blocks(content, kind):
            tokens = iter((block if begin > last else without_asides(block)).split(b"<"))
            next(tokens)  # in front of the first tag
            for token in tokens:
                told, _, behind = token.partition(b">")
                if told == kind:
                    yield self.entry(_NONE, tokens)
                elif told.startswith(kind) and (opened := tag(told))[::2] == (kind.decode(), False):
                    yield self.entry(opened[1], tokens)
                else:
                    self.beside(told, behind)

    def entry(self, attributes: dict[str, str], tokens: Iterator[bytes]) -> Entry:
        self.count += 1
        if not self.open or self.open[-1] not in self.names.parents or self.count > self.most:
            raise DeclinedError
        if attributes and not attributes.keys() <= {"rdf:about", "xml:lang"}:
            raise DeclinedError
        about = attributes.get("rdf:about", "")
        entry = _entry(tokens, self.names, self.base, about, self.issued)
        if "arxiv.org/api/errors" in entry.id:
            raise DeclinedError
        return entry

    def beside(self, told: bytes, behind: bytes) -> None:
        """Read what stands beside the entries: the date of the feed alone matters."""
        if told[0] == _ENDS:
            self.ends()
        elif not told.startswith(b"?"):  # the declaration
            known, is_empty = self.known.get(told) or self.learn(told)
            self.begins(known)
            if is_empty:
                self.text = b""
                self.ends()
        self.text = behind

    def begins(self, known: str) -> None:
        depth = len(self.open)
        is_channel = known == "channel" and depth == 1
        if (depth and known in _NOT_BESIDE and not is_channel) or depth > MAX_DEPTH:
            raise DeclinedError
        if depth and self.open[-1] in _FEED_DATES:
            raise DeclinedError
        self.open.append(known)

    def learn(self, told: bytes) -> tuple[str, bool]:
        """Return what a tag beside the entries is called, and whether its element ends at once."""
        name, attributes, is_empty = tag(told)
        if not self.open:
            self.names = Names(name, attributes)
            return name.lower(), is_empty
        known = self.names.beside(name, attributes)
        if known == "channel" and attributes.keys() - {"rdf:about"}:
            raise DeclinedError
        if len(self.known) < MAX_KNOWN:
            self.known[told] = known, is_empty
        return known, is_empty

    def ends(self) -> None:
        known = self.open.pop()
        if known in _FEED_DATES:
            if self.open[-1] not in ("channel", "feed"):
                raise DeclinedError
            issued = moment(_said(self.text))
            if self.count and issued != self.issued:
                raise DeclinedError  # the entries before it have another
            self.issued = issued
        elif known == "title" and _said(self.text).startswith("Feed error for query:"):
            raise DeclinedError


def _blocks(content: bytes, kind: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut a document where an entry ends, or before a tag where none has begun.

    Gives where each block begins, and its bytes, in which lines end as XML tells them (2.11).
    """
    begins, ends = b"<" + kind, b"</%b>" % kind
    done = 0
    while done < len(content):
        most = done + BLOCK
        end = content.rfind(ends, done, most)
        if end < 0 and content.find(begins, done, most + len(begins)) < 0:
            last = content.rfind(b"<", done + 1, most)
            end = last if last >= 0 else content.find(b"<", most)
        else:
            end = end if end >= 0 else content.find(ends, done)
            end = end + len(ends) if end >= 0 else end
        block = content[done : end if end >= 0 else len(content)]
        if len(block) > MAX_BLOCK:
            raise DeclinedError
        yield done, _with_plain_lines(block)
        done += len(block)


def _with_plain_lines(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def _person(token: bytes, tokens: Iterator[bytes]) -> str:
    """Return whom an author in parts names, of which `token` is the first."""
    person = ""
    while token[0] != _ENDS:
        part, _, text = token.partition(b">")
        if part.endswith(b"/"):
            part, text = part[:-1], b""
        elif next(tokens, b" ")[0] != _ENDS:
            raise DeclinedError
        if part == b"name":
            person = _said(text)
        elif part not in _OF_PERSONS and not (part in _OF_NAMED and person):
            raise DeclinedError
        token = next(tokens, b" ")
    return person


def _said(text: bytes) -> str:
    said = text.decode()
    return (decoded(said) if "&" in said else said).strip()


# The fields of an entry, sorted by what they say: title, what is said once, contents, categories,
# people, authors in parts, links (role, attributes, text), whether the identifier is an address.
_Link = tuple[str, dict[str, str], str]
_Texts = list[str]
_Fields = tuple[str, dict[str, str], _Texts, _Texts, _Texts, _Texts, list[_Link], bool]


def _fields(tokens: Iterator[bytes], names: Names) -> _Fields:
    """Read the elements of an entry, each from its tag and the text behind that."""
    title = ""
    said: dict[str, str] = {}
    contents: list[str] = []
    categories: list[str] = []
    people: list[str] = []
    persons: list[str] = []
    links: list[_Link] = []
    is_address = True
    known = names.tags
    for token in tokens:
        told, _, behind = token.partition(b">")
        if told in known:
            role, attributes, is_empty = known[told]
        elif told[0] == _ENDS:
            break  # the entry ends: the ends of its parts are taken below
        else:
            role, attributes, is_empty = names.learn(told)
        text = ""
        if not is_empty:
            following = next(tokens, b" ")
            if following[0] != _ENDS:
                if role != "author":
                    raise DeclinedError
                persons.append(_person(following, tokens))
                continue
            if role != IGNORED:  # as `_said`, without a call for each of a dozen fields
                text = behind.decode()
                text = (decoded(text) if "&" in text else text).strip()
        if role == "category":
            if attributes and (term := attributes.get("term")):
                categories.append(term)
            if text:
                categories.append(repaired(text))
        elif role not in _MANY:
            if role in said and role in _ONCE:
                raise DeclinedError
            said[role] = text
            if attributes and role == "id":
                is_address = attributes.get("isPermaLink", "true") == "true"
        elif role == "author":
            people.append(repaired(text))
        elif role == "title":
            title = title or repaired(text)
        elif role == "content":
            contents.append(repaired(text))
        else:
            links.append((role, attributes, text))
    return title, said, contents, categories, people, persons, links, is_address


def _entry(
    tokens: Iterator[bytes], names: Names, base: str, own: str, issued: datetime | None
) -> Entry:
    title, said, contents, categories, people, persons, links, is_address = _fields(tokens, names)
    content = max(contents, key=len) if contents else ""
    summary = repaired(said["summary"]) if "summary" in said else (contents or ("",))[0]
    updated = moment(said.get("updated", ""))
    if "id" in said:
        own = _identifier(said["id"], base if is_address else None)
    page, pdf, linked = _linked(links, base)
    named = [own]
    page = page or (own if own.startswith(("http://", "https://")) else "")
    if page and not base and "://" not in page:
        raise DeclinedError
    for role in _IDENTIFIERS:
        if role in said:
            named.append(repaired(said[role]))
    return Entry(
        title,
        "" if summary == content else summary,
        content,
        _authors(people, persons),
        own,
        page,
        pdf,
        (*named, *linked),
        _published(said) or (updated if names.is_rss else None),
        updated,
        issued,
        tuple(categories),
        repaired(said.get("arxiv:announce_type", "")),
        repaired(_venue(said)),
        repaired(said.get("arxiv:comment", "")),
    )


def _authors(texts: list[str], persons: list[str]) -> tuple[str, ...]:
    """Authors as texts, or in parts; feedparser mixes up those of both forms."""
    if persons and (texts or "" in persons):
        raise DeclinedError
    if texts and "@" in "".join(texts):
        raise DeclinedError
    return tuple(texts or persons)


def _linked(told: list[_Link], base: str) -> tuple[str, str, list[str]]:
    """Return the page, the PDF, and the addresses that may name an identifier."""
    page, pdf, named = "", "", []
    for role, link, text in told:
        if "href" in link:
            address = joined(base, link["href"])
        elif role == "enclosure":
            address = link.get("url", "")
        else:
            address = repaired(joined(base, text)).replace("&amp;", "&") if text else ""
        if role == "link" and link.get("rel", "alternate").lower() == "alternate":
            page = page or address
            named.append(address)
        elif link.get("title") == "doi":
            named.append(address)
        if link and link.get("type", "").lower() == _PDF:
            pdf = pdf or address
    return page, pdf, named


def _identifier(told: str, base: str | None) -> str:
    return repaired(told if base is None or not told else joined(base, told))


def _venue(said: dict[str, str]) -> str:
    arxiv = said.get("arxiv:journal_ref") or said.get("arxiv:journal_reference")
    return said.get("prism:publicationname") or arxiv or ""


def _published(said: dict[str, str]) -> datetime | None:
    at = moment(said.get("published", ""))
    told = said.get("prism:publicationdate")
    return at or (parse_date(repaired(told)) if told else None)
