"""One entry of any feed to a paper: text, names, identifiers, links and dates."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from textwrap import shorten
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import msgspec

from monitor.model import Paper
from monitor.sources.feed.publisher_cards import (
    SENTENCE_END,
    Card,
    bare_title,
    card_of_items,
    card_of_lines,
    pubmed_abstract,
    read_card,
    without_heading,
)
from monitor.sources.fields import markup
from monitor.sources.fields.arxiv_text import accents, withdrawn, without_affiliations
from monitor.sources.fields.markup import text, unescaped
from monitor.text import clean

MAX_ENTRY = 256 * 1024
MAX_CATEGORIES = 50
MAX_LINK = 2_048
MAX_KEY = 300
MAX_OPENING = 100
MAX_OWN_NAME = 40
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
FUTURE = timedelta(days=2)

# https://info.arxiv.org/help/arxiv_identifier.html: new and old scheme, with a version
_ARXIV = re.compile(
    r"arxiv(?:\.org/(?:abs|pdf|html)/|:|(?<=oai:arxiv)\.org:|(?<=10\.48550/arxiv)\.)\s*"
    r"(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v(?P<version>\d{1,4}))?(?!\d)"
)
# What stands before an identifier, and names nothing else.
_BEFORE_ARXIV = frozenset(
    ("arXiv:", "oai:arXiv.org:", "http://arxiv.org/abs/", "https://arxiv.org/abs/")
)
# DOIs of the 1990s have pages in angle brackets: 10.1000/0091(1995)023<0967:ab>2.3.co;2
_DOI = re.compile(r"10\.\d{4,9}/(?:[^\s?#&\"<>]|<[\w.:-]{1,40}>(?=\d))+")
_PMID = re.compile(
    r"(?:pubmed\.ncbi\.nlm\.nih\.gov/|/pubmed/|\bpmid: ?|\bpubmed:)(?P<id>\d{1,8})\b"
)
# Pages of an article hang words on its DOI; bioRxiv's and medRxiv's a version too.
_DOI_PAGES = re.compile(r"(?:/(?:full|abstract|pdf|epdf|html|meta)|\.full|\.abstract|\.pdf)+$")
_PREPRINT_VERSION = re.compile(r"^(?P<doi>10\.(?:1101|64898)/.*\d)v(?P<version>\d{1,4})$")
# arXiv's feeds before 2024: "Title. (arXiv:2107.03419v1 [hep-ex] UPDATED)"
_OLD_ARXIV = re.compile(
    r"\.?\s*\((?P<id>arXiv:[^\s()]{1,40})\s+\[(?P<category>[\w.-]+)\](?:\s+(?P<how>[A-Z ]+))?\)$"
)
# Names that have none of these are plain.
_ARXIV_SIGNS = ("(", ")", "\\", " ,", " ;")
_OLD_ANNOUNCE = {None: "new", "UPDATED": "replace", "CROSS LISTED": "cross"}
# arXiv's feeds since: "arXiv:2508.13426v1 Announce Type: cross Abstract: As large ..."
_ARXIV_SUMMARY = re.compile(r"^(?P<id>arXiv:\S+) Announce Type: (?P<how>[\w-]+) Abstract: ")
_CUT_OFF = ("...", "…", "[…]", "[...]")
# A link that needs no joining to be absolute.
_PLAIN_LINK = re.compile(r"https?://[A-Za-z0-9-][A-Za-z0-9.-]*(?::\d+)?/[\w/.~%+-]*", re.ASCII)
_NOT_SHOWN = re.compile(r",?\s*\bet al\.?(?=\W|$)|\(\d+ additional authors not shown\)", re.I)
_BETWEEN_NAMES = re.compile(r",|\s(?:and|&)\s|(?<=ollaboration):")
_INITIALS = re.compile(r"^(?:[^\W\d_]{1,2}\.[ -]?)+$")
_SUFFIX = re.compile(r"^(?:jr|sr|ii|iii|iv|phd|md)\.?$", re.IGNORECASE)


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


def paper(entry: Entry, base: str, now: datetime) -> Paper | str:
    """Turn an entry into a paper, or say why it is none; relative links are relative to `base`."""
    if entry.size() > MAX_ENTRY:
        return f"entry is larger than {MAX_ENTRY:,} characters"
    title = text(unescaped(entry.title) if "&" in entry.title else entry.title)
    old = _OLD_ARXIV.search(title) if title.endswith(")") else None
    title, by = bare_title(title[: old.start()] if old else title, entry.names)
    card, announced = _abstract(entry, title)
    abstract = card.abstract
    # RSS 2.0 and JSON Feed permit entries without a title, if they have a text.
    title = title or shorten(abstract, MAX_OPENING, placeholder=" …")
    if not title:
        return "entry has no title and no text"
    how = entry.announce or announced or (_OLD_ANNOUNCE.get(old["how"], "") if old else "")
    url = http_link(entry.link, base)
    named = entry.identifiers if url in entry.identifiers else (*entry.identifiers, url)
    if card.doi or old:
        named = (*named, card.doi, old["id"] if old else "")
    keys, version = identifiers(named)
    if version is None and entry.summary.startswith("arXiv:"):  # its own name is what comes first
        keys, version = identifiers((*named, entry.summary[:MAX_OWN_NAME]))
    venue = (entry.venue and text(entry.venue)) or card.venue
    people = _people(entry.names or (card.names or by,), "arxiv" in keys)
    terms = (*entry.categories, old["category"]) if old else entry.categories
    # arXiv's old feeds date the day, not its entries.
    published = entry.published or card.published or (entry.issued if old else None)
    published = within_reason(published, now)
    return Paper(
        title,
        abstract,
        tuple(people),
        "" if venue == title else venue,  # Taylor & Francis call the article so
        None,  # the year
        published,
        within_reason(entry.updated, now),
        published if how else None,  # announced
        url,
        entry.pdf and http_link(entry.pdf, base),
        keys,
        (_few_categories if len("".join(terms)) < 200 else _categories)(terms),
        how,
        version,
        "arxiv" in keys and withdrawn(abstract, text(entry.comment)),
        clean(entry.id) or normalised(url),
    )


# ── text ────────────────────────────────────────────────────────────────────────────


def _abstract(entry: Entry, title: str) -> tuple[Card, str]:
    """Return the abstract without what feeds put before it, and how arXiv announced it."""
    summary = entry.summary
    if "<" in summary:
        if card := card_of_lines(summary, title) or card_of_items(summary):
            return card, ""
        summary = without_heading(summary)
    summary = text(summary)
    content = text(without_heading(entry.content)) if entry.content else ""
    told = _ARXIV_SUMMARY.match(summary)
    if told:
        return Card(summary[told.end() :]), told["how"]
    if whole := pubmed_abstract(content):
        return Card(whole), ""
    card = read_card(summary, entry.names, title)
    if summary.endswith(_CUT_OFF) and len(content) > len(summary):
        card = Card("")
    if not (card.abstract or card.venue) and content:
        items = card_of_items(entry.content)
        card = items or read_card(_prose(content, title), entry.names)
    return card, ""


def _prose(content: str, title: str) -> str:
    """Content is a whole page at times: leave out its heading, and all of it if no sentence ends.

    Some feeds carry the card of an overview page instead: title, names, kind, day.
    """
    if not f"{content} ".startswith(f"{title} "):
        return content
    rest = content.removeprefix(title).strip()
    if not SENTENCE_END.search(rest):
        return ""
    return rest if rest[0].isupper() else content  # else the title is how a sentence begins


def authors(names: Iterable[str]) -> Iterator[str]:
    """Return single names in order; one field may hold many, as "A, B and C" or "Doe, J., Roe, R."

    `et al.` and addresses of mail are no names.
    """
    yield from _single(map(text, names))


def _people(told: Sequence[str], is_arxiv: bool) -> Sequence[str]:
    """Return single names; of a line of names most need no cleaning."""
    if len(told) == 1 and (people := _listed(told[0])):
        return people
    names = markup.names(told)
    if is_arxiv and any(map("\n".join(names).__contains__, _ARXIV_SIGNS)):
        names = [accents(without_affiliations(name)) for name in names]
    return _single(names)


def _single(names: Iterable[str]) -> list[str]:
    told = [name for name in names if name]
    if len(told) == 1:
        told = _split(told[0])
    return [
        name
        for name in told
        if (name[:1].isalpha() or any(map(str.isalpha, name))) and "@" not in name
    ]


def _listed(names: str) -> list[str]:
    """Return the names of a line in which there are but letters, commas and full names.

    As `clean` leaves and `_split` parts them, in a fifth of the time; none of any other line.
    """
    found = names.split(", ")
    if not "".join(found).replace(" ", "").replace("-", "").isalpha():
        return []
    for one in found:
        if len(one) < 5:  # a suffix is no longer
            return []
    around = f" {names},"
    if "  " in around or " ," in around or " and " in names or "et al" in names.lower():
        return []
    if len(found) == 2 and not (" " in found[0] and " " in found[1]):  # "Doe, Jane"
        return []
    return found if unicodedata.is_normalized("NFC", names) else []


def _split(names: str) -> list[str]:
    lowered = names.lower()
    if "et al" in lowered or "additional" in lowered:
        names = _NOT_SHOWN.sub("", names)
    if ";" in names or " | " in names:
        return [name.strip() for name in names.replace(" | ", ";").split(";")]
    parts = [part.strip() for part in _BETWEEN_NAMES.split(names)]
    parts = [part for part in parts if part]
    if len(parts) == 2 and all(" " not in part for part in parts) and "," in names:
        return [names]  # "Doe, Jane"
    whole: list[str] = []
    for part in parts:
        if whole and (len(part) < 5 or "." in part) and _belongs_before(part):
            whole[-1] = f"{whole[-1]}, {part}"
        else:
            whole.append(part)
    return whole


def _belongs_before(part: str) -> bool:
    """Say whether what stands behind a comma is a suffix or the initials of one name."""
    return bool(_SUFFIX.match(part) or _INITIALS.match(part))


def _categories(told: tuple[str, ...]) -> tuple[str, ...]:
    terms = dict.fromkeys([text(term) for term in told if term])
    return tuple([term for term in terms if 0 < len(term) <= 100][:MAX_CATEGORIES])


_few_categories = lru_cache(maxsize=1024)(_categories)  # most papers share theirs with others


# ── identifiers and links ───────────────────────────────────────────────────────────


def identifiers(told: Iterable[str]) -> tuple[Mapping[str, str | tuple[str, ...]], int | None]:
    """Return keys (arxiv without version, doi in lower case, pmid) and the version named."""
    arxiv: list[str] = []
    doi: list[str] = []
    pmid: list[str] = []
    version: int | None = None
    name = tail = ""
    for value in told:
        if not value:
            continue
        if name and name in value:
            before, _, behind = value.partition(name)
            if before in _BEFORE_ARXIV and (not behind or behind == tail):
                continue  # another spelling of the same
        if "%" in value:
            value = unquote(value)
        if not value.isprintable():
            value = clean(value)
        value = value.lower()
        if "arxiv" in value and (found := _ARXIV.search(value)):
            name, said = found.groups()
            tail = f"v{said}" if said else ""
            arxiv.append(name)
            version = version or (int(said) if said else None)
        elif "10." in value and (found := _DOI.search(value)):
            if len(found.group()) <= MAX_KEY:
                article, number = _article(found.group())
                doi.append(article)
                version = version or number
        elif ("pubmed" in value or "pmid" in value) and (found := _PMID.search(value)):
            pmid.append(found["id"])
    keys: dict[str, str | tuple[str, ...]] = {}
    if arxiv:
        keys["arxiv"] = _one_or_all(arxiv)
    if doi:
        keys["doi"] = _one_or_all(doi)
    if pmid:
        keys["pmid"] = _one_or_all(pmid)
    return keys, version


def _one_or_all(values: list[str]) -> str | tuple[str, ...]:
    several = tuple(dict.fromkeys(values)) if values[1:] else ()
    return several if several[1:] else values[0]


def _article(doi: str) -> tuple[str, int | None]:
    bare = _DOI_PAGES.sub("", doi.lower()).rstrip(".,;/")
    while bare.endswith(")") and bare.count(")") > bare.count("("):
        bare = bare[:-1].rstrip(".,;/")
    found = _PREPRINT_VERSION.match(bare)
    return (found["doi"], int(found["version"])) if found else (bare, None)


def http_link(link: str, base: str) -> str:
    """Return an absolute http or https link, or "" for anything else."""
    if not link or (len(link) <= MAX_LINK and _PLAIN_LINK.fullmatch(link)):
        return link
    link = "".join(link.split())
    if len(link) > MAX_LINK:
        return ""
    link = clean(link)
    try:
        absolute = urljoin(base, link) if link else ""
        parts = urlsplit(absolute)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    return f"{parts.scheme}{absolute[len(parts.scheme) :]}"  # the scheme in lower case


def normalised(link: str) -> str:
    """Return a link as the name of an entry that has none: host in lower case, no fragment."""
    parts = urlsplit(link)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path, parts.query, ""))


# ── dates ───────────────────────────────────────────────────────────────────────────


def parse_date(told: str) -> datetime | None:
    """Read a date as RFC 3339, ISO 8601 or RFC 5322 write it; without a zone it is UTC."""
    told = told.strip()
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(told)
            return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


def within_reason(at: datetime | None, now: datetime) -> datetime | None:
    """Drop a date that no feed can mean: before 1990, or more than two days ahead of `now`."""
    return at if at and EARLIEST <= at <= now + FUTURE else None
