"""The index of a folder of pages: `index.html` with the newest, and a page for each earlier month.

A page carries the facts that the index needs in a comment at its end, so that the folder is all
there is to know: pages may be deleted or moved in, and files of others are left alone. The page of
a month carries the list of its files in the same way: a delivery opens only files that are not in
such a list, and writes the page of an earlier month only if its list has changed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, unquote_to_bytes

import msgspec
from msgspec import structs

from monitor.model import Templates

# Of `index.html`, which has whole months, the newest first.
PAGES_AT_LEAST = 100
_MONTH = r"[1-9]\d{3}-(0[1-9]|1[0-2])"
INDEX = re.compile(rf"index(-undated|-{_MONTH})?\.html")
_NEWEST = "index.html"
_TEMPLATE = "web/index.html.j2"

_FACTS = re.compile(rb"<!-- paper-monitor (\{.*\}) -->")
_FACTS_AT_MOST = 4096
_LISTED = re.compile(rb"<!-- paper-monitor-index (\{.*\}) -->")
_DAY = re.compile(rf"{_MONTH}(-\d\d.*)?")
# A further page of a long digest has no facts: the first one is listed.
_FURTHER = re.compile(r".-page-\d+\.html$")

# The size of a file in bytes, and when it was last written, in nanoseconds.
_Stamp: TypeAlias = tuple[int, int]
_Write: TypeAlias = Callable[[Path, bytes], object]


class PageLink(msgspec.Struct, frozen=True):
    """A page as the index names it: the facts that the page carries, and where it is."""

    # The title of the subscription and the date; of a notice its subject. 300 characters at most.
    title: str
    # The name in the configuration, by which the index groups pages; "@operator" of notices.
    subscription: str
    # The period of the digest, which orders pages without `at`.
    period: str
    # The number of papers, notices among them; 0 for a notice to the operator.
    papers: int
    # The number of changes of references.
    changes: int = 0
    # How many of `papers` are notices.
    notices: int = 0
    # Quoted, and relative to the index. No page carries it: it is set when a page is read.
    href: str = ""
    # The title of the subscription, or its name; "" for pages of earlier versions.
    heading: str = ""
    # When the digest was composed, in UTC: "2026-11-21T07:00:00"; "" for pages of earlier versions.
    at: str = ""
    # The month of that time in the zone of the subscription: "2026-11"; "" for pages of earlier
    # versions.
    month: str = ""


class Month(msgspec.Struct, frozen=True):
    """The page of an earlier month as other pages name it."""

    title: str
    href: str
    pages: int


class _Listing(msgspec.Struct, frozen=True):
    """The files that the page of a month lists, and the neighbours that it links to."""

    month: str
    files: dict[str, _Stamp]
    later: str
    earlier: str


def page_with_facts(html: str, facts: Mapping[str, Any], kind: str = "paper-monitor") -> bytes:
    """Return the content of a page that carries facts at its end."""
    noted = json.dumps(facts).replace(">", "\\u003e")
    return f"{html.rstrip()}\n<!-- {kind} {noted} -->\n".encode("utf-8", "replace")


def read_facts(page: Path) -> PageLink | None:
    """Return the facts of a page, None where it has none. Raises OSError."""
    with page.open("rb") as file:
        file.seek(max(page.stat().st_size - _FACTS_AT_MOST, 0))
        facts = _FACTS.fullmatch(file.read().rstrip().rpartition(b"\n")[2])
    try:
        return msgspec.json.decode(facts[1], type=PageLink) if facts else None
    except msgspec.DecodeError:
        return None


def write_index(folder: Path, templates: Templates, write: _Write) -> None:
    """Bring the index of a folder up to date. Raises OSError and TemplateError."""
    listings = _read_listings(folder)
    links = dict[str, PageLink]()
    months = _by_month(folder, listings.values(), links)

    def load(chosen: Iterable[str]) -> list[PageLink]:
        """Return the pages of months; one that has just been deleted is left out."""
        hrefs = [href for month in chosen for href in months[month]]
        for href in hrefs:
            if href not in links:
                _read_link(folder, href, links)
        return sorted((links[href] for href in hrefs if href in links), key=_when, reverse=True)

    newest = _newest(months)
    earlier = sorted(months.keys() - newest, reverse=True)
    shown = [Month(_title(month), _file_of(month), len(months[month])) for month in earlier]
    around = [None, *shown, None]
    for number, (month, page) in enumerate(zip(earlier, shown, strict=True)):
        later = around[number]
        sooner = around[number + 2]
        neighbours = (other.href if other else "" for other in (later, sooner))
        listing = _Listing(month, months[month], *neighbours)
        path = folder / page.href
        before = listings.pop(page.href, None)
        if before is None and path.exists():
            raise FileExistsError(errno.EEXIST, "is not written by Paper Monitor: rename it", path)
        if before != listing:
            html = templates.render(
                _TEMPLATE, pages=load([month]), month=page, later=later, earlier=sooner, months=[]
            )
            write(path, page_with_facts(html, structs.asdict(listing), "paper-monitor-index"))
    html = templates.render(_TEMPLATE, pages=load(newest), month=None, months=shown)
    if not all(page.href in html for page in shown):
        # A template of the user's from before there were months lists all pages.
        html = templates.render(_TEMPLATE, pages=load(months), month=None, months=[])
    write(folder / _NEWEST, html.encode("utf-8", "replace"))
    for name in listings:  # of months that have no page any more, or are in `index.html` again
        (folder / name).unlink(missing_ok=True)


def _newest(months: Mapping[str, Mapping[str, _Stamp]]) -> set[str]:
    """Return the months of `index.html`."""
    newest = set[str]()
    pages = 0
    for month in sorted(months, reverse=True):
        if pages >= PAGES_AT_LEAST:
            break
        newest.add(month)
        pages += len(months[month])
    return newest


def _by_month(
    folder: Path, listings: Iterable[_Listing], links: dict[str, PageLink]
) -> dict[str, dict[str, _Stamp]]:
    """Return the pages of each month; `links` is given those that had to be opened."""
    listed = {href: (one.month, stamp) for one in listings for href, stamp in one.files.items()}
    months = defaultdict[str, dict[str, _Stamp]](dict)
    for href, stamp in _files(folder):
        month, before = listed.get(href, ("", None))
        if before != stamp:
            link = _read_link(folder, href, links)
            if link is None:
                continue
            month = _month(link)
        months[month][href] = stamp
    return months


def _files(folder: Path) -> Iterator[tuple[str, _Stamp]]:
    """Yield the files that may be pages, without opening them."""
    for subscription in folder.iterdir():
        with suppress(OSError):  # such as a folder that others locked
            for file in os.scandir(subscription) if subscription.is_dir() else ():
                if file.name.endswith(".html") and not _FURTHER.search(file.name):
                    with suppress(OSError):  # a link that leads nowhere
                        facts = file.stat()
                        if stat.S_ISREG(facts.st_mode):
                            href = quote(os.fsencode(f"{subscription.name}/{file.name}"))
                            yield href, (facts.st_size, facts.st_mtime_ns)


def _read_link(folder: Path, href: str, links: dict[str, PageLink]) -> PageLink | None:
    with suppress(OSError):
        if link := read_facts(folder / os.fsdecode(unquote_to_bytes(href))):
            links[href] = structs.replace(link, href=href)
    return links.get(href)


def _read_listings(folder: Path) -> dict[str, _Listing]:
    """Return, by name of file, what the pages of months list; files of others are left out."""
    listings = {}
    for path in folder.glob("index-*.html"):
        with suppress(OSError, msgspec.DecodeError):
            if INDEX.fullmatch(path.name) and path.is_file():
                last_line = path.read_bytes().rstrip().rpartition(b"\n")[2]
                if facts := _LISTED.fullmatch(last_line):
                    listing = msgspec.json.decode(facts[1], type=_Listing)
                    if path.name == _file_of(listing.month):
                        listings[path.name] = listing
    return listings


def _when(page: PageLink) -> tuple[str, str, str]:
    """Return what pages are ordered by. Numbers are names of periods of earlier versions."""
    day = "" if page.period.isdigit() else page.period
    return page.at or day, page.period.zfill(10), page.subscription


def _month(page: PageLink) -> str:
    """Return the month of a page, such as `2026-11`; "" if nothing tells it."""
    days = (page.month, page.at, page.period)
    return next((day[:7] for day in days if _DAY.fullmatch(day)), "")


def _file_of(month: str) -> str:
    return f"index-{month or 'undated'}.html"


def _title(month: str) -> str:
    return f"{datetime.strptime(month, '%Y-%m'):%B %Y}" if month else "Earlier"
