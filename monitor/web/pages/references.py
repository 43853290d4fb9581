"""`/references`: the entries of libraries, and what became of each; the same as CSV and BibTeX."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.commands.export import FILES, Format, bibtex_of_entries, csv_lines
from monitor.commands.references import (
    STATES,
    Reference,
    ReferenceFilter,
    changed_entries,
    count_states,
    list_references,
)
from monitor.digest.links import page_url
from monitor.digest.wording import short_day
from monitor.web.access import Role
from monitor.web.routes import Routes
from monitor.web.site import PAGES, Visit, with_query

PAGE = 100
FILTERS = ReferenceFilter.__slots__
COLUMNS = (
    "library",
    "title",
    "entry",
    "file",
    "doi",
    "arxiv",
    "state",
    "since",
    "by",
    "notice",
    "notice_url",
    "asked",
)

routes = Routes()


@routes.page("/references", Role.READER, PAGES, takes=(*FILTERS, "after"))
def all_references(visit: Visit) -> Response:
    """List the entries that a search and filters leave, those that changed first."""
    chosen = _filter(visit)
    matching = chosen.select(visible_references(visit, chosen.library))
    page = visit.slice(chosen.with_state(matching), PAGE)
    asked = [reference.asked for reference in matching if reference.asked]
    return visit.show(
        "references",
        page=page,
        chosen=chosen,
        count=len(matching),
        counts=count_states(matching),
        libraries=visit.library_names,
        unguarded=[
            name
            for name in visit.library_names
            if name not in visit.runtime.guarded_libraries and chosen.library in ("", name)
        ],
        asked_on=partial(short_day, zone=visit.zone),
        asked=(len(asked), max(asked)) if asked else None,
        link=lambda reference: page_url(reference.paper),
        filtered=lambda **other: with_query("/references", asdict(chosen) | other),
        csv=with_query("/references.csv", asdict(chosen)),
        bibtex=with_query("/references.bib", asdict(chosen)),
    )


def _filter(visit: Visit) -> ReferenceFilter:
    visit.choice("state", STATES)
    return ReferenceFilter(**{name: visit.parameter(name) for name in FILTERS})


def visible_references(visit: Visit, library: str) -> list[Reference]:
    """Return the entries of the libraries that the viewer may see, or of one of them."""
    names = visit.library_names
    if library and library not in names:
        raise HTTPException(404, f"There is no library “{library}”.")
    if not names:
        return []
    chosen = [library] if library else names
    return list_references(visit.runtime, chosen, titles=visit.source_titles)


def _selected(visit: Visit) -> list[Reference]:
    chosen = _filter(visit)
    matching = chosen.select(visible_references(visit, chosen.library))
    return chosen.with_state(matching)


@routes.page("/references.csv", Role.READER, PAGES, takes=FILTERS)
def export_csv(visit: Visit) -> Response:
    """Return the same entries for a spreadsheet."""
    rows = []
    for reference in _selected(visit):
        notice = reference.notice or {}
        place = reference.place
        paper = reference.paper
        keys = (" ".join(paper.identifiers(scheme)) for scheme in ("doi", "arxiv"))
        of_entry = (place.library, paper.title, place.key, place.file, *keys)
        change = (reference.state, reference.since, reference.by)
        named = (notice.get("name", ""), notice.get("url", ""))
        rows.append((*of_entry, *change, *named, reference.asked or ""))
    return _download("csv", "".join(csv_lines(COLUMNS, rows)))


@routes.page("/references.bib", Role.READER, PAGES, takes=FILTERS)
def export_bibtex(visit: Visit) -> Response:
    """Return the entries that changed, as they are to be cited now."""
    return _download("bibtex", "".join(bibtex_of_entries(changed_entries(_selected(visit)))))


def _download(format_: Format, content: str) -> Response:
    _, ending, media_type = FILES[format_]
    headers = {"content-disposition": f'attachment; filename="references.{ending}"'}
    return Response(content, headers=headers, media_type=media_type)
