"""The door: each request is admitted or refused, kept small, and answered with safe headers."""

from __future__ import annotations

from urllib.parse import quote

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.errors import MonitorError
from monitor.web.access import SESSION, SIGNED, SLACK, Asked, Refusal, Role, Viewer, admit
from monitor.web.site import address_of, show_problem, site_of

log = structlog.get_logger()

# No form of ours is longer; Slack sends the whole message with what was chosen in it.
LONGEST_BODY, LONGEST_OF_SLACK = 64 * 1024, 1024 * 1024


POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# A digest as its page has its style within, and a mail its own: neither may do anything.
POLICY_OF_DOCUMENTS = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


class Guard:
    """ASGI middleware around all pages."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request.state.viewer = Viewer(Role.NOBODY)
        refusal = self._refuse(request)
        if refusal:
            await _refused(request, refusal)(scope, receive, _with_headers(request, send))
            return
        answer = _with_headers(request, send)
        try:
            await self.app(scope, _limited(receive, _longest(request)), answer)
        except Exception as error:  # one page that fails stops no other
            log.error("page failed", path=_route_of(request), error=str(error), exc_info=error)
            await _failed(request, error)(scope, receive, answer)

    def _refuse(self, request: Request) -> Refusal | None:
        peer = request.client.host if request.client else ""
        admitted = admit(
            site_of(request).rules,
            Asked(
                method=request.method,
                path=request.url.path,
                peer=peer,
                headers={name.lower(): value for name, value in request.headers.items()},
                session=request.cookies.get(SESSION, ""),
            ),
        )
        if isinstance(admitted, Refusal):
            return admitted
        request.state.viewer = admitted
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _longest(request):
            return Refusal(413, "This request is longer than any form here.")
        return None


def _refused(request: Request, refusal: Refusal) -> Response:
    log.info("request refused", path=_kind_of(request.url.path), status=refusal.status)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": refusal.message}, refusal.status)
    if refusal.login and request.method in ("GET", "HEAD"):
        return RedirectResponse(f"/login?next={quote(address_of(request))}", 303)
    return show_problem(request, refusal.status, refusal.message)


def _failed(request: Request, error: Exception) -> Response:
    """Say that a page failed; why is in the log, and said here as far as it is ours."""
    is_ours = isinstance(error, MonitorError)
    status = 503 if is_ours else 500
    message = str(error) if is_ours else "This page could not be made; the log says why."
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return show_problem(request, status, message)


def _route_of(request: Request) -> str:
    """Return the path of a page as its route has it: no token, and no name of a reader."""
    return str(getattr(request.scope.get("route"), "path", ""))


def _kind_of(path: str) -> str:
    """Return a path without the token that may be in it."""
    return next((f"{one}…" for one in SIGNED if path.startswith(one)), path)


def _longest(request: Request) -> int:
    return LONGEST_OF_SLACK if request.url.path.startswith(SLACK) else LONGEST_BODY


def _limited(receive: Receive, left: int) -> Receive:
    """Cut off a body without a length that is too long, as if the client were gone."""

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return read


def _with_headers(request: Request, send: Send) -> Send:
    signed = request.url.path.startswith(SIGNED)

    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            headers = {
                b"content-security-policy": POLICY.encode(),
                # A token in an address goes nowhere else.
                b"referrer-policy": b"no-referrer" if signed else b"same-origin",
                b"x-robots-tag": b"noindex, nofollow",
                b"x-content-type-options": b"nosniff",
                b"cache-control": b"no-store",
            }
            message["headers"] = [
                *message["headers"],
                *((name, value) for name, value in headers.items() if name not in given),
            ]
        await send(message)

    return write
