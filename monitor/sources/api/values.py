"""Reads values of any type from JSON records: texts, numbers, dates, names, identifiers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from urllib.parse import quote

from monitor.model import Month
from monitor.sources.fields import MAX_CATEGORIES, MAX_ENTRY, markup
from monitor.sources.fields.dates import long_over, parse_date, partial_date, within_reason
from monitor.sources.fields.identifiers import Keys, values_of
from monitor.sources.fields.links import first_link
from monitor.sources.fields.names import joins_people, split_names
from monitor.text import clean, given_name_first, whole_number

MAX_NAMES = 10_000
NO_TITLE = "record has no title"


class NoPaperError(Exception):
    """The reason why a record is not a paper; it never leaves a reading."""


def get_path(value: object, path: str) -> object:
    """Return the value at a path of names with dots between them, or None."""
    return get_value(value, path.split(".")) if path else value


def get_value(value: object, names: Iterable[str]) -> object:
    """Return the value under names in objects, and positions in lists (from 0), or None."""
    for name in names:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdigit() and len(name) < 9:
            value = value[int(name)] if int(name) < len(value) else None
        else:
            return None
    return value


def get_list(value: object, path: str = "") -> list[object]:
    """Return the list at a path; a single value as a list, and an empty list for none."""
    items = get_path(value, path)
    return items if isinstance(items, list) else [] if items is None else [items]


def get_text(value: object, path: str = "") -> str:
    """Return the text or number at a path as text, or the first of a list; else ""."""
    for part in get_list(value, path):
        if isinstance(part, (str, int, float)) and not isinstance(part, bool):
            word = str(part).strip() if isinstance(part, str) or abs(part) < 1e18 else ""
            if word and (word.isprintable() or (word := clean(word))):
                return word
    return ""


@dataclass(slots=True)
class Record:
    """A value of JSON, read at `now`; missing values are empty.

    Paths have dots between names, and "" is the value itself. Of several paths, the first with a
    value counts.
    """

    value: object
    now: datetime

    def has(self, path: str) -> bool:
        return bool(get_path(self.value, path))

    def at(self, path: str) -> Record:
        return Record(get_path(self.value, path), self.now)

    def items(self, *paths: str) -> list[Record]:
        lists = (get_list(self.value, path) for path in paths or ("",))
        return [Record(item, self.now) for item in next(filter(None, lists), ())]

    def text(self, *paths: str) -> str:
        """Return the first text; raises NoPaperError if it is larger than any paper's."""
        texts = (get_text(self.value, path) for path in paths or ("",))
        return limited(next(filter(None, texts), ""))

    def texts(self, path: str) -> list[str]:
        return [limited(get_text(item)) for item in get_list(self.value, path)]

    def number(self, path: str = "") -> int | None:
        """Return a whole number, also one written as text."""
        return whole_number(get_text(self.value, path))

    def plain(self, *paths: str) -> str:
        """Return the first text that has words, without mark-up."""
        return next(filter(None, (plain_text(get_text(self.value, path)) for path in paths)), "")

    def title(self, *paths: str) -> str:
        return title_of(*(get_text(self.value, path) for path in paths))

    def date(self, *paths: str) -> datetime | None:
        """Return a date that a paper may have."""
        return within_reason(parse_date(self.text(*paths)), self.now)

    def year(self, *paths: str, at: datetime | None = None) -> int | None:
        return year_of(self.text(*paths), at)

    def first(self, *paths: str) -> object:
        return next(filter(None, (get_path(self.value, path) for path in paths)), None)

    def names(self, *paths: str) -> tuple[str, ...]:
        return names_of(names_in(self.first(*paths)))

    def link(self, *paths: str) -> str:
        return first_link(get_text(self.value, path) for path in paths)


def limited(marked: str) -> str:
    """Return a text; raises NoPaperError if it is larger than any paper's."""
    if len(marked) > MAX_ENTRY:
        raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")
    return marked


