"""A paper, as one record of one source describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

# Values of `Paper.type` that mark a record about another paper; all other types are free text.
RETRACTION = "retraction"
CORRECTION = "correction"
CONCERN = "expression of concern"
COMMENT = "comment"
# The type of a record that calls a paper withdrawn, and whose source cannot know: it marks none.
REPORT = "report of a retraction"

_ARXIV_NUMBER = re.compile(
    r"(?:^|/)(?P<year>\d\d)(?P<month>0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?$"
)


class Month(datetime):
    """The first day of a month: the record does not give a day."""


class Bound(datetime):
    """A date that only decides whether a paper is older; it is never shown."""


_PRECISIONS: Mapping[type, str] = {Month: "month", Bound: "bound"}


# How long a list counts.
LIST_AGE = timedelta(days=30)


class ListedDay(msgspec.Struct, frozen=True, omit_defaults=True):
    """A list of a source that had a paper: of a `day`, None where the list names none.

    `year_guessed` where it names no year; `rank` counts from 1. `document` parts the lists of one
    day: a hash of the name of its document, or empty where a source has one list a day.
    Sources leave `source` and `read`, the day on which it was read, empty: what is stored has them.
    """

    day: date | None
    source: str = ""
    year_guessed: bool = False
    rank: int | None = None
    document: str = ""
    read: date | None = None

    @property
    def key(self) -> tuple[str, date | None, str]:
        """Its identity among the lists of a paper."""
        return self.source, self.day, self.document

    @property
    def counts_from(self) -> date | None:
        """Its day if the list names the year, else the day on which it was read."""
        return self.day if self.day and not self.year_guessed else self.read or self.day


class SiteNote(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Beside its record of a paper, a site's own words: they belong to the source, not the paper.

    `line` is a summary in one line that a machine of the `site` wrote, "" for a site that is not
    known; `url` is its page of the paper. `organization` is the account there that claims the
    paper, which says nothing about the authors. `reasons` are those that it lists for a notice.
    """

    site: str = ""
    url: str = ""
    line: str = ""
    organization: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def maker(self) -> str:
        """The maker of the line, as it is shown."""
        return self.site or "Machine-made"


class Paper(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A paper as one record of one source describes it. Only the title is required.

    `keys` maps a scheme (arxiv, doi, openreview, pmid, s2, ...) to a value or a tuple of
    values; `announced` is when the source announced the paper, `announce` how
    (new, cross, replace, ...); `raw_id` is the source's own name for the record. Sources
    may give a `Month` or `Bound` as `published`; what is stored has `precision` "month" or "bound".
    `listed` are lists that had it; their days are no dates of the paper.

    `type` is what kind of publication it is, in small letters ("journal article", "preprint");
    `RETRACTION`, `CORRECTION`, `CONCERN` and `COMMENT` mark a record about another paper, whose
    identifiers are in `about`, in the form of `keys`.

    `keys_in_links` and `keys_in_text` are those of `keys` that were read out of a link or a running
    text, in the same form; all others are fields of the record.

    `links` are addresses of what belongs to it (code, project), `upvotes` those of its source.
    `notices` are retractions, concerns and corrections that its record names. `site_note` is what
    the site adds to its record; nothing is matched, searched or compared with it. `affiliations`
    are the institutions of its authors, each once, in the words of the record.
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
    keys_in_links: Mapping[str, str | tuple[str, ...]] = {}
    keys_in_text: Mapping[str, str | tuple[str, ...]] = {}
    notices: tuple[Paper, ...] = ()
    site_note: SiteNote | None = None
    affiliations: tuple[str, ...] = ()

    def identifiers(self, scheme: str) -> tuple[str, ...]:
        values = self.keys.get(scheme, ())
        return (values,) if isinstance(values, str) else values

    @property
    def listed_at(self) -> datetime | None:
        """The beginning of the first day on which a list had it, in UTC."""
        days = [listed.day for listed in self.listed if listed.day]
        return datetime.combine(min(days), time(), UTC) if days else None

    @property
    def last_listed(self) -> ListedDay | None:
        """The last of its lists that have a day."""
        dated = [listed for listed in self.listed if listed.day]
        return max(dated, key=lambda listed: listed.day or date.min, default=None)

    @property
    def recent_lists(self) -> list[ListedDay]:
        """Its lists of 30 days, up to the last of them."""
        dated = [(at, listed) for listed in self.listed if (at := listed.counts_from)]
        last = max((at for at, _ in dated), default=date.min)
        return [listed for at, listed in dated if last - at <= LIST_AGE]

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


def record_of(paper: Paper, source: str, read: date | None = None) -> Paper:
    """Return what a source `read` on a day as it is stored: lists name both, dates are plain."""
    fields: dict[str, Any] = {}
    if paper.listed:
        fields["listed"] = tuple(
            replace(listed, source=source, read=read) for listed in paper.listed
        )
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
