"""Kind `feed`: RSS, RDF, Atom and JSON Feed.

bytes ── begins with { or [ ──> json_feed ───┐
      └─ XML: refused, or ────> feedparser ──┴──> Entry ──> Paper or Rejected
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import struct_time
from typing import Any, ClassVar
from xml.parsers import expat
from xml.sax import SAXException

from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.base import Source
from monitor.sources.feed import json_feed
from monitor.sources.feed.entry import Entry, paper
from monitor.sources.fields.dates import parse_any_date, parse_date

MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 5_000
MAX_DEPTH = 256
MAX_PARTS = 20_000  # elements of one entry: papers have up to some 5,000 authors
MAX_ILL_FORMED = 2 * 1024 * 1024  # the tolerant parser is slow

_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]{0,1000}>", re.IGNORECASE)
_PROLOG_END = re.compile(rb"<[A-Za-z_]")
_DECLARES = re.compile(rb"<!(?:ENTITY|DOCTYPE[^>\[]{0,1000}\[)", re.IGNORECASE)
_ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:item|entry)[\s>]")
_ENTRY_END = re.compile(rb"</(?:\w{1,20}:)?(?:item|entry)\s*>")
_ROOT_END = re.compile(rb"</(?:\w{1,20}:)?(?:rss|feed|RDF)\s*>(?:\s|<!--.*?-->|\0)*$", re.DOTALL)
# Places, pictures and sounds: feedparser 6.0.14 breaks at a gml:pos that is in no georss:where.
_OF_NO_PAPER = re.compile(rb"</?(?:gml|georss|geo|media|itunes|psc):[^<>]{1,2000}>")
_NUMBERED = re.compile(rb"&#(\d{1,9}|[xX][0-9a-fA-F]{1,8});?")
# Dates for which feedparser makes up a day: 2024, 2024-00-00, 2024/03/21
_MISREAD = re.compile(r"\d{4}(?:/|(?:-\d\d)?(?:-00)?$)")
_VENUES = ("prism_publicationname", "arxiv_journal_ref", "arxiv_journal_reference")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r"))
# The parser is called for each line, also of nothing.
_GAP = re.compile(rb"(?<!\s)\s{1000,}")
_BOM = b"\xef\xbb\xbf"


class Feed(Source):
    """Reads feeds. What an entry says it was published on counts as its announcement.

    `updated` never does: scrapers and feed builders write the time of their own run there.
    """

    kind: ClassVar[str] = "feed"
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = True
    repeats: ClassVar[bool] = True

    def read(self, document: Document) -> Reading:
        """Read all entries; the reading is incomplete when the document is cut or ill-formed."""
        content = document.content.removeprefix(_BOM)
        if not content.strip():
            return _failed("the document is empty")
        if len(content) > MAX_BYTES:
            return _failed(f"the document is larger than {MAX_BYTES:,} bytes")
        if content.lstrip()[:1] in (b"{", b"["):
            return _read_json(content, document.url, self._clock())
        return _read_xml(content, document, self._clock())


def _papers(
    entries: Iterable[Entry | str], base: str, now: datetime
) -> tuple[tuple[Paper, ...], tuple[Rejected, ...]]:
    """Turn entries, or the reasons why there is none, into papers and rejections."""
    papers: list[Paper] = []
    rejected: list[Rejected] = []
    for number, entry in enumerate(entries, start=1):
        found = entry if isinstance(entry, str) else paper(entry, base, now)
        if isinstance(found, Paper):
            papers.append(found)
        else:
            rejected.append(Rejected(f"entry {number}", found))
    return tuple(papers), tuple(rejected)


def _failed(error: str) -> Reading:
    return Reading(error=error, complete=False)


# ── JSON ────────────────────────────────────────────────────────────────────────────


def _read_json(content: bytes, base: str, now: datetime) -> Reading:
    found = json_feed.read_json(content)
    if len(found.items) > MAX_ENTRIES:
        return _failed(f"the feed has more than {MAX_ENTRIES:,} entries")
    papers, rejected = _papers(_json_entries(found.items), base or found.home, now)
    error = found.error or _all_rejected(papers, rejected)
    return Reading(papers, rejected, error, complete=found.whole and not error)


def _json_entries(items: Iterable[object]) -> Iterator[Entry | str]:
    for item in items:
        yield json_feed.entry(item) if isinstance(item, Mapping) else "entry is not an object"


def _all_rejected(papers: tuple[Paper, ...], rejected: tuple[Rejected, ...]) -> str:
    return "" if papers or not rejected else f"no entry is a paper: {rejected[0].why}"


# ── XML ─────────────────────────────────────────────────────────────────────────────


def _read_xml(content: bytes, document: Document, now: datetime) -> Reading:
    """Read an XML feed of any sort by feedparser, as far as it can be read."""
    if b"\0" not in content:
        content = _GAP.sub(b"\n", content.translate(None, _CONTROLS))
    refusal = _refusal(content)
    if refusal:
        return _failed(refusal)
    legal = _legal(_DOCTYPE.sub(b"", content, count=1))
    try:
        parsed = _parsed(legal, document)
    except Exception as fault:  # of a library that reads anything, on what nobody thought of
        return _failed(f"the feed broke its reader: {type(fault).__name__}: {fault}"[:200])
    error = _no_feed(parsed)
    if error:
        return _failed(error)
    issued = _date(parsed.feed, "updated")
    entries: list[Entry | str] = [_entry(e, parsed.version, issued) for e in parsed.entries]
    cut = not _ROOT_END.search(content[-4096:])
    if cut and entries and _ends_inside_entry(content):
        entries[-1] = "the document ends inside this entry"
    papers, rejected = _papers(entries, document.url or _home(parsed.feed), now)
    whole = not (cut or isinstance(parsed.get("bozo_exception"), SAXException))
    error = _all_rejected(papers, rejected)
    if not (entries or whole):
        error = "the document is cut off or broken before its first entry"
    return Reading(papers, rejected, error, complete=whole and not error)


def _legal(content: bytes) -> bytes:
    """Drop numbers of characters that there are not: feedparser gives up at them."""
    return _NUMBERED.sub(lambda found: found.group() if _is_character(found[1]) else b"", content)


def _is_character(number: bytes) -> bool:
    code = int(number[1:], 16) if number[:1] in b"xX" else int(number)
    return code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF


def _parsed(content: bytes, document: Document) -> Any:
    """Let feedparser read a feed; where it breaks, without the modules in which it does."""
    try:
        return _parse(content, document)
    except Exception:
        if not _OF_NO_PAPER.search(content):
            raise
        return _parse(_OF_NO_PAPER.sub(b"", content), document)


def _parse(content: bytes, document: Document) -> Any:
    import feedparser  # slow to load, and not needed to read other kinds

    headers = {"content-type": document.content_type, "content-location": document.url}
    return feedparser.parse(
        io.BytesIO(content),  # it takes a bare value for an address or a path
        response_headers={name: value for name, value in headers.items() if value},
        sanitize_html=False,  # all mark-up goes, in monitor.sources.fields.markup
        resolve_relative_uris=False,
    )


def _refusal(content: bytes) -> str:
    """Say why a document must not reach the parser, or "" when it may."""
    plain = content.replace(b"\0", b"")  # of UTF-16, the letters
    if _HTML.match(plain):
        return "the document is an HTML page, not a feed"
    root = _PROLOG_END.search(plain)
    if _DECLARES.search(plain, 0, root.start() if root else len(plain)):
        return "the document declares entities, which no feed needs"
    if sum(1 for _ in _ENTRY.finditer(plain)) > MAX_ENTRIES:
        return f"the feed has more than {MAX_ENTRIES:,} entries"
    try:
        well_formed = _is_well_formed(content)
    except _RefusedError as why:
        return str(why)
    if not well_formed and len(content) > MAX_ILL_FORMED:
        return "the document is large and not well-formed XML"
    return ""


class _RefusedError(Exception):
    pass


def _is_well_formed(content: bytes) -> bool:
    """Look at all elements; _RefusedError for more, or deeper ones, than the parser should see."""
    depth = parts = 0

    def opened(name: str, _attributes: object) -> None:
        nonlocal depth, parts
        depth += 1
        parts = 0 if name.endswith(("item", "entry")) else parts + 1
        if depth > MAX_DEPTH:
            raise _RefusedError(f"the document is nested deeper than {MAX_DEPTH} levels")
        if parts > MAX_PARTS:
            raise _RefusedError(f"an entry has more than {MAX_PARTS:,} elements")

    def closed(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True


def _no_feed(parsed: Any) -> str:
    """Say why a document is no feed, or no answer to what was asked; "" when it is one."""
    if not parsed.get("version"):
        return "the document is neither RSS, Atom nor JSON Feed"
    first = parsed.entries[0] if parsed.entries else {}
    if "arxiv.org/api/errors" in _said(first, "id"):
        return f"arXiv answered with an error: {_said(first, 'summary')[:200]}"
    if str(parsed.feed.get("title", "")).startswith("Feed error for query:"):
        return f"arXiv answered with an error: {parsed.feed.get('subtitle', '')[:200]}"
    total = str(parsed.feed.get("opensearch_totalresults", "0"))
    begin = str(parsed.feed.get("opensearch_startindex", "0"))
    if not parsed.entries and total.isdigit() and begin.isdigit() and int(total) > int(begin):
        return f"the feed is empty although it says that there are {total} entries"
    return ""


def _home(feed: Any) -> str:
    """Where a feed says that it is, else of what page it is: what its links are relative to."""
    own = _href(feed, lambda link: link.get("rel") == "self")
    return own or _href(feed, lambda link: link.get("rel") == "alternate")


def _ends_inside_entry(content: bytes) -> bool:
    plain = content.replace(b"\0", b"")
    begins = max((found.start() for found in _ENTRY.finditer(plain)), default=-1)
    return not _ENTRY_END.search(plain, max(begins, 0))


def _entry(told: Any, version: str, issued: datetime | None) -> Entry:
    content = max((part.get("value", "") for part in told.get("content", ())), key=len, default="")
    summary = _said(told, "summary")
    updated = _date(told, "updated")
    published = _date(told, "published") or parse_date(_said(told, "prism_publicationdate"))
    if not published and version.startswith("rss"):
        published = updated  # dc:date of RDF and RSS
    return Entry(
        title=_said(told, "title"),
        summary="" if summary == content else summary,  # feedparser fills in what is missing
        content=content,
        names=_names(told),
        id=_said(told, "id"),
        link=_link(told),
        pdf=_href(told, lambda link: link.get("type") == "application/pdf"),
        identifiers=tuple(_identifiers(told)),
        published=published,
        updated=updated,
        issued=issued,
        categories=tuple(tag.get("term") or "" for tag in told.get("tags", ())),
        announce=_said(told, "arxiv_announce_type"),
        venue=next(filter(None, (_said(told, name) for name in _VENUES)), ""),
        comment=_said(told, "arxiv_comment"),
    )


def _names(told: Any) -> tuple[str, ...]:
    """The authors; of an element of that name, which IEEE's feeds have, feedparser tells a text."""
    authors = told.get("authors", ())
    if isinstance(authors, str):
        return (authors,)
    return tuple(author.get("name") or "" for author in authors)


