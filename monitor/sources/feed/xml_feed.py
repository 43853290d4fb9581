"""RSS, RDF and Atom to entries, by feedparser; what would harm it is refused first."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import struct_time
from typing import Any
from xml.etree.ElementTree import Element
from xml.parsers import expat
from xml.sax import SAXException

import feedparser

from monitor.errors import DocumentError
from monitor.sources.feed.json_feed import MAX_ENTRIES, Entry, FeedEntries
from monitor.sources.fields.dates import has_year_zero, parse_any_date, parse_date
from monitor.sources.fields.encoding import declared_encoding, is_xml_character, refusal_of
from monitor.sources.xml_records import read_elements

MAX_DEPTH = 256
MAX_ENTRY_ELEMENTS = 20_000  # papers have up to some 5,000 authors
MAX_ILL_FORMED_BYTES = 2 * 1024 * 1024  # the tolerant parser is slow

_ATOM = "http://www.w3.org/2005/Atom"
_ARXIV = "http://arxiv.org/schemas/atom"
_ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:item|entry)[\s>]")
_HTML = re.compile(
    rb"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_CHARSET = re.compile(r"charset\s?=\s?[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_PROLOG_END = re.compile(rb"<[A-Za-z_]")
_ENTITIES = re.compile(rb"<!(?:ENTITY|DOCTYPE[^>\[]{0,1000}\[)", re.IGNORECASE)

_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]{0,1000}>", re.IGNORECASE)
_ENTRY_END = re.compile(rb"</(?:\w{1,20}:)?(?:item|entry)\s*>")
_ROOT_END = re.compile(
    rb"</(?:\w{1,20}:)?(?:rss|feed|RDF)\s*>(?:\s++|<!--(?:(?!-->|<!--).)*+-->)*+$", re.DOTALL
)
# Places, pictures and sounds: feedparser 6.0.14 breaks at a gml:pos outside a georss:where.
_OTHER_MODULES = re.compile(rb"</?(?:gml|georss|geo|media|itunes|psc):[^<>]{1,2000}>")
_CHARACTER_NUMBER = re.compile(rb"&#(\d{1,9}|[xX][0-9a-fA-F]{1,8});?")
# Dates for which feedparser makes up a day: 2024, 2024-00-00, 2024/03/21
_MISREAD_DATE = re.compile(r"\d{4}(?:/|(?:-\d\d)?(?:-00)?$)")
# Of FOAF, which has had several names for each: http://xmlns.com/foaf/spec/
_GIVEN_NAME = ("foaf_givenname", "foaf_firstname")
_FAMILY_NAME = ("foaf_familyname", "foaf_family_name", "foaf_surname", "foaf_lastname")
_VENUES = ("prism_publicationname", "arxiv_journal_ref", "arxiv_journal_reference")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
# feedparser calls its handlers for each line, also for empty ones.
_GAP = re.compile(rb"(?<!\s)\s{1000,}")
# It looks for mail addresses in authors, in a time that grows with the square of a word's length.
_ENDLESS_WORD = re.compile(rb"(?<![\w.+-])[\w.+-]{1000,}")
_WORD_PIECE_BYTES = 500


def read_xml(content: bytes, url: str, content_type: str) -> FeedEntries:
    """Read any XML feed as far as it can be read; raises DocumentError."""
    if b"\0" not in content:
        content = _GAP.sub(b"\n", content.translate(None, _CONTROLS))
        content = _ENDLESS_WORD.sub(_split_word, content)
    _check_document(content, content_type)
    plain = _CHARACTER_NUMBER.sub(  # feedparser gives up at a character that does not exist
        lambda number: number[0] if is_xml_character(number[1].decode()) else b"",
        _DOCTYPE.sub(b"", content, count=1),
    )
    feed = _parse(plain, url, content_type)
    _check_answer(feed)
    issued = _date(feed.feed, "updated")
    affiliations = _affiliations(plain)
    entries: list[Entry | str] = [
        _entry(item, feed.version, issued, affiliations) for item in feed.entries
    ]
    is_cut = not _ROOT_END.search(content[-4096:].replace(b"\0", b""))
    if is_cut and entries:
        plain = content.replace(b"\0", b"")
        last = max((match.start() for match in _ENTRY.finditer(plain)), default=0)
        if not _ENTRY_END.search(plain, last):
            entries[-1] = "the document ends inside this entry"
    complete = not (is_cut or isinstance(feed.get("bozo_exception"), SAXException))
    if not (entries or complete):
        raise DocumentError("the document is cut off or broken before its first entry")
    own = _href(feed.feed, lambda link: link.get("rel") == "self")
    home = own or _href(feed.feed, lambda link: link.get("rel") == "alternate")
    return FeedEntries(tuple(entries), complete, home)


def _split_word(match: re.Match[bytes]) -> bytes:
    word = match.group()
    starts = range(0, len(word), _WORD_PIECE_BYTES)
    return b" ".join(word[start : start + _WORD_PIECE_BYTES] for start in starts)


def _parse(content: bytes, url: str, content_type: str) -> Any:
    """Let feedparser read a feed; where it breaks, without the modules in which it does."""
    headers = {"content-type": content_type, "content-location": url}

    def parse(content: bytes) -> Any:
        return feedparser.parse(
            io.BytesIO(content),  # it takes a bare value for an address or a path
            response_headers={name: value for name, value in headers.items() if value},
            sanitize_html=False,  # monitor.sources.fields.markup drops all mark-up
            resolve_relative_uris=False,
        )

    try:
        with suppress(Exception):
            return parse(content)
        return parse(_OTHER_MODULES.sub(b"", content))
    except Exception as fault:  # it may fail anywhere on broken feeds
        error = f"the feed broke its reader: {type(fault).__name__}: {fault}"[:200]
        raise DocumentError(error) from fault


def _check_answer(feed: Any) -> None:
    """Raise DocumentError if a document is not a feed, or not an answer to the request."""
    if not feed.get("version"):
        raise DocumentError("the document is neither RSS, Atom nor JSON Feed")
    if refusal := refusal_of(str(feed.get("encoding", ""))):
        raise DocumentError(refusal)
    first = feed.entries[0] if feed.entries else {}
    if "arxiv.org/api/errors" in _text(first, "id"):
        raise DocumentError(f"arXiv answered with an error: {_text(first, 'summary')[:200]}")
    if str(feed.feed.get("title", "")).startswith("Feed error for query:"):
        raise DocumentError(f"arXiv answered with an error: {feed.feed.get('subtitle', '')[:200]}")
    total = str(feed.feed.get("opensearch_totalresults", "0"))
    begin = str(feed.feed.get("opensearch_startindex", "0"))
    if not feed.entries and total.isdigit() and begin.isdigit() and int(total) > int(begin):
        raise DocumentError(f"the feed is empty although it says that there are {total} entries")


def _check_document(content: bytes, content_type: str) -> None:
    """Raise DocumentError if a document must not reach the parser."""
    plain = content.replace(b"\0", b"")  # of UTF-16, the letters
    charset = _CHARSET.search(content_type)
    for encoding in (charset[1] if charset else "", declared_encoding(plain)):
        if refusal := refusal_of(encoding):
            raise DocumentError(refusal)
    if _HTML.match(plain):
        raise DocumentError("the document is an HTML page, not a feed")
    root = _PROLOG_END.search(plain)
    if _ENTITIES.search(plain, 0, root.start() if root else len(plain)):
        raise DocumentError("the document declares entities, which no feed needs")
    if sum(1 for _ in _ENTRY.finditer(plain)) > MAX_ENTRIES:
        raise DocumentError(f"the feed has more than {MAX_ENTRIES:,} entries")
    if not _is_xml(content) and len(content) > MAX_ILL_FORMED_BYTES:
        raise DocumentError("the document is large and not well-formed XML")


def _is_xml(content: bytes) -> bool:
    """Whether a document is well-formed; DocumentError for more or deeper elements than allowed."""
    depth = elements = 0

    def on_start(name: str, _attributes: object) -> None:
        nonlocal depth, elements
        depth += 1
        elements = 0 if name.endswith(("item", "entry")) else elements + 1
        if depth > MAX_DEPTH:
            raise DocumentError(f"the document is nested deeper than {MAX_DEPTH} levels")
        if elements > MAX_ENTRY_ELEMENTS:
            raise DocumentError(f"an entry has more than {MAX_ENTRY_ELEMENTS:,} elements")

    def on_end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True


# ── entries ─────────────────────────────────────────────────────────────────────────


def _affiliations(content: bytes) -> dict[str, tuple[str, ...]]:
    """Return the affiliations of all authors by entry id: feedparser keeps only the last.

    Authors have them in the answers of arXiv's API alone.
    """
    if b"affiliation>" not in content:
        return {}
    entries = read_elements(content, ("entry",), spaces=(f"{{{_ATOM}}}",))
    return {
        (entry.findtext(f"{{{_ATOM}}}id") or "").strip(): of_authors
        for entry in entries
        if isinstance(entry, Element)
        and (
            of_authors := tuple(
                text for one in entry.iter(f"{{{_ARXIV}}}affiliation") if (text := one.text)
            )
        )
    }


def _entry(
    item: Any,
    version: str,
    issued: datetime | None,
    affiliations: Mapping[str, tuple[str, ...]],
) -> Entry:
    content = max((part.get("value", "") for part in item.get("content", ())), key=len, default="")
    summary = _text(item, "summary")
    updated = _date(item, "updated")
    published = _date(item, "published") or parse_date(_text(item, "prism_publicationdate"))
    if not published and version.startswith("rss"):
        published = updated  # dc:date of RDF and RSS
    return Entry(
        title=_text(item, "title"),
        summary="" if summary == content else summary,  # feedparser fills in what is missing
        content=content,
        names=_names(item),
        id=_text(item, "id"),
        link=_link(item),
        pdf=_href(item, lambda link: link.get("type") == "application/pdf"),
        identifiers=tuple(_identifiers(item)),
        links=tuple(_links(item, lambda link: link.get("rel") == "alternate")),
        published=published,
        updated=updated,
        issued=issued,
        categories=tuple(tag.get("term") or "" for tag in item.get("tags", ())),
        announce=_text(item, "arxiv_announce_type"),
        venue=_first(item, _VENUES),
        comment=_text(item, "arxiv_comment"),
        affiliations=affiliations.get(_text(item, "id"), ()),
    )


def _names(item: Any) -> tuple[str, ...]:
    """The authors; feedparser makes one text of an `authors` element, which IEEE's feeds have."""
    authors = item.get("authors", ())
    if isinstance(authors, str):
        return (authors,)
    names = tuple(author.get("name") or "" for author in authors)
    given, family = (_first(item, fields) for fields in (_GIVEN_NAME, _FAMILY_NAME))
    return (f"{given} {family}",) if names == (f"{family}, {given}",) else names


