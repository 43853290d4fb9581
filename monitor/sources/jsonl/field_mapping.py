"""A record with names of its own to a paper: which of its fields is what, and in which form.

Names are tried in order until one has a value. The records of a dump mostly have the same names,
so what is to be looked at is worked out once for each set of names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from monitor.model import Paper
from monitor.sources.fields.dates import parse_date, partial_date, within_reason
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.limits import MAX_CATEGORIES, MAX_ENTRY
from monitor.sources.fields.links import http_link
from monitor.sources.fields.names import authors
from monitor.sources.fields.publication_types import type_of
from monitor.sources.formats.api.records import (
    MAX_NAMES,
    Keys,
    NoPaperError,
    Record,
    bounded,
    in_order,
    keys_of,
    many,
    natural,
    prose,
    raw,
    year_of,
)
from monitor.sources.jsonl.rows import named
from monitor.text import clean

if TYPE_CHECKING:
    from monitor.sources.jsonl.cleanrecords import CleanRecords

MAX_SHAPES = 1_000
MAX_KNOWN = 200
MAX_KEY = 300
MAX_WITHIN = 8  # lists and objects around a name

_ARXIV_CATEGORY = re.compile(r"(?:[a-z-]+\.[A-Za-z-]+|[a-z]+-[a-z]+)$")
_VERSION_WORD = re.compile(r"[vV]?(\d{1,4})$")
_HTTP = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][!-~]*)?$")
_RFC = re.compile(r"(?:\w{3}, )?\d{1,2} \w{3} \d{4} ")
_AND = re.compile(r"\s+and\s+")
_NUMBER = re.compile(r" \(\d{4,15}\)(?=;|$)")  # of an author, in Scopus
_NO = frozenset(("", "0", "false", "no", "n", "none", "null", "nan", "0.0"))

# The names that are looked for where the configuration tells none.
NAMES: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "paper_title", "article_title", "document_title", "display_name", "ti"),
    "abstract": (
        "abstract", "abstract_note", "summary", "description", "indexed_abstract", "tldr", "ab",
    ),
    "authors": (
        "author_full_names", "authors", "author", "creators", "creator", "author_names", "af", "au",
    ),
    "venue": (
        "venue", "journal", "journal_name", "publication_title", "source_title", "booktitle",
        "container_title", "conference", "journal_ref", "so",
    ),
    "year": ("year", "publication_year", "pub_year", "published_year", "py"),
    "published": (
        "published", "published_at", "published_date", "publication_date", "publicationdate",
        "date_published", "publish_time", "pub_date", "date", "issued", "submitted",
        "submitted_date", "created", "cdate",
    ),
    "updated": (
        "updated", "updated_at", "updated_date", "update_date", "date_modified", "last_modified",
        "modified", "mdate",
    ),
    "announced": ("announced", "announced_at"),
    "url": ("url", "link", "landing_page_url", "abs_url", "paper_url", "html_url", "uri"),
    "pdf_url": ("pdf_url", "pdf", "pdf_link", "open_access_pdf"),
    "categories": ("categories", "category", "keywords", "tags", "subjects", "fields_of_study"),
    "announce": ("announce", "announce_type"),
    "version": ("version",),
    "withdrawn": ("withdrawn", "is_withdrawn", "retracted", "is_retracted"),
    "raw_id": ("raw_id", "id", "paper_id", "paperid", "key", "uid"),
    "type": ("type", "publication_type", "document_type"),
    "about": ("about",),
    "keys": ("keys", "external_ids", "externalids"),
    "keys.doi": ("doi", "doi_url", "di"),
    "keys.arxiv": ("arxiv_id", "arxiv", "arxivid", "eprint"),
    "keys.pmid": ("pmid", "pubmed_id"),
    "keys.pmcid": ("pmcid", "pmc_id"),
    "keys.openreview": ("openreview", "openreview_id", "forum"),
}  # fmt: skip

_TEXTS = ("value", "raw", "name")  # under which an object says its text
# As Semantic Scholar calls them; Microsoft's graph is no more.
_SCHEMES = {"pubmed": "pmid", "pubmedcentral": "pmcid", "mag": ""}

Path = tuple[str, ...]
# A value of any type to what a Paper holds; nothing where it says nothing. See `plain` of `paper`.
Convert = Callable[[Any, bool], object]

SLOTS = {name: place for place, name in enumerate(Paper.__struct_fields__)}
_YEAR, _VERSION, _KEYS = (SLOTS[name] for name in ("year", "version", "keys"))
_LINKS = (SLOTS["url"], SLOTS["pdf_url"])
_DATES = (SLOTS["published"], SLOTS["updated"], SLOTS["announced"])
_EMPTY = list(structs.astuple(Paper("")))


class _Shape(NamedTuple):
    """What records with the same names have.

    Of a field its slot, the first name to look under, the others in order, and its form; the
    identifiers by scheme.
    """

    places: tuple[tuple[int, str, tuple[Path, ...], Convert], ...]
    keys: tuple[tuple[str, tuple[Path, ...]], ...]


class Fields:
    """Turns records into papers. `told` gives the names of some fields; the others have `NAMES`.

    A name may be a path with dots: into objects by name, into lists by position from 0.
    """

    def __init__(self, told: Mapping[str, Sequence[str]] | None = None) -> None:
        self._told = {field: tuple(names) for field, names in (told or {}).items()}
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        # All names that records have had so far, in the order in which they came.
        self.known: dict[str, None] = {}
        self._clean: CleanRecords | None = None

    @property
    def titles(self) -> tuple[str, ...]:
        """The names that a column of titles may have, as `named` writes them."""
        return tuple(map(named, self._told.get("title", NAMES["title"])))

    def paper(self, record: Record, now: datetime, plain: bool = False) -> Paper:
        """Turn a record into a paper; NoPaperError says why it is none.

        `plain` promises that its texts hold no mark-up, and no control character if all ASCII.
        """
        shape = self._shapes.get(names := tuple(record)) or self._learn(names)
        values = _EMPTY.copy()
        for slot, name, others, convert in shape.places:
            told = record[name]
            if told is not None and (value := convert(told, plain)):
                values[slot] = value
            elif others:
                found = (convert(_at(record, path), plain) for path in others)
                values[slot] = next(filter(None, found), values[slot])
        if not values[0]:
            raise NoPaperError("record has no title")
        set_dates(values, now)
        set_keys(values, [(s, _at(record, path)) for s, paths in shape.keys for path in paths])
        return Paper(*values)

    def papers(
        self, lines: bytes, count: int, spaced: Sequence[int], now: datetime
    ) -> Sequence[Paper] | None:
        """Read lines of JSON whose texts are clean; None where there is no rule for one of them.

        In those at the places `spaced` they are but for white space to fold.
        """
        if self._clean is None:
            from monitor.sources.jsonl.cleanrecords import CleanRecords  # not needed for tables

            self._clean = CleanRecords(self)
        return self._clean.papers(lines, count, spaced, now)

    def places(self) -> dict[str, str] | None:
        """Return the name that each field has in all records; None where one may have several."""
        if len(self.known) > MAX_KNOWN:
            return None
        ours = {named(name): name for name in self.known}
        every = {f: tuple(self._paths(f, ours.values(), ours)) for f in (*NAMES, *self._told)}
        found = [(field, path) for field, paths in every.items() for path in paths]
        places = {field: path[0] for field, path in found if len(path) == 1}
        sole = len(ours) == len(self.known) and len(set(places.values())) == len(found)
        return places if sole else None

    def _learn(self, names: tuple[str, ...]) -> _Shape:
        if len(self._shapes) >= MAX_SHAPES:  # every record has names of its own
            self._shapes.clear()
        if len(self.known) <= MAX_KNOWN:
            self.known |= dict.fromkeys(names)
        ours: dict[str, str] = {}
        for name in names:
            ours.setdefault(named(name), name)
        every = {f: tuple(self._paths(f, names, ours)) for f in (*NAMES, *self._told)}
        paths = {field: found for field, found in every.items() if found}
        self._shapes[names] = shape = _Shape(
            tuple(
                (SLOTS[field], found[0][0], found[len(found[0]) == 1 :], FORMS[field])
                for field, found in paths.items()
                if field in FORMS
            ),
            tuple((f[5:], found) for f, found in paths.items() if f.startswith("keys")),
        )
        return shape

    def _paths(self, field: str, names: Collection[str], ours: Mapping[str, str]) -> Iterator[Path]:
        if field not in self._told:
            yield from ((ours[name],) for name in NAMES[field] if name in ours)
        for name in self._told.get(field, ()):
            first, *rest = name.split(".")
            if name in names:
                yield (name,)
            elif first in names and rest:
                yield (first, *rest)


def _at(record: object, path: Path) -> object:
    """Return what stands at a path of names and positions, or None."""
    for name in path:
        if isinstance(record, Mapping):
            record = record.get(name)
        elif isinstance(record, list) and name.isascii() and name.isdigit():
            record = record[int(name)] if len(name) < 9 and int(name) < len(record) else None
        else:
            return None
    return record


def set_dates(values: list[Any], now: datetime) -> None:
    """Of a date that tells a year only the year is kept; one that no paper can have is none."""
    for slot in _DATES:
        at = values[slot]
        if isinstance(at, int):
            values[_YEAR] = values[_YEAR] or at
            values[slot] = None
        elif at is not None:
            values[slot] = within_reason(at, now)
    if values[_YEAR] is None and values[_DATES[0]]:
        values[_YEAR] = values[_DATES[0]].year


# ── identifiers ─────────────────────────────────────────────────────────────────────


def set_keys(values: list[Any], told: Sequence[tuple[str, object]]) -> None:
    """Collect identifiers by scheme; arXiv's and DOIs also from links, where no field has one."""
    values[_KEYS] = {}
    if not (told or values[_LINKS[0]] or values[_LINKS[1]]):
        return
    found: dict[str, dict[str, None]] = {}
    version = None
    for scheme, value in told:
        for name, identifier, number in _identifiers(scheme, value):
            found.setdefault(name, {})[identifier] = None
            version = version or number
    for slot in _LINKS:
        link = values[slot]
        if link and ("10." in link or "arxiv" in link):
            for name, value, number in _named_in(link):
                if name not in found:
                    found[name] = {value: None}
                    version = version or number
    values[_KEYS] = {
        name: v[0] if len(v := tuple(values_of)) == 1 else v for name, values_of in found.items()
    }
    values[_VERSION] = values[_VERSION] or version


