"""Converts the values of a record's fields, in whatever form, to the types of a `Paper`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from monitor.kept import kept
from monitor.sources.api.values import MAX_NAMES, in_order, natural, prose, raw, year_of
from monitor.sources.fields.dates import parse_date, partial_date
from monitor.sources.fields.identifiers import Keys, arxiv_id, identifiers, keys_of
from monitor.sources.fields.limits import MAX_CATEGORIES
from monitor.sources.fields.links import http_link, without_tracking
from monitor.sources.fields.publication_types import type_of
from monitor.sources.jsonl.author_values import names_in
from monitor.sources.jsonl.rows import parse_cell
from monitor.text import without_placeholder

MAX_KEY = 300

_ARXIV_CATEGORY = re.compile(r"(?:[a-z-]+\.[A-Za-z-]+|[a-z]+-[a-z]+)$")
_VERSION_WORD = re.compile(r"[vV]?(\d{1,4})$")
_HTTP = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][!-~]*)?$")
_RFC = re.compile(r"(?:\w{3}, )?\d{1,2} \w{3} \d{4} ")
_NO = frozenset(("", "0", "false", "no", "n", "none", "null", "nan", "0.0"))
_TEXT_NAMES = ("value", "raw", "name")  # of the text in an object
_TERM_NAMES = ("display_name", "name", "category", "term", "label")
_DATE_NAMES = ("date-parts", "$date", "date", "value", "raw", "timestamp", "year")
# As Semantic Scholar calls them; Microsoft's graph no longer exists.
_SCHEMES = {"pubmed": "pmid", "pubmedcentral": "pmcid", "mag": ""}
_ABOUT_SCHEMES = ("arxiv", "doi", "pmid", "pmcid", "openalex", "openreview", "s2")

# Returns an empty value where there is none.
Convert = Callable[[Any], object]


# ── identifiers ─────────────────────────────────────────────────────────────────────


def identifiers_of(scheme: str, value: object) -> Iterator[tuple[str, str, int | None]]:
    """Yield (scheme, identifier, version); without a scheme, of an object with schemes as names."""
    if value is None:
        return
    if not scheme:
        value = parse_cell(value) if isinstance(value, str) else value
        for name, values in value.items() if isinstance(value, Mapping) else ():
            word = re.sub(r"\W", "", str(name).lower())[:30] or "?"
            if own := _SCHEMES.get(word, word):
                yield from identifiers_of(own, values)
        return
    for item in value if isinstance(value, list) else (value,):
        identifier = raw(item)[:MAX_KEY]
        if scheme in ("arxiv", "doi"):
            yield from identifiers_in(f"arxiv:{identifier}" if arxiv_id(identifier) else identifier)
        elif identifier:
            yield scheme, prose(identifier), None


def identifiers_in(text: str) -> Iterator[tuple[str, str, int | None]]:
    """Yield (scheme, identifier, version) of the arXiv ids and DOIs in a text."""
    found, version = identifiers((text,))
    for scheme, values in found.items():
        for value in (values,) if isinstance(values, str) else values:
            yield scheme, value, version


def _about(value: Any) -> Keys:
    """An object of schemes and values, or a list of "scheme:value", DOIs and links to arXiv."""
    if type(value) is str and not value.startswith("{"):
        value = [value]
    if type(value) is not list:
        return keys_of((s, v) for s, v, _ in identifiers_of("", value))
    found: list[tuple[str, str, int | None]] = []
    for text in map(raw, value[:MAX_NAMES]):
        scheme, _, identifier = text.partition(":")
        if scheme.lower() in _ABOUT_SCHEMES and identifier:
            found += identifiers_of(scheme.lower(), identifier)
        else:
            found += identifiers_in(text[:MAX_KEY])
    return keys_of((scheme, identifier) for scheme, identifier, _ in found)


# ── text ────────────────────────────────────────────────────────────────────────────


def _text(value: Any) -> str:
    if type(value) is str:
        return prose(value)
    return prose(raw(value) or _first_text(value, _TEXT_NAMES))


def _first_text(value: object, names: tuple[str, ...]) -> str:
    return next(filter(None, (raw(value, name) for name in names)), "")


def _abstract(value: Any) -> str:
    """A text, or paragraphs: texts or objects with a `text`."""
    if type(value) is dict and type(index := value.get("InvertedIndex")) is dict:
        words = prose(in_order(index))  # of AMiner's dumps
    elif type(value) is list:
        words = prose("\n".join(raw(one) or raw(one, "text") for one in value[:MAX_NAMES]))
    else:
        words = _text(value)
    return without_placeholder(words)


def _raw_id(value: Any) -> str:
    return _text(value)[:MAX_KEY]


def _type(value: Any) -> str:
    """A text, or a list of texts of which the one that marks a notice counts."""
    return type_of(map(_text, value[:20] if type(value) is list else [value]))


def _link(value: Any) -> str:
    """The first http address of a text, a list, or an object with a `url`."""
    text = raw(value) or raw(value, "url")
    if _HTTP.match(text):
        return without_tracking(text)
    links = (http_link(word, "") for word in re.split(r"[;\s]+", text)[:20])
    return next(filter(None, links), "")


def _authors(value: Any) -> tuple[str, ...]:
    if type(value) is list and len(value) <= MAX_NAMES and set(map(type, value)) == {str}:
        names = [natural(prose(one)) if "," in one else prose(one) for one in value]
    else:
        names = [prose(name) for name in islice(names_in(value), MAX_NAMES)]
    return tuple([name for name in names if name[:1].isalpha() or any(map(str.isalpha, name))])


def _categories(value: Any) -> tuple[str, ...]:
    """A list of texts or objects, or one text with commas, semicolons, bars, or arXiv's spaces."""
    if isinstance(value, str):
        parsed = parse_cell(value) if value[:1] == "[" else value
        value = parsed if isinstance(parsed, list) else _split_categories(value)
    terms = value[:MAX_NAMES] if isinstance(value, list) else [value]
    words = [_text(term) if type(term) is str else _term(term) for term in terms]
    return tuple(dict.fromkeys([word for word in words if 0 < len(word) <= 100]))[:MAX_CATEGORIES]


