"""Blocks of a saved page: lines that belong together, with the link and the kind of each."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from monitor.model import Rejected
from monitor.sources.huggingface_page.furniture import LOST, TEXT, Kind, Sign, find_sign
from monitor.sources.huggingface_page.links import AFTER_ADDRESS, END, NUMBER, START
from monitor.text import clean

LONG_LINE = 300  # characters; lines this long are not wrapped: each is a block of its own
WRAPPED_LINE = 60  # characters; a line after one this long may be the rest of its paragraph
MAX_QUOTED_CHARS = 60
MAX_NAME_CHARS = 80  # of an organisation, or the person who submitted a paper
TITLE_HEADING = 3  # level; those of the page's own titles are lower

_MARKS = re.compile(f"([{START}{NUMBER}][^{AFTER_ADDRESS}]*(?:{AFTER_ADDRESS}|\\Z)|{END})")
_PREFIX = re.compile(r"(?:(?P<heading>#{1,6})(?:\s+|$)|[>*+•](?:\s+|$)|-(?:\s+|$)(?=.)){0,9}")
_ADDRESS = re.compile(r"[<(]?(https?://[^\s<>()]+)[>)]?")
_OF_A_CARD = re.compile(r"(?:huggingface\.co|hf\.co)/(?:papers/|login\b)")
_MONTH = "(?:0[1-9]|1[0-2])"
_PAPER = re.compile(  # arXiv's numbers have five digits since 2015
    r"(?:^|^file:\S*|(?:huggingface\.co|hf\.co))/papers/"
    rf"(?P<id>(?:0[7-9]|1[0-4]){_MONTH}\.\d{{4}}|(?:1[5-9]|[2-9]\d){_MONTH}\.\d{{5}})"
    r"(?:v\d+)?/?(?:\?[^#]*)?"
)
_PICTURE = re.compile(r"(?:\[[^\[\]]*\]\s*)+")  # or a box to tick
_NO_PICTURE = re.compile(r"\[(?:IMG|INLINE|EMBED)?\]\s*(?=\w)")
_ESCAPED = re.compile(r"\\([\\`*_\[\]#+.!|<>~\"'^@-])")
_LINE_BREAK = re.compile(r"\\{1,4}(?=\s|$)")  # in Markdown
_EMPHASIS = re.compile(r"(\*\*|__|\*|_)(?=\S)(.+)(?<=\S)\1", re.DOTALL)
_SENTENCE_END = re.compile(r"""[.!?。！？…]["'”’)\]]*$""")
_LINK = re.compile(r"https?://|www\.")
_SPACES = " \t\f\v\xa0\u200b\u200c\u200d\u2009\u2060\u3000\ufeff"


@dataclass(frozen=True, slots=True)
class Block:
    """A text, the number of its first line (from 1), and what it is by its words.

    `paper` is the arXiv id in its link; `elsewhere` is the address of any other.
    `heading` is its level, 0 for none.
    """

    line: int
    text: str
    sign: Sign
    heading: int = 0
    paper: str = ""
    elsewhere: str = ""

    @property
    def is_title(self) -> bool:
        """Whether the page marks it as the title of a paper."""
        return self.heading >= TITLE_HEADING

    def reject(self, reason: str) -> Rejected:
        words = self.text
        if len(words) > MAX_QUOTED_CHARS:
            words = f"{words[:MAX_QUOTED_CHARS].rstrip()}..."
        return Rejected(f"line {self.line}", f"{reason}: {clean(words)}")


@dataclass(slots=True)
class _Draft:
    """A block that more lines may be added to; `address` is None where it has no link."""

    line: int
    lines: list[str] = field(default_factory=list)
    heading: int = 0
    address: str | None = None

    @property
    def text(self) -> str:
        return " ".join(line for line in self.lines if line)


@dataclass(frozen=True, slots=True)
class _AddressLine:
    """The address of a paper on line `line`, and the number of drafts before it."""

    line: int
    address: str
    place: int

    @property
    def identifier(self) -> str:
        return _paper_id(self.address)


