"""Kind `huggingface-page`: the text of a page of papers, saved from a browser.

    new                                          header: lines recognised by their words,
    Get trending papers in your email inbox!     then a date without a year
    Subscribe
    byAK and the research community
    Mar 12

    A title                                      then title and abstract in turn,
                                                 with blank lines between
    The abstract, mostly one long line.

Lines are not counted: what is a title and what an abstract is decided by shape first (see
`block_shape.py`), so a missing one costs its own paper only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.base import Source, failure
from monitor.sources.fields.dates import day_of
from monitor.sources.fields.encoding import decode, find_fault
from monitor.sources.huggingface_page.block_shape import (
    Shape,
    continues,
    decide_shapes,
    is_unfinished,
)
from monitor.text import clean

LONG_LINE = 300  # characters; lines this long are not wrapped: each is a block of its own
MAX_LINES = 500_000
MAX_BLOCKS = 200_000
HEADER_LINES = 8
MAX_HEADER_CHARS = 100  # of a line
MAX_QUOTED_CHARS = 60

_FURNITURE = re.compile(
    r"new|subscribe|get trending papers in your email inbox!?|(?:daily |trending )?papers"
    r"|by ?AK\b.*|by ?[\w ]+ and the research community",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY}{_YEAR}",
        rf"{_WEEKDAY}{_DAY}\s+{_MONTH}{_YEAR}",
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    )
)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, and the number of the first (from 1)."""

    line: int
    text: str

    def reject(self, reason: str) -> Rejected:
        words = self.text
        if len(words) > MAX_QUOTED_CHARS:
            words = f"{words[:MAX_QUOTED_CHARS].rstrip()}..."
        return Rejected(f"line {self.line}", f"{reason}: {clean(words)}")


@dataclass(frozen=True, slots=True)
class Listing:
    """Blocks of one list, with the date in its header, if any."""

    day: date | None
    blocks: tuple[Block, ...]


class HuggingFacePage(Source):
    """Reads a saved list of papers: titles and abstracts, and the date of the list."""

    kind = "huggingface-page"
    search_site = "huggingface"
    default_first_run = FirstRun.DELIVER
    dated = False  # the date of a list is not that of its papers

    def read(self, document: Document) -> Reading:
        """Pair titles with abstracts; a block without its partner is rejected with its line."""
        text, whole = decode(document.content)
        if error := find_fault(text, "the text of a page"):
            return failure(error)
        if max(text.count("\n"), text.count("\r")) > MAX_LINES:
            return failure(f"the document has more than {MAX_LINES:,} lines")
        latest = min(document.at, self._clock()).astimezone(UTC).date()
        reading = read_text(text, latest)
        return replace(reading, complete=reading.complete and whole)


def read_text(text: str, latest: date) -> Reading:
    """Read the text of one or more lists that are no later than `latest`."""
    all_blocks = split_blocks(text)
    if len(all_blocks) > MAX_BLOCKS:
        return failure(f"the document has more than {MAX_BLOCKS:,} titles and abstracts")
    lists = [
        (listing, decide_shapes([block.text for block in listing.blocks]))
        for listing in split_listings(all_blocks, latest)
    ]
    records = [record for listing, shapes in lists for record in _pairs(listing, shapes)]
    papers = tuple(record for record in records if isinstance(record, Paper))
    rejected = tuple(record for record in records if isinstance(record, Rejected))
    if not papers:
        # It may be any other file, and its words are no business of a message.
        rejected = tuple(Rejected(one.where, one.why.partition(": ")[0]) for one in rejected)
        return Reading((), rejected, "no paper in the document", complete=False)
    return Reading(papers, rejected, complete=_ends_whole(*lists[-1]))


def _ends_whole(listing: Listing, shapes: Sequence[Shape]) -> bool:
    """Whether a list ends with an abstract, and that with a sentence."""
    if not shapes or shapes[-1] is not Shape.ABSTRACT:
        return False
    return not is_unfinished(listing.blocks[-1].text)


