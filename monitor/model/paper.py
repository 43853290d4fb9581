"""A paper, as one record of one source describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time

import msgspec

# Values of `Paper.type` that mark a record about another paper; all other types are free text.
RETRACTION = "retraction"
CORRECTION = "correction"
CONCERN = "expression of concern"
COMMENT = "comment"

_ARXIV_NUMBER = re.compile(
    r"(?:^|/)(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?$"
)


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
    (new, cross, replace, ...); `raw_id` is the source's own name for the record. `precision`
    is "month" where `published` is the first day of the only month known, and "bound" where it
    just tells how old the paper is at least.
    `listed` are days of lists, which are no dates of the paper.

    `type` is what kind of publication it is, in small letters ("journal article", "preprint");
    `RETRACTION`, `CORRECTION`, `CONCERN` and `COMMENT` mark a record about another paper, whose
    identifiers are in `about`, in the form of `keys`.

    `links` are addresses of what belongs to it (code, project), `upvotes` those of its source.

    Dumps hold millions: a Struct of msgspec is made in a tenth of a frozen dataclass's time.
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

    @property
    def listed_at(self) -> datetime | None:
        """The beginning of the first day on which a list had it, in UTC."""
        days = [listed.day for listed in self.listed]
        return datetime.combine(min(days), time(), UTC) if days else None

    @property
    def day(self) -> datetime | None:
        """When it was published, if that is known to the day."""
        return None if self.precision else self.published

    @property
    def month(self) -> date | None:
        """The first day of its month, from its date, else from its arXiv id."""
        if self.published and self.precision != "bound":
            return self.published.date().replace(day=1)
        arxiv = self.keys.get("arxiv", ())
        ids = (arxiv,) if isinstance(arxiv, str) else arxiv
        return next(filter(None, map(arxiv_month, ids)), None)


def record_of(paper: Paper, source: str) -> Paper:
    """Return a record whose listed days name its source."""
    if not paper.listed:
        return paper
    listed = tuple(msgspec.structs.replace(day, source=source) for day in paper.listed)
    return msgspec.structs.replace(paper, listed=listed)


def arxiv_month(arxiv_id: str) -> date | None:
    """Return the first day of the month in which arXiv assigned an identifier.

    https://info.arxiv.org/help/arxiv_identifier.html: it begins with the year and the month.
    """
    number = _ARXIV_NUMBER.search(arxiv_id)
    if not number:
        return None
    year = int(number["year"]) + (1900 if number["year"] >= "91" else 2000)
    return date(year, int(number["month"]), 1)
