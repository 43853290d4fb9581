"""Kind `ris`: RIS files, as reference managers and publishers export them, and PubMed's .nbib.

    TY  - JOUR         a reference begins
    AU  - Doe, Jane    a tag, two spaces, a hyphen, a space, a value
    ER  -              a reference ends

A reference without an end ends where the next begins.

    PMID- 38000001               a record of .nbib begins
    TI  - Sand moves, and so     a tag of up to four letters, a hyphen, a space, a value
          do dunes.              a continuation line

https://www.nlm.nih.gov/bsd/mms/medlineelements.html names the tags.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from monitor.model import (
    COMMENT,
    CONCERN,
    CORRECTION,
    RETRACTION,
    Document,
    FirstRun,
    Paper,
    Reading,
    Rejected,
)
from monitor.sources.api.values import doi_link, names_of, terms
from monitor.sources.base import Source, failure, reading
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.affiliations import split_affiliations
from monitor.sources.fields.dates import parse_date, partial_date, within_reason
from monitor.sources.fields.encoding import SAMPLE, decode, find_fault, numbered_parts
from monitor.sources.fields.identifiers import (
    Identifiers,
    identifier_pairs,
    identifiers_by_place,
    keys_of,
)
from monitor.sources.fields.links import first_link
from monitor.sources.fields.markup import text
from monitor.sources.fields.publication_types import type_and_subject
from monitor.text import given_name_first

MAX_REFERENCES = 80_000

_BEGINS = re.compile(r"^[ \t]*TY {1,3}-", re.MULTILINE)
_ENDS = re.compile(r"^[ \t]*ER {1,3}-", re.MULTILINE)
# Some programs write fewer or more spaces around the hyphen.
_TAG = r"[ \t]*([A-Z][A-Z0-9]) {1,3}-"
_FIELD = re.compile(rf"^{_TAG}(.*(?:\n(?!{_TAG}).*)*)", re.MULTILINE)
_LINES = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_TITLES = ("TI", "T1", "CT", "BT", "ST", "TT")
_VENUES = ("JF", "T2", "JO", "JA", "J2", "SO", "BT", "T3", "PB")
_DATES = ("DA", "PY", "Y1", "YR")
# Where PMIDs and PMC numbers are: links, "23690001[pmid]" of PMC, "PUBMED 1" of Cochrane.
_NUMBERS = (
    ("pmid", re.compile(r"(?:pubmed\.ncbi\.nlm\.nih\.gov|/pubmed)/(\d{1,9})"), ("UR", "L2")),
    ("pmid", re.compile(r"^(?:PUBMED )?(\d{1,9})(?:\[pmid\])?$"), ("XR",)),
    ("pmid", re.compile(r"^(\d{1,9})\[pmid\]$"), ("U1",)),
    ("pmcid", re.compile(r"(?:^|/articles/)(PMC\d{1,9})\b"), ("AN", "C2", "UR")),
)
_NUMBER = re.compile(r"\d{1,9}")
_NAMES_PAPER = re.compile(r"10\.\d{4,9}/|arxiv", re.IGNORECASE)

_NBIB_BEGINS = re.compile(r"^PMID- *\d", re.MULTILINE)
_NBIB_FIELD = re.compile(r"^([A-Z]{2,4}) *- ?(.*(?:\n {6}.*)*)", re.MULTILINE)
_NBIB_ID = re.compile(r"(\S+) \[(doi|pmc)\]$")
# Tags of references to the paper of a notice: "Author. Journal. doi: 10.1000/1. PMID: 1".
_MARK_OF_TAG = {
    "ROF": RETRACTION,
    "PROF": CORRECTION,
    "EFR": CORRECTION,
    "ECF": CONCERN,
    "CON": COMMENT,
}
_BEFORE_PMID = re.compile(r"\s(?=PMID:)")

Fields = Mapping[str, Sequence[str]]


class Ris(Source):
    """Reads references: papers that the user already has, so a first reading has no news."""

    kind = "ris"
    default_first_run = FirstRun.BASELINE
    dated = False

    def read(self, document: Document) -> Reading:
        """Read all references; the reading is incomplete if the last one has no end."""
        content, whole = decode(document.content)
        if fault := find_fault(content, "RIS", SAMPLE):
            return failure(fault)
        content = _LINES.sub("\n", content.replace("\0", ""))
        is_nbib = bool(_NBIB_BEGINS.match(content.lstrip()))
        begins = _NBIB_BEGINS if is_nbib else _BEGINS
        starts = [match.start() for match in begins.finditer(content)]
        if not starts:
            return failure(find_fault(content, "RIS") or "no RIS reference in the document")
        if len(starts) > MAX_REFERENCES:
            return failure(f"the document has more than {MAX_REFERENCES:,} references")
        ended = is_nbib or bool(_ENDS.search(content, starts[-1]))
        records = list(_references(content, starts, is_nbib, self._clock()))
        return reading(records, whole and ended)


def _references(
    content: str, starts: Sequence[int], is_nbib: bool, now: datetime
) -> Iterator[Paper | Rejected]:
    """Read the references that begin at `starts`; lines end with a line feed."""
    for line, start, end in numbered_parts(content, starts):
        stop = None if is_nbib else _ENDS.search(content, start, end)
        last = stop.start() if stop else end
        where = f"line {line}"
        if not (is_nbib or stop) and end == len(content) and not content.endswith("\n"):
            yield Rejected(where, "the document ends inside this reference")
        elif last - start > MAX_ENTRY:
            yield Rejected(where, f"reference is larger than {MAX_ENTRY:,} characters")
        elif is_nbib:
            yield _nbib_paper(_fields(_NBIB_FIELD, content[start:last], " "), where, now)
        else:
            yield _paper(_fields(_FIELD, content[start:last], "\n"), where, now)


def _fields(pattern: re.Pattern[str], reference: str, between_lines: str) -> Fields:
    fields: dict[str, list[str]] = defaultdict(list)
    for field in pattern.finditer(reference):
        lines = (" ".join(line.split()) for line in field[2].split("\n"))
        fields[field[1]].append(between_lines.join(filter(None, lines)))
    return fields


def _paper(fields: Fields, where: str, now: datetime) -> Paper | Rejected:
    title = text(_first(fields, *_TITLES))
    if not title:
        return Rejected(where, "reference has no title")
    year, published = _date(fields)
    own = _identifiers(fields)
    return Paper(
        title=title,
        abstract=text(_first(fields, "AB", "N2")),
        authors=_people(fields, ("AU", "A1")) or _people(fields, ("A2", "ED", "A3")),
        affiliations=split_affiliations(_all(fields, ("AD",))),
        venue=text(_first(fields, *_VENUES)),
        year=year,
        published=within_reason(published, now),
        url=first_link(_all(fields, ("UR", "LK", "L2"))) or doi_link(own.keys),
        keys=own.keys,
        keys_in_links=own.keys_in_links,
        categories=terms(word for value in _all(fields, ("KW",)) for word in value.split(";")),
        version=own.version,
        raw_id=text(_first(fields, "ID", "AN"))[:300],
    )


def _all(fields: Fields, tags: Sequence[str]) -> list[str]:
    """Return all values of tags that may be repeated, or have a value on each line."""
    values = [value for tag in tags for value in fields.get(tag, ())]
    return [line for value in values for line in value.split("\n") if line]


def _first(fields: Fields, *tags: str) -> str:
    return next((value for tag in tags for value in fields.get(tag, ()) if value), "")


def _people(fields: Fields, tags: Sequence[str]) -> tuple[str, ...]:
    """Return names in natural order; some files put all names into one field."""
    people = [person for value in _all(fields, tags) for person in value.split(";")]
    return tuple(given_name_first(name.strip(" ,")) for name in names_of(people))


def _date(fields: Fields) -> tuple[int | None, datetime | None]:
    """Return the first date with a month, else a year: `PY  - 1948`, `DA  - July` is July 1948."""
    dates = [value for tag in _DATES for value in fields.get(tag, ()) if value]
    year = next((number for written in dates if (number := partial_date(written)[0])), None)
    days = (
        partial_date(written if partial_date(written)[0] else f"{year} {written}")[1]
        for written in dates
    )
    return year, next(filter(None, days), None) if year else None


def _identifiers(fields: Fields) -> Identifiers:
    named, links = (
        [value for value in _all(fields, tags) if _NAMES_PAPER.search(value)]
        for tags in (("DO", "M3", "ID", "AN"), ("UR", "LK"))
    )
    own = identifiers_by_place(named, links)
    numbers = dict(reversed(list(_numbers(fields))))  # the first of each scheme counts
    return own._replace(keys={**own.keys, **numbers})


def _numbers(fields: Fields) -> Iterator[tuple[str, str]]:
    if "pubmed" in _first(fields, "DB").lower():
        values = _all(fields, ("AN", "ID"))
        yield from (("pmid", value) for value in values if _NUMBER.fullmatch(value))
    for scheme, pattern, tags in _NUMBERS:
        matches = map(pattern.search, _all(fields, tags))
        yield from ((scheme, match[1]) for match in matches if match)


# ── .nbib ───────────────────────────────────────────────────────────────────────────


def _nbib_paper(fields: Fields, where: str, now: datetime) -> Paper | Rejected:
    title = text(_first(fields, "TI", "BTI", "TT"))
    if not title:
        return Rejected(where, "reference has no title")
    pmid = _first(fields, "PMID").split()[0]
    year, issued = partial_date(_first(fields, "DP"))
    notices = [
        (mark, identifier_pairs(_BEFORE_PMID.split(reference)))
        for tag, mark in _MARK_OF_TAG.items()
        for reference in fields.get(tag, ())
    ]
    type_, about = type_and_subject(notices, fields.get("PT", ()))
    people = next(filter(None, map(fields.get, ("FAU", "AU", "FED", "ED"))), ())
    return Paper(
        title=title,
        abstract=text(_first(fields, "AB", "OAB")),
        authors=tuple(map(given_name_first, names_of(people))) or names_of(fields.get("CN", ())),
        affiliations=split_affiliations(fields.get("AD", ())),
        venue=text(_first(fields, "JT", "TA")),
        year=year,
        published=within_reason(parse_date(_first(fields, "DEP")) or issued, now),
        updated=within_reason(parse_date(_first(fields, "LR")), now),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        keys=keys_of((("pmid", pmid), *_nbib_keys(fields))),
        categories=terms(word.lstrip("*") for word in fields.get("OT", ())),
        withdrawn="Retracted Publication" in fields.get("PT", ()) or "RIN" in fields,
        raw_id=pmid,
        type=type_,
        about=about,
    )


def _nbib_keys(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield DOI and PMC number; each value has its type."""
    matches = [_NBIB_ID.match(value) for tag in ("LID", "AID") for value in fields.get(tag, ())]
    yield from identifier_pairs(value[1] for value in matches if value and value[2] == "doi")
    yield "pmcid", _first(fields, "PMC")