class _Splitter:
    """Splits at blank lines and links; furniture and very long lines always are alone."""

    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.addresses: list[_AddressLine] = []
        self.joins = False  # whether this line may continue the block of the line before
        self.in_link = False
        self.heading = 0  # of this line, which may have its text in a link

    def add_line(self, number: int, line: str, before_dot: bool) -> None:
        self.heading = 0
        if not line and not self.in_link:
            self.joins = False
        for piece in _MARKS.split(line):
            if piece.startswith((START, NUMBER)):
                self.drafts.append(_Draft(number, [], self.heading, piece[1:-1]))
                self.in_link = piece[0] == START
                self.joins = True
                self.heading = 0
            elif piece == END:
                self.in_link = self.joins = False
            elif text := piece.strip(_SPACES):
                self._add_text(number, text, before_dot, piece[0] in " \t")

    def _add_text(self, number: int, text: str, before_dot: bool, is_indented: bool) -> None:
        prefix = _PREFIX.match(text)
        level = len(prefix["heading"] or "") if prefix else 0
        bare = text[prefix.end() :] if prefix else text
        self.heading = level or self.heading
        last = self.drafts[-1] if self.drafts else None
        if self.in_link and last:
            if not last.lines:
                last.line = number
                last.heading = self.heading or last.heading
            last.lines.append(bare)
            return
        if not bare:
            self.joins = False
            return
        address = _ADDRESS.fullmatch(bare)
        is_sentence = self.joins and not _is_name(last) and not _OF_A_CARD.search(bare)
        if address and not is_sentence:
            self._add_address(number, last, address[1])
            return
        if last and last.address is not None and not last.lines:  # after a number
            last.line = number
            last.lines.append(bare)
            self.joins = not _is_alone(bare, before_dot, self.joins, "")
            return
        before = last.lines[-1] if last and last.lines else ""
        joins = self.joins and not level
        if last and last.heading:  # a title of several lines
            joins = joins and (is_indented or len(before) >= WRAPPED_LINE)
        alone = _is_alone(bare, before_dot, joins, before)
        # A sentence that a blank line broke goes on, as no title would.
        is_long = min(len(before), len(text)) > 160
        continues = is_long and text[0].islower() and is_unfinished(before)
        if before and last and ((joins and not alone) or continues):
            last.lines.append(text)
        else:
            self.drafts.append(_Draft(number, [bare], level))
            self.joins = not alone

    def _add_address(self, number: int, last: _Draft | None, address: str) -> None:
        """An address on a line of its own belongs to the text before it, or to a picture.

        That of a paper may also stand before its title: see `_give_addresses`.
        """
        self.joins = False
        if _paper_id(address):
            self.addresses.append(_AddressLine(number, address, len(self.drafts)))
        elif last and last.address is None and _is_name(last):
            last.address = address


def _is_name(draft: _Draft | None) -> bool:
    return bool(draft and len(draft.lines) == 1 and len(draft.lines[0]) <= MAX_NAME_CHARS)


def _is_alone(text: str, before_dot: bool, joins: bool, before: str) -> bool:
    if len(text) >= LONG_LINE or (before_dot and len(text) < WRAPPED_LINE):
        return True
    if len(before) < WRAPPED_LINE and find_sign(before).kind is Kind.SUBMITTED:
        return True
    kind = find_sign(text).kind
    if joins and len(before) >= WRAPPED_LINE and kind in (Kind.HEADER, Kind.OTHER, Kind.COUNT):
        return False
    return kind is not Kind.TEXT or (len(_split_at_dot(text)) > 1 and text[-1] != ",")


def is_unfinished(text: str) -> bool:
    """Whether a text ends neither as a sentence nor with a link."""
    return not (_SENTENCE_END.search(text) or _LINK.search(text.rsplit(maxsplit=1)[-1]))


