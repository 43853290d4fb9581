"""`/api/v1/`: the JSON of the commands that read, at matching addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from monitor.commands import json_output, paper_json
from monitor.commands.explain import explain
from monitor.commands.ratings import Whose, rated, saved
from monitor.commands.search import NEAR, find_topic, search, try_topic
from monitor.commands.status import status
from monitor.errors import QueryError, UsageError
from monitor.store import deliveries, suppressions
from monitor.web.costly import one_at_a_time
from monitor.web.paging import parameter
from monitor.web.site import site_of

MOST, USUAL = 10_000, 1_000

Answer = dict[str, Any]


def _json(find: Callable[[Request], Answer]) -> Callable[[Request], Response]:
    """Return an endpoint that answers with JSON; what is refused is said in `error`."""

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(find(request))
        except QueryError as error:
            return JSONResponse({"error": str(error), "position": error.position}, 400)
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 404)

    return answer


def get_status(request: Request) -> Answer:
    return json_output.status(status(site_of(request).runtime, probe=False))


def get_papers(request: Request) -> Answer:
    """Return the papers that `q` finds, newest first; `limit` is 1,000 when it is not given."""
    query = request.query_params.get("q", "")
    limit = min(parameter(request, "limit") or USUAL, MOST)
    return paper_json.papers(search(site_of(request).runtime, query, limit, bounded=True).papers)


def get_paper(request: Request) -> Answer:
    return paper_json.explanation(explain(site_of(request).runtime, request.path_params["id"]))


def get_rated(request: Request) -> Answer:
    return paper_json.rated(rated(site_of(request).runtime, Whose(**_subscription(request))))


def get_saved(request: Request) -> Answer:
    return paper_json.papers(saved(site_of(request).runtime, **_subscription(request)))


def _subscription(request: Request) -> dict[str, str]:
    return {"subscription": request.query_params.get("subscription", "")}


def get_trial(request: Request) -> Answer:
    runtime, query = site_of(request).runtime, request.query_params.get("q", "")
    return json_output.trial(try_topic(runtime, find_topic(runtime, query) or query, reach=NEAR))


def get_deliveries(request: Request) -> Answer:
    with site_of(request).runtime.database.reading() as tx:
        return json_output.deliveries(deliveries.newest(tx, MOST))


def get_suppressions(request: Request) -> Answer:
    runtime = site_of(request).runtime
    with runtime.database.reading() as tx:
        return json_output.suppressions(suppressions.listing(tx, runtime.clock.now()))


ROUTES = [
    Route("/api/v1/papers", one_at_a_time(_json(get_papers))),
    Route("/api/v1/topics/try", one_at_a_time(_json(get_trial))),
    *(
        Route(f"/api/v1/{path}", _json(find))
        for path, find in (
            ("status", get_status),
            ("papers/rated", get_rated),
            ("papers/saved", get_saved),
            ("explain/{id}", get_paper),
            ("deliveries", get_deliveries),
            ("suppressions", get_suppressions),
        )
    ),
]