def _first(item: Any, names: Iterable[str]) -> str:
    return next(filter(None, (_text(item, name) for name in names)), "")


def _text(item: Any, name: str) -> str:
    """A text; for an element that it does not know, feedparser may hold attributes instead."""
    value = item.get(name, "")
    return value if isinstance(value, str) else ""


def _link(item: Any) -> str:
    """The page of an entry, not the one that counts its readers; a guid where it is an address."""
    page = _href(item, lambda link: link.get("rel") == "alternate")
    guid = _text(item, "id")
    named = guid if guid.startswith(("http://", "https://")) else ""
    return _text(item, "feedburner_origlink") or page or named


def _href(item: Any, is_wanted: Callable[[Any], bool]) -> str:
    return next(_links(item, is_wanted), "")


def _links(item: Any, is_wanted: Callable[[Any], bool]) -> Iterator[str]:
    links = (link.get("href", "") for link in item.get("links", ()) if is_wanted(link))
    return (str(link) for link in links if link)


def _identifiers(item: Any) -> Iterator[str]:
    yield from (_text(item, name) for name in ("dc_identifier", "prism_doi", "arxiv_doi"))
    # arXiv's API gives the DOI of the published version as a link.
    yield from _links(item, lambda link: link.get("title") == "doi")


def _date(item: Any, name: str) -> datetime | None:
    """Return a date, read as people write it where feedparser cannot or makes up a day."""
    text = str(dict.get(item, name) or "").strip()  # its own `get` takes other fields, too
    at = dict.get(item, f"{name}_parsed")
    if isinstance(at, struct_time) and not (_MISREAD_DATE.match(text) or has_year_zero(text)):
        with suppress(ValueError):
            return datetime(*at[:5], min(at[5], 59), tzinfo=UTC)
    return parse_any_date(text)
