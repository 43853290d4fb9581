"""When to come again: what an answer says of it (RFC 9110, 10.2.3; RFC 9111, 5.2 and 5.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LEAST = timedelta(seconds=60)
MOST = timedelta(hours=24)

_DELTA = re.compile(r"-?[0-9]+")
# A service that counts requests by windows of time sends this and no `Retry-After`: "api";r=0;t=55
# (draft-ietf-httpapi-ratelimit-headers; Hugging Face).
_WINDOW_IS_SPENT = re.compile(r";\s*r\s*=\s*0+\s*;\s*t\s*=\s*([0-9]+)", re.ASCII)
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]+)", re.IGNORECASE)
_NEVER = re.compile(r"(?:^|[\s,])no-(?:cache|store)(?:$|[\s,=])", re.IGNORECASE)


def retry_after(headers: Mapping[str, str], now: float) -> timedelta | None:
    """Return how long `Retry-After` asks to wait, within a minute and a day; None if it does not.

    What is negative or past means at once, which is a minute. Without it, the end of the windows
    counts of which `RateLimit` says that no request is left.
    """
    wait = asked_wait(headers, now)
    if wait is None and (spent := _WINDOW_IS_SPENT.findall(headers.get("ratelimit", ""))):
        wait = min(max(map(_seconds, spent)), MOST)
    return None if wait is None else max(LEAST, wait)


def asked_wait(headers: Mapping[str, str], now: float) -> timedelta | None:
    """Return how long `Retry-After` asks to wait, a day at most; None if it does not.

    It is seconds, or a date in any of the three forms of RFC 9110, 5.6.7, which counts from the
    answer's own `Date` where there is one, so that no clock need be right.
    """
    value = headers.get("retry-after", "").strip()
    is_number = value.isascii() and _DELTA.fullmatch(value)
    wait = _seconds(value) if is_number else _until(value, headers, now)
    return None if wait is None else max(timedelta(0), min(wait, MOST))


def lifetime(headers: Mapping[str, str], now: float) -> timedelta:
    """Return for how long an answer says that it stays as it is, a day at most.

    The longer of `max-age` (less the `Age` it came with) and `Expires`.
    """
    control = headers.get("cache-control", "")
    if _NEVER.search(control):
        return timedelta(0)
    match = _MAX_AGE.search(control)
    age = _seconds(match[1]) - _seconds(headers.get("age", "").strip()) if match else timedelta(0)
    expires = _until(headers.get("expires", "").strip(), headers, now) or timedelta(0)
    return max(timedelta(0), min(max(age, expires), MOST))


def _seconds(value: str) -> timedelta:
    """Whole seconds, three years at most; 0 for a negative number or other text."""
    if not (value.isascii() and value.isdigit()):
        return timedelta(0)
    return timedelta(seconds=int(value.lstrip("0")[:8] or "0"))


def _until(value: str, headers: Mapping[str, str], now: float) -> timedelta | None:
    until = _date(value)
    if until is None:
        return None
    return until - (_date(headers.get("date", "")) or datetime.fromtimestamp(now, UTC))


def _date(value: str) -> datetime | None:
    """Read a date of HTTP; None for other text. A form without a zone is in UTC."""
    if len(value) > 60 or not value.isascii():
        return None
    try:
        at = parsedate_to_datetime(value)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
