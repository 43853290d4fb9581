"""Kind `huggingface-page`: a saved page of papers, as text or Markdown.

    a copy from a browser, with or without addresses     a text browser's dump     Markdown
              └───────────────────────────┬──────────────────────────────┴─────────────┘
                                       links        marked in one way
                                       blocks       lines that belong together, with their kind
                                       lists        parted by headers, each with its date
                                       cards        titles, abstracts and dates

Every block is a part of a paper, known furniture, or rejected with its line.

    Submitted by                        Every paper is a card. Furniture parts the texts into runs:
    taesiri                             a title, an abstract or none, an organisation or none.
    57                                  What is a title is decided by its link or its heading,
    A title                             in doubt by its shape.
    Its abstract.
    8 authors · May 30                  A date belongs to the card that it ends.

A list without any such furniture has titles and abstracts in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from statistics import median

from msgspec.structs import replace

from monitor.model import Document, FirstRun, ListedDay, Paper, Reading, Rejected, arxiv_month
from monitor.sources.base import Source, failure, list_name
from monitor.sources.fields.dates import day_of, end_of_month
from monitor.sources.fields.encoding import decode, find_fault
from monitor.sources.fields.links import http_link
from monitor.sources.huggingface_page.blocks import (
    LONG_LINE,
    MAX_NAME_CHARS,
    Block,
    is_unfinished,
    split_blocks,
)
from monitor.sources.huggingface_page.furniture import MAX_CHARS, Kind
from monitor.sources.huggingface_page.links import mark_links
from monitor.text import clean

PAGES = "https://huggingface.co/papers/"
HEADER_TEXTS = 8  # of other words in a header
REJECTED_IN_TEN = 10
SHORT_ABSTRACT = 120  # characters; a shorter one ends with a sentence
TEXTS_OF_A_CARD = 10  # at most

# To call a title an abstract can save two odd neighbours (4.0) where several abstracts are missing
# in a row: what has the shape of a title must cost more than that as an abstract.
COST_OF_REPETITION = 2.0  # two titles, or two abstracts, in a row
COST_OF_FIRST_ABSTRACT = 1.0
COST_OF_LAST_TITLE = 2.0
IMPOSSIBLE = 1000.0

# In characters: see `doubt_of`.
TYPICAL_ABSTRACT = 500
SHORT_TEXT = 250

_OF_A_CARD = (Kind.CLOSING, Kind.SUBMITTED, Kind.SUBMITTER)
# Lines of a login page, or of the page of a server that refuses a program.
_OF_A_FORM = re.compile(
    r".{0,60}(?:username or e-?mail|forgot (?:your )?password).{0,60}|user ?name|password|log ?in"
    r"|sign in(?: to continue)?|(?:\d{3} )?too many requests|just a moment\W*",
    re.IGNORECASE,
)
_LINKS = re.compile(r"\W{0,3}(?:(?P<is_code>github)|project(?: page)?)\b", re.IGNORECASE)
_NEXT_SENTENCE = re.compile(r"""\w{3}[.!?]["'”’)\]]*\s+["'“(\[]?[A-Z]""")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


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
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        blocks = split_blocks(*mark_links(text))
        latest = min(document.at, self._clock()).astimezone(UTC).date()
        with_cards = has_cards(blocks)
        name = list_name(document)
        readers = [
            ListReader(replace(day, document=name), run, latest, with_cards)
            for day, run in split_lists(blocks, latest, with_cards)
        ]
        papers = tuple(card.paper() for card in unite_repeats(readers))
        rejected = tuple(rejected for reader in readers for rejected in reader.rejected)
        if not papers and not with_cards:
            # It may be any other file, whose words must not show in a message.
            rejected = tuple(Rejected(r.where, r.why.partition(": ")[0]) for r in rejected)
        error = ""
        first = f"{rejected[0].where}: {rejected[0].why}" if rejected else ""
        if not papers and (form := _login_form(blocks)):
            error = form
        elif not papers:
            error = "no paper in the document" + (f" is sure: {first}" if first else "")
        elif len(rejected) * REJECTED_IN_TEN > len(blocks):
            error = f"{len(rejected):,} of {len(blocks):,} blocks cannot be read: {first}"
        complete = whole and readers[-1].ends_whole and not error
        doubt = doubt_of(blocks, papers, len(rejected))
        return Reading(papers, rejected, error, complete=complete, doubt=doubt)


# ── lists, and their headers ────────────────────────────────────────────────────────


def split_lists(
    blocks: Sequence[Block], latest: date, with_cards: bool
) -> Iterator[tuple[ListedDay, Sequence[Block]]]:
    """Yield the date and the blocks of each list; headers repeat where files were joined."""
    day = ListedDay(None)
    run: list[Block] = []
    position = last_end = 0
    while position < len(blocks):
        end = position
        header_day = None
        if _may_begin_header(blocks, position, with_cards, position == last_end):
            end, header_day = _header_at(blocks, position, latest)
        if end == position:
            run.append(blocks[position])
            position += 1
            continue
        if run:
            yield day, run
            run = []
        day = header_day or day
        position = last_end = end
    yield day, run


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
    end = start
    texts = 0
    are_short = True
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
            is_paper = len(block.text) >= LONG_LINE or block.paper or block.is_title
            if texts > HEADER_TEXTS or is_paper:
                break
        elif kind in (Kind.CLOSING, Kind.SUBMITTED, Kind.SUBMITTER, Kind.DATE):
            break
    return end, None


def _listed_day(block: Block, latest: date) -> ListedDay | None:
    match = block.sign.date
    day = to_date(match, latest) if match else None
    return ListedDay(day, year_guessed=not match["year"]) if match and day else None


def to_date(match: re.Match[str], latest: date) -> date | None:
    """Return a date; without a year, the last one that is no later than `latest`."""
    if match["year"]:
        at = day_of(match["year"], match["month"], match["day"])
        return at.date() if at and at.date() <= latest + timedelta(days=2) else None
    for year in range(latest.year, max(latest.year - 9, 0), -1):  # no 29 February in 2100
        at = day_of(str(year), match["month"], match["day"])
        if at and at.date() <= latest:
            return at.date()
    return None


# ── cards ───────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Card:
    """A paper of a list."""

    title: Block
    abstract: Block | None = None
    published: date | None = None
    listed: ListedDay | None = None
    links: dict[str, str] = field(default_factory=dict)

    @property
    def is_sure(self) -> bool:
        """Whether more than what follows its title shows that it is a paper."""
        return bool(self.abstract or self.title.paper or self.title.is_title)

    def paper(self) -> Paper:
        identifier = self.title.paper
        return Paper(
            title=clean(self.title.text),
            abstract=clean(self.abstract.text) if self.abstract else "",
            published=datetime.combine(self.published, time(), UTC) if self.published else None,
            url=f"{PAGES}{identifier}" if identifier else "",
            keys={"arxiv": identifier} if identifier else {},
            raw_id=identifier,
            listed=(self.listed,) if self.listed else (),
            links=self.links,
        )


class ListReader:
    """Reads the blocks of a list in order; with `has_cards`, only what furniture shows counts."""

    def __init__(
        self, day: ListedDay, blocks: Sequence[Block], latest: date, has_cards: bool
    ) -> None:
        self.day = day
        self.blocks = blocks
        self.latest = latest
        self.has_cards = has_cards
        self.cards: list[Card] = []
        self._refused: list[tuple[Block, str]] = []
        self._run: list[Block] = []
        self._open: Card | None = None  # that a date or an organisation may belong to
        self._expects_name = False
        self._ends_with_title = False
        for block in blocks:
            self._add(block)
        last_run = self._run
        self._end_run(None)
        self._refuse_names()
        self._refused.sort(key=lambda refused: refused[0].line)
        self.rejected = [block.reject(reason) for block, reason in self._refused]
        self.ends_whole = has_cards  # whether the last text is whole
        if last_run:
            self.ends_whole = not (self._ends_with_title or is_unfinished(last_run[-1].text))
        for rank, card in enumerate(self.cards, start=1):
            card.listed = replace(day, rank=rank)

    def _add(self, block: Block) -> None:
        kind = block.sign.kind
        if kind in (Kind.TEXT, Kind.HEADER):
            if not (_may_be_name(block) and (block.elsewhere or self._expects_name)):
                self._run.append(block)
            self._expects_name = False
        elif kind is Kind.LOST:
            self._refused.append((block, "address that belongs to no paper"))
        elif kind is not Kind.OTHER:
            self._end_run(block)
            self._expects_name = kind is Kind.SUBMITTED
            if kind is Kind.CLOSING:
                self._add_link(block)
            if kind is Kind.DATE:
                self._add_date(block)

    def _add_link(self, block: Block) -> None:
        """Keep the address of "GitHub 131" or "Project page" on the card before it."""
        name = _LINKS.match(block.text)
        link = http_link(block.elsewhere, "") if name else ""
        if name and link and self._open:
            self._open.links.setdefault("code" if name["is_code"] else "project", link)

    def _refuse_names(self) -> None:
        """Refuse texts that only authors or a date show, where other papers have abstracts."""
        if sum(card.abstract is not None for card in self.cards) * 2 <= len(self.cards):
            return
        names = [card.title for card in self.cards if not card.is_sure]
        self._refused += ((title, "title without an abstract") for title in names)
        self.cards = [card for card in self.cards if card.is_sure]

    def _end_run(self, after: Block | None) -> None:
        """Read the texts since the last furniture as title, abstract and organisation."""
        run = self._run
        self._run = []
        if not run:
            return
        closes = after is not None and after.sign.kind in (Kind.CLOSING, Kind.DATE)
        if after and closes and self.has_cards:
            follows_name = after.text.startswith("·") or after.sign.kind is Kind.DATE
            if len(run) > 1 and follows_name and _may_be_name(run[-1]):
                run.pop()  # an organisation
        self._open = None
        are_titles = find_titles(run)
        self._ends_with_title = are_titles[-1]
        self._pair(run, are_titles, closes)

    def _pair(self, run: Sequence[Block], are_titles: Sequence[bool], closes: bool) -> None:
        """Give each title the abstract right after it; what no card shows is refused."""
        card: Card | None = None
        for block, is_title in zip(run, are_titles, strict=True):
            if is_title:
                self._finish(card, False)
                card = Card(block)
            elif card and not card.abstract and (block.paper or self._is_abstract(block)):
                card.abstract = block
            else:
                self._refused.append((block, "abstract without a title"))
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
        self._refused.append((card.title, reason))
        if card.abstract:
            self._refused.append((card.abstract, "abstract without a title"))

    def _is_abstract(self, block: Block) -> bool:
        """Whether a text after a title reads like an abstract, which the end of a file may cut."""
        is_last = block is self.blocks[-1]
        return is_last or len(block.text) >= SHORT_ABSTRACT or not is_unfinished(block.text)

    def _add_date(self, block: Block) -> None:
        if self._open is None or self._open.published:
            self._refused.append((block, "date that belongs to no paper"))
        elif block.sign.date:
            month = arxiv_month(self._open.title.paper)
            latest = end_of_month(month) if month else self.day.day or self.latest
            self._open.published = to_date(block.sign.date, min(latest, self.latest))


def unite_repeats(readers: Iterable[ListReader]) -> Iterable[Card]:
    """Keep a paper once that the page lists twice, with what either of its cards has."""
    by_key: dict[object, Card] = {}
    for card in (card for reader in readers for card in reader.cards):
        abstract = card.abstract.text if card.abstract else ""
        first = by_key.setdefault(card.title.paper or (card.title.text, abstract), card)
        first.abstract = first.abstract or card.abstract
        first.published = first.published or card.published
        first.links = card.links | first.links
    return by_key.values()


def doubt_of(blocks: Sequence[Block], papers: Sequence[Paper], rejected: int) -> str:
    """Say why a document is probably no list of papers, as a README or a login page; else "".

    Without a link to a paper, authors or dates, only its shape can show that it is one. Of four
    such lists, the medians of abstracts are from 1,557 characters, and nothing is rejected; of
    notes and documentation they are up to 446.
    """
    if not papers or any(map(_shows_a_list, blocks)):
        return ""
    if form := _login_form(blocks):
        return form
    typical = median(len(paper.abstract) for paper in papers)
    is_dated = any(day.day for paper in papers for day in paper.listed)
    is_short = typical < TYPICAL_ABSTRACT
    if is_short and rejected * REJECTED_IN_TEN > len(blocks):
        return (
            f"it does not look like a list of papers: {rejected:,} of {len(blocks):,} blocks fit "
            "none, and the texts are shorter than abstracts"
        )
    if typical < SHORT_TEXT and not is_dated:
        return "it does not look like a list of papers: the texts are shorter than abstracts"
    return ""


def _login_form(blocks: Sequence[Block]) -> str:
    """Say that a document looks like a login page or a refusal, and why; "" if it does not."""
    form = next((block for block in blocks if _OF_A_FORM.fullmatch(block.text)), None)
    return f"it looks like a login page (line {form.line}: “{form.text}”)" if form else ""


def _shows_a_list(block: Block) -> bool:
    return bool(block.paper) or block.sign.is_own or block.sign.kind in _OF_A_CARD


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


# ── title or abstract? ──────────────────────────────────────────────────────────────


def find_titles(run: Sequence[Block]) -> list[bool]:
    """Return whether each block is a title, in the cheapest reading of the whole run.

    Every block has a cost as a title and one as an abstract: how surprising its shape would be.
    Two titles or two abstracts in a row cost too, so that a missing block is left missing, instead
    of shifting all that follows.
    """
    costs = [(_as_title(block.text), _as_abstract(block.text)) for block in run]
    as_title, as_abstract = costs[-1]  # a document that was cut may end anywhere
    costs[-1] = as_title, as_abstract - _as_stub(run[-1].text)
    linked = ""
    for number, block in enumerate(run):  # the first text that leads to a paper is its title
        if block.is_title or (block.paper and block.paper != linked):
            linked = block.paper
            costs[number] = (0.0, IMPOSSIBLE)
        elif block.paper:
            costs[number] = (IMPOSSIBLE, 0.0)
    title, abstract = costs[0]  # cost so far, if the last is a title or an abstract
    abstract += COST_OF_FIRST_ABSTRACT
    steps: list[tuple[bool, bool]] = []  # whether a title precedes a title, an abstract
    for as_title, as_abstract in costs[1:]:
        again_title = title + COST_OF_REPETITION
        again_abstract = abstract + COST_OF_REPETITION
        steps.append((again_title <= abstract, title <= again_abstract))
        title, abstract = (
            as_title + min(again_title, abstract),
            as_abstract + min(title, again_abstract),
        )
    are_titles = [title + COST_OF_LAST_TITLE <= abstract]
    for before_title, before_abstract in reversed(steps):
        are_titles.append(before_title if are_titles[-1] else before_abstract)
    return are_titles[::-1]


def _as_title(text: str) -> float:
    """Titles are short, of one sentence, and without a full stop."""
    cost = 1.0 * (len(text) > 160) + 1.0 * (len(text) > 250) + 4.0 * (len(text) > 350)
    cost += 1.0 * text.endswith((".", "。"))
    return cost + 1.0 * (text.endswith(".") and bool(_NEXT_SENTENCE.search(text)))


def _as_abstract(text: str) -> float:
    """Abstracts are long, end as sentences do, and do not capitalise every word."""
    cost = 1.0 * (len(text) < 250) + 1.0 * (len(text) < 120)
    return cost + 1.0 * is_unfinished(text) + 1.5 * _is_title_case(text) + _as_stub(text)


def _as_stub(text: str) -> float:
    """Short and without a full stop: hardly ever an abstract."""
    return 2.5 if len(text) < 250 and not text.endswith((".", "。", ".)")) else 0.0


def _is_title_case(text: str) -> bool:
    """Most longer words begin with a capital (a text of capitals only counts too)."""
    words = _LONG_WORD.findall(text[:400])
    return len(words) > 1 and sum(word[0].isupper() for word in words) > 0.6 * len(words)
