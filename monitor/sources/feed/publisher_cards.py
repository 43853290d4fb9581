"""Cards of publishers: texts in their feeds around an abstract, or in its place.

Wiley, Science, PNAS and Taylor & Francis begin with the issue, Wiley and Oxford give a heading; the
American Chemical Society gives journal and DOI; PLOS, the American Physical Society and MDPI give
the authors, DSpace title and authors. docs/guarantees.md#feeds lists what is read of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile

import msgspec

from monitor.sources.fields.dates import partial_date
from monitor.sources.fields.markup import text
from monitor.text import without_placeholder

# arXiv's feeds since 2024: "arXiv:2508.13426v1 Announce Type: cross Abstract: As large ..."
_ARXIV = re.compile(r"arXiv:\S+ Announce Type: (?P<how>[\w-]+) Abstract: ")
_CUT_OFF = ("...", "…", "[…]", "[...]")
_ONLINE = re.compile(r"[\w ]{1,99}, Published online: [^;]{0,40}; ?doi: ?10\.\S+\s*")
_ELSEVIER = re.compile(
    r"(?:Publication date: (?P<date>.{4,60}?) )?Source: (?P<venue>.{1,300}?)"
    r"(?:,? Volumes? .{1,100}?)?(?: Author\(s\): (?P<names>.*))?$"
)
_ISSUE = re.compile(
    r"(?:[A-Z][^.!?]{1,120}, )?(?:Volume \d{1,5}(?:[-–/]\d{1,5})?, (?:[^.!?]{0,120}, )?"
    r"(?:[\w–-]+ )?\d{4}\b[^.!?]{0,60}"
    r"|EarlyView|Ahead of Print|Accepted Article)\s?\.\s*"
)
_JOURNAL_AND_DOI = re.compile(r"[A-Z][^.:]{2,120} DOI: 10\.\d{4,9}/\S+$")
_MDPI = re.compile(r".{2,900}? doi: 10\.3390/\S+ Authors: ")
_ISSUE_OF_APS = re.compile(r" ?\[[^\[\]]{5,80}\] Published \w{3} \w{3} \d\d?, \d{4}$")
_PUBMED = re.compile(
    r"(?:(?!\bABSTRACT ).){0,500}+\bABSTRACT (?P<abstract>.+?)(?:(?<!\s)\s++)?PMID:\s?\d+(?: \||$)",
    re.DOTALL,
)
_HEADING = re.compile(r"(?:ABSTRACT|Abstract)\s?: ?|ABSTRACT\s")
# Authors, institutes, abstract. Without an abstract, the institutes are the rest, and no sentence.
_CNKI = re.compile(
    r"作者[:：] ?(?P<names>(?:(?! ?(?:摘要|单位)[:：])[^。]){1,2000}+) ?"
    r"(?:摘要[:：] ?|单位[:：](?:[^。]{0,2000}?摘要[:：] ?|[^。]{0,2000}$))"
)
_AUTHORS_LABEL = "作者"
# CNKI's own feeds open an abstract with its authors: "Guocheng SHU;Ping LIU;", then a line end.
_CNKI_PAGE = re.compile(r"https?://(?:[\w-]{1,63}\.){0,4}cnki\.(?:net|com\.cn)(?![\w.-])", re.I)
_NAME_ON_CNKI = re.compile(
    r"[\u3400-\u9fff]{2,4}|[^\W\d_a-z][\w'’-]{0,30}(?: [^\W\d_a-z][\w'’.-]{0,30}){1,3}"
)
# Keywords may have semicolons, too, but no family name in capitals.
_NAME_ANYWHERE = re.compile(r"[A-Z][a-z][\w'’-]{0,30} [A-Z][A-Z'’-]{1,30}")
MAX_OPENING_NAMES = 3_000  # characters
MAX_LABEL = 40  # characters of mark-up in which the first label begins
_TEXT_TAG = re.compile(r"</?text>")  # of RSSHub; no tag of HTML
_FOOTNOTES = re.compile(r"\d+(?:[,，]\d+)*")  # numbers of institutes
_BETWEEN_CHINESE_NAMES = re.compile(r"[;；,，、]")
MAX_PREFIX = 200  # characters within which an issue before an abstract is named
_HEADING_FIRST = re.compile(r"\s*<(h\d|b|strong|p)>\s*abstract[\s:.]*</\1>", re.IGNORECASE)
# The text before a heading of its own is a teaser.
_HEADING_WITHIN = re.compile(r"<(h\d|div)\b[^<>]{0,100}>\s*abstract[\s:.]*</\1>", re.IGNORECASE)
_ISSUE_BEFORE_TITLE = re.compile(r"[^:]{2,120}, Vol\. \d+, Pages? [\w-]{1,20}: ")
_BYLINE = re.compile(r" -- by (?P<names>[A-Z][^,]{3,60}(?:, [A-Z].{3,400})?)$")
_SIGNS_OF_LINES = ("10.1039/", "10.5194/", "Abstract: ")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")
_OF_SENTENCE = r".*[.!?…][\"'”’)\]]*"
_DOI = r"(?P<doi>10\.(?:1039|5194)/[^\s,]{3,100}), ?(?:\d{4}|[A-Z].{0,60})"
# Texts of lines, without those of the title.
_LINES = (
    re.compile(  # Pensoft
        r"(?:(?P<venue>\D{3,80}?) \d+(?:\(\d+\))?: e?\d[\w–-]*\n|.+\n)?(?:DOI: (?P<doi>.+)\n)?"
        rf"Authors: (?P<names>.+)\nAbstract: (?P<abstract>.+(?:\n{_OF_SENTENCE}(?=\n|$))*)"
    ),
    re.compile(  # Copernicus
        rf"(?!{_OF_SENTENCE}\n)(?:(?P<names>.+)\n)?(?P<venue>[^,\d\n]{{3,80}}), .{{0,60}}?"
        rf"https?://doi\.org/{_DOI}(?:\n(?P<abstract>(?:.|\n)*))?$"
    ),
    re.compile(  # Royal Society of Chemistry
        rf"(?!{_OF_SENTENCE}\n)(?:(?P<venue>[^,\n]+)(?:,.*)?\n)?DOI ?: {_DOI}"
        r"\n(?:(?P<names>.+)\n)?(?P<abstract>.+(?:\n.+)*)$"
    ),
)
_LINE_ENDS = re.compile(r"<br\s*/?>|</?(?:div|p)\b[^<>]{0,200}>", re.IGNORECASE)
_NOTICE = re.compile(
    r"\W*(?:open access$|this article is licensed|to cite this article|the content of this rss feed"
    r"|preprint (?:under|withdrawn|has)|revised manuscript)",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"<(?P<tag>[a-z]\w{0,20})\b[^<>]{0,2000}?\sitemprop=[\"']?"
    r"(?:(?P<is_name>creator|author)|description|abstract)\b[^<>]{0,2000}>"
)
_LONGEST_ITEM = 20_000


class Card(msgspec.Struct, frozen=True, gc=False):
    """The abstract alone, and what was written around it."""

    abstract: str
    names: str = ""
    venue: str = ""
    published: datetime | None = None
    doi: str = ""
    announce: str = ""


def read_card(summary: str, content: str, names: Sequence[str], title: str, page: str = "") -> Card:
    """Part the abstract in the mark-up of a summary or content from what is put around it.

    `page` is the address of the entry's own page.
    """
    if card := (
        _card_of_lines(summary, title)
        or _card_of_items(summary)
        or _card_of_labels(summary)
        or _card_of_names(summary, page)
    ):
        return card
    line = text(_without_heading(summary))
    page = text(_without_heading(content))
    if arxiv := _ARXIV.match(line):
        return Card(line[arxiv.end() :], announce=arxiv["how"])
    if pubmed := _PUBMED.match(page):
        return Card(pubmed["abstract"])
    card = _card_of_text(line, names, title)
    if line.endswith(_CUT_OFF) and len(page) > len(line):
        card = Card("")
    if page and not (card.abstract or card.venue):
        card = (
            _card_of_items(content)
            or _card_of_labels(content)
            or _card_of_names(content, page)
            or _card_of_text(_prose(page, title), names)
        )
    return card


def _prose(content: str, title: str) -> str:
    """Leave out the heading of a content that is a whole page, and all of it if it has no sentence.

    Some feeds carry the card of an overview page instead: title, names, kind, day.
    """
    if not f"{content} ".startswith(f"{title} "):
        return content
    rest = content.removeprefix(title).strip()
    if not _SENTENCE_END.search(rest):
        return ""
    return rest if rest[0].isupper() else content  # else the title is how a sentence begins


def _card_of_text(text: str, names: Sequence[str], title: str = "") -> Card:
    if card := _elsevier_card(text):
        return card
    if names and title and text.startswith(f"{title} {names[0]}"):
        rest = text[len(title) + 1 :]
        lines = ("; ".join(names), ", ".join(names))
        line = next(filter(rest.startswith, lines), "")
        return Card(rest[len(line) :].lstrip() if line else rest)
    text = _without_byline(text, names)
    if _JOURNAL_AND_DOI.match(text):
        return Card("")
    for prefix in (_ONLINE, _ISSUE, _HEADING):
        if match := prefix.match(text, 0, 400):
            text = text[match.end() :]
    if ", Vol. " in text[:MAX_PREFIX] and (match := _MDPI.match(text)):
        text = text[match.end() :].removeprefix(" ".join(names)).lstrip()
    return Card(without_placeholder(text))  # Taylor & Francis: "Ahead of Print. ."


def _elsevier_card(text: str) -> Card | None:
    match = _ELSEVIER.match(text)
    if not match or not (match["date"] or match["names"] or " Volume" in text):
        return None
    _, day = partial_date(match["date"] or "")
    return Card("", match["names"] or "", match["venue"], day)


def _without_byline(text: str, names: Sequence[str]) -> str:
    """Drop "by A, B" or "Author(s): A, B", and the issue of the American Physical Society."""
    if not names or not text.startswith(("by ", "Author(s): ")):
        return text
    for opening in ("by ", "Author(s): "):
        byline = opening + ", ".join(names)
        if not text[len(byline) : len(byline) + 1].islower():  # else it is a word that begins so
            text = text.removeprefix(byline).lstrip()
    return _ISSUE_OF_APS.sub("", text)


def _without_heading(markup: str) -> str:
    """Drop the heading "Abstract", and a teaser before it."""
    if heading := _HEADING_FIRST.match(markup, 0, 400):
        return markup[heading.end() :]
    if heading := _HEADING_WITHIN.search(markup, 0, 4_000):
        teaser = markup[: heading.start()]
        rest = markup[heading.end() :]
        return rest if len(text(teaser)) < len(text(rest)) else markup
    return markup


def bare_title(title: str, names: Sequence[str] = ()) -> tuple[str, str]:
    """Return a title without "[ASAP]" or an issue before it, and the authors after it (NBER)."""
    byline = _BYLINE.search(title) if " -- by " in title and not names else None
    title = title[: byline.start()] if byline else title
    issue = _ISSUE_BEFORE_TITLE.match(title) if ", Vol. " in title[:MAX_PREFIX] else None
    bare = title[issue.end() :] if issue else title.removeprefix("[ASAP] ")
    return bare, byline["names"] if byline else ""


# ── texts of lines, and of marked items ─────────────────────────────────────────────


def _card_of_lines(markup: str, title: str) -> Card | None:
    """Read a text of lines: title, journal with DOI, authors, abstract; None for any other."""
    if "<" not in markup or not any(map(markup.__contains__, _SIGNS_OF_LINES)):
        return None
    parts = map(text, _LINE_ENDS.split(markup))
    lines = "\n".join(part for part in parts if part not in ("", title) and not _NOTICE.match(part))
    for form in _LINES:
        if match := form.match(lines):
            abstract, names, venue, doi = match.group("abstract", "names", "venue", "doi")
            abstract = (abstract or "").replace("\n", " ")
            return Card(abstract, names or "", venue or "", doi=doi or "")
    return None


def _card_of_labels(markup: str) -> Card | None:
    """Read labels of CNKI: "作者：李明;王芳<br/>摘要：……"; None for any other text."""
    if _AUTHORS_LABEL not in markup[:MAX_LABEL]:
        return None
    line = text(_TEXT_TAG.sub("", markup))
    match = _CNKI.match(line)
    return Card(line[match.end() :], _chinese_names(match["names"])) if match else None


def _card_of_names(markup: str, page: str) -> Card | None:
    """Read an abstract after its authors, each with a semicolon; None for any other text.

    One author is enough on CNKI's pages, where the last may have a line end in place of it.
    """
    if ";" not in markup[:MAX_PREFIX]:
        return None
    is_cnki = bool(_CNKI_PAGE.match(page))
    form = _NAME_ON_CNKI if is_cnki else _NAME_ANYWHERE
    line = text(markup)
    pieces = line[:MAX_OPENING_NAMES].split(";")[:-1]
    names = list(takewhile(form.fullmatch, (_FOOTNOTES.sub("", p).strip() for p in pieces)))
    end = sum(len(piece) + 1 for piece in pieces[: len(names)])
    markup = markup.lstrip()
    if is_cnki and names and (line_end := _LINE_ENDS.search(markup, 1, MAX_OPENING_NAMES)):
        first_line = text(markup[: line_end.start()])
        if form.fullmatch(last := first_line[end:].strip()):
            names.append(last)
            end = len(first_line)
    if len(names) < (1 if is_cnki else 2):
        return None
    return Card(line[end:].lstrip(), "; ".join(names))


def _chinese_names(line: str) -> str:
    """Return names with semicolons between them; "" where RSSHub's spaces may be within names."""
    line = _FOOTNOTES.sub("", line)
    words = line.split()
    if len(words) == 1 or _BETWEEN_CHINESE_NAMES.search(line):
        return _BETWEEN_CHINESE_NAMES.sub("; ", line)
    is_chinese = line.lower() == line.upper() and all(len(word) > 1 for word in words)
    return "; ".join(words) if is_chinese else ""


def _card_of_items(markup: str) -> Card | None:
    """Read a card of HTML that marks its authors or description as such; None for any other."""
    if "itemprop" not in markup:
        return None
    items = list(_items(markup))
    names, abstracts = (
        [text(content) for is_name, content in items if is_name is of_names]
        for of_names in (True, False)
    )
    if not any((*names, *abstracts)):
        return None
    return Card(" ".join(filter(None, abstracts)), "; ".join(filter(None, names)))


def _items(markup: str) -> Iterator[tuple[bool, str]]:
    """Yield whether each marked item is of a name, and its content up to its first end tag."""
    at = 0
    while begin := _ITEM.search(markup, at):
        at = begin.end()
        end_tag = f"</{begin['tag']}>"
        end = markup.find(end_tag, at, at + _LONGEST_ITEM + len(end_tag))
        if end >= 0:
            yield bool(begin["is_name"]), markup[at:end]
            at = end