def plain_text(marked: str) -> str:
    """Return a text field without mark-up."""
    return markup.text(limited(marked))


def in_order(index: object) -> str:
    """Return the text of an inverted index: {"deep": [0, 3], "learning": [1]}.

    Positions are only compared, so wrong ones do no harm; the number of words is limited.
    """
    if not isinstance(index, Mapping):
        return ""
    words: list[tuple[int, str]] = []
    for word, places in index.items():
        if len(words) + len(get_list(places)) > MAX_ENTRY:
            raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")
        words += [(at, str(word)) for at in get_list(places) if type(at) is int]
    return " ".join(word for _, word in sorted(words))


def title_of(*titles: str) -> str:
    """Return the first title that has words; raises NoPaperError if there is none."""
    title = next(filter(None, map(plain_text, titles)), "")
    if not title:
        raise NoPaperError(NO_TITLE)
    return title


def year_of(text: str, at: datetime | None = None) -> int | None:
    """Return the year that a text begins with, else that of a date."""
    match = re.match(r"(?:1[5-9]|20|21)\d\d(?!\d)", text)
    return int(match.group()) if match else at.year if at else None


def first_published(
    dates: Iterable[tuple[int | None, datetime | None]], now: datetime
) -> tuple[int | None, datetime | None]:
    """Return the earliest year of dates, and its first day, if any.

    A year has no day, but a paper of a year long past is older than the beginning of that year.
    """
    known = [(year, within_reason(day, now)) for year, day in dates if year]
    first_year = min((year for year, _ in known), default=None)
    days = [day for year, day in known if year == first_year and day]
    days.sort(key=lambda at: (at.month, isinstance(at, Month), at))  # a day before its month alone
    return first_year, days[0] if days else long_over(first_year, now)


def names_of(marked_up: Iterable[str]) -> tuple[str, ...]:
    """Return clean names, in order, without those that have no letter."""
    limited_names = [limited(name) for name in islice(marked_up, MAX_NAMES)]
    names = markup.names(limited_names)
    return tuple(name for name in names if any(map(str.isalpha, name)))


def doi_page(doi: str) -> str:
    """Return the address of a DOI, which may contain any sign (`<` in old ones)."""
    return f"https://doi.org/{quote(doi, safe='/();:')}"


def doi_link(keys: Keys) -> str:
    """Return the address of the first DOI among keys, or ""."""
    return next(map(doi_page, values_of(keys, "doi")), "")


def arxiv_link(keys: Keys) -> str:
    """Return the address of the first arXiv id among keys, or ""."""
    links = (f"https://arxiv.org/abs/{identifier}" for identifier in values_of(keys, "arxiv"))
    return next(links, "")


def terms(words: Iterable[str]) -> tuple[str, ...]:
    """Return clean categories or keywords, each once."""
    unique = dict.fromkeys(markup.text(term[:1000]) for term in words)
    return tuple(term for term in unique if 0 < len(term) <= 100)[:MAX_CATEGORIES]


# ── values of any form ──────────────────────────────────────────────────────────────

_TEXT_NAMES = ("value", "raw", "display_name", "name", "category", "term", "label")
_DATE_NAMES = ("date-parts", "$date", "date", "value", "raw", "timestamp", "year")
_ARXIV_CATEGORY = re.compile(r"(?:[a-z-]+\.[A-Za-z-]+|[a-z]+-[a-z]+)$")
_RFC = re.compile(r"(?:\w{3}, )?\d{1,2} \w{3} \d{4} ")
MAX_DEPTH = 8  # lists and objects around a name
_AND = re.compile(r"(?<!\s)\s++and\s+")
_SCOPUS_ID = re.compile(r" \(\d{4,15}\)(?=;|$)")
_WHOLE = (
    "name",
    "author_name",
    "fullname",
    "full_name",
    "fullName",
    "display_name",
    "literal",
    "author",
    "text",
)
_PARTS = (
    ("given", "first", "first_name", "firstName", "firstname", "forename", "given_name"),
    ("middle", "middle_name"),
    ("family", "last", "last_name", "lastName", "lastname", "surname", "family_name"),
    ("suffix",),
)


