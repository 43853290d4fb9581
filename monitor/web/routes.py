"""Routes of pages and forms, each with the least role that it is for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from urllib.parse import unquote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from monitor.errors import QueryError, UsageError
from monitor.web.access import Role, Viewer
from monitor.web.shared_pages import SharedPages
from monitor.web.site import Problem, Visit

# A form has a few short fields; uploads are refused.
MAX_FIELDS = 50
MAX_BYTES = 64 * 1024
# Starlette decodes the fields by any codec of Python that a `charset` names. That of Punycode takes
# the square of their length, and some raise errors. Browsers send none (RFC 7578, 5.1.2).
_CHARSET = re.compile(rb";[^;]*charset[^;]*", re.IGNORECASE)

Form = Mapping[str, str]
Page = Callable[[Visit], Response]
FormHandler = Callable[[Visit, Form], Response]
Make = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class PageRoute(Route):
    """A route of one method, and the least role that it is for.

    With `has_token`, no login is looked at: a token in the path or a signature proves a request,
    or the answer is the same for all visitors. `make` makes a page that needs a login; it also
    shows a form again that was refused.
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        role: Role,
        method: str = "GET",
        *,
        has_token: bool = False,
        max_bytes: int = MAX_BYTES,
        make: Make | None = None,
    ) -> None:
        super().__init__(path, endpoint, methods=[method], max_body_size=max_bytes)
        self.role = role
        self.has_token = has_token
        self.make = make


class Routes(list[PageRoute]):
    def page(
        self,
        path: str,
        role: Role,
        thread: str = "",
        *,
        takes: Collection[str] = (),
        has_token: bool = False,
        is_stream: bool = False,
    ) -> Callable[[Page], Page]:
        """Add a page. One that takes much work is made on a `thread` of the site.

        `takes` are its parameters. A page that needs a login refuses others: a filter that is
        misspelled would show everything. What programs and mails open may have some appended.
        Those who are logged in share its answers (`shared_pages`), unless it is a stream.
        """
        needs_login = role is not Role.NOBODY

        def add(page: Page) -> Page:
            async def make(visit: Visit) -> Response:
                if not thread:
                    return await run_in_threadpool(page, visit)
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(visit.site.threads[thread], page, visit)

            async def answer(request: Request) -> Response:
                visit = Visit(request.scope)
                if needs_login:
                    visit.refuse_unknown(takes)
                if is_stream or not needs_login:
                    return await make(visit)
                shared: SharedPages = visit.app.state.shared
                return await shared.answer(visit, make)

            again = make if needs_login and not is_stream else None
            self.append(PageRoute(path, answer, role, has_token=has_token, make=again))
            return page

        return add

    def form(
        self, path: str, role: Role, *, has_token: bool = False
    ) -> Callable[[FormHandler], FormHandler]:
        def add(handler: FormHandler) -> FormHandler:
            answer = partial(handle_form, handler)
            self.append(PageRoute(path, answer, role, "POST", has_token=has_token))
            return handler

        return add


# The pages to which each page leads, in order.
_NAVIGATION = {
    "/me": "My digests",
    "/digests": "Digests",
    "/papers": "Papers",
    "/references": "References",
    "/topics": "Topics",
    "/try": "Try",
    "/subscriptions": "Subscriptions",
    "/sources": "Sources",
    "/deliveries": "Deliveries",
    "/status": "Status",
}


def navigation(routes: Iterable[PageRoute], viewer: Viewer) -> dict[str, str]:
    """Return the paths and titles of the navigation: of pages that the viewer may open."""
    roles = {route.path: route.role for route in routes if "GET" in (route.methods or ())}
    return {
        path: title
        for path, title in _NAVIGATION.items()
        # An operator who has logged in with the token has no address, and so no digests.
        if viewer.role >= roles[path] and (path != "/me" or viewer.address)
    }


async def handle_form(handler: FormHandler, request: Request) -> Response:
    """Call `handler` with the fields of a form; if it refuses them, show the form again."""
    visit = Visit(_with_utf8(request.scope), request.receive)
    async with visit.form(max_files=0, max_fields=MAX_FIELDS) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    try:
        return await run_in_threadpool(handler, visit, fields)
    except UsageError as error:
        problem = Problem(409, error.message, error.hint, error.remedy)
        if again := await _show_again(visit, fields, problem):
            return again
        return await run_in_threadpool(visit.show_problem, *problem)
    except HTTPException as error:
        if again := await _show_again(visit, fields, Problem(error.status_code, error.detail)):
            return again
        raise


async def _show_again(visit: Visit, fields: Form, problem: Problem) -> Response | None:
    """Return the page that had the form, with the problem and what was filled in.

    It is the one in the Referer, which browsers send from our pages; None if that cannot be shown.
    """
    try:
        page = urlsplit(visit.headers.get("referer", ""))
    except ValueError:  # as for "http://[": only programs send it
        return None
    own = {visit.headers.get("host", ""), urlsplit(visit.site.rules.url).netloc} - {""}
    scope = {
        **visit.scope,
        "method": "GET",
        "path": unquote(page.path),
        "query_string": page.query.encode(),
        "state": {**visit.scope["state"], "problem": problem, "typed": fields},
    }
    route = find_route(visit.app.routes, scope) if page.netloc in own else None
    if route is None or route.make is None or visit.viewer.role < route.role:
        return None
    scope.update(route.matches(scope)[1])
    try:
        answer = await route.make(Visit(scope))
    except (HTTPException, UsageError, QueryError):  # the page is gone
        return None
    if answer.status_code != 200:
        return None
    answer.status_code = problem.status
    return answer


def _with_utf8(scope: Scope) -> Scope:
    """Return a scope whose form is decoded as UTF-8, whatever charset its header names."""
    headers = [
        (name, _CHARSET.sub(b"", value) if name == b"content-type" else value)
        for name, value in scope["headers"]
    ]
    return {**scope, "headers": headers}


def find_route(routes: Sequence[BaseRoute], scope: Scope) -> PageRoute | None:
    """Return the route of a request, else one of its path for another method, if there is any."""
    other_method = None
    for route in routes:
        match, _ = route.matches(scope)
        if isinstance(route, PageRoute) and match is not Match.NONE:
            if match is Match.FULL:
                return route
            other_method = other_method or route
    return other_method
