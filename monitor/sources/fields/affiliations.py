"""The institutions of a paper's authors, in the words of its record."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import islice

from monitor.sources.fields import markup
from monitor.text import plain, without_placeholder

MAX_AFFILIATIONS = 50  # of a paper
MAX_AFFILIATION = 300  # characters
MAX_READ = 10_000  # texts of a record; physicists have thousands of authors in a few institutions
MAX_WRITTEN = 4 * MAX_AFFILIATION  # characters, with mark-up

# PubMed has the addresses of authors at the end: "Oslo, Norway. Electronic address: ada@uio.no."
_MAIL = re.compile(
    r"(?:\b(?:Electronic address|E-?mail)\s?:\s?)?[^\s@;,]{1,80}@[^\s;,]{1,200}", re.IGNORECASE
)
_EDGES = " ,;."
_BETWEEN = re.compile("[;|]")
# arXiv's snapshot has the numbers of notes in their place: "1 and 3".
_WORD = re.compile(r"\b(?!and\b)[^\W\d_]{2}", re.IGNORECASE)


def affiliations(written: Iterable[str]) -> tuple[str, ...]:
    """Return the institutions that a record names, each once, in order.

    Their words stay: in "University of California, San Francisco, CA 94143" commas do not show
    where an address begins. Mail addresses go.
    """
    kept: dict[str, str] = {}
    for text in dict.fromkeys(islice(written, MAX_READ)):
        institution = _institution(text)
        if _WORD.search(institution):
            kept.setdefault(plain(institution), institution)
            if len(kept) == MAX_AFFILIATIONS:
                break
    return tuple(kept.values())


def split_affiliations(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the institutions of texts that may have several, with semicolons or bars between."""
    # A semicolon may end the name of a character, as in "Soci&eacute;t&eacute;".
    unescaped = map(html.unescape, lines)
    return affiliations(part for line in unescaped for part in _BETWEEN.split(line))


def _institution(written: str) -> str:
    text = markup.text(written[:MAX_WRITTEN])
    if "@" in text:
        text = _MAIL.sub("", text)
    text = without_placeholder(text.strip(_EDGES))
    if len(text) <= MAX_AFFILIATION:
        return text
    return f"{text[: MAX_AFFILIATION - 2].rsplit(' ', 1)[0]} …"