# ── blocks ──────────────────────────────────────────────────────────────────────────


def split_blocks(text: str) -> list[Block]:
    """Split a text at blank lines; header lines and very long lines always stand alone."""
    groups: list[tuple[int, list[str]]] = []
    joins = False  # whether this line may continue the block of the line before
    for number, line in enumerate(_lines(text), start=1):
        alone = len(line) >= LONG_LINE or _is_header(line)
        if not line:
            joins = False
        elif (joins and not alone) or (groups and continues(groups[-1][1][-1], line)):
            groups[-1][1].append(line)
        else:
            groups.append((number, [line]))
            joins = not alone
    return [Block(number, " ".join(lines)) for number, lines in groups]


def _lines(text: str) -> Iterator[str]:
    """Yield lines with any of three line ends, without the spaces (of any width) around them."""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        yield line.strip(" \t\f\v\xa0\u200b\u2009\u3000\ufeff")


def _is_header(line: str) -> bool:
    if len(line) > MAX_HEADER_CHARS:
        return False
    return bool(_FURNITURE.fullmatch(line)) or _date_in(line) is not None


# ── headers ─────────────────────────────────────────────────────────────────────────


def split_listings(blocks: Sequence[Block], latest: date) -> Iterator[Listing]:
    """Split blocks at headers, which may be repeated where files were joined."""
    day: date | None = None
    run: list[Block] = []
    position = 0
    while position < len(blocks):
        header = _header_at(blocks, position)
        if not header:
            run.append(blocks[position])
            position += 1
            continue
        if run:
            yield Listing(day, tuple(run))
            run = []
        day = _day_of(header, latest) or day
        position += len(header)
    yield Listing(day, tuple(run))


def _header_at(blocks: Sequence[Block], start: int) -> Sequence[Block]:
    """The header that begins here: up to a date where one is near, else its recognised lines.

    At the start of a document, and after a recognised line, other short lines before the date
    belong to the header too, because the page's wording changes.
    """
    if start and not _is_header(blocks[start].text):
        return ()
    near = blocks[start : start + HEADER_LINES]
    for count, block in enumerate(near, start=1):
        if len(block.text) >= LONG_LINE:
            break
        if _date_in(block.text):
            return near[:count]
    return near[:1] if _is_header(near[0].text) else ()


def _day_of(header: Iterable[Block], latest: date) -> date | None:
    dates = [match for block in header if (match := _date_in(block.text))]
    return _to_date(dates[-1], latest) if dates else None


def _date_in(line: str) -> re.Match[str] | None:
    return next((match for form in _DATES if (match := form.fullmatch(line))), None)


def _to_date(match: re.Match[str], latest: date) -> date | None:
    """Return a date; one without a year is in the latest year that makes it no later than `latest`.

    A 29 February is found within eight years, also around 2100.
    """
    if match["year"]:
        at = day_of(match["year"], match["month"], match["day"])
        return at.date() if at and at.date() <= latest + timedelta(days=2) else None
    for year in range(latest.year, max(latest.year - 9, 0), -1):
        at = day_of(str(year), match["month"], match["day"])
        if at and at.date() <= latest:
            return at.date()
    return None


# ── pairs ───────────────────────────────────────────────────────────────────────────


def _pairs(listing: Listing, shapes: Sequence[Shape]) -> Iterator[Paper | Rejected]:
    """Give each title the abstract right after it; a block without its partner is rejected."""
    title: Block | None = None
    for block, shape in zip(listing.blocks, shapes, strict=True):
        if shape is Shape.TITLE:
            if title:
                yield title.reject("title without an abstract")
            title = block
        elif title:
            yield _paper(title, block, listing.day)
            title = None
        else:
            yield block.reject("abstract without a title")
    if title:
        yield title.reject("title without an abstract")


def _paper(title: Block, abstract: Block, day: date | None) -> Paper:
    announced = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None
    return Paper(title=clean(title.text), abstract=clean(abstract.text), announced=announced)
