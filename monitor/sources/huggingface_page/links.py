"""Links in a saved page, in the notations of Markdown converters and text browsers.

[Title](https://huggingface.co/papers/2410.05434)     Markdown, also over several lines
[Title][32]                                           with a list of addresses at the end, which
[32]Title                                             may be missing
<a href="/papers/2410.05434">Title</a>                HTML in Markdown
Title <https://huggingface.co/papers/2410.05434>      an address after its text
"""

from __future__ import annotations

import re

from monitor.sources.huggingface_page.furniture import Kind, find_sign

# Unicode reserves these characters for use inside a program.
START = "\ufdd0"
END = "\ufdd1"
NUMBER = "\ufdd2"
AFTER_ADDRESS = "\ufdd3"
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
_IMAGE = re.compile(
    r"!\[[^\[\]]*+\](?:\((?:[^()]|\([^()]*\))*+\)(?:\{[^{}\n]{0,300}\})?|\[[^\[\]\n]{0,1000}\])"
)
_TAG = re.compile(
    r"<(?:/?(?:article|aside|button|br|circle|div|figure|footer|form|g|h[1-6]|header|hr|img|input"
    r"|label|li|main|nav|ol|p|path|picture|rect|section|source|span|svg|time|ul|video)\b[^<>]*"
    r"|a\s[^<>]*></a)>",
    re.IGNORECASE,
)
_ANCHOR = re.compile(
    r'<a\s(?:(?!href=")[^<>])*+href="(?P<url>[^"<>]*)"[^<>]*>(?P<text>[^<>]{0,20000})</a>',
    re.IGNORECASE,
)
_BEGINS_LINE = r"[ \t#>*+•-]*"
# The text of a link, up to the bracket before its address: paragraphs after a "[" alone on its
# line; from the start of a line, where brackets need not pair ("[0, 1)"); words within a line.
_PARAGRAPHS = r"[ \t]{0,9}\n(?:\\\]|[^\[\]]|\[(?![ \t]{0,9}\n)|\](?![(\[])){0,20000}+"
_PARAGRAPH = rf"(?:\\\]|[^\]\n]|\](?![(\[])|\n(?!\s*\n|{_BEGINS_LINE}\[)){{0,20000}}+"
_WORDS = r"(?:\\[\[\]]|[^\[\]\n]|\n(?!\s*\n)|\[(?:\\[\[\]]|[^\[\]])*+\]){0,20000}+"
_LINK = re.compile(
    rf"(?:^(?P<begin>{_BEGINS_LINE}))?(?<!\\)\["
    rf"(?P<text>{_PARAGRAPHS}|(?(begin){_PARAGRAPH}|{_WORDS}))\]"
    r"(?:\(\s{0,9}(?:<(?P<angled>[^<>\n]*)>|(?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*))"
    r'(?:\s{1,9}"[^"\n]{0,1000}")?\s{0,9}\)(?:\{[^{}\n]{0,300}\})?'  # attributes of Pandoc
    r"|\[(?P<label>[^\[\]\n]{0,1000})\])"
    r"|(?<!\\)\[(?P<name>[^\[\]]{1,1000})\](?![(\[])",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(?<!\\)\[(?P<number>\d{1,5})\](?!\()")
_NUMBER_AFTER = re.compile(r"[^\W\d]\]\[(\d{1,5})\]")
_NUMBER_BEFORE = re.compile(r"^[ \t*+•-]*\[(\d{1,5})\][^\s(:\[]", re.MULTILINE)
_NUMBER_AT_START = re.compile(r"^(?P<begin>[ \t*+•-]{0,20})\[\d{1,5}\](?=[^\s(:\[])", re.MULTILINE)
_ADDRESS = re.compile(
    rf"(?:^|(?<={END}))(?P<lead>[^\n{START}-{AFTER_ADDRESS}]{{0,300}}?)"
    r"(?P<sign>[<(]|(?<=[ \t]))(?P<url>https?://[^\s<>()\[\]]+)[>)]?(?P<ends>(?=\s|\Z))?",
    re.MULTILINE,
)
_URL_TEXT = re.compile(r"\s*(?:https?://|www\.)\S+\s*")


def mark_links(text: str) -> tuple[str, bool]:
    """Replace the notation of links by marks, and return whether the text is Markdown, too.

    START and END are around each link, NUMBER before one whose end is unknown; START and NUMBER
    have the address behind them ("" if unknown) up to AFTER_ADDRESS. Images, tags and the list of
    addresses go, but for their line ends.
    """
    for mark in (START, END, NUMBER, AFTER_ADDRESS):
        text = text.replace(mark, " ")
    marker = _Marker()
    text = _ADDRESS_LINE.sub(marker.take_address, text)
    after, before = (len(set(form.findall(text))) for form in (_NUMBER_AFTER, _NUMBER_BEFORE))
    has_list = before >= MIN_NUMBERS or any(map(str.isdigit, marker.by_label))
    marker.numbered_before = before >= after and has_list
    marker.numbered_after = after > before and after >= MIN_NUMBERS_AFTER
    is_markdown = marker.numbered_after or bool(re.search(r"\]\([^()\s]*\)", text))
    text = _TAG.sub(lambda tag: f" {_lines(tag)}", _IMAGE.sub(_lines, text))
    text = _ANCHOR.sub(lambda link: marker.mark_text(link, "text", link["url"]), text)
    marker.end_of_last = 0
    text = _LINK.sub(marker.mark_link, text)
    if marker.numbered_before:
        text = _NUMBER.sub(marker.mark_number, text)
    elif not marker.numbered_after:  # a piece of a dump has few numbers
        text = _NUMBER_AT_START.sub(r"\g<begin>", text)
    return _ADDRESS.sub(_mark_address, text), is_markdown


def _lines(notation: str | re.Match[str]) -> str:
    written = notation if isinstance(notation, str) else notation[0]
    return "\n" * written.count("\n")


def _normal(label: str) -> str:
    return " ".join(label.split()).casefold()


def _mark(mark: str, address: str) -> str:
    return f"{mark}{''.join(address.split())}{AFTER_ADDRESS}"


class _Marker:
    """Marks the links of a text in order."""

    def __init__(self) -> None:
        self.by_label: dict[str, str] = {}
        self.numbered_before = self.numbered_after = False
        self.end_of_last = 0  # of a link
        self.last_number = 0

    def take_address(self, line: re.Match[str]) -> str:
        label = _normal(line["number"] or line["label"])
        self.by_label.setdefault(label, line["url"] or line["to"])
        return _lines(line)

    def mark_link(self, link: re.Match[str]) -> str:
        """Mark a link with its address, or one whose label has an address."""
        address: str | None = link["angled"] or link["url"]
        label = link["name"] or link["label"] or link["text"] or ""
        if link["name"] or link["label"] is not None:
            address = self.by_label.get(_normal(label))
            if label.isdigit() and (link["name"] or self.numbered_before):
                return link[0]
            if address is None and (link["name"] or not self.numbered_after):
                return link[0]
        return self.mark_text(link, "name" if link["name"] else "text", address or "")

    def mark_text(self, link: re.Match[str], group: str, address: str) -> str:
        """Mark a link; one within a sentence, or whose text is an address, is its text alone."""
        text = link[group]
        start = link.start(group)
        head = link.string[link.start() : start]
        tail = link.string[link.end(group) : link.end()]
        before = head[: len(head) - len(head.lstrip(" \t#>*+•-"))]
        opening = link.start() + len(before)
        line_start = link.string.rfind("\n", max(0, opening - RUNNING_TEXT), opening) + 1
        lead = opening - max(self.end_of_last, line_start)
        self.end_of_last = link.end()
        if lead >= RUNNING_TEXT or _URL_TEXT.fullmatch(text):
            return f"{before}{text}{_lines(tail)}"
        return f"{before}{_mark(START, address)}{_lines(head)}{text}{END}{_lines(tail)}"

    def mark_number(self, number: re.Match[str]) -> str:
        step = int(number[1]) - self.last_number
        if self.last_number and not 0 < step <= MAX_NUMBER_STEP:
            return number[0]
        self.last_number = int(number[1])
        return _mark(NUMBER, self.by_label.get(number[1], ""))


def _mark_address(match: re.Match[str]) -> str:
    """Take an address as that of the text before it on its line, unless that is a sentence.

    Abstracts have addresses in round brackets or none, also of models on this site.
    """
    lead = match["lead"].strip()
    sign = match["sign"]
    address = match["url"]
    site = _SITE.match(address)
    is_of_card = site and site["card"] and (match["ends"] is not None or sign == "(")
    is_of_site = is_of_card or (site and sign == "<")
    if lead and (is_of_site or find_sign(lead).kind is not Kind.TEXT):
        return f"{_mark(START, address)}{match['lead']}{END}"
    return match[0]
