"""Records of Retraction Watch's database, as Crossref publishes it: notices with their reasons.

https://gitlab.com/crossref/retraction-watch-data: a CSV file with the title and authors of the
paper that a notice is about, `RetractionNature` ("Retraction", "Correction", "Expression of
concern", "Reinstatement"), dates as month/day/year, and `Reason`: "+Error in Data;+Unreliable
Results;".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from monitor.model import Paper, SiteNote
from monitor.sources.api.values import NoPaperError, doi_link, get_text, names_of, plain_text
from monitor.sources.fields.dates import within_reason
from monitor.sources.fields.identifiers import Keys, find_identifier, keys_of
from monitor.sources.fields.publication_types import NOTICES, type_of

PRESET = "retraction-watch"
_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def notice_of(record: Mapping[str, object], now: datetime) -> Paper:
    """Turn a record into a notice; raises NoPaperError with the reason if it is none."""
    fields = {name: plain_text(get_text(value)) for name, value in record.items()}

    def field(name: str) -> str:
        return fields.get(name, "")

    nature = field("RetractionNature")
    type_ = type_of([nature])
    if type_ not in NOTICES:
        raise NoPaperError(
            "record is a reinstatement" if nature else "notice without a RetractionNature"
        )
    about = _keys(field("OriginalPaperDOI"), field("OriginalPaperPubMedID"))
    if not about:
        raise NoPaperError("record has no identifier of its paper")
    own = _keys(field("RetractionDOI"), field("RetractionPubMedID"))
    # Some publishers register a notice with the DOI of the article itself.
    keys = {scheme: value for scheme, value in own.items() if about.get(scheme) != value}
    published = _date(field("RetractionDate"), now)
    reasons = tuple(filter(None, (reason.strip(" +") for reason in field("Reason").split(";"))))
    return Paper(
        f"{type_.capitalize()}: {field('Title')}",
        authors=names_of(field("Author").split(";")),
        venue=field("Journal"),
        year=published.year if published else None,
        published=published,
        url=doi_link(keys),
        keys=keys,
        raw_id=field("Record ID"),
        type=type_,
        about=about,
        site_note=SiteNote("Retraction Watch", reasons=reasons) if reasons else None,
    )


def _keys(doi: str, pmid: str) -> Keys:
    """Return identifiers; "unavailable" and 0 stand for none."""
    found = find_identifier(doi)
    pairs = [(found[0], found[1])] if found[0] == "doi" else []
    return keys_of([*pairs, *([("pmid", pmid)] if pmid.isdecimal() and int(pmid) else [])])


def _date(text: str, now: datetime) -> datetime | None:
    """Read `1/9/2024 0:00`, the ninth of January."""
    match = _DATE.match(text)
    if not match:
        return None
    month, day, year = map(int, match.groups())
    try:
        return within_reason(datetime(year, month, day, tzinfo=UTC), now)
    except ValueError:
        return None