def _identifiers(scheme: str, told: object) -> Iterator[tuple[str, str, int | None]]:
    """Yield (scheme, value, version); without a scheme, of an object of schemes and values."""
    if told is None:
        return
    if not scheme:
        told = _literal(told) if isinstance(told, str) else told
        for name, values in told.items() if isinstance(told, Mapping) else ():
            word = re.sub(r"\W", "", str(name).lower())[:30] or "?"
            if own := _SCHEMES.get(word, word):
                yield from _identifiers(own, values)
        return
    for one in told if isinstance(told, list) else (told,):
        value = raw(one)[:MAX_KEY]
        if scheme in ("arxiv", "doi"):
            yield from _named_in(f"arxiv:{value}" if arxiv_id(value) else value)
        elif value:
            yield scheme, prose(value), None


def _about(told: Any, plain: bool) -> Keys:
    """An object of schemes and values, or "scheme:value", DOIs and links to arXiv in a list."""
    if type(told) is str and not told.startswith("{"):
        told = [told]
    if type(told) is not list:
        return keys_of((s, v) for s, v, _ in _identifiers("", told))
    found: list[tuple[str, str, int | None]] = []
    for one in map(raw, told[:MAX_NAMES]):
        scheme, _, value = one.partition(":")
        known = scheme.lower() in _ABOUT and value
        found += _identifiers(scheme.lower(), value) if known else _named_in(one[:MAX_KEY])
    return keys_of((scheme, value) for scheme, value, _ in found)


