"""Values of XML feeds as feedparser reads them: bytes, texts, addresses and dates."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from urllib.parse import urljoin

from monitor.sources.feed.feedtags import DeclinedError

_DECLARATION = re.compile(rb"<\?xml\s[^>\n]{0,200}\?>")
_ENCODING = re.compile(rb"encoding=[\"']([\w.:-]*)[\"']")
# Windows-1252 in the place of control characters.
_CONTROLS = re.compile("[\x80-\x9f]")
# In UTF-8 that is read as ISO 8859-1, all that is not ASCII has one of these in it.
_CONTINUED = re.compile("[\x80-\xbf]")
_WINDOWS = {n: c for n in range(128, 160) if (c := bytes((n,)).decode("cp1252", "ignore"))}
# An address that stays as it is when it is joined to another, or the name of an archive's record.
_ABSOLUTE = re.compile(
    r"https?://[A-Za-z0-9.-]+(?::\d+)?/[\w/.~%+-]*|oai:[\w.:-]+(?:/[\w.-]+)*", re.ASCII
)
_SLASHES = re.compile(r"^([A-Za-z][A-Za-z0-9+-.]*://)/*")
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_RFC_5322 = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov"
    r"|Dec) [12]\d{3} \d\d:\d\d:\d\d (?:[+-]\d{4}|GMT)",
    re.ASCII,
)


def is_utf8(content: bytes, url: str, content_type: str) -> bool:
    """Say whether a document is UTF-8 and said to be: RFC 3023, as feedparser applies it."""
    first = content[: content.find(b"\n") + 1 or None]
    declaration = _DECLARATION.match(first)
    if (first.startswith(b"<?") and not declaration) or first.count(b"encoding=") > 1:
        return False
    told = _ENCODING.search(declaration.group()) if declaration else None
    declared = told[1].lower() if told else b""
    media, _, rest = content_type.lower().partition(";")
    charset = rest.rpartition("charset=")[2].strip("\"' ")
    if declared not in (b"", b"utf-8") or charset not in ("", "utf-8"):
        return False
    if content.isascii():
        return True
    return bool(declared or charset) or not (media.startswith("text/") or (url and not media))


def repaired(text: str) -> str:
    """Return a text of which UTF-8 was encoded twice, or that has Windows-1252 in it, as meant."""
    if text.isascii() or not _CONTINUED.search(text):
        return text
    with suppress(UnicodeError):
        text = text.encode("iso-8859-1").decode()
    return text.translate(_WINDOWS) if _CONTROLS.search(text) else text


def joined(base: str, link: str) -> str:
    """Return a link as an absolute one where there is a base."""
    if _ABSOLUTE.fullmatch(link):
        return link
    try:
        return urljoin(base, _SLASHES.sub(r"\1", link) if "://" in link else link)
    except ValueError:
        return ""


def moment(told: str) -> datetime | None:
    """Read a date of RFC 3339 or RFC 5322, "" as none; DeclinedError for any other form."""
    if not told:
        return None
    if len(told) > 40:
        raise DeclinedError
    if told[19:20] == ".":  # what is less than a second is not read
        zone = told[20:].lstrip("0123456789")
        told = told[:19] + zone if 0 < len(told) - 20 - len(zone) < 10 else told
    return _moment(told)


@lru_cache(maxsize=1024)
def _moment(told: str) -> datetime:
    try:
        if found := _RFC_3339.fullmatch(told):
            day, time, zone = found.groups()
            at = datetime.fromisoformat(f"{day}T{time or '00:00:00'}{zone or '+00:00'}")
        elif _RFC_5322.fullmatch(told):
            at = parsedate_to_datetime(told)
        else:
            raise DeclinedError
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise DeclinedError from None