def split_blocks(text: str, is_markdown: bool) -> list[Block]:
    """Split a text with marked links into blocks; what has no text, such as a picture, goes."""
    splitter = _Splitter()
    lines = [line.rstrip(_SPACES) for line in text.split("\n")]
    for number, (line, next_line) in enumerate(pairwise([*lines, ""]), start=1):
        splitter.add_line(number, line, next_line.lstrip(_SPACES).startswith("·"))
    lost = _give_addresses(splitter.drafts, splitter.addresses)
    drafts = (draft for draft in splitter.drafts if draft.lines)
    blocks = [block for draft in drafts for block in _blocks_of(draft, is_markdown)]
    ids = {block.paper for block in blocks}
    blocks += [Block(at.line, at.address, LOST) for at in lost if at.identifier not in ids]
    return sorted(blocks, key=lambda block: block.line) if lost else blocks


def _give_addresses(drafts: Sequence[_Draft], lines: Sequence[_AddressLine]) -> list[_AddressLine]:
    """Give titles the addresses on lines of their own, and return those that belong to no text.

    1. Addresses stand before the titles if the first has no text right before it, the last one has
       a text behind it, and each is there once or none follows a title. Each is of the next text.
    2. Else an address is of the text before it: an abstract's is of the title before that.
    """
    if not lines:
        return []
    are_texts = _are_texts(drafts)

    def texts(start: int, end: int) -> list[_Draft]:
        return [drafts[place] for place in range(max(start, 0), end) if are_texts[place]]

    behind = [
        texts(a.place, b.place) for a, b in pairwise([*lines, _AddressLine(0, "", len(drafts))])
    ]
    right_before = [texts(line.place - 1, line.place) for line in lines]
    are_single = len({line.identifier for line in lines}) == len(lines)
    follow_titles = any(text and len(text[0].text) < LONG_LINE for text in right_before)
    stand_before = behind[-1] and not right_before[0] and (are_single or not follow_titles)
    owned: set[str] = set()
    for number, line in enumerate(lines):
        if stand_before:
            owner = next(iter(behind[number]), None)
        else:
            start = lines[number - 1].place if number else 0
            last = texts(max(start, line.place - 2), line.place)
            is_abstract = len(last) > 1 and len(last[1].text) >= LONG_LINE
            owner = last[0] if is_abstract else next(iter(right_before[number]), None)
        if owner and owner.address is None:
            owned.add(line.identifier)
            owner.address = line.address
    return [line for line in lines if line.identifier not in owned]


def _are_texts(drafts: Sequence[_Draft]) -> list[bool]:
    """Return of each draft whether it may be a title or an abstract."""
    kinds = [find_sign(draft.text).kind if draft.lines else Kind.OTHER for draft in drafts]
    return [
        kind in (Kind.TEXT, Kind.HEADER) and before is not Kind.SUBMITTED
        for before, kind in pairwise([Kind.OTHER, *kinds])
    ]


def _paper_id(address: str) -> str:
    """Return the arXiv id in the address of a paper's page, or ""."""
    paper = _PAPER.search(address)
    return paper["id"] if paper and paper.end() == len(address) else ""


def _blocks_of(draft: _Draft, is_markdown: bool) -> Iterator[Block]:
    text = _NO_PICTURE.sub("", draft.text)
    if is_markdown:
        text = html.unescape(_ESCAPED.sub(r"\1", _LINE_BREAK.sub("", text))).strip()
        if emphasis := _EMPHASIS.fullmatch(text):
            text = emphasis[2]
    identifier = _paper_id(draft.address or "")
    elsewhere = "" if identifier else draft.address or ""
    if _PICTURE.fullmatch(text) and draft.heading < TITLE_HEADING:
        return
    for part in _split_at_dot(text):
        sign = find_sign(part)
        if identifier and draft.heading >= TITLE_HEADING:
            sign = TEXT
        yield Block(draft.line, part, sign, draft.heading, identifier, elsewhere)


def _split_at_dot(text: str) -> tuple[str, ...]:
    """Split an organisation from the date or the authors that follow it on the same line."""
    before, dot, after = text.partition("·")
    if not dot or len(text) > LONG_LINE or not before.strip():
        return (text,)
    if after.strip() and find_sign(after).kind is Kind.TEXT:
        return (text,)
    return (before.strip(), f"{dot}{after}".strip())
