"""Records of arXiv: of OAI-PMH (`arXiv`, `arXivRaw`, `arXivOld`, `oai_dc`), and of its snapshot.

https://info.arxiv.org/help/oa/index.html, kaggle.com/datasets/Cornell-University/arxiv
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from xml.etree.ElementTree import Element

from msgspec.structs import replace

from monitor.model import Paper
from monitor.sources.api.values import (
    MAX_NAMES,
    NoPaperError,
    Record,
    arxiv_link,
    get_list,
    get_text,
    terms,
)
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.dates import FIRST_ONLINE, parse_date, within_reason
from monitor.sources.fields.identifiers import arxiv_id, identifiers
from monitor.sources.fields.markup import text
from monitor.sources.fields.names import split_names, without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.sources.oai import dublin_core, envelope
from monitor.sources.oai.envelope import deleted_paper, every, local
from monitor.text.latex import accents

_VERSION = re.compile(r"v?(\d{1,4})$")
_COMMENT = re.compile(r"Comments?: ", re.IGNORECASE)
_NO_SIZE = re.compile(r"0\s*kb?$", re.IGNORECASE)
_INITIAL = re.compile(r"\. (?=-)")
FORMATS = ("arXiv", "arXivRaw", "arXivOld")
IDENTIFIER = "oai:arxiv.org:"


def paper(record: envelope.Record, now: datetime) -> Paper:
    """Turn a record into a paper, a deleted one into a withdrawn paper; raises NoPaperError."""
    metadata = record.metadata
    identifier = arxiv_id(record.identifier.rpartition(":")[2])
    if record.deleted or metadata is None:
        keys = {"arxiv": identifier} if identifier else {"oai": record.identifier}
        return deleted_paper(record, keys, arxiv_link(keys))
    if local(metadata) not in FORMATS:
        return _paper_of_dublin_core(record, metadata, now)
    fields = {"id": identifier, **_fields(metadata)}
    return replace(paper_of_fields(Record(fields, now)), raw_id=record.identifier)


def paper_of_fields(record: Record) -> Paper:
    """Turn a record of the snapshot into a paper; raises NoPaperError."""
    name = record.text("id")
    keys, version = identifiers((f"arXiv:{name}", *re.split(r"[\s,;]+", record.text("doi"))))
    if "arxiv" not in keys:
        raise NoPaperError("record has no arXiv id")
    abstract = record.plain("abstract")
    names = [accents(_INITIAL.sub(".", name)) for name in record.names("authors_parsed")]
    written = text(accents(without_affiliations(record.text("authors"))))
    names = names or split_names([written], given_first=True)
    versions = sorted(_versions(record), key=lambda version: version[0])
    number, updated, is_empty = versions[-1] if versions else (version, None, False)
    published = versions[0][1] if versions else parse_date(record.text("created"))
    updated = updated or parse_date(record.text("updated", "update_date"))
    published = within_reason(published, record.now, FIRST_ONLINE)
    return Paper(
        title=record.title("title"),
        abstract=abstract,
        authors=tuple(names[:MAX_NAMES]),
        affiliations=affiliations(
            accents(get_text(part))
            for person in get_list(record.value, "authors_parsed")
            for part in (person[3:] if isinstance(person, list) else ())
        ),
        venue=record.plain("journal-ref"),
        published=published,
        updated=within_reason(updated, record.now, FIRST_ONLINE) or published,
        url=arxiv_link(keys),
        keys=keys,
        categories=terms(record.text("categories").split()),
        version=number,
        withdrawn=is_empty or says_withdrawn(abstract, record.plain("comments")),
        raw_id=name,
    )


def _fields(metadata: Element) -> dict[str, object]:
    """Return the fields of a record in XML as the snapshot has them."""
    fields: dict[str, object] = {}
    for child in metadata:
        fields.setdefault(local(child), "".join(child.itertext()))
    fields["doi"] = " ".join(every(metadata, "doi"))
    fields["authors_parsed"] = [
        [
            *(person.findtext(f"{{*}}{name}") for name in ("keyname", "forenames", "suffix")),
            *every(person, "affiliation"),
        ]
        for person in metadata.iterfind("{*}authors/*")
    ]
    fields["versions"] = [
        {"version": version.get("version"), **{local(part): part.text for part in version}}
        for version in metadata.iterfind("{*}version")
    ]
    return fields


def _versions(record: Record) -> Iterator[tuple[int, datetime | None, bool]]:
    """Yield the number and date of each version, and whether it is withdrawn.

    arXiv keeps a withdrawn version as one of no size, whose source is to be ignored (I).
    """
    for entry in record.items("versions"):
        if match := _VERSION.match(entry.text("version")):
            is_empty = _NO_SIZE.match(entry.text("size")) and "I" in entry.text("source_type")
            yield int(match[1]), parse_date(entry.text("created", "date")), bool(is_empty)


def _paper_of_dublin_core(record: envelope.Record, metadata: Element, now: datetime) -> Paper:
    """`oai_dc` of arXiv: the dates of all versions, and the comment as another description."""
    paper = dublin_core.paper(record, now)
    comments = [_COMMENT.sub("", t) for t in every(metadata, "description") if _COMMENT.match(t)]
    dates = [at for at in map(parse_date, every(metadata, "date")) if at]
    return replace(
        paper,
        url=arxiv_link(paper.keys) or paper.url,
        updated=within_reason(max(dates, default=None), now, FIRST_ONLINE),
        venue="",
        withdrawn=says_withdrawn(paper.abstract, " ".join(comments)),
    )
