"""The fields of a paper, and where each of them is used.

A new field is added to `Paper` and here; its column also needs a migration. The guide is "Adding a
field of a paper" in docs/contributing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, Flag, auto
from operator import attrgetter
from typing import Any

from monitor.model.paper import ListedDay, Paper, SiteNote


class Form(Enum):
    """How a column holds the values of a field."""

    TEXT = "text, never null"
    NUMBER = "a number, null if unknown"
    FLAG = "true or false, never null"
    MOMENT = "a time, null if unknown"
    LIST = "a JSON list of texts, never null"
    # For columns that a migration adds, to stores that have papers:
    OPTIONAL_TEXT = "text, null if empty"
    JSON = "the value as JSON, null if empty"


class Use(Flag):
    NONE = 0
    # Any source may fill it where it is empty; only a revision changes what is there.
    FILLED = auto()
    # Topics look at it, so a paper that gains a value may match more of them.
    MATCHED = auto()
    # Its words are in the search index.
    INDEXED = auto()
    # Clean-up empties it.
    PURGED = auto()
    # It is in the JSON of `papers`, `explain` and exports.
    IN_PAPERS = auto()
    # It is in the JSON of `read`.
    IN_READ = auto()
    IN_JSON = IN_PAPERS | IN_READ
    # Services that are asked about a paper may fill it where it is empty.
    LOOKED_UP = auto()
    # Each part of a split paper has that of its own records. Other fields stay in both.
    SPLIT = auto()
    # Large messages of webhooks leave it out, except of their best papers.
    LARGE = auto()


FILLED = Use.FILLED
MATCHED = Use.MATCHED
INDEXED = Use.INDEXED
PURGED = Use.PURGED
IN_PAPERS = Use.IN_PAPERS
IN_READ = Use.IN_READ
IN_JSON = Use.IN_JSON
LOOKED_UP = Use.LOOKED_UP
SPLIT = Use.SPLIT
LARGE = Use.LARGE


def _whole(value: object) -> object:
    return value


def _pairs(value: Mapping[str, object]) -> object:
    return sorted(value.items())


def _presence(moment: datetime | None) -> bool:
    """Return whether there is a date: many sources give that of their own run."""
    return moment is not None


def _lists(listed: Iterable[ListedDay]) -> object:
    return [(f"{one.day}", one.document, one.rank) for one in listed]


def _notices(notices: Iterable[Paper]) -> object:
    return [(notice.type, sorted(notice.keys.items()), notice.raw_id) for notice in notices]


def _site_note(note: SiteNote | None) -> object:
    return note and (note.line, note.organization, note.reasons)


@dataclass(frozen=True, slots=True)
class PaperField:
    """`form` is None for what the table `paper` does not hold.

    `hashed` returns what of a value counts in the `record_hash` (in `monitor/identity/keys.py`): a
    record whose hash has changed is decided again.
    """

    name: str
    form: Form | None = None
    hashed: Callable[[Any], object] | None = None
    uses: Use = Use.NONE

    @property
    def column(self) -> str:
        return f"{self.name}_at" if self.form is Form.MOMENT else self.name


# In the order of JSON.
FIELDS = (
    PaperField("title", Form.TEXT, _whole, MATCHED | INDEXED | IN_JSON | SPLIT),
    PaperField(
        "abstract", Form.TEXT, _whole, FILLED | MATCHED | INDEXED | PURGED | IN_JSON | SPLIT | LARGE
    ),
    PaperField(
        "authors", Form.LIST, _whole, FILLED | MATCHED | INDEXED | IN_JSON | LOOKED_UP | SPLIT
    ),
    PaperField(
        "affiliations", Form.JSON, bool, FILLED | PURGED | IN_JSON | LOOKED_UP | SPLIT | LARGE
    ),
    PaperField(
        "venue", Form.TEXT, _whole, FILLED | MATCHED | INDEXED | IN_JSON | LOOKED_UP | SPLIT
    ),
    # Filled with its precision.
    PaperField("published", Form.MOMENT, _presence, IN_JSON | LOOKED_UP),
    PaperField("precision", Form.OPTIONAL_TEXT),  # follows from `published`
    PaperField("year", Form.NUMBER, _whole, FILLED | IN_JSON | LOOKED_UP | SPLIT),
    PaperField("announced", Form.MOMENT, _presence, FILLED | IN_JSON),
    PaperField("listed", Form.JSON, _lists, MATCHED | IN_JSON),
    PaperField("upvotes", Form.NUMBER, _whole, MATCHED | IN_PAPERS),
    PaperField("updated", Form.MOMENT, _presence, FILLED | IN_READ),
    PaperField(
        "categories", Form.LIST, _whole, FILLED | MATCHED | INDEXED | PURGED | IN_JSON | LOOKED_UP
    ),
    PaperField("url", Form.TEXT, _whole, FILLED | IN_JSON | LOOKED_UP),
    PaperField("pdf_url", Form.TEXT, _whole, FILLED | PURGED | IN_PAPERS | LOOKED_UP),
    PaperField("links", Form.JSON, _pairs, FILLED | MATCHED | PURGED | IN_JSON | LOOKED_UP),
    PaperField("keys", None, _pairs, IN_JSON | LOOKED_UP),  # rows of `paper_key`
    PaperField("keys_in_links"),  # some of `keys`
    PaperField("keys_in_text"),
    PaperField("type", Form.OPTIONAL_TEXT, _whole, FILLED | IN_READ | LOOKED_UP),
    PaperField("about", None, _pairs, IN_READ),
    PaperField("notices", None, _notices),
    PaperField("site_note", None, _site_note),  # a column of `sighting`
    PaperField("announce", None, _whole, MATCHED | IN_READ),
    PaperField("version", Form.NUMBER, _whole, FILLED | IN_READ),
    PaperField("withdrawn", Form.FLAG, _whole, IN_READ),
    PaperField("raw_id"),  # names the record
)


# The names by which people read of fields, where these are no words.
READABLE_NAMES = {"url": "link", "pdf_url": "PDF", "published": "date", "links": "code"}


def names_of(use: Use) -> tuple[str, ...]:
    """Return the names of the fields that have a use, or each use of a combination."""
    return tuple(field.name for field in FIELDS if use in field.uses)


def empty_values(names: Iterable[str]) -> dict[str, Any]:
    """Return the values of fields of a paper that has none."""
    return {name: getattr(Paper(""), name) for name in names}


_matched = attrgetter(*names_of(MATCHED))
_HASHED = [
    (field.name, field.hashed, getattr(Paper(""), field.name)) for field in FIELDS if field.hashed
]
_hashed = attrgetter(*(name for name, _, _ in _HASHED))


def matched_values(paper: Paper) -> tuple[Hashable, ...]:
    """Return the values of all fields that topics look at."""
    return tuple(
        tuple(value.items()) if isinstance(value, Mapping) else value for value in _matched(paper)
    )


def hashed_text(paper: Paper) -> str:
    """Return the text of which `record_hash` is made.

    Empty fields are left out, so that a new field changes the hash of records that have it alone.
    """
    values = zip(_HASHED, _hashed(paper), strict=True)
    return "\0".join(
        f"{name} {hashed(value)}" for (name, hashed, empty), value in values if value != empty
    )
