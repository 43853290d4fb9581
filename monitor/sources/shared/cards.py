"""What publishers' feeds write in front of an abstract, or where it should be.

Elsevier gives a card of date, journal and authors; Wiley, Science, PNAS and Taylor & Francis
begin with the issue; the American Chemical Society gives journal and DOI, PLOS the authors;
PubMed gives the beginning of the abstract, and behind it the whole page of the article.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from monitor.sources.shared.dates import partial_date

_NATURE = re.compile(r"[\w ]{1,99}, Published online: [^;]{0,40}; ?doi: ?10\.\S+\s*")
_ELSEVIER = re.compile(
    r"(?:Publication date: (?P<date>.{4,60}?) )?Source: (?P<venue>.{1,300}?)"
    r"(?:,? Volumes? .{1,100}?)?(?: Author\(s\): (?P<names>.*))?$"
)
_ISSUE = re.compile(
    r"(?:[A-Z][^.!?]{1,120}, )?(?:Volume \d[^.!?]{0,120}, (?:\w+ )?\d{4}[^.!?]{0,60}"
    r"|EarlyView|Ahead of Print|Accepted Article)\s?\.\s*"
)
_JOURNAL_AND_DOI = re.compile(r"[A-Z][^.:]{2,120} DOI: 10\.\d{4,9}/\S+$")
_PUBMED = re.compile(r".{0,500}?\bABSTRACT (?P<abstract>.+?)\s*PMID:\s?\d+\b", re.DOTALL)
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


class Card(NamedTuple):
    """The abstract alone, and what stood there besides."""

    abstract: str
    names: str = ""
    venue: str = ""
    published: datetime | None = None


def read_card(text: str, names: Sequence[str]) -> Card:
    """Part an abstract from what its publisher put around it; `names` are the known authors."""
    if found := _ELSEVIER.match(text):
        _, day = partial_date(found["date"] or "")
        return Card("", found["names"] or "", found["venue"], day)
    if text.startswith("by ") and names:
        by = f"by {', '.join(names)}"
        text = text[len(by) :].lstrip() if text.startswith(by) else text
    if any(map(text[:MAX_BEFORE].__contains__, _SIGNS)):
        if _JOURNAL_AND_DOI.match(text):
            return Card("")
        for before in _BEFORE:
            if found := before.match(text, 0, 400):
                text = text[found.end() :]
    return Card(text)


def without_heading(markup: str) -> str:
    """Drop the heading of an abstract that says that it is one."""
    found = _MARKED_HEADING.match(markup, 0, 400)
    return markup[found.end() :] if found else markup


def pubmed_abstract(content: str) -> str:
    """Return the abstract of an article's page in PubMed's feeds, or ""."""
    found = _PUBMED.match(content)
    return found["abstract"] if found else ""
