"""Reads values of any type from JSON records: texts, numbers, dates, names, identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from urllib.parse import quote

from monitor.sources.fields import MAX_CATEGORIES, MAX_ENTRY, markup
from monitor.sources.fields.dates import parse_date, within_print_era, within_reason
from monitor.sources.fields.identifiers import Keys, values_of
from monitor.text import SUFFIX, clean, without_placeholder

MAX_NAMES = 10_000


class NoPaperError(Exception):
    """The reason why a record is not a paper; it never leaves a reading."""


def get_path(value: object, *path: str) -> object:
    """Return the value at a path of names, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def get_list(value: object, *path: str) -> list[object]:
    """Return the list at a path; a single value as a list, and an empty list for none."""
    items = get_path(value, *path)
    return items if isinstance(items, list) else [] if items is None else [items]


def get_text(value: object, *path: str) -> str:
    """Return the text or number at a path as text, or the first of a list; else ""."""
    for part in get_list(value, *path):
        if isinstance(part, (str, int, float)) and not isinstance(part, bool):
            word = str(part).strip() if isinstance(part, str) or abs(part) < 1e18 else ""
            if word and (word.isprintable() or (word := clean(word))):
                return word
    return ""


def number(value: object, *path: str) -> int | None:
    """Return a whole number at a path, also one written as text."""
    word = get_text(value, *path)
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


class Record:
    """A value of JSON: what it has not is empty."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value)

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, Mapping)

    def at(self, *path: str) -> Record:
        return Record(get_path(self.value, *path))

    def items(self, *path: str) -> list[Record]:
        return [Record(item) for item in get_list(self.value, *path)]

    def text(self, *path: str) -> str:
        return get_text(self.value, *path)

    def texts(self, *path: str) -> list[str]:
        return [get_text(item) for item in get_list(self.value, *path)]

    def number(self, *path: str) -> int | None:
        return number(self.value, *path)


def limited(marked: str) -> str:
    """Return a text field as it is; raises NoPaperError if it is larger than any paper's."""
    if len(marked) > MAX_ENTRY:
        raise NoPaperError(f"record is larger than {MAX_ENTRY:,} characters")
    return marked


def plain_text(marked: str) -> str:
    """Return a text field without mark-up."""
    return markup.text(limited(marked))


def abstract_of(marked: str) -> str:
    """Return an abstract without mark-up; "" for a placeholder such as "N/A"."""
    return without_placeholder(plain_text(marked))


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
    title = next((words for written in titles if (words := plain_text(written))), "")
    if not title:
        raise NoPaperError("record has no title")
    return title


def paper_date(text: str, now: datetime) -> datetime | None:
    """Read a date that a paper may have."""
    return within_print_era(parse_date(text), now)


def at_milliseconds(value: object, now: datetime) -> datetime | None:
    """Read a date given as milliseconds since 1970."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < 1e14:
        return None
    return within_reason(datetime.fromtimestamp(value / 1000, UTC), now)


def year_of(text: str, at: datetime | None = None) -> int | None:
    """Return the year in a text, else that of a date."""
    match = re.match(r"(?:1[5-9]|20|21)\d\d(?!\d)", text)
    return int(match.group()) if match else at.year if at else None


def names_of(marked_up: Iterable[str]) -> tuple[str, ...]:
    """Return clean names, in order, without those that have no letter."""
    limited_names = [limited(name) for name in islice(marked_up, MAX_NAMES)]
    names = markup.names(limited_names)
    return tuple(name for name in names if name[:1].isalpha() or any(map(str.isalpha, name)))


def given_name_first(name: str) -> str:
    """Turn "Doe, J. R." into "J. R. Doe"; other names stay as they are."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and SUFFIX.match(parts[2]):
        return f"{parts[1]} {parts[0]}, {parts[2]}"
    if len(parts) != 2 or not all(parts) or SUFFIX.match(parts[1]):
        return name
    return f"{parts[1]} {parts[0]}"


def doi_page(doi: str) -> str:
    """Return the address of a DOI, which may contain any sign (`<` in old ones)."""
    return f"https://doi.org/{quote(doi, safe='/();:')}"


def doi_link(keys: Keys) -> str:
    """Return the address of the first DOI among keys, or ""."""
    return next(map(doi_page, values_of(keys, "doi")), "")


def arxiv_link(keys: Keys) -> str:
    """Return the address of the first arXiv id among keys, or ""."""
    return next(
        (f"https://arxiv.org/abs/{identifier}" for identifier in values_of(keys, "arxiv")), ""
    )


def terms(words: Iterable[str]) -> tuple[str, ...]:
    """Return categories or keywords, each once."""
    unique = dict.fromkeys(markup.text(term[:1000]) for term in words)
    return tuple(term for term in unique if 0 < len(term) <= 100)[:MAX_CATEGORIES]
