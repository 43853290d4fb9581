"""The pages as one application: its routes, and what it shows to whom."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from monitor.commands.heartbeat import RecentSigns
from monitor.errors import QueryError, UsageError
from monitor.web import pages
from monitor.web.guard import Guard
from monitor.web.routes import PageRoute, navigation
from monitor.web.shared_pages import SharedPages
from monitor.web.site import Site, Visit

# Every module of `pages` has `routes`.
_PAGES = [
    import_module(f"{pages.__name__}.{module.name}") for module in iter_modules(pages.__path__)
]
# The longer paths first: `/papers/{id}` would take `/papers/1.bib`.
ROUTES: list[PageRoute] = sorted(
    (route for page in _PAGES for route in page.routes),
    key=lambda route: len(route.path),
    reverse=True,
)

EXPECTED_ERRORS = (HTTPException, UsageError, QueryError, ClientDisconnect)


def make_application(site: Site) -> Starlette:
    application = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard)],
        exception_handlers=dict.fromkeys(EXPECTED_ERRORS, show_error),
    )
    application.state.site = site
    application.state.navigation = partial(navigation, ROUTES)
    application.state.shared = SharedPages(site.runtime.database, site.runtime.clock)
    application.state.vital_signs = RecentSigns(site.runtime.database, site.runtime.clock)
    return application


def show_error(request: Request, error: Exception) -> Response:
    """Answer what a page raised; for a UsageError of a form, see `routes`."""
    visit = Visit(request.scope)
    match error:
        case HTTPException():
            # Starlette's own words for a path without a route.
            is_missing = error.detail == "Not Found"
            message = "There is no such page." if is_missing else error.detail
            return visit.show_problem(error.status_code, message)
        case UsageError():  # the address names what is not there
            return visit.show_problem(404, error.message, error.hint, error.remedy)
        case QueryError() if visit.asks_for_json:
            return JSONResponse({"error": str(error), "position": error.position}, 400)
        case QueryError():
            return visit.show_problem(400, error.message, error.hint, error.remedy)
    return PlainTextResponse("cut off", 400)  # ClientDisconnect in a body: nothing was changed
