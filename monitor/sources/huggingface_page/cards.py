"""Papers of one list: which blocks are its titles, abstracts and dates.

    Submitted by                        Every paper is a card. Furniture parts the texts into runs:
    taesiri                             a title, an abstract or none, an organisation or none.
    57                                  What is a title is decided by its link or its heading,
    A title                             in doubt by its shape (see `block_shape`).
    Its abstract.
    8 authors · May 30                  A date belongs to the card that it ends.

A list without any such furniture has titles and abstracts in turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from monitor.model import ListedDay, Paper, Rejected, arxiv_month
from monitor.sources.fields.dates import day_of, end_of_month
from monitor.sources.huggingface_page.block_shape import Shape, decide_shapes, is_unfinished
from monitor.sources.huggingface_page.blocks import MAX_NAME_CHARS, Block
from monitor.sources.huggingface_page.furniture import Kind
from monitor.text import clean

PAGES = "https://huggingface.co/papers/"
SHORT_ABSTRACT = 120  # characters; a shorter one ends with a sentence
TEXTS_OF_A_CARD = 10  # at most


@dataclass(frozen=True, slots=True)
class Listing:
    """Blocks of one list, with the date in its header, if any."""

    day: ListedDay | None
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class Card:
    """A paper of a list of a day."""

    day: ListedDay | None
    title: Block
    abstract: Block | None = None
    published: date | None = None

    @property
    def is_sure(self) -> bool:
        """Whether more than what follows its title shows that it is a paper."""
        return bool(self.abstract or self.title.paper or self.title.is_title)

    def paper(self) -> Paper:
        """Return it as a record of the source."""
        identifier = self.title.paper
        return Paper(
            title=clean(self.title.text),
            abstract=clean(self.abstract.text) if self.abstract else "",
            published=datetime.combine(self.published, time(), UTC) if self.published else None,
            url=f"{PAGES}{identifier}" if identifier else "",
            keys={"arxiv": identifier} if identifier else {},
            raw_id=identifier,
            listed=(self.day,) if self.day else (),
        )


@dataclass(slots=True)
class ListingReader:
    """Reads the blocks of a list in order; with `has_cards`, only what furniture shows counts."""

    listing: Listing
    latest: date
    has_cards: bool
    cards: list[Card] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    ends_whole: bool = True
    _run: list[Block] = field(default_factory=list)
    _open: Card | None = None  # that a date or an organisation may belong to
    _expects_name: bool = False
    _last_shape: Shape | None = None

    def read(self) -> None:
        """Collect cards and rejected blocks, and whether the last text is whole."""
        for block in self.listing.blocks:
            if block.sign.kind in (Kind.TEXT, Kind.HEADER):
                self._add_text(block)
            if block.sign.kind in (Kind.TEXT, Kind.HEADER, Kind.OTHER):
                continue
            self._end_run(block)
            self._expects_name = block.sign.kind is Kind.SUBMITTED
            if block.sign.kind is Kind.DATE:
                self._add_date(block)
        last_run = self._run
        self._end_run(None)
        self._reject_names()
        self.rejected.sort(key=lambda rejected: int(rejected.where.removeprefix("line ")))
        self.ends_whole = self.has_cards
        if last_run:
            is_abstract = self._last_shape is Shape.ABSTRACT
            self.ends_whole = is_abstract and not is_unfinished(last_run[-1].text)

    def _reject_names(self) -> None:
        """Reject texts that only authors or a date show, where other papers have abstracts."""
        if sum(card.abstract is not None for card in self.cards) * 2 <= len(self.cards):
            return
        names = [card for card in self.cards if not card.is_sure]
        self.rejected += (card.title.reject("title without an abstract") for card in names)
        self.cards = [card for card in self.cards if card.is_sure]

    def _add_text(self, block: Block) -> None:
        names_no_paper = block.leads_elsewhere and _may_be_name(block)
        is_name = self._expects_name and _may_be_name(block)
        if not (names_no_paper or is_name):
            self._run.append(block)
        self._expects_name = False

    def _end_run(self, after: Block | None) -> None:
        """Read the texts since the last furniture as title, abstract and organisation."""
        run, self._run = self._run, []
        if not run:
            return
        closes = after is not None and after.sign.kind in (Kind.CLOSING, Kind.DATE)
        if after and closes and self.has_cards:
            follows_name = after.text.startswith("·") or after.sign.kind is Kind.DATE
            if len(run) > 1 and follows_name and _may_be_name(run[-1]):
                run.pop()  # an organisation
        self._open = None
        shapes = decide_shapes([block.text for block in run], _known_shapes(run))
        self._last_shape = shapes[-1]
        self._pair(run, shapes, closes)

    def _pair(self, run: Sequence[Block], shapes: Sequence[Shape], closes: bool) -> None:
        """Give each title the abstract right after it; what no card shows is rejected."""
        card: Card | None = None
        for block, shape in zip(run, shapes, strict=True):
            if shape is Shape.TITLE:
                self._finish(card, False)
                card = Card(self.listing.day, block)
            elif card and not card.abstract and (block.paper or self._is_abstract(block)):
                card.abstract = block
            else:
                self.rejected.append(block.reject("abstract without a title"))
        self._finish(card, closes)

    def _finish(self, card: Card | None, closes: bool) -> None:
        """Keep a card whose link, heading, authors or date shows that it is one."""
        if not card:
            return
        is_shown = bool(card.title.paper) or closes or (card.title.is_title and card.abstract)
        if is_shown or (card.abstract and not self.has_cards):
            self.cards.append(card)
            self._open = card
            return
        reason = "title without an abstract"
        if self.has_cards:
            reason = "neither a link, authors nor a date shows that this is a paper"
        self.rejected.append(card.title.reject(reason))
        if card.abstract:
            self.rejected.append(card.abstract.reject("abstract without a title"))

    def _is_abstract(self, block: Block) -> bool:
        """Whether a text after a title reads like an abstract, which the end of a file may cut."""
        is_last = block is self.listing.blocks[-1]
        return is_last or len(block.text) >= SHORT_ABSTRACT or not is_unfinished(block.text)

    def _add_date(self, block: Block) -> None:
        if self._open is None or self._open.published:
            self.rejected.append(block.reject("date that belongs to no paper"))
            return
        if block.sign.date:
            paper = self._open.title.paper
            month = arxiv_month(paper)
            list_day = self.listing.day.day if self.listing.day else self.latest
            latest = end_of_month(month) if month else list_day
            day = to_date(block.sign.date, min(latest, self.latest))
            self._open.published = day


def has_cards(blocks: Sequence[Block]) -> bool:
    """Whether furniture, links or headings show where papers are, in more than a stray block."""
    texts = sum(block.sign.kind is Kind.TEXT for block in blocks)
    return 0 < sum(map(_shows_a_card, blocks)) * TEXTS_OF_A_CARD >= texts


def _shows_a_card(block: Block) -> bool:
    if block.sign.kind is Kind.TEXT:
        return bool(block.paper) or block.is_title
    return block.sign.kind is Kind.CLOSING or block.sign.is_own


def _may_be_name(block: Block) -> bool:
    return (
        len(block.text) <= MAX_NAME_CHARS
        and not (block.paper or block.is_title)
        and not block.text.endswith((".", "。"))
    )


def _known_shapes(run: Sequence[Block]) -> list[Shape | None]:
    """Decide by links and headings: the first text that leads to a paper is its title."""
    shapes: list[Shape | None] = []
    title = ""
    for block in run:
        if block.is_title or (block.paper and block.paper != title):
            title = block.paper
            shapes.append(Shape.TITLE)
        else:
            shapes.append(Shape.ABSTRACT if block.paper else None)
    return shapes


def to_date(match: re.Match[str], latest: date) -> date | None:
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
