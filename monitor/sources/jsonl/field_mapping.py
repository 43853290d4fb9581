"""Maps records with field names of their own to papers, whatever the form of their values.

Names are tried in order until one has a value. Most records of a dump have the same names, so which
names to try is worked out once for each set of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from monitor.model import Paper, SiteNote
from monitor.sources.api.values import (
    MAX_NAMES,
    NoPaperError,
    date_in,
    first_text,
    get_list,
    get_text,
    get_value,
    in_order,
    names_in,
    names_of,
    parse_cell,
    plain_text,
    terms,
    words_in,
    year_of,
)
from monitor.sources.fields.affiliations import affiliations, split_affiliations
from monitor.sources.fields.dates import FIRST_ONLINE, within_reason
from monitor.sources.fields.identifiers import Keys, arxiv_id, find_identifier, keys_of
from monitor.sources.fields.links import first_link
from monitor.sources.fields.publication_types import type_of
from monitor.sources.jsonl.rows import normalize_name
from monitor.text import without_placeholder

MAX_KEY = 300
_VERSION_WORD = re.compile(r"[vV]?(\d{1,4})$")
_BETWEEN_LINKS = re.compile(r"\s+|;\s*(?=http)")
_NO = frozenset(("", "0", "false", "no", "n", "none", "null", "nan", "0.0"))

# As Semantic Scholar calls them; Microsoft's graph no longer exists.
_SCHEMES = {"pubmed": "pmid", "pubmedcentral": "pmcid", "mag": ""}

# Returns an empty value where there is none.
Convert = Callable[[Any], object]


def identifiers_of(scheme: str, value: object) -> Iterator[tuple[str, str, int | None]]:
    """Yield (scheme, identifier, version); without a scheme, of an object with schemes as names."""
    if not scheme:
        value = parse_cell(value)
        for name, values in value.items() if isinstance(value, dict) else ():
            word = re.sub(r"\W", "", str(name).lower())[:30] or "?"
            if own := _SCHEMES.get(word, word):
                yield from identifiers_of(own, values)
        return
    for item in value if isinstance(value, list) else (value,):
        identifier = get_text(item)[:MAX_KEY]
        if scheme in ("arxiv", "doi"):
            yield find_identifier(f"arxiv:{identifier}" if arxiv_id(identifier) else identifier)
        elif identifier:
            yield scheme, plain_text(identifier), None


def _about(value: Any) -> Keys:
    """An object of schemes and values, or a list of "pmid:123", DOIs and links to arXiv."""
    value = parse_cell(value)
    if type(value) is dict:
        return keys_of((scheme, identifier) for scheme, identifier, _ in identifiers_of("", value))
    texts = map(get_text, get_list(value)[:MAX_NAMES])
    return keys_of(find_identifier(text[:MAX_KEY])[:2] for text in texts)


def _text(value: Any) -> str:
    return plain_text(first_text(value))


def _abstract(value: Any) -> str:
    """A text, or paragraphs: texts or objects with a `text`."""
    if type(value) is dict and type(index := value.get("InvertedIndex")) is dict:
        words = plain_text(in_order(index))  # of AMiner's dumps
    elif type(value) is list:
        paragraphs = (first_text(part, ("", "text")) for part in value[:MAX_NAMES])
        words = plain_text("\n".join(paragraphs))
    else:
        words = _text(value)
    return without_placeholder(words)


def _affiliations(value: Any) -> tuple[str, ...]:
    """A text with semicolons, or a list of texts or of objects with a `name`."""
    value = parse_cell(value)
    if isinstance(value, str):
        return split_affiliations([value])
    return affiliations(map(first_text, get_list(value)))


def _link(value: Any) -> str:
    """The first http address of a text, a list, or an object with a `url`."""
    return first_link(_BETWEEN_LINKS.split(first_text(value, ("", "url")))[:20])


def _site_note(value: Any) -> SiteNote | None:
    """A summary that a machine wrote: a text, or an object with a `text`."""
    line = plain_text(first_text(value, ("", "text")))
    return SiteNote(line=line) if line else None


def _version(value: Any) -> int | None:
    match = _VERSION_WORD.match(get_text(value))
    return int(match[1]) if match else None


CONVERTERS: Mapping[str, Convert] = {
    "title": _text,
    "abstract": _abstract,
    "authors": lambda value: names_of(names_in(value)),
    "affiliations": _affiliations,
    "venue": _text,
    "year": lambda value: year_of(get_text(value)),
    "published": date_in,
    "updated": date_in,
    "announced": date_in,
    "url": _link,
    "pdf_url": _link,
    "categories": lambda value: terms(words_in(value)),
    "announce": _text,
    "version": _version,
    "withdrawn": lambda value: value is True or get_text(value).lower() not in _NO,
    "raw_id": lambda value: _text(value)[:MAX_KEY],
    "type": lambda value: type_of(map(_text, get_list(value)[:20])),  # the mark of a notice first
    "about": _about,
    "site_note": _site_note,
}
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
    "affiliations": ("affiliations", "affiliation", "author_affiliations", "institutions"),
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
    "site_note": ("tldr", "ai_summary"),
    "keys": ("keys", "external_ids", "externalids"),
    "keys.doi": ("doi", "doi_url", "di"),
    "keys.arxiv": ("arxiv_id", "arxiv", "arxivid", "eprint"),
    "keys.pmid": ("pmid", "pubmed_id"),
    "keys.pmcid": ("pmcid", "pmc_id"),
    "keys.openreview": ("openreview", "openreview_id", "forum"),
}  # fmt: skip

Path = tuple[str, ...]


class _Shape(NamedTuple):
    """The paths of each field of a paper, and of identifiers by scheme, in similar records."""

    fields: Sequence[tuple[str, Sequence[Path], Convert]]
    keys: Sequence[tuple[str, Path]]


class Fields:
    """Turns records into papers.

    `names` gives the names of some fields; the others have `NAMES`. A name may be a path with dots:
    into objects by name, into lists by position from 0.
    """

    def __init__(self, names: Mapping[str, Sequence[str]] | None = None) -> None:
        self._names = {field: tuple(paths) for field, paths in (names or {}).items()}
        self._shape = lru_cache(MAX_SHAPES)(self._find_shape)

    @property
    def titles(self) -> tuple[str, ...]:
        """The names that a title column may have, normalized."""
        return tuple(map(normalize_name, self._names.get("title", NAMES["title"])))

    def paper(self, record: Mapping[str, object], now: datetime) -> Paper:
        """Turn a record into a paper; raises NoPaperError with the reason if it is none."""
        shape = self._shape(tuple(record))
        values: dict[str, Any] = {}
        for field, paths, convert in shape.fields:
            for path in paths:
                value = get_value(record, path)
                if value is not None and (converted := convert(value)):
                    values[field] = converted
                    break
        if "title" not in values:
            raise NoPaperError("record has no title")
        _set_dates(values, now)
        _set_keys(values, [(scheme, get_value(record, path)) for scheme, path in shape.keys])
        return Paper(**values)

    def _find_shape(self, names: tuple[str, ...]) -> _Shape:
        normalized: dict[str, str] = {}
        for name in names:
            normalized.setdefault(normalize_name(name), name)
        paths = {f: tuple(self._paths(f, names, normalized)) for f in (*NAMES, *self._names)}
        return _Shape(
            [(f, paths[f], convert) for f, convert in CONVERTERS.items() if paths[f]],
            [(f[5:], path) for f in paths if f.startswith("keys") for path in paths[f]],
        )

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


def _set_dates(values: dict[str, Any], now: datetime) -> None:
    """Keep only the year of a date without a month, and drop dates that no paper can have."""
    for field in ("published", "updated", "announced"):
        at = values.get(field)
        if isinstance(at, int):
            values.setdefault("year", at)
            del values[field]
        elif at is not None:
            values[field] = within_reason(at, now, FIRST_ONLINE)
    if "year" not in values and values.get("published"):
        values["year"] = values["published"].year


def _set_keys(values: dict[str, Any], fields: Sequence[tuple[str, object]]) -> None:
    """Collect identifiers by scheme; arXiv ids and DOIs from links, too, if no field has one."""
    triples = [triple for field in fields for triple in identifiers_of(*field)]
    schemes = {scheme for scheme, _, _ in triples}
    in_links = []
    for link in (values.get("url", ""), values.get("pdf_url", "")):
        if "10." in link or "arxiv" in link:
            triple = find_identifier(link)
            in_links += [triple] if triple[0] not in schemes else []
            schemes.add(triple[0])
    triples += in_links
    values["keys"] = keys_of((scheme, identifier) for scheme, identifier, _ in triples)
    if in_links:
        values["keys_in_links"] = keys_of((scheme, value) for scheme, value, _ in in_links)
    if version := next((number for _, _, number in triples if number), None):
        values.setdefault("version", version)