_ABOUT = ("arxiv", "doi", "pmid", "pmcid", "openalex", "openreview", "s2")


def _named_in(told: str) -> Iterator[tuple[str, str, int | None]]:
    found, version = identifiers((told,))
    for scheme, values in found.items():
        for value in (values,) if isinstance(values, str) else values:
            yield scheme, value, version


# ── text ────────────────────────────────────────────────────────────────────────────


def _text(told: Any, plain: bool) -> str:
    if type(told) is not str:
        return prose(raw(told) or next(filter(None, (raw(told, name) for name in _TEXTS)), ""))
    if not plain or len(told) > MAX_ENTRY:
        return prose(told)
    if not told.isascii():
        return clean(told)
    text: str = told
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip()


def _abstract(told: Any, plain: bool) -> str:
    """A text, or paragraphs: texts or objects with a `text`."""
    if type(told) is dict and type(index := told.get("InvertedIndex")) is dict:
        return prose(in_order(index))  # of AMiner's dumps
    if type(told) is not list:
        return _text(told, plain)
    return prose("\n".join(raw(one) or raw(one, "text") for one in told[:MAX_NAMES]))


def _name(told: Any, plain: bool) -> str:
    return _text(told, plain)[:MAX_KEY]


def _type(told: Any, plain: bool) -> str:
    """A text, or a list of texts of which the one that marks a notice counts."""
    return type_of(_text(one, plain) for one in (told[:20] if type(told) is list else [told]))


