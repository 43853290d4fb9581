"""Forms: read whole, handled on a thread of their own, as pages are."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from monitor.errors import UsageError
from monitor.web.access import Viewer
from monitor.web.site import Form, show_problem, viewer_of

# A form has a few short fields; uploads are refused.
MOST_FIELDS = 50
# Starlette decodes the fields by any codec of Python that a `charset` names. That of Punycode takes
# the square of their length, and some raise errors. Browsers send none (RFC 7578, 5.1.2).
_CHARSET = re.compile(rb";[^;]*charset[^;]*", re.IGNORECASE)

Handler = Callable[[Request, Form], Response]


def form(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that reads a form of either encoding, and calls `handler` with it.

    What the handler refuses with a UsageError is shown on a page.
    """

    async def handle(request: Request) -> Response:
        try:
            async with _as_utf8(request).form(max_files=0, max_fields=MOST_FIELDS) as read:
                fields = {name: value for name, value in read.items() if isinstance(value, str)}
        except ClientDisconnect:  # or cut off, because it was too long: see `guard`
            return show_problem(request, 413, "This form is too long, or was cut off.")
        try:
            return await run_in_threadpool(handler, request, fields)
        except UsageError as error:
            return await run_in_threadpool(show_problem, request, 409, error.message, error.hint)

    return handle


def _as_utf8(request: Request) -> Request:
    """Return a request whose form is decoded as UTF-8, whatever charset its header names."""
    headers = [
        (name, _CHARSET.sub(b"", value) if name == b"content-type" else value)
        for name, value in request.scope["headers"]
    ]
    return Request({**request.scope, "headers": headers}, request.receive)


def who(viewer: Viewer) -> str:
    """Return how a viewer is named in the log and in rows: an operator by token has no address."""
    return viewer.address or "operator"


def operator_only(handler: Handler) -> Handler:
    """Refuse a form of a viewer who may not change anything."""

    def handle(request: Request, fields: Form) -> Response:
        if not viewer_of(request).is_operator:
            return show_problem(request, 403, "Only an operator of this installation may do this.")
        return handler(request, fields)

    return handle
