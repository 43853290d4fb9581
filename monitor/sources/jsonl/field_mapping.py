"""Maps records with field names of their own to papers.

Names are tried in order until one has a value. Most records of a dump have the same names, so which
names to try is worked out once for each set of names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import structs

from monitor.model import Paper
from monitor.sources.api.values import NoPaperError, Record
from monitor.sources.fields.dates import within_reason
from monitor.sources.jsonl.field_values import CONVERTERS, Convert, identifiers_in, identifiers_of
from monitor.sources.jsonl.form import normalize_name

MAX_SHAPES = 1_000

# The names that are tried for a field when the configuration gives none.
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

Path = tuple[str, ...]

_SLOTS = {name: place for place, name in enumerate(Paper.__struct_fields__)}
_YEAR, _VERSION, _KEYS = (_SLOTS[name] for name in ("year", "version", "keys"))
_LINKS = (_SLOTS["url"], _SLOTS["pdf_url"])
_DATES = (_SLOTS["published"], _SLOTS["updated"], _SLOTS["announced"])
_EMPTY = list(structs.astuple(Paper("")))


class _Shape(NamedTuple):
    """Where the fields of records with the same names are.

    For each field of a paper its slot, the first name to try, the others in order, and its
    converter; for identifiers, their scheme and paths.
    """

    fields: tuple[tuple[int, str, tuple[Path, ...], Convert], ...]
    keys: tuple[tuple[str, tuple[Path, ...]], ...]


class Fields:
    """Turns records into papers.

    `names` gives the names of some fields; the others have `NAMES`. A name may be a path with dots:
    into objects by name, into lists by position from 0.
    """

    def __init__(self, names: Mapping[str, Sequence[str]] | None = None) -> None:
        self._names = {field: tuple(paths) for field, paths in (names or {}).items()}
        self._shapes: dict[tuple[str, ...], _Shape] = {}

    @property
    def titles(self) -> tuple[str, ...]:
        """The names that a title column may have, normalized."""
        return tuple(map(normalize_name, self._names.get("title", NAMES["title"])))

    def paper(self, record: Record, now: datetime) -> Paper:
        """Turn a record into a paper; raises NoPaperError with the reason if it is none."""
        shape = self._shapes.get(names := tuple(record)) or self._find_shape(names)
        values = _EMPTY.copy()
        for slot, name, others, convert in shape.fields:
            first = record[name]
            if first is not None and (value := convert(first)):
                values[slot] = value
            elif others:
                converted = (convert(_value_at(record, path)) for path in others)
                values[slot] = next(filter(None, converted), values[slot])
        if not values[0]:
            raise NoPaperError("record has no title")
        _set_dates(values, now)
        _set_keys(
            values, [(s, _value_at(record, path)) for s, paths in shape.keys for path in paths]
        )
        return Paper(*values)

    def _find_shape(self, names: tuple[str, ...]) -> _Shape:
        if len(self._shapes) >= MAX_SHAPES:  # every record has other names
            self._shapes.clear()
        normalized: dict[str, str] = {}
        for name in names:
            normalized.setdefault(normalize_name(name), name)
        every = {f: tuple(self._paths(f, names, normalized)) for f in (*NAMES, *self._names)}
        paths = {field: found for field, found in every.items() if found}
        self._shapes[names] = shape = _Shape(
            tuple(
                (_SLOTS[field], found[0][0], found[len(found[0]) == 1 :], CONVERTERS[field])
                for field, found in paths.items()
                if field in CONVERTERS
            ),
            tuple((f[5:], found) for f, found in paths.items() if f.startswith("keys")),
        )
        return shape

    def _paths(
        self, field: str, names: Collection[str], normalized: Mapping[str, str]
    ) -> Iterator[Path]:
        if field not in self._names:
            yield from ((normalized[name],) for name in NAMES[field] if name in normalized)
        for name in self._names.get(field, ()):
            first, *rest = name.split(".")
            if name in names:
                yield (name,)
            elif first in names and rest:
                yield (first, *rest)


def _value_at(record: object, path: Path) -> object:
    """Return the value at a path of names and positions, or None."""
    for name in path:
        if isinstance(record, Mapping):
            record = record.get(name)
        elif isinstance(record, list) and name.isascii() and name.isdigit():
            record = record[int(name)] if len(name) < 9 and int(name) < len(record) else None
        else:
            return None
    return record


def _set_dates(values: list[Any], now: datetime) -> None:
    """Keep only the year of a date without a month, and drop dates that no paper can have."""
    for slot in _DATES:
        at = values[slot]
        if isinstance(at, int):
            values[_YEAR] = values[_YEAR] or at
            values[slot] = None
        elif at is not None:
            values[slot] = within_reason(at, now)
    if values[_YEAR] is None and values[_DATES[0]]:
        values[_YEAR] = values[_DATES[0]].year


def _set_keys(values: list[Any], fields: Sequence[tuple[str, object]]) -> None:
    """Collect identifiers by scheme; arXiv ids and DOIs from links, too, if no field has one."""
    values[_KEYS] = {}
    if not (fields or values[_LINKS[0]] or values[_LINKS[1]]):
        return
    found: dict[str, dict[str, None]] = {}
    version = None
    for scheme, value in fields:
        for name, identifier, number in identifiers_of(scheme, value):
            found.setdefault(name, {})[identifier] = None
            version = version or number
    for slot in _LINKS:
        link = values[slot]
        if link and ("10." in link or "arxiv" in link):
            for name, identifier, number in identifiers_in(link):
                if name not in found:
                    found[name] = {identifier: None}
                    version = version or number
    values[_KEYS] = {
        name: v[0] if len(v := tuple(identifiers)) == 1 else v
        for name, identifiers in found.items()
    }
    values[_VERSION] = values[_VERSION] or version