def _link(told: Any, plain: bool) -> str:
    """The first http address of a text, a list, or an object with a `url`."""
    value = raw(told) or raw(told, "url")
    if _HTTP.match(value):
        return value
    links = (http_link(one, "") for one in re.split(r"[;\s]+", value)[:20])
    return next(filter(None, links), "")


def _literal(told: str) -> object:
    """Read a list or object that stands in a cell of a table, as JSON or as Python writes it."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(bounded(told))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return told


# ── names ───────────────────────────────────────────────────────────────────────────


def _authors(told: Any, plain: bool) -> tuple[str, ...]:
    if type(told) is not list:
        names = [prose(name) for name in islice(_people(told), MAX_NAMES)]
    elif _listed(told):
        names = [natural(_text(one, plain)) if "," in one else _text(one, plain) for one in told]
    else:
        names = [prose(name) for name in islice(_people(told), MAX_NAMES)]
    return tuple([name for name in names if name[:1].isalpha() or any(map(str.isalpha, name))])


def _listed(told: list[Any]) -> bool:
    """Say whether a list holds nothing but texts."""
    return len(told) <= MAX_NAMES and set(map(type, told)) == {str}


def _people(told: object, within: int = 0) -> Iterator[str]:
    """Names in natural order: of one text, of a list of texts, objects or parts, of an object."""
    if within > MAX_WITHIN:
        return
    if isinstance(told, str):
        listed = _literal(told) if told[:1] in ("[", "{") else told
        yield from _of_text(told) if isinstance(listed, (str, int, float)) else _people(listed)
    elif isinstance(told, Mapping):
        yield from _of_object(told, within + 1)
    elif isinstance(told, list):
        for one in told:
            if isinstance(one, str):
                yield natural(one.strip())
            elif isinstance(one, list):  # last, first, suffix
                last, first, suffix, *_ = *map(raw, one[:3]), "", "", ""
                yield " ".join(filter(None, (first, last, suffix)))
            else:
                yield from _people(one, within + 1)


def _of_text(told: str) -> Iterator[str]:
    """One text with all names: "A, B and C", "Doe, J.; Roe, R.", "Doe, Jane and Roe, Rae"."""
    parts = _AND.split(told)
    if len(parts) > 1 and all(part.count(",") == 1 for part in parts):
        yield from map(natural, parts)
    else:
        yield from map(natural, authors([_NUMBER.sub("", told).replace("|", ";")]))


def _of_object(told: Mapping[str, Any], within: int) -> Iterator[str]:
    for inner in ("author", "authors", "person"):
        if isinstance(told.get(inner), (Mapping, list)):
            yield from _people(told[inner], within)
            return
    whole = next(filter(None, (raw(told, name) for name in _WHOLE)), "")
    parts = (
        next(filter(None, (" ".join(map(raw, many(told, name))) for name in names)), "")
        for names in _PARTS
    )
    yield natural(whole) if whole else " ".join(filter(None, parts))


_WHOLE = ("name", "fullname", "full_name", "display_name", "fullName", "literal", "author", "text")
_PARTS = (
    ("given", "first", "first_name", "firstName", "firstname", "forename", "given_name"),
    ("middle", "middle_name"),
    ("family", "last", "last_name", "lastName", "lastname", "surname", "family_name"),
    ("suffix",),
)


def _categories(told: Any, plain: bool) -> tuple[str, ...]:
    """A list of texts or objects, or one text with commas, semicolons, bars, or arXiv's spaces."""
    if isinstance(told, str):
        listed = _literal(told) if told[:1] == "[" else told
        told = listed if isinstance(listed, list) else _of_categories(told)
    found = told[:MAX_NAMES] if isinstance(told, list) else [told]
    words = [_text(one, plain) if type(one) is str else _term(one) for one in found]
    return tuple(dict.fromkeys([word for word in words if 0 < len(word) <= 100]))[:MAX_CATEGORIES]