def _said(told: Any, name: str) -> str:
    """A text; of an element that feedparser does not know, it tells attributes instead."""
    value = told.get(name, "")
    return value if isinstance(value, str) else ""


def _link(told: Any) -> str:
    """The page of an entry, not the one that counts its readers; a guid where it is an address."""
    link = _href(told, lambda link: link.get("rel") == "alternate")
    name = _said(told, "id")
    link = _said(told, "feedburner_origlink") or link
    return link or (name if name.startswith(("http://", "https://")) else "")


def _href(told: Any, wanted: Callable[[Any], bool]) -> str:
    links = (link.get("href", "") for link in told.get("links", ()) if wanted(link))
    return next((str(link) for link in links if link), "")


def _identifiers(told: Any) -> Iterator[str]:
    yield from (_said(told, name) for name in ("id", "dc_identifier", "prism_doi", "arxiv_doi"))
    for link in told.get("links", ()):
        if link.get("rel") == "alternate" or link.get("title") == "doi":
            yield link.get("href", "")


def _date(told: Any, name: str) -> datetime | None:
    """A date, None for a year alone; `dict.get`, since feedparser's own falls back.

    What feedparser cannot read, or takes for another day, is read as people write it.
    """
    said = str(dict.get(told, name) or "").strip()
    at = dict.get(told, f"{name}_parsed")
    if isinstance(at, struct_time) and not _MISREAD.match(said):
        with suppress(ValueError):
            return datetime(*at[:5], min(at[5], 59), tzinfo=UTC)
    return parse_any_date(said)
