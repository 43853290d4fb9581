"""Links in a saved page, in the notations of Markdown converters and text browsers.

[Title](https://huggingface.co/papers/2410.05434)     Markdown, also over several lines
[Title][32]                                           with a list of addresses at the end, which
[32]Title                                             may be missing
<a href="/papers/2410.05434">Title</a>                HTML in Markdown
Title <https://huggingface.co/papers/2410.05434>      an address after its text
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from monitor.sources.huggingface_page.furniture import Kind, find_sign

# Unicode reserves these characters for use inside a program.
START, END, NUMBER, AFTER_ADDRESS = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
MAX_OPEN = 100  # brackets that may still be closed
MAX_LINK_CHARS = 20_000
MAX_SHORT_CHARS = 40  # in brackets that are no link: "[Re]", "[IMG]"
MAX_LEAD_CHARS = 300  # before an address on the same line that belongs to it
RUNNING_TEXT = 60  # characters before a link on its line that make it a part of a sentence
MIN_NUMBERS = 5  # at the start of lines, where the text has no list of addresses
MIN_NUMBERS_AFTER = 3
MAX_NUMBER_STEP = 50  # some numbers are those of images

_SITE = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<card>papers/\d|login\b)?")
_ADDRESS_LINE = re.compile(
    r"^(?:[ \t]*(?:\[(?=\d+\]))?(?P<number>\d{1,5})(?:\]:?|\.)[ \t]+<?(?P<url>[a-z]{3,6}:\S+?)>?"
    r"| {0,3}\[(?P<label>[^\]\n]{1,1000})\]:(?:[ \t]+|[ \t]*\n[ \t]+)<?(?P<to>\S+?)>?)[ \t]*$",
    re.MULTILINE,
)
_TAGS = (
    "article|aside|button|br|circle|div|figure|footer|form|g|h[1-6]|header|hr|img|input|label|li|"
    "main|nav|ol|p|path|picture|rect|section|source|span|svg|time|ul|video"
)
_ATTRIBUTES = r"(?:\{[^{}\n]{0,300}\})?"  # of Pandoc
# Each token begins with one of these signs, so that the text between is passed over quickly.
_TOKEN_FORM = (
    r"[\\\[\]!<(:](?:(?<=\\)(?P<escaped>[\\\[\]])"
    r"|(?<=\])(?P<closed>\(\s{0,9}(?:<(?P<angled>[^<>\n]*)>"
    r"|(?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*))"
    rf'(?:\s{{1,9}}"[^"\n]{{0,1000}}")?\s{{0,9}}\){_ATTRIBUTES})'
    r"|(?<=!)(?P<image>\[)|NUMBERED"
    rf"|(?<=\])(?P<close>{_ATTRIBUTES})|(?<=(?<!!)\[)(?P<open>)"
    rf"|(?<=<)(?P<tag>(?:/?(?:{_TAGS})\b[^<>]*|a\s[^<>]*></a)>)"
    r'|(?<=<)(?P<anchor>a\s[^<>]*?href="(?P<href>[^"<>]*)"[^<>]*>)|(?<=<)(?P<end>/a>)'
    r"|(?<=[<(])(?P<enclosed>https?://[^\s<>()\[\]]+)[>)]"
    r"|(?<=:)(?P<bare>//[^\s<>()\[\]]+))"
)
_NUMBER = r"(?<=\[)(?P<number>\d{1,5})\](?!\()"
_LABEL = r"(?<=\])(?P<referred>\[(?P<label>[^\[\]\n]{0,1000})\])"
_NUMBER_AFTER = re.compile(r"[^\W\d]\]\[(\d{1,5})\]")
_NUMBER_BEFORE = re.compile(r"^[ \t*+•-]*\[(\d{1,5})\][^\s(:\[]", re.MULTILINE)
_LINE_BEGINS = re.compile(r"(?:^|\n)[\s#>*+•-]*$")
_SCHEME = re.compile(r"[ \t](https?)$")
_URL_TEXT = re.compile(r"\s*(?:https?://|www\.)\S+\s*")


# Whether numbers are before their links.
_TOKEN = {
    numbered: re.compile(_TOKEN_FORM.replace("NUMBERED", form), re.IGNORECASE)
    for numbered, form in ((True, _NUMBER), (False, _LABEL))
}


class _Opener(NamedTuple):
    start: int
    end: int
    begins_line: bool
    is_image: bool = False
    address: str = ""


class _Link(NamedTuple):
    opener: _Opener
    start: int  # of its end
    end: int
    address: str


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def mark_links(text: str) -> tuple[str, bool]:
    """Replace the notation of links by marks; images, tags and the list of addresses go.

    START and END are around each link, NUMBER before one whose end is unknown; START and NUMBER
    have the address behind them ("" if unknown) up to AFTER_ADDRESS. Returns whether the text is
    Markdown, too. Lines are counted as in the document.
    """
    for mark in (START, END, NUMBER, AFTER_ADDRESS):
        text = text.replace(mark, " ")
    by_label: dict[str, str] = {}

    def take(line: re.Match[str]) -> str:
        by_label.setdefault(_normal(line["number"] or line["label"]), line["url"] or line["to"])
        return "\n" * line[0].count("\n")

    return _Scan(_ADDRESS_LINE.sub(take, text), by_label).marked()


def _normal(label: str) -> str:
    return " ".join(label.split()).casefold()


def _mark(mark: str, address: str) -> str:
    return f"{mark}{''.join(address.split())}{AFTER_ADDRESS}"


class _Scan:
    """One pass over the brackets, tags and addresses of a text."""

    def __init__(self, text: str, by_label: Mapping[str, str]) -> None:
        self.text = text
        self.by_label = by_label
        after, before = (len(set(form.findall(text))) for form in (_NUMBER_AFTER, _NUMBER_BEFORE))
        has_list = before >= MIN_NUMBERS or any(map(str.isdigit, by_label))
        self.numbered_before = before >= after and has_list
        self.numbered_after = self.is_markdown = after > before and after >= MIN_NUMBERS_AFTER
        self.open: deque[_Opener] = deque(maxlen=MAX_OPEN)
        self.links: list[_Link] = []
        self.edits: list[_Edit] = []
        self.end_of_last = 0  # of a link
        self.last_number = 0

    def marked(self) -> tuple[str, bool]:
        for token in _TOKEN[self.numbered_before].finditer(self.text):
            self._take(token)
        self._mark_links()
        parts: list[str] = []
        position = 0
        for start, end, mark in sorted(self.edits, key=lambda edit: edit[:2]):
            if start >= position:
                lines = "\n" * self.text.count("\n", start, end)
                parts += (self.text[position:start], mark, lines)
                position = end
        return "".join((*parts, self.text[position:])), self.is_markdown

    def _take(self, token: re.Match[str]) -> None:
        start, end = token.span()
        match token.lastgroup:
            case "open" | "image" as kind:
                begins_line = self._begins_line(start)
                self.open.append(_Opener(start, end, begins_line, is_image=kind == "image"))
            case "anchor":
                self.open.append(_Opener(start, end, begins_line=True, address=token["href"]))
            case "closed":
                self.is_markdown = True
                self._close(start, end, token["angled"] or token["url"])
            case "referred":
                self._close_reference(start, end, token["label"])
            case "close":
                self._close_bracket(start, end)
            case "end":
                if anchor := self._opener(start):
                    self._link(anchor, start, end, anchor.address)
            case "number":
                self._number(start, end, token["number"])
            case "tag":
                self.edits.append(_Edit(start, end, " "))
            case "enclosed":
                self._address(start, end, token["enclosed"])
            case "bare":
                self._bare_address(start, end)

    def _begins_line(self, position: int) -> bool:
        return bool(_LINE_BEGINS.search(self.text, max(0, position - 20), position))

    def _opener(self, end: int) -> _Opener | None:
        """Return the bracket that a link which ends here begins with.

        A bracket in the middle of a sentence ("[0, 1)") is passed over for one at the beginning
        of a line in the same paragraph.
        """
        if not self.open or self.open[-1].begins_line:
            return self.open.pop() if self.open else None
        for opener in reversed(self.open):
            if end - opener.end > MAX_LINK_CHARS:
                break
            if opener.begins_line:
                if "\n\n" in self.text[opener.end : end] and not self._begins_line(end):
                    break
                while self.open.pop() is not opener:
                    continue
                return opener
        return self.open.pop()

    def _close(self, start: int, end: int, address: str) -> None:
        if self.open and self.open[-1].is_image:
            self.edits.append(_Edit(self.open.pop().start, end, ""))
        elif opener := self._opener(start):
            self._link(opener, start, end, address)

    def _close_reference(self, start: int, end: int, label: str) -> None:
        if not label and self.open:
            label = self.text[self.open[-1].end : start]
        address = self.by_label.get(_normal(label[:MAX_LINK_CHARS]))
        if address is not None or self.numbered_after:
            self._close(start, end, address or "")
        else:
            self._close_bracket(start, end)

    def _close_bracket(self, start: int, end: int) -> None:
        """Close brackets that are no link, or whose text is itself a label of an address."""
        if not self.open:
            return
        opener = self.open[-1]
        inner = self.text[opener.end : start] if start - opener.end <= MAX_LINK_CHARS else ""
        address = None if inner.isdigit() else self.by_label.get(_normal(inner))
        if address is not None:
            self._close(start, end, address)
        elif not opener.begins_line or len(inner) <= MAX_SHORT_CHARS:
            self.open.pop()

    def _link(self, opener: _Opener, start: int, end: int, address: str) -> None:
        lead = opener.start - max(self.end_of_last, self._line_start(opener.start))
        text = self.text[opener.end : min(start, opener.end + MAX_LINK_CHARS + 1)]
        self.end_of_last = end
        if lead >= RUNNING_TEXT or len(text) > MAX_LINK_CHARS or _URL_TEXT.fullmatch(text):
            self.edits += (_Edit(opener.start, opener.end, ""), _Edit(start, end, ""))
        else:
            self.links.append(_Link(opener, start, end, address))

    def _line_start(self, position: int) -> int:
        """Return where the line begins, or the nearest place before it that matters."""
        nearest = max(0, position - MAX_LEAD_CHARS)
        return max(nearest, self.text.rfind("\n", nearest, position) + 1)

    def _number(self, start: int, end: int, digits: str) -> None:
        step = int(digits) - self.last_number
        if 0 < step <= MAX_NUMBER_STEP or not self.last_number:
            self.last_number = int(digits)
            self.end_of_last = end
            self.edits.append(_Edit(start, end, _mark(NUMBER, self.by_label.get(digits, ""))))

    def _bare_address(self, colon: int, end: int) -> None:
        if scheme := _SCHEME.search(self.text, max(0, colon - 6), colon):
            start = scheme.start(1)
            self._address(start, end, self.text[start:end])

    def _address(self, start: int, end: int, address: str) -> None:
        """Take an address as that of the text before it on its line, unless that is a sentence.

        Abstracts have addresses in round brackets or none, also of models on this site.
        """
        begin = max(self.end_of_last, self._line_start(start))
        lead = self.text[begin:start].strip()
        ends_line = not self.text[end : end + 1].strip(" \t\r\n")
        site, sign = _SITE.match(address), self.text[start]
        is_of_site = site and (sign == "<" or (site["card"] and (ends_line or sign == "(")))
        if not lead and is_of_site and not ends_line:
            self.edits.append(_Edit(start, end, ""))  # of a picture
            return
        belongs = is_of_site or find_sign(lead).kind is not Kind.TEXT
        if belongs and lead and start - begin < MAX_LEAD_CHARS:
            self.end_of_last = end
            self.links.append(_Link(_Opener(begin, begin, True), start, end, address))

    def _mark_links(self) -> None:
        """Mark links; of one inside another, only the notation goes."""
        outer_end = 0
        for opener, start, end, address in sorted(self.links):
            marks = "", ""
            if opener.start >= outer_end:
                marks, outer_end = (_mark(START, address), END), end
            self.edits += (
                _Edit(opener.start, opener.end, marks[0]),
                _Edit(start, end, marks[1]),
            )
