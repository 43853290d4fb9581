"""`/api/v1/`: the JSON of the commands that read, at matching addresses."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from monitor.commands.explain import explain
from monitor.commands.json_output import (
    Answer,
    deliveries_json,
    explanation_json,
    papers_json,
    rated_json,
    status_json,
    suppressions_json,
    trial_json,
)
from monitor.commands.paper_search import load_found, name_all
from monitor.commands.ratings import Whose, rated, saved
from monitor.commands.status import status
from monitor.commands.topic_trial import NEAR, find_topic, try_topic
from monitor.errors import QueryError
from monitor.store.digests import deliveries, suppressions
from monitor.web.paging import parameter
from monitor.web.site import SEARCHES, one_at_a_time, site_of

MOST, USUAL = 10_000, 1_000


def _json(find: Callable[[Request], Answer]) -> Callable[[Request], Response]:
    """Return an endpoint that answers with JSON; the fault of a query is in `error`."""

    def answer(request: Request) -> Response:
        try:
            return JSONResponse(find(request))
        except QueryError as error:
            return JSONResponse({"error": str(error), "position": error.position}, 400)

    return answer


def get_status(request: Request) -> Answer:
    return status_json(status(site_of(request).runtime, probe=False))


def get_papers(request: Request) -> Answer:
    """Return the papers that `q` finds, newest first; `limit` is 1,000 when it is not given."""
    query = request.query_params.get("q", "")
    limit = min(parameter(request, "limit") or USUAL, MOST)
    runtime = site_of(request).runtime
    ids = name_all(runtime, query, most=limit)
    with runtime.database.reading() as tx:
        return papers_json(load_found(tx, ids))


def get_paper(request: Request) -> Answer:
    return explanation_json(explain(site_of(request).runtime, request.path_params["id"]))


def get_rated(request: Request) -> Answer:
    return rated_json(rated(site_of(request).runtime, Whose(**_subscription(request))))


def get_saved(request: Request) -> Answer:
    return papers_json(saved(site_of(request).runtime, **_subscription(request)))


def _subscription(request: Request) -> dict[str, str]:
    return {"subscription": request.query_params.get("subscription", "")}


def get_trial(request: Request) -> Answer:
    runtime, query = site_of(request).runtime, request.query_params.get("q", "")
    return trial_json(try_topic(runtime, find_topic(runtime, query) or query, reach=NEAR))


def get_deliveries(request: Request) -> Answer:
    with site_of(request).runtime.database.reading() as tx:
        return deliveries_json(deliveries.listing(tx, limit=MOST))


def get_suppressions(request: Request) -> Answer:
    runtime = site_of(request).runtime
    with runtime.database.reading() as tx:
        return suppressions_json(suppressions.listing(tx, runtime.clock.now()))


ROUTES = [
    Route("/api/v1/papers", one_at_a_time(_json(get_papers), SEARCHES)),
    Route("/api/v1/topics/try", one_at_a_time(_json(get_trial), SEARCHES)),
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
