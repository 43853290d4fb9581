"""`/papers.bib` and the like: the papers of a search or of a digest, for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from starlette.responses import Response, StreamingResponse

from monitor.commands.explain import find_paper
from monitor.commands.export import FILES, FORMATS, MAX_PAPERS, Format, export
from monitor.commands.paper_search import FoundPaper, find_all, load_each, load_found
from monitor.web.access import Role
from monitor.web.pages.digests import digest_of
from monitor.web.pages.search import SearchForm
from monitor.web.routes import Routes
from monitor.web.site import SEARCHES, Visit

routes = Routes()


def export_search(format_: Format, visit: Visit) -> Response:
    search = SearchForm.of(visit)
    wanted = search.filter(visit)
    papers = find_all(visit.runtime, search.q, wanted, most=MAX_PAPERS, bounded=True)
    return stream(papers, format_, "papers")


def export_digest(format_: Format, visit: Visit) -> Response:
    groups = digest_of(visit).groups
    ids = list(dict.fromkeys(entry.paper_id for group in groups for entry in group.entries))
    return stream(load_each(visit.runtime, ids[:MAX_PAPERS]), format_, "digest")


def export_paper(format_: Format, visit: Visit) -> Response:
    with visit.runtime.database.reading() as tx:
        stored = find_paper(tx, visit.path_params["id"])
        papers = load_found(tx, [stored.id])
    return stream(iter(papers), format_, f"paper-{stored.id}")


def stream(records: Iterator[FoundPaper], format_: Format, name: str) -> Response:
    _, ending, media_type = FILES[format_]
    headers = {"content-disposition": f'attachment; filename="{name}.{ending}"'}
    return StreamingResponse(export(records, format_), media_type=media_type, headers=headers)


for _format in FORMATS:
    for _path, _thread, _export, _takes in (
        ("/papers", SEARCHES, export_search, SearchForm.__slots__),
        ("/papers/{id}", "", export_paper, ()),
        ("/digests/{subscription}/{period}", "", export_digest, ()),
    ):
        _address = f"{_path}.{FILES[_format].ending}"
        _add = routes.page(_address, Role.READER, _thread, takes=_takes, is_stream=True)
        _add(partial(_export, _format))
