"""PubMed's .nbib files: https://www.nlm.nih.gov/bsd/mms/medlineelements.html

PMID- 38000001               a record begins
TI  - Sand moves, and so     a tag of up to four letters, a hyphen, a space, a value
      do dunes.              a continuation line
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from monitor.model import COMMENT, CONCERN, CORRECTION, RETRACTION, Paper, Rejected
from monitor.sources.api.values import given_name_first, names_of, terms
from monitor.sources.fields import MAX_ENTRY
from monitor.sources.fields.dates import partial_date, within_print_era
from monitor.sources.fields.encoding import numbered_parts
from monitor.sources.fields.identifiers import identifier_pairs, keys_of
from monitor.sources.fields.markup import text
from monitor.sources.fields.publication_types import type_and_subject
from monitor.text import without_placeholder

BEGINS = re.compile(r"^PMID- *\d", re.MULTILINE)
_FIELD = re.compile(r"^([A-Z]{2,4}) *- ?(.*(?:\n {6}.*)*)", re.MULTILINE)
_ID = re.compile(r"(\S+) \[(doi|pmc)\]$")
# What a notice is about: "Author. Journal. 2020;1(1):1. doi: 10.1000/1. PMID: 1".
_NOTICES = {
    "ROF": RETRACTION,
    "PROF": CORRECTION,
    "EFR": CORRECTION,
    "ECF": CONCERN,
    "CON": COMMENT,
}
_BEFORE_PMID = re.compile(r"\s(?=PMID:)")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)$")

_SUFFIXED = re.compile(r"([^,]+), ([^,]+) (Jr|Sr|[IV]+|\d(?:st|nd|rd|th))$")

Fields = Mapping[str, Sequence[str]]


def references(content: str, starts: Sequence[int], now: datetime) -> Iterator[Paper | Rejected]:
    """Read the records of a document, which begin at `begun`; its lines end with a line feed."""
    for line, start, end in numbered_parts(content, starts):
        where = f"line {line}"
        if end - start > MAX_ENTRY:
            yield Rejected(where, f"reference is larger than {MAX_ENTRY:,} characters")
            continue
        fields: dict[str, list[str]] = defaultdict(list)
        for tag, value in _FIELD.findall(content[start:end]):
            fields[tag].append(" ".join(value.split()))
        yield _paper(fields, where, now)


def _paper(fields: Fields, where: str, now: datetime) -> Paper | Rejected:
    title = next(filter(None, (text(_first(fields, tag)) for tag in ("TI", "BTI", "TT"))), "")
    if not title:
        return Rejected(where, "reference has no title")
    pmid = _first(fields, "PMID").split()[0]
    year, issued = partial_date(_first(fields, "DP"))
    type_, about = type_and_subject(list(_notices(fields)), fields.get("PT", ()))
    people = fields.get("FAU") or fields.get("AU") or fields.get("FED") or fields.get("ED") or ()
    return Paper(
        title=title,
        abstract=without_placeholder(text(_first(fields, "AB") or _first(fields, "OAB"))),
        authors=tuple(map(_name, names_of(people))) or names_of(fields.get("CN", ())),
        venue=text(_first(fields, "JT") or _first(fields, "TA")),
        year=year,
        published=within_print_era(_day(_first(fields, "DEP")) or issued, now),
        updated=within_print_era(_day(_first(fields, "LR")), now),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        keys=keys_of((("pmid", pmid), *_keys(fields))),
        categories=terms(word.lstrip("*") for word in fields.get("OT", ())),
        withdrawn="Retracted Publication" in fields.get("PT", ()) or "RIN" in fields,
        raw_id=pmid,
        type=type_,
        about=about,
    )


def _notices(fields: Fields) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    for tag, mark in _NOTICES.items():
        for reference in fields.get(tag, ()):
            yield mark, identifier_pairs(_BEFORE_PMID.split(reference))


def _name(name: str) -> str:
    suffixed = _SUFFIXED.match(name)
    return "{1} {0} {2}".format(*suffixed.groups()) if suffixed else given_name_first(name)


def _first(fields: Fields, tag: str) -> str:
    return next(iter(fields.get(tag, ())), "")


def _day(text: str) -> datetime | None:
    match = _DAY.match(text)
    return partial_date("-".join(match.groups()))[1] if match else None


def _keys(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield DOI and PMC number; each value has its type."""
    matches = [_ID.match(value) for tag in ("LID", "AID") for value in fields.get(tag, ())]
    yield from identifier_pairs(value[1] for value in matches if value and value[2] == "doi")
    yield "pmcid", _first(fields, "PMC")
