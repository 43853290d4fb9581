"""A paper, as one record of one source describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

import msgspec
from msgspec.structs import replace

# Values of `Paper.type` that mark a record about another paper; all other types are free text.
RETRACTION = "retraction"
CORRECTION = "correction"
CONCERN = "expression of concern"
COMMENT = "comment"

_ARXIV_NUMBER = re.compile(
    r"(?:^|/)(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?$"
)


class Month(datetime):
    """The first day of a month: the record does not give a day."""


class Bound(datetime):
    """A date that only decides whether a paper is older; it is never shown."""


_PRECISIONS: Mapping[type, str] = {Month: "month", Bound: "bound"}


class ListedDay(msgspec.Struct, frozen=True, omit_defaults=True):
    """A day on which a list of a source had a paper; `year_guessed` where the list names no year.

    A source leaves `source` empty: what is stored has its name.
    """

    day: date
    source: str = ""
    year_guessed: bool = False


class Paper(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A paper as one record of one source describes it. Only the title is required.

    `keys` maps a scheme (arxiv, doi, openreview, pmid, s2, ...) to a value or a tuple of
    values; `announced` is when the source announced the paper, `announce` how
    (new, cross, replace, ...); `raw_id` is the source's own name for the record. Sources
    may give a `Month` or `Bound` as `published`; what is stored has `precision` "month" or "bound".
    `listed` are days of lists, which are no dates of the paper.

    `type` is what kind of publication it is, in small letters ("journal article", "preprint");
    `RETRACTION`, `CORRECTION`, `CONCERN` and `COMMENT` mark a record about another paper, whose
    identifiers are in `about`, in the form of `keys`.

    `links` are addresses of what belongs to it (code, project), `upvotes` those of its source.
    """

    title: str
    abstract: str = ""
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    published: datetime | None = None
    updated: datetime | None = None
    announced: datetime | None = None
    url: str = ""
    pdf_url: str = ""
    keys: Mapping[str, str | tuple[str, ...]] = {}
    categories: tuple[str, ...] = ()
    announce: str = ""
    version: int | None = None
    withdrawn: bool = False
    raw_id: str = ""
    type: str = ""
    about: Mapping[str, str | tuple[str, ...]] = {}
    links: Mapping[str, str] = {}
    upvotes: int | None = None
    precision: str = ""
    listed: tuple[ListedDay, ...] = ()

    def identifiers(self, scheme: str) -> tuple[str, ...]:
        values = self.keys.get(scheme, ())
        return (values,) if isinstance(values, str) else values

    @property
    def listed_at(self) -> datetime | None:
        """The beginning of the first day on which a list had it, in UTC."""
        days = [listed.day for listed in self.listed]
        return datetime.combine(min(days), time(), UTC) if days else None

    @property
    def last_listed(self) -> ListedDay | None:
        return max(self.listed, key=lambda listed: listed.day, default=None)

    @property
    def day(self) -> datetime | None:
        """When it was published, if that is known to the day."""
        return None if self.precision else self.published

    @property
    def month(self) -> date | None:
        """The first day of its month, from its date, else from its arXiv id.

        A paper may be printed years after its preprint: an id of another year gives no month.
        """
        if self.published and self.precision != "bound":
            return self.published.date().replace(day=1)
        month = next(filter(None, map(arxiv_month, self.identifiers("arxiv"))), None)
        return month if month and self.year in (None, month.year) else None


def record_of(paper: Paper, source: str) -> Paper:
    """Return what a source read as it is stored: its listed days name it, its dates are plain."""
    fields: dict[str, Any] = {}
    if paper.listed:
        fields["listed"] = tuple(replace(day, source=source) for day in paper.listed)
    for name in ("published", "updated", "announced"):
        at = getattr(paper, name)
        if type(at) in _PRECISIONS:
            fields[name] = datetime.fromtimestamp(at.timestamp(), UTC)
    if precision := _PRECISIONS.get(type(paper.published)):
        fields["precision"] = precision
    return replace(paper, **fields) if fields else paper


def arxiv_month(arxiv_id: str) -> date | None:
    """Return the first day of the month in which arXiv assigned an identifier.

    https://info.arxiv.org/help/arxiv_identifier.html: it begins with the year and the month.
    """
    number = _ARXIV_NUMBER.search(arxiv_id)
    if not number:
        return None
    year = int(number["year"]) + (1900 if number["year"] >= "91" else 2000)
    return date(year, int(number["month"]), 1)