def _term(value: object) -> str:
    return prose(raw(value) or _first_text(value, _TERM_NAMES))


def _split_categories(text: str) -> list[str]:
    words = text.split()
    if len(words) > 1 and all(_ARXIV_CATEGORY.match(word) for word in words):
        return words
    return [part.strip() for part in re.split(r"[;|]" if ";" in text or "|" in text else ",", text)]


# ── numbers and dates ───────────────────────────────────────────────────────────────


def _year(value: Any) -> int | None:
    if type(value) is str and len(value) == 4 and value.isdecimal():
        value = int(value)
    return value if type(value) is int and 1500 <= value < 2200 else year_of(raw(value))


def _version(value: Any) -> int | None:
    found = _VERSION_WORD.match(raw(value))
    return int(found[1]) if found else None


def _is_true(value: Any) -> bool:
    return value is True or raw(value).lower() not in _NO


def _date(value: Any) -> datetime | int | None:
    """A day or moment; a year if nothing more is given.

    Text as in ISO 8601, RFC 5322 or as people write it, seconds or milliseconds since 1970, or
    [2020, 1, 31].
    """
    if type(value) is str:
        return _read_date(value.strip()[:100])
    if isinstance(value, Mapping):
        return _date(next((value[name] for name in _DATE_NAMES if value.get(name)), None))
    if isinstance(value, list) and value:
        if isinstance(value[0], list):
            return _date(value[0])
        return _read_date("-".join(map(raw, value[:3])))
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1500 <= value < 1e14:
        return None
    if value < 2200:
        return int(value)
    return datetime.fromtimestamp(value / (1000 if value > 1e11 else 1), UTC)


@kept(16_384)
def _read_date(text: str) -> datetime | int | None:
    if text.isdigit() and len(text) != 8:
        return _date(int(text[:15])) if text.isascii() else None
    standard = text[:10].count("-") == 2 or text.isdigit() or _RFC.match(text)
    if standard and (at := parse_date(text)):
        return at
    year, day = partial_date(text)
    return day or year


CONVERTERS: Mapping[str, Convert] = {
    "title": _text,
    "abstract": _abstract,
    "authors": _authors,
    "venue": _text,
    "year": _year,
    "published": _date,
    "updated": _date,
    "announced": _date,
    "url": _link,
    "pdf_url": _link,
    "categories": _categories,
    "announce": _text,
    "version": _version,
    "withdrawn": _is_true,
    "raw_id": _raw_id,
    "type": _type,
    "about": _about,
}
