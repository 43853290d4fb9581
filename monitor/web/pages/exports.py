"""`/papers.bib` and the like: what a search found, or a digest has, for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from monitor.commands.explain import find_paper
from monitor.commands.export import MAX_PAPERS, Format, export
from monitor.commands.paper_search import FoundPaper, load_found, name_all
from monitor.errors import QueryError, UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store.papers import merge_papers
from monitor.web.pages.digests import digest_of
from monitor.web.search_form import read_search, wanted_by
from monitor.web.site import (
    SEARCHES,
    one_at_a_time,
    show_problem,
    site_of,
)

# By the ending of the address.
FORMATS: dict[str, tuple[Format, str]] = {
    "bib": ("bibtex", "application/x-bibtex; charset=utf-8"),
    "ris": ("ris", "application/x-research-info-systems; charset=utf-8"),
    "csv": ("csv", "text/csv; charset=utf-8"),
    "json": ("json", "application/json"),
}
_AT_ONCE = 200


def export_search(request: Request, ending: str) -> Response:
    """Return the newest papers that a search finds."""
    search = read_search(request)
    try:
        wanted = wanted_by(request, search)
        runtime = site_of(request).runtime
        ids = name_all(runtime, search.q, wanted, most=MAX_PAPERS)
    except QueryError as error:
        return show_problem(request, 400, str(error), error.hint)
    except UsageError as error:
        return show_problem(request, 400, error.message, error.hint)
    return stream(_load(runtime, ids), ending, "papers")


def export_digest(request: Request, ending: str) -> Response:
    """Return the papers of a digest, in its order."""
    runtime, digest = site_of(request).runtime, digest_of(request)
    ids = list(dict.fromkeys(entry.paper_id for group in digest.groups for entry in group.entries))
    return stream(_load(runtime, ids[:MAX_PAPERS]), ending, "digest")


def export_paper(request: Request, ending: str) -> Response:
    """Return one paper."""
    with site_of(request).runtime.database.reading() as tx:
        stored = find_paper(tx, request.path_params["id"])
        papers = load_found(tx, [stored.id])
    return stream(iter(papers), ending, f"paper-{stored.id}")


def _load(runtime: Runtime, ids: Sequence[int]) -> Iterator[FoundPaper]:
    """Yield papers as they are stored now, each once."""
    for start in range(0, len(ids), _AT_ONCE):
        batch = ids[start : start + _AT_ONCE]
        with runtime.database.reading() as tx:
            now = list(dict.fromkeys(merge_papers.current_id(tx, id) for id in batch))
            loaded = load_found(tx, now)
        yield from loaded


def stream(records: Iterator[FoundPaper], ending: str, name: str) -> Response:
    format_, media_type = FORMATS[ending]
    headers = {"content-disposition": f'attachment; filename="{name}.{ending}"'}
    return StreamingResponse(export(records, format_), media_type=media_type, headers=headers)


Endpoint = Callable[[Request], Response]


def _of(handle: Callable[[Request, str], Response], ending: str) -> Endpoint:
    def answer(request: Request) -> Response:
        return handle(request, ending)

    return answer


ROUTES = [
    *(
        Route(f"/papers.{ending}", one_at_a_time(_of(export_search, ending), SEARCHES))
        for ending in FORMATS
    ),
    *(Route(f"/papers/{{id}}.{ending}", _of(export_paper, ending)) for ending in FORMATS),
    *(
        Route(f"/digests/{{subscription}}/{{period}}.{ending}", _of(export_digest, ending))
        for ending in FORMATS
    ),
]
