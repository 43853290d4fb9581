"""Dates as sources write them: as a standard has them, in part, with names of months, as a span.

Nothing is made up. A month counts from its first day; a season or a bare year names no day, so it
gives the year.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

from monitor.model import Bound, Month

FIRST_ONLINE = datetime(1990, 1, 1, tzinfo=UTC)
FIRST_PRINTED = datetime(1450, 1, 1, tzinfo=UTC)
MAX_LEAD = timedelta(days=2)
LONG_OVER_AFTER = timedelta(days=100)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
# Readers of RFC 5322 take 0000 for 2000; -0000 is a time zone.
_NO_YEAR = re.compile(r"(?:(?<![\d:.+-])|(?<=[a-z]-))0000(?!\d)", re.IGNORECASE)
_ANY_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d")
_NUMBERS = re.compile(r"(?<!\d)(\d{4})\s?[-/.]\s?(\d{1,2})(?:\s?[-/.]\s?(\d{1,2}))?(?!\d)")
_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")  # day.month.year
_WORD = re.compile(rf"(?<![a-z])({'|'.join(_MONTHS)})[a-z]{{0,6}}\.?(?![a-z])", re.IGNORECASE)
_DAY_AFTER = re.compile(r"[\s,~]*(\d{1,2})(?:st|nd|rd|th)?(?!\d)")
_DAY_BEFORE = re.compile(  # "12th March", "12-15 March"
    r"(?<![\d-])(\d{1,2})(?:st|nd|rd|th)?(?:\s?[-–]\s?\d{1,2}(?:st|nd|rd|th)?)?[\s.~-]*$"
)


def parse_date(text: str) -> datetime | None:
    """Read a date as RFC 3339, ISO 8601 or RFC 5322 write it; without a zone it is UTC."""
    text = text.strip()
    if has_year_zero(text):
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            at = read(text)
            return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None


def has_year_zero(text: str) -> bool:
    """Whether a date has the year 0000, which stands for none."""
    return "0000" in text and bool(_NO_YEAR.search(text)) and not _ANY_YEAR.search(text)


def parse_any_date(text: str) -> datetime | None:
    """Read a date as a standard or as people write it; None where it names no month."""
    return parse_date(text) or partial_date(text[:100])[1]


def within_reason(
    at: datetime | None, now: datetime, since: datetime = FIRST_PRINTED
) -> datetime | None:
    """Drop a date that no publication can have: before `since`, or two days after `now`."""
    return at if at and since <= at <= now + MAX_LEAD else None


def partial_date(text: str) -> tuple[int | None, datetime | None]:
    """Read the year and the first day of "2018 Jul-Aug", "1998///Spring", "12 March 2014", ...

    The day is None where not even the month is named, or where there is no such day.
    """
    year = _YEAR.search(text)
    if not year:
        return None, None
    if (numbers := _NUMBERS.search(text)) and numbers[1] == year[1]:
        return int(year[1]), day_of(year[1], numbers[2], numbers[3] or "")
    if (match := _DOTTED.search(text)) and match[3] == year[1]:
        return int(year[1]), day_of(year[1], match[2], match[1])
    word = _WORD.search(text)
    if not word:
        return int(year[1]), None
    before = text[: word.start()]
    after = text[word.end() :]
    day = _DAY_AFTER.match(after) or _DAY_BEFORE.search(before)
    return int(year[1]), day_of(year[1], word[1], day[1] if day else "")


def day_of(year: str, month: str, day: str = "") -> datetime | None:
    """Return the day of three parts, month by number or name; without a day, the month."""
    month = month.strip().lower()
    try:
        number = _MONTHS.index(month[:3]) + 1 if month[:3] in _MONTHS else int(month)
        if not day.strip():
            return Month(int(year), number, 1, tzinfo=UTC)
        return datetime(int(year), number, int(day), tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def end_of_month(day: date) -> date:
    """Return the last day of the month of a day."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def long_over(year: int | None, now: datetime) -> datetime | None:
    """Return the first day of a year that ended over 100 days ago: its papers are certainly old."""
    if year is None or datetime(year, 12, 31, tzinfo=UTC) >= now - LONG_OVER_AFTER:
        return None
    return within_reason(Bound(year, 1, 1, tzinfo=UTC), now)
