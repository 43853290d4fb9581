"""Presets for the public dumps.

arxiv-snapshot          arXiv's metadata on Kaggle: kaggle.com/datasets/Cornell-University/arxiv
openalex                works of the snapshot: developers.openalex.org/download/snapshot-format
crossref                the public data file: crossref.org/documentation, "public data files"
semanticscholar-papers  the dataset `papers`: api.semanticscholar.org/api-docs/datasets
s2orc                   `metadata` of S2ORC: github.com/allenai/s2orc
cord-19                 `metadata.csv` of CORD-19: github.com/allenai/cord19
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from itertools import islice
from typing import Any, cast

from monitor.model import Paper
from monitor.sources.api.values import MAX_NAMES, NoPaperError, Record, arxiv_link, terms
from monitor.sources.fields.dates import parse_date, within_reason
from monitor.sources.fields.identifiers import identifiers
from monitor.sources.fields.names import authors, without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.sources.jsonl.field_mapping import Fields
from monitor.text.latex import accents

Convert = Callable[[Mapping[str, object], datetime], Paper]

_SERVICES = {
    "openalex": ("monitor.sources.openalex", "OpenAlex"),
    "crossref": ("monitor.sources.crossref", "Crossref"),
}
_FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "semanticscholar-papers": {
        "venue": ("venue", "journal.name"),
        "published": ("publicationdate",),
        "categories": ("s2fieldsofstudy",),
        "type": ("publicationtypes",),
        "raw_id": ("corpusid",),
        "keys.arxiv": ("externalids.ArXiv",),
        "keys.doi": ("externalids.DOI",),
        "keys.pmid": ("externalids.PubMed",),
        "keys.pmcid": ("externalids.PubMedCentral",),
        "keys.dblp": ("externalids.DBLP",),
        "keys.acl": ("externalids.ACL",),
        "keys.corpusid": ("corpusid",),
    },
    "s2orc": {
        "url": ("s2_url",),
        "venue": ("venue", "journal"),
        "raw_id": ("paper_id",),
        "keys.acl": ("acl_id",),
        "keys.corpusid": ("paper_id",),
    },
    "cord-19": {"raw_id": ("cord_uid",), "keys.corpusid": ("s2_id",)},
}
# Names that all records of a preset have, and few other records have together.
_SIGNATURES: Mapping[str, Sequence[bytes]] = {
    "arxiv-snapshot": (b'"authors_parsed"', b'"versions"', b'"update_date"', b'"submitter"'),
    "openalex": (b'"authorships"', b'"abstract_inverted_index"', b'"primary_location"'),
}
PRESETS = ("arxiv-snapshot", *sorted({*_SERVICES, *_FIELDS}))


def detect_preset(head: bytes) -> str:
    """Return the preset to which the first bytes of a dump clearly belong, or ""."""
    fits = (name for name, words in _SIGNATURES.items() if all(word in head for word in words))
    return next(fits, "")


def converter_for(preset: str, names: Mapping[str, Sequence[str]]) -> tuple[Convert, Sequence[str]]:
    """Return what converts the records of a preset, and the names that a title column may have.

    `names` of fields override those of a preset that only names fields.
    """
    if preset == "arxiv-snapshot":
        return _arxiv, ("title",)
    if preset in _SERVICES:
        return _service(*_SERVICES[preset]), ("title",)
    fields = Fields({**_FIELDS.get(preset, {}), **names})
    return fields.paper, fields.titles


def _service(module: str, name: str) -> Convert:
    """Records in the format of an API are read by the kind for that API."""
    kind: Any = getattr(import_module(module), name)
    source = kind(name, kind.Options(path="-"), None, datetime.now)
    return lambda record, now: cast("Paper", source.paper(Record(record, now)))


# ── arXiv's metadata snapshot ───────────────────────────────────────────────────────

_INITIAL = re.compile(r"\. (?=-)")
_NUMBER = re.compile(r"v?(\d{1,4})$")


def _arxiv(fields: Mapping[str, object], now: datetime) -> Paper:
    record = Record(fields, now)
    name = record.text("id")
    keys, version = identifiers((f"arXiv:{name}", *re.split(r"[\s,;]+", record.text("doi"))))
    if "arxiv" not in keys:
        raise NoPaperError("record has no arXiv id")
    abstract, comments = record.plain("abstract"), record.plain("comments")
    versions = sorted(_versions(record), key=lambda numbered: numbered[0])
    published = within_reason(versions[0][1] if versions else None, now)
    updated = versions[-1][1] if versions else parse_date(record.text("update_date"))
    return Paper(
        title=record.title("title"),
        abstract=abstract,
        authors=tuple(islice(_authors(record), MAX_NAMES)),
        venue=record.plain("journal-ref"),
        published=published,
        updated=within_reason(updated, now) or published,
        url=arxiv_link(keys),
        keys=keys,
        categories=terms(record.text("categories").split()),
        version=versions[-1][0] if versions else version,
        withdrawn=says_withdrawn(abstract, comments),
        raw_id=name,
    )


def _versions(record: Record) -> Iterator[tuple[int, datetime | None]]:
    for entry in record.items("versions"):
        if match := _NUMBER.match(entry.text("version")):
            yield int(match[1]), parse_date(entry.text("created"))


def _authors(record: Record) -> Iterator[str]:
    """Read [last, first, suffix, ...affiliations] in Unicode, or else one text with TeX."""
    parsed = [name.items() for name in record.items("authors_parsed") if type(name.value) is list]
    for parts in parsed:
        last, first, suffix, *_ = *(part.plain("") for part in parts[:3]), "", "", ""
        if name := " ".join(filter(None, (_INITIAL.sub(".", first), last, suffix))):
            yield accents(name)
    if not parsed:
        yield from authors([accents(without_affiliations(record.text("authors")))])
