"""Furniture of the page: short texts around papers, recognised by their words.

A text is furniture when nothing but its words is in it, such as "May 29 6" (a date and a number of
comments), "GitHub 131 arXiv Page" or "TOS Privacy About Careers".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

MAX_CHARS = 100


class Kind(Enum):
    """The kind of a short text.

    CLOSING is only after the title of a paper, COUNT before or after it; after SUBMITTED follows
    the name of a person, which SUBMITTER has. LOST is the address of a paper that is not there.
    """

    TEXT = auto()
    HEADER = auto()
    OTHER = auto()
    COUNT = auto()
    SUBMITTED = auto()
    SUBMITTER = auto()
    CLOSING = auto()
    DATE = auto()
    LOST = auto()


@dataclass(frozen=True, slots=True)
class Sign:
    """The kind of a text and its date, which is that of a paper if `is_own`."""

    kind: Kind
    date: re.Match[str] | None = None
    is_own: bool = False


TEXT = Sign(Kind.TEXT)
LOST = Sign(Kind.LOST)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>(?:19|20)\d\d))?"
_DATE_FORMS = (
    rf"{_WEEKDAY}{_MONTH}\s+{_DAY}{_YEAR}(?!\w)",
    rf"{_WEEKDAY}{_DAY}\s+{_MONTH}{_YEAR}(?!\w)",
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\w)",
)
_A_MONTH = _MONTH.replace("?P<month>", "?:")
# Texts of a kind as a whole.
_TEXTS = {
    Kind.HEADER: (
        r"new|subscribe|papers|by|AK|today|by ?AK\b.*|(?:by ?[\w ]+ )?and the research community"
        r"|get trending papers in your email inbox( once a day)?!?"
        r"|(?:daily |trending )?papers - hugging face|search any paper with AI"
        r"|week \d{1,2}|(?:\d{4}-)?w\d\d?"
        rf"|{_A_MONTH}\s+\d\d?\s*[-–—]\s*(?:{_A_MONTH}\s+)?\d\d?(?:,?\s+20\d\d)?|{_A_MONTH}\s+20\d\d"
    ),
    Kind.SUBMITTED: r"submitted by",
    Kind.SUBMITTER: r"submitted by.{1,60}",
    Kind.OTHER: (
        r"(?:you need to agree|we use cookies|this (?:web)?site uses cookies)\b.*|©.*|\[[^\[\]]*\]"
        r"|:::.*|(?:(?:visible|hidden) )?links:?|references:?|hugging face's logo.*"
        r"|#\d+ paper of the (?:day|week|month)|\d+\. (?:text field|button|checkbox)\b.*"
        r"|trending papers ranked by github stars activity"
    ),
}
# Words that may be several in a text, each with others of its row.
_WORDS = {
    Kind.HEADER: r"(?:daily|trending) papers|daily|weekly|monthly",
    Kind.CLOSING: (
        r"\d[\d.,]*\+? authors?|·|github(?: stars?)? ?[\d.,]+[km]?(?: stars?)?"
        r"|(?:view )?arxiv(?: page)?|(?:view )?pdf|project(?: page)?|published(?: on)?"
        r"|view all activity|link:"
    ),
    Kind.COUNT: (
        r"(?:an?|\d+) (?:minute|hour|day|week|month|year)s? ago|yesterday|\d[\d.,]*[km]?|[-–—]"
        r"|upvote[ds]?(?: ?\d[\d.,]*[km]?)?|comments?|views?|likes?"
    ),
    Kind.OTHER: (
        r"hugging ?face(?: pro)?|github|models?|datasets?|spaces|buckets(?: new)?|storage|docs"
        r"|(?:team & )?enterprise(?: support| hub)?|pricing|website|tasks|huggingchat"
        r"|collections|languages|organizations|community|blog|posts|learn|discord|forum"
        r"|solutions|inference (?:providers|endpoints)|storage buckets|expert support"
        r"|log ?in|sign ?(?:up|in)|log ?out|(?:system|light|dark) theme|company|TOS"
        r"|terms(?: of (?:service|use))?|privacy(?: policy)?|about|careers|jobs|press|contact"
        r"|previous|next|load more|show more|back to top|skip to (?:main )?content|menu|search"
        r"|accept(?: all)?(?: cookies)?|reject(?: all)?|decline|cookie (?:settings|policy)"
        r"|papers with code|copy markdown|button|\[|sota"
        r"|ai-generated summary"
    ),
}
_ROWS = ({Kind.HEADER}, {Kind.CLOSING, Kind.COUNT, Kind.DATE}, {Kind.OTHER})


def _compile(patterns: dict[Kind, str], end: str = "") -> re.Pattern[str]:
    named = (f"(?P<{kind.name}>(?:{pattern}){end})" for kind, pattern in patterns.items())
    return re.compile("|".join(named), re.IGNORECASE)


_TEXT_PATTERN = _compile(_TEXTS)
_WORD = _compile(_WORDS, r"(?!\w)")
_DATES = tuple(re.compile(form, re.IGNORECASE) for form in _DATE_FORMS)
# Bullets, boxes to tick, pictures.
_BETWEEN = re.compile(r"(?:\[[^\[\]]*\]|[^\w·\[-]|_+(?![^\W_])|-(?!\s|$)|(?<!\w)o(?!\w))*")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufe0f\ufeff]")
_LETTER = re.compile(r"[^\W_]")


def find_sign(text: str) -> Sign:
    """Return what a text is by its words: furniture, a date, or TEXT."""
    if not text.isascii():
        text = " ".join(_INVISIBLE.sub("", text).replace("·", " · ").split())
    if not _LETTER.search(text):
        return _find_signs(text) if len(text) <= 3 else Sign(Kind.OTHER)
    if len(text) > MAX_CHARS:
        return TEXT
    if match := _TEXT_PATTERN.fullmatch(text):
        return Sign(Kind[str(match.lastgroup)])
    return _find_signs(text)


def _find_signs(text: str) -> Sign:
    kinds: set[Kind] = set()
    date: re.Match[str] | None = None
    position = _end_of_signs(text, 0)
    while position < len(text):
        dates = (form.match(text, position) for form in _DATES)
        if match := next(filter(None, dates), None):
            kinds.add(Kind.DATE)
            date = date or match
        elif match := _WORD.match(text, position):
            kinds.add(Kind[str(match.lastgroup)])
        else:
            return TEXT
        position = _end_of_signs(text, match.end())
    if not any(kinds <= row for row in _ROWS):
        return TEXT
    order = (Kind.DATE, Kind.CLOSING, Kind.COUNT, Kind.HEADER)
    kind = next((kind for kind in order if kind in kinds), Kind.OTHER)
    return Sign(kind, date, is_own=Kind.CLOSING in kinds)


def _end_of_signs(text: str, position: int) -> int:
    match = _BETWEEN.match(text, position)
    return match.end() if match else position