def _term(told: object) -> str:
    return prose(raw(told) or next(filter(None, (raw(told, name) for name in _TERMS)), ""))


_TERMS = ("display_name", "name", "category", "term", "label")


def _of_categories(told: str) -> list[str]:
    words = told.split()
    if len(words) > 1 and all(_ARXIV_CATEGORY.match(word) for word in words):
        return words
    return [part.strip() for part in re.split(r"[;|]" if ";" in told or "|" in told else ",", told)]


# ── numbers and dates ───────────────────────────────────────────────────────────────


def _year(told: Any, plain: bool) -> int | None:
    if type(told) is str and len(told) == 4 and told.isdecimal():
        told = int(told)
    return told if type(told) is int and 1500 <= told < 2200 else year_of(raw(told))


def _version(told: Any, plain: bool) -> int | None:
    found = _VERSION_WORD.match(raw(told))
    return int(found[1]) if found else None


def _true(told: Any, plain: bool) -> bool:
    return told is True or raw(told).lower() not in _NO


def _date(told: Any, plain: bool) -> datetime | int | None:
    """A day or moment; a year where no more is told.

    Text as ISO, RFC 5322 or people write it, numbers since 1970 in (milli)seconds, [2020, 1, 31].
    """
    if type(told) is str:
        return _read_date(told.strip()[:100])
    if isinstance(told, Mapping):
        told = next((told[name] for name in _DATED if told.get(name)), None)
        return _date(told, plain)
    if isinstance(told, list) and told:
        if isinstance(told[0], list):
            return _date(told[0], plain)
        return _read_date("-".join(map(raw, told[:3])))
    if not isinstance(told, (int, float)) or isinstance(told, bool) or not 1500 <= told < 1e14:
        return None
    if told < 2200:
        return int(told)
    return datetime.fromtimestamp(told / (1000 if told > 1e11 else 1), UTC)


_DATED = ("date-parts", "$date", "date", "value", "raw", "timestamp", "year")


@lru_cache(maxsize=16_384)
def _read_date(told: str) -> datetime | int | None:
    if told.isdigit() and len(told) != 8:
        return _date(int(told[:15]), False) if told.isascii() else None
    standard = told[:10].count("-") == 2 or told.isdigit() or _RFC.match(told)
    if standard and (at := parse_date(told)):
        return at
    year, day = partial_date(told)
    return day or year


FORMS: Mapping[str, Convert] = {
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
    "withdrawn": _true,
    "raw_id": _name,
    "type": _type,
    "about": _about,
}
