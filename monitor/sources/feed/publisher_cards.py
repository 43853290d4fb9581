"""What publishers' feeds write around an abstract, or where it should be.

Elsevier gives a card of date, journal and authors; Wiley, Science, PNAS and Taylor & Francis
begin with the issue, Wiley and Oxford give a heading; the American Chemical Society gives journal
and DOI, PLOS, the American Physical Society and MDPI the authors, MDPI the title, too; the Royal
Society of Chemistry, Copernicus and Pensoft give several of these, a line each; DSpace gives title
and authors, the NBER the authors behind the title; PubMed gives a part of the abstract, and behind
it the whole page of the article. Cards cut out of the overview pages of a publisher (Nature) say
with schema.org's names in `itemprop` what is what.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile

import msgspec

from monitor.sources.fields.dates import partial_date
from monitor.sources.fields.markup import text

_NATURE = re.compile(r"[\w ]{1,99}, Published online: [^;]{0,40}; ?doi: ?10\.\S+\s*")
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
_APS_ISSUE = re.compile(r" ?\[[^\[\]]{5,80}\] Published \w{3} \w{3} \d\d?, \d{4}$")
_PUBMED = re.compile(r".{0,500}?\bABSTRACT (?P<abstract>.+?)\s*PMID:\s?\d+(?: \||$)", re.DOTALL)
_HEADING = re.compile(r"(?:ABSTRACT|Abstract)\s?: ?|ABSTRACT\s")
_BEFORE = (_NATURE, _ISSUE, _HEADING)
# What stands before an abstract has one of these: few texts do, and to look for words is far
# quicker than to try the expressions.
_SIGNS = (
    *(", Published online: ", "Volume ", "EarlyView", "Ahead of Print", "Accepted Article"),
    *("ABSTRACT", "Abstract", " DOI: 10."),
)
MAX_BEFORE = 200  # where they stand at the latest
_MARKED_HEADING = re.compile(r"\s*<(h\d|b|strong|p)>\s*abstract[\s:.]*</\1>", re.IGNORECASE)
# What stands before a heading of its own is a teaser.
_HEADING_WITHIN = re.compile(r"<(h\d|div)\b[^<>]{0,100}>\s*abstract[\s:.]*</\1>", re.IGNORECASE)
_IN_PLACE = re.compile(r"[^:]{2,120}, Vol\. \d+, Pages? [\w-]{1,20}: ")
_BY = re.compile(r" -- by (?P<names>[A-Z][^,]{3,60}(?:, [A-Z].{3,400})?)$")
# The line of the journal, of publishers whose texts are lines.
_PLACE = re.compile(
    r"(?:(?P<venue>[^,\d]{3,80}), .{0,60}?https?://doi\.org/|DOI ?: )"
    r"(?P<doi>10\.(?:1039|5194)/[^\s,]{3,100}), ?(?:\d{4}|[A-Z].{0,60})$"
)
_LINED = ("10.1039/", "10.5194/", "Abstract: ")
_LABELLED = re.compile(r"(DOI|Authors|Abstract): (.+)")
_VOLUME = re.compile(r"(\D{3,80}?) \d+(?:\(\d+\))?: e?\d[\w–-]*$")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")
_LINE_ENDS = re.compile(r"<br\s*/?>|</?(?:div|p)\b[^<>]{0,200}>", re.IGNORECASE)
_NO_TEXT = re.compile(
    r"\W*(?:open access$|this article is licensed|to cite this article|the content of this rss feed"
    r"|preprint (?:under|withdrawn|has)|revised manuscript)",
    re.IGNORECASE,
)


_START_TAG = re.compile(r"<([a-z]\w{0,20})\s[^<>]{1,2000}>")
_ITEM = re.compile(r"\sitemprop=[\"']?(description|abstract|creator|author)\b")


class Card(msgspec.Struct, frozen=True, gc=False):
    """The abstract alone, and what stood there besides."""

    abstract: str
    names: str = ""
    venue: str = ""
    published: datetime | None = None
    doi: str = ""


def read_card(text: str, names: Sequence[str], title: str = "") -> Card:
    """Part an abstract from what its publisher put around it; `names` are the known authors."""
    found = _ELSEVIER.match(text)
    if found and (found["date"] or found["names"] or " Volume" in text):
        _, day = partial_date(found["date"] or "")
        return Card("", found["names"] or "", found["venue"], day)
    if names and title and text.startswith(f"{title} {names[0]}"):
        return Card(_behind(text[len(title) + 1 :], names))
    if text.startswith(("by ", "Author(s): ")) and names:
        for begin in ("by ", "Author(s): "):
            by = begin + ", ".join(names)
            if not text[len(by) : len(by) + 1].islower():  # else it is a word that begins so
                text = text.removeprefix(by).lstrip()
        text = _APS_ISSUE.sub("", text)
    if any(map(text[:MAX_BEFORE].__contains__, _SIGNS)):
        if _JOURNAL_AND_DOI.match(text):
            return Card("")
        for before in _BEFORE:
            if found := before.match(text, 0, 400):
                text = text[found.end() :]
    if ", Vol. " in text[:MAX_BEFORE] and (found := _MDPI.match(text)):
        text = text[found.end() :].removeprefix(" ".join(names)).lstrip()
    return Card(text)


def _behind(text: str, names: Sequence[str]) -> str:
    """Return what stands behind the authors in one line, or the whole text where they do not."""
    lines = (between.join(names) for between in ("; ", ", "))
    return next((text[len(line) :].lstrip() for line in lines if text.startswith(line)), text)


def without_heading(markup: str) -> str:
    """Drop the heading of an abstract that says that it is one."""
    if "<" not in markup:
        return markup
    if found := _MARKED_HEADING.match(markup, 0, 400):
        return markup[found.end() :]
    if found := _HEADING_WITHIN.search(markup, 0, 4_000):
        teaser, behind = markup[: found.start()], markup[found.end() :]
        return behind if len(text(teaser)) < len(text(behind)) else markup
    return markup


def bare_title(title: str, names: Sequence[str] = ()) -> tuple[str, str]:
    """Return a title alone, and the authors that are told behind it (NBER) and nowhere else.

    What is put before it goes: "[ASAP]", or journal, volume and pages.
    """
    by = _BY.search(title) if " -- by " in title and not names else None
    title = title[: by.start()] if by else title
    found = _IN_PLACE.match(title) if ", Vol. " in title[:MAX_BEFORE] else None
    bare = title[found.end() :] if found else title.removeprefix("[ASAP] ")
    return bare, by["names"] if by else ""


def card_of_lines(markup: str, title: str) -> Card | None:
    """Read a text of lines: title, journal with DOI, authors, abstract; None for any other.

    The authors stand before the journal (Copernicus), or behind it, or each line says what it is.
    """
    if "<" not in markup or not any(map(markup.__contains__, _LINED)):
        return None
    lines = [line for part in _LINE_ENDS.split(markup) if (line := text(part))]
    said = {found[1]: found[2] for line in lines if (found := _LABELLED.match(line))}
    if "Abstract" in said and "Authors" in said:
        journal = _VOLUME.match(lines[0]) if lines[0] != title else None
        venue = journal[1] if journal else ""
        return Card(_paragraphs(lines), said["Authors"], venue, doi=said.get("DOI", ""))
    places = ((at, place) for at, line in enumerate(lines) if (place := _PLACE.match(line)))
    at, place = next(places, (0, None))
    in_front = [line for line in lines[:at] if line != title]
    if place is None or any(map(SENTENCE_END.search, in_front)):
        return None  # what it names is another's, or its own behind its text
    told = [line for line in lines[at + 1 :] if not _NO_TEXT.match(line)]
    before = lines[at - 1] if at and lines[at - 1] != title else ""
    if place["venue"]:
        return Card(" ".join(told), before, place["venue"], doi=place["doi"])
    names = told.pop(0) if told[1:] else ""
    return Card(" ".join(told), names, before.partition(", ")[0].strip(), doi=place["doi"])


def card_of_items(markup: str) -> Card | None:
    """Read a card of HTML that marks its authors or description as such; None for any other."""
    if "itemprop" not in markup:
        return None
    names: list[str] = []
    told: list[str] = []
    end = 0
    for tag in _START_TAG.finditer(markup):
        item = _ITEM.search(tag.group()) if tag.start() >= end else None
        close = markup.find(f"</{tag[1]}>", tag.end()) if item else -1
        if item is None or close < 0:
            continue
        (told if item[1] in ("description", "abstract") else names).append(
            text(markup[tag.end() : close])
        )
        end = close
    names = list(filter(None, names))
    return Card(" ".join(filter(None, told)), "; ".join(names)) if names or told else None


def _paragraphs(lines: Sequence[str]) -> str:
    """Return the abstract that says that it is one, and the sentences in the lines behind it."""
    begin = next(at for at, line in enumerate(lines) if line.startswith("Abstract: "))
    behind = takewhile(SENTENCE_END.search, lines[begin + 1 :])
    return " ".join((lines[begin].removeprefix("Abstract: "), *behind))


def pubmed_abstract(content: str) -> str:
    """Return the abstract of an article's page in PubMed's feeds, or ""."""
    found = _PUBMED.match(content) if "ABSTRACT " in content[:600] else None
    return found["abstract"] if found else ""
