"""Kind `bulletin`: what a library's readers get by mail every week, saved as text.

Title: How tides move sand
Authors: Ada Byron; Jane Roe
Shelf: physics
DOI: 10.1000/tides.1
Date: 2025-05-30
Abstract: Sand moves.
  So do tides.

Title: ...

End of bulletin
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from monitor.model import Document, FirstRun, Paper, Reading, Rejected
from monitor.sources.base import Source, SourceOptions
from monitor.text import clean

END = "End of bulletin"
_FIELD = re.compile(r"^(Title|Authors|Shelf|DOI|Date|Abstract):(.*)$")

Fields = dict[str, str]


class BulletinOptions(SourceOptions):
    """The settings besides those of all sources."""

    shelf: str = Field("", description="read the papers of one shelf only")


class Bulletin(Source):
    """Reads bulletins. Their dates are those of publication, so a paper may be older."""

    kind: ClassVar[str] = "bulletin"
    Options: ClassVar[type[SourceOptions]] = BulletinOptions
    default_first_run: ClassVar[FirstRun] = FirstRun.RECENT
    dated: ClassVar[bool] = True

    def read(self, document: Document) -> Reading:
        """Read all papers; one that the end of a cut document may have hit is rejected."""
        text = document.content.decode("utf-8", errors="replace")
        blocks = list(_blocks(text))
        if not any("Title" in fields for _, fields in blocks):
            return Reading(error="the document is no bulletin: it has no title", complete=False)
        complete = text.rstrip().endswith(END)
        found = [_paper(line, fields) for line, fields in blocks]
        if not complete:
            found[-1] = Rejected(f"line {blocks[-1][0]}", "the document ends inside this paper")
        papers = [one for one in found if isinstance(one, Paper) and self._wanted(one)]
        rejected = [one for one in found if isinstance(one, Rejected)]
        return Reading(tuple(papers), tuple(rejected), complete=complete)

    def _wanted(self, paper: Paper) -> bool:
        options = self.options
        shelf = options.shelf if isinstance(options, BulletinOptions) else ""
        return not shelf or shelf in paper.categories


def _blocks(text: str) -> Iterator[tuple[int, Fields]]:
    """Each block of fields with the line that it begins in; a line without a name goes on."""
    fields: Fields = {}
    begun, name = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _FIELD.match(line):
            if not fields:
                begun = number
            name = found[1]
            fields[name] = found[2]
        elif line.strip() and line.strip() != END and name:
            fields[name] += f" {line}"
        elif fields:
            yield begun, fields
            fields, name = {}, ""
    if fields:
        yield begun, fields


def _paper(line: int, fields: Fields) -> Paper | Rejected:
    result = {name: clean(value) for name, value in fields.items()}
    title, doi = result.get("Title", ""), result.get("DOI", "")
    if not title:
        return Rejected(f"line {line}", "paper has no title")
    return Paper(
        title=title,
        abstract=result.get("Abstract", ""),
        authors=tuple(
            name.strip() for name in result.get("Authors", "").split(";") if name.strip()
        ),
        published=_day(result.get("Date", "")),
        url=f"https://doi.org/{doi}" if doi else "",
        keys={"doi": doi} if doi else {},
        categories=(result["Shelf"],) if result.get("Shelf") else (),
        raw_id=doi or title,
    )


def _day(result: str) -> datetime | None:
    try:
        return datetime.strptime(result, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
