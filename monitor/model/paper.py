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
    """A paper as one record of one source describes it. Only the title is required."""

    # Without mark-up and without "RETRACTED:"; formulas are still LaTeX.
    title: str
    # Written like the title. "" also where the record has "N/A", and once clean-up emptied it.
    abstract: str = ""
    # In the order of the record, each name once.
    authors: tuple[str, ...] = ()
    # The journal, conference, server or university, in the words of the record.
    venue: str = ""
    # The year that the record gives; that of print may be long after `published`.
    year: int | None = None

    # The date of the first version, else of print. Sources may give a `Month` or `Bound`; a stored
    # date has a `precision`.
    published: datetime | None = None
    # The date of the last version, or of the last change of the record: it differs by source.
    updated: datetime | None = None
    # When the source announced the paper; None where it gives no such date.
    announced: datetime | None = None
    # The page to which the title leads, "" where the record has none.
    url: str = ""
    # As the record gives it: none is made from an identifier.
    pdf_url: str = ""
    # Identifiers by scheme (arxiv, doi, openreview, pmid, s2, ...), a value or a tuple of values;
    # normalised once they are stored.
    keys: Mapping[str, str | tuple[str, ...]] = {}
    # Subjects and keywords of any scheme, each once.
    categories: tuple[str, ...] = ()
    # How arXiv announced it (new, cross, replace, ...), "" where the record does not give that.
    announce: str = ""
    # The number that its server gives, None where there is none.
    version: int | None = None
    # True by its own record, or by a notice about it.
    withdrawn: bool = False
    # The source's own name for the record, "" if it gives none.
    raw_id: str = ""
    # The kind of publication, in small letters ("journal article", "preprint"). The marks of
    # `NOTICE_TYPES` are those of a record about another paper.
    type: str = ""
    # The identifiers of that other paper, in the form of `keys`.
    about: Mapping[str, str | tuple[str, ...]] = {}
    # Addresses of its code and project, by these names.
    links: Mapping[str, str] = {}
    # The votes at its source, as last read; None where it counts none.
    upvotes: int | None = None
    # The kind of date that `published` is, once stored: "month", "bound", or "" for a day.
    precision: str = ""
    # Lists that had it; stored are the first, and those of the last 30 days. Their days are no
    # dates of the paper.
    listed: tuple[ListedDay, ...] = ()
    # Those of `keys` that were read out of a link. If they are neither here nor in `keys_in_text`,
    # they are fields of the record.
    keys_in_links: Mapping[str, str | tuple[str, ...]] = {}
    # Those of `keys` that were read out of a running text.
    keys_in_text: Mapping[str, str | tuple[str, ...]] = {}
    # Retractions, concerns and corrections that its record names.
    notices: tuple[Paper, ...] = ()
    # Words that the site adds to its record; nothing is matched, searched or compared with them.
    site_note: SiteNote | None = None
    # The institutions of its authors, each once, in the words of the record.
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