def parse_cell(value: object) -> object:
    """Return the list or object that a text has as JSON or as Python, as in a cell of a table."""
    for parse in (json.loads, ast.literal_eval):
        if isinstance(value, str) and value[:1] in ("[", "{"):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return parse(limited(value))
    return value


def first_text(value: object, names: Iterable[str] = ("", *_TEXT_NAMES)) -> str:
    """Return a text as it is, or the first text of an object under several names."""
    if type(value) is str:
        return value
    return next(filter(None, (get_text(value, name) for name in names)), "")


def words_in(value: object) -> Iterator[str]:
    """Read a list of texts or objects, or a text with commas, semicolons, bars or spaces."""
    value = parse_cell(value)
    if not isinstance(value, str):
        return map(first_text, get_list(value)[:MAX_NAMES])
    words = value.split()
    if len(words) > 1 and all(map(_ARXIV_CATEGORY.match, words)):
        return iter(words)
    return map(str.strip, re.split(r"[;|]" if ";" in value or "|" in value else ",", value))


def names_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yield names in natural order, from one text, one object, or a list of texts or objects."""
    if depth > MAX_DEPTH:
        return
    value = parse_cell(value)
    if isinstance(value, str):
        yield from _names_in_text(value)
    elif isinstance(value, Mapping):
        yield from _names_in_object(value, depth + 1)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                if joins_people(item):
                    yield from split_names([item])
                else:
                    yield given_name_first(item) if "," in item else item
            elif isinstance(item, list):  # last, first, suffix
                last, first, suffix, *_ = *map(get_text, item[:3]), "", "", ""
                yield " ".join(filter(None, (first, last, suffix)))
            else:
                yield from names_in(item, depth + 1)


def _names_in_text(text: str) -> Iterator[str]:
    """Split "A, B and C", "Doe, J.; Roe, R." and "Doe, Jane and Roe, Rae"."""
    parts = _AND.split(text)
    if len(parts) > 1 and all(part.count(",") == 1 for part in parts):
        yield from map(given_name_first, parts)
    else:
        text = markup.text(_SCOPUS_ID.sub("", text).replace("|", ";"))
        yield from map(given_name_first, split_names([text]))


def _names_in_object(person: Mapping[str, Any], depth: int) -> Iterator[str]:
    for inner in ("author", "authors", "person"):
        if isinstance(person.get(inner), (Mapping, list)):
            yield from names_in(person[inner], depth)
            return
    whole = first_text(person, _WHOLE)
    parts = (
        next(filter(None, (" ".join(map(get_text, get_list(person, name))) for name in names)), "")
        for names in _PARTS
    )
    yield given_name_first(whole) if whole else " ".join(filter(None, parts))


def date_in(value: object) -> datetime | int | None:
    """A day or moment; a year if nothing more is given.

    Text as in ISO 8601, RFC 5322 or as people write it, seconds or milliseconds since 1970, or
    [2020, 1, 31].
    """
    if type(value) is str:
        return _read_date(value.strip()[:100])
    if isinstance(value, Mapping):
        return date_in(next((value[name] for name in _DATE_NAMES if value.get(name)), None))
    if isinstance(value, list) and value:
        if isinstance(value[0], list):
            return date_in(value[0])
        return _read_date("-".join(map(get_text, value[:3])))
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1500 <= value < 1e14:
        return None
    if value < 2200:
        return int(value)
    return datetime.fromtimestamp(value / (1000 if value > 1e11 else 1), UTC)


def _read_date(text: str) -> datetime | int | None:
    if text.isdigit() and len(text) != 8:
        return date_in(int(text[:15])) if text.isascii() else None
    standard = text[:10].count("-") == 2 or text.isdigit() or _RFC.match(text)
    if standard and (at := parse_date(text)):
        return at
    year, day = partial_date(text)
    return day or year
