"""The fields of a paper, and what each of them counts for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from monitor.model.paper import Paper


@dataclass(frozen=True, slots=True)
class PaperField:
    """A field of `Paper`.

    `hashed`: another value makes another `record_hash` (in `monitor/identity/keys.py`), so that the
    record is decided again.
    `filled`: any source may fill it where it is empty; only a revision changes what is there.
    `matched`: topics look at it, so a paper that gains one may match more of them.
    `indexed`: its words are in the search index.
    """

    name: str
    hashed: bool = False
    filled: bool = False
    matched: bool = False
    indexed: bool = False


FIELDS = (
    PaperField("title", hashed=True, matched=True, indexed=True),
    PaperField("abstract", hashed=True, filled=True, matched=True, indexed=True),
    PaperField("authors", hashed=True, filled=True, matched=True, indexed=True),
    PaperField("venue", hashed=True, filled=True, matched=True, indexed=True),
    PaperField("year", hashed=True, filled=True),
    PaperField("published", hashed=True),  # filled with its precision
    PaperField("updated", hashed=True, filled=True),
    PaperField("announced", hashed=True, filled=True),
    PaperField("url", hashed=True, filled=True),
    PaperField("pdf_url", hashed=True, filled=True),
    PaperField("keys", hashed=True),
    PaperField("keys_in_links"),  # some of `keys`
    PaperField("keys_in_text"),
    PaperField("categories", hashed=True, filled=True, matched=True, indexed=True),
    PaperField("announce", hashed=True, matched=True),
    PaperField("version", hashed=True, filled=True),
    PaperField("withdrawn", hashed=True),
    PaperField("raw_id"),  # names the record
    PaperField("type", hashed=True, filled=True),
    PaperField("about", hashed=True),
    PaperField("notices", hashed=True),
    PaperField("links", hashed=True, filled=True, matched=True),
    PaperField("upvotes", hashed=True, matched=True),
    PaperField("precision"),  # follows from `published`
    PaperField("listed", hashed=True, matched=True),
)

_matched = attrgetter(*(field.name for field in FIELDS if field.matched))


def matched_values(paper: Paper) -> tuple[Hashable, ...]:
    """Return all of a paper that topics look at."""
    return tuple(
        tuple(value.items()) if isinstance(value, Mapping) else value for value in _matched(paper)
    )
