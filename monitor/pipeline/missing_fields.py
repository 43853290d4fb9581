"""The gaps of a paper that services may fill, and filling them from a record of the same work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from monitor.digest.links import PAGES, page_url, web_url
from monitor.identity.keys import LINK, claims_of, group_by_scheme, identifiers
from monitor.model import Claim, Paper, record_of
from monitor.model.look_up import Lack
from monitor.model.paper_fields import LOOKED_UP, names_of
from monitor.text import is_anonymous

_LOOKED_UP_FIELDS = frozenset(names_of(LOOKED_UP)) - {"keys"}


@dataclass(frozen=True, slots=True)
class FilledPaper:
    """A paper, with the names of the fields, and the schemes of the keys, that were filled in."""

    paper: Paper
    fields: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()


def missing(paper: Paper) -> frozenset[Lack]:
    """Return what a paper lacks.

    A link is what makes a page of it; an identifier one that leads to such a page.
    """
    lacks = {
        Lack.LINK: not page_url(paper),
        Lack.IDENTIFIER: not any(scheme in PAGES for scheme, _ in identifiers(paper)),
        Lack.AUTHORS: not paper.authors,
        Lack.DATE: not is_dated(paper),
    }
    return frozenset(lack for lack, is_lacking in lacks.items() if is_lacking)


def is_dated(paper: Paper) -> bool:
    """Whether at least the year of a paper is known."""
    return bool(paper.published or paper.year or paper.month)


def fill(paper: Paper, record: Paper) -> FilledPaper:
    """Fill in the empty fields of a paper that services may give, from a record of its work.

    Of identifiers, those in fields of the record, of schemes in which the paper has none. As
    preprints are printed later, no date is of another year than the paper's own, or after a list
    that has the paper. An address is filled in only where nothing leads to a page of the paper.
    """
    given = record_of(record, "")
    gaps: dict[str, Any] = {
        name: value
        for name in _LOOKED_UP_FIELDS
        if (value := getattr(given, name)) and not getattr(paper, name)
    }
    if page_url(paper) or not web_url(given.url):
        gaps.pop("url", None)
    if not web_url(given.pdf_url):
        gaps.pop("pdf_url", None)
    if all(map(is_anonymous, given.authors)):
        gaps.pop("authors", None)
    for name in ("published", "year"):
        if name in gaps and not _may_date(paper, gaps[name], given.precision):
            del gaps[name]
    if "published" in gaps:
        gaps["precision"] = given.precision
    has = {scheme for scheme, _ in identifiers(paper)}
    keys = group_by_scheme(
        pair
        for pair, claim in claims_of(given).items()
        if claim <= Claim.FIELD and pair[0] not in has and pair[0] != LINK
    )
    if not (gaps or keys):
        return FilledPaper(paper)
    filled = structs.replace(paper, **gaps, keys={**paper.keys, **keys})
    fields = tuple(name for name in names_of(LOOKED_UP) if name in gaps)
    return FilledPaper(filled, fields, tuple(keys))


def _may_date(paper: Paper, dated: datetime | int, precision: str) -> bool:
    """Whether a paper may be of a date, of this precision, or of a year."""
    moment = datetime(dated, 1, 1, tzinfo=UTC) if isinstance(dated, int) else dated
    year = paper.year or (paper.month and paper.month.year)
    if year not in (None, moment.year) or (moment is dated and precision == "bound"):
        return False
    listed = [day for one in paper.listed if (day := one.counts_from)]
    return not listed or moment.date() <= min(listed) + timedelta(days=1)
