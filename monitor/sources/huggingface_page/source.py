"""Kind `huggingface-page`: a saved page of papers, as text or Markdown.

    a copy from a browser, with or without addresses     a text browser's dump     Markdown
              └───────────────────────────┬──────────────────────────────┴─────────────┘
                                       links        marked in one way
                                       blocks       lines that belong together, with their kind
                                       listings     parted by headers, each with its date
                                       cards        titles, abstracts and dates

Every block is a part of a paper, known furniture, or rejected with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date

from monitor.model import Document, FirstRun, ListedDay, Reading, Rejected
from monitor.sources.base import Source, failure
from monitor.sources.fields.encoding import decode, find_fault
from monitor.sources.huggingface_page.blocks import LONG_LINE, Block, split_blocks
from monitor.sources.huggingface_page.cards import Card, Listing, ListingReader, has_cards, to_date
from monitor.sources.huggingface_page.furniture import MAX_CHARS, Kind
from monitor.sources.huggingface_page.links import mark_links

MAX_LINES = 500_000
MAX_BLOCKS = 200_000
MAX_LINKS = 200_000
HEADER_TEXTS = 8  # of other words in a header
REJECTED_IN_TEN = 10


class HuggingFacePage(Source):
    """Reads a saved list of papers: titles, abstracts, ids and dates, and the date of the list."""

    kind = "huggingface-page"
    search_site = "huggingface"
    default_first_run = FirstRun.DELIVER
    dated = False  # the date of a list is not that of its papers

    def read(self, document: Document) -> Reading:
        """Read the papers of one or more lists; what belongs to none is rejected with its line."""
        text, whole = decode(document.content)
        if error := find_fault(text, "the text of a page"):
            return failure(error)
        if max(text.count("\n"), text.count("\r")) > MAX_LINES:
            return failure(f"the document has more than {MAX_LINES:,} lines")
        if max(map(text.count, ("[", "]", "<", "://"))) > MAX_LINKS:
            return failure(f"the document has more than {MAX_LINKS:,} brackets or addresses")
        latest = min(document.at, self._clock()).astimezone(UTC).date()
        reading = read_text(text, latest)
        return replace(reading, complete=reading.complete and whole)


def read_text(text: str, latest: date) -> Reading:
    """Read the text of one or more lists that are no later than `latest`."""
    blocks = split_blocks(mark_links(text.replace("\r\n", "\n").replace("\r", "\n")))
    if len(blocks) > MAX_BLOCKS:
        return failure(f"the document has more than {MAX_BLOCKS:,} titles and abstracts")
    with_cards = has_cards(blocks)
    listings = split_listings(blocks, latest, with_cards)
    readers = [ListingReader(listing, latest, with_cards) for listing in listings]
    for reader in readers:
        reader.read()
    cards = unite_repeats(card for reader in readers for card in reader.cards)
    papers = tuple(card.paper() for card in cards)
    rejected = tuple(rejected for reader in readers for rejected in reader.rejected)
    if not papers:
        if not with_cards:  # it may be any other file, whose words are no business of a message
            rejected = tuple(
                Rejected(block.where, block.why.partition(": ")[0]) for block in rejected
            )
        return Reading((), rejected, _no_paper(rejected), complete=False)
    if len(rejected) * REJECTED_IN_TEN > len(blocks):
        error = f"{len(rejected):,} of {len(blocks):,} blocks cannot be read"
        return Reading(papers, rejected, f"{error}: {_first(rejected)}", complete=False)
    return Reading(papers, rejected, complete=readers[-1].ends_whole)


def _no_paper(rejected: Sequence[Rejected]) -> str:
    error = "no paper in the document"
    return f"{error} is sure: {_first(rejected)}" if rejected else error


def _first(rejected: Sequence[Rejected]) -> str:
    return f"{rejected[0].where}: {rejected[0].why}"


def unite_repeats(cards: Iterable[Card]) -> Iterable[Card]:
    """Keep a paper once that the page lists twice, with what either of the places has of it."""
    by_key: dict[object, Card] = {}
    for card in cards:
        abstract = card.abstract.text if card.abstract else ""
        first = by_key.setdefault(card.title.paper or (card.title.text, abstract), card)
        first.abstract = first.abstract or card.abstract
        first.published = first.published or card.published
    return by_key.values()


# ── headers ─────────────────────────────────────────────────────────────────────────


def split_listings(blocks: Sequence[Block], latest: date, with_cards: bool) -> Iterator[Listing]:
    """Split blocks at headers, which may be repeated where files were joined."""
    day: ListedDay | None = None
    run: list[Block] = []
    position = last_end = 0
    while position < len(blocks):
        end, header_day = position, None
        follows_header = position == last_end
        if _may_begin_header(blocks, position, with_cards, follows_header):
            end, header_day = _header_at(blocks, position, latest)
        if end == position:
            run.append(blocks[position])
            position += 1
            continue
        if run:
            yield Listing(day, tuple(run))
            run = []
        day = header_day or day
        position = last_end = end
    yield Listing(day, tuple(run))


def _may_begin_header(
    blocks: Sequence[Block], position: int, with_cards: bool, follows_header: bool
) -> bool:
    """Whether there are words of a header, or a date; among cards, two such blocks in a row."""
    are_words = [
        block.sign.kind is Kind.HEADER or (block.sign.kind is Kind.DATE and not block.sign.is_own)
        for block in blocks[position : position + 2]
    ]
    if not position or not with_cards:
        return not position or are_words[0]
    is_header = blocks[position].sign.kind is Kind.HEADER
    return is_header and (follows_header or are_words[1:] == [True])


def _header_at(blocks: Sequence[Block], start: int, latest: date) -> tuple[int, ListedDay | None]:
    """Return the end of the header that begins here (`start` if none does), and its date.

    At the start of a document, and after words of a header, other short texts before more such
    words or a date belong to it too: the page's wording changes, and a search has its query there.
    """
    end, texts, are_short = start, 0, True
    for position in range(start, len(blocks)):
        block = blocks[position]
        kind = block.sign.kind
        if kind is Kind.DATE and not block.sign.is_own:
            if are_short or position - start < HEADER_TEXTS:
                return position + 1, _listed_day(block, latest)
            break
        if kind is Kind.HEADER and are_short:
            end = position + 1
        elif kind is Kind.TEXT:
            texts += 1
            are_short = are_short and len(block.text) <= MAX_CHARS
            if texts > HEADER_TEXTS or _ends_header(block):
                break
        elif kind in (Kind.CLOSING, Kind.SUBMITTED, Kind.SUBMITTER, Kind.DATE):
            break
    return end, None


def _listed_day(block: Block, latest: date) -> ListedDay | None:
    date_match = block.sign.date
    day = to_date(date_match, latest) if date_match else None
    return ListedDay(day, year_guessed=not date_match["year"]) if date_match and day else None


def _ends_header(block: Block) -> bool:
    return len(block.text) >= LONG_LINE or bool(block.paper) or block.is_title
