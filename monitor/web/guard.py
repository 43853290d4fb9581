"""The door: each request is admitted or refused, kept small, and answered with safe headers."""

from __future__ import annotations

from urllib.parse import quote

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.commands.web_login import SessionState
from monitor.errors import MonitorError
from monitor.text import whole_number
from monitor.web.access import (
    SIGNED,
    SLACK,
    STATIC,
    Asked,
    Proof,
    Refusal,
    Role,
    Viewer,
    admit,
    client_address,
    is_token,
    refuse_way,
)
from monitor.web.guesses import TRY_LATER, guesses_of, may_guess
from monitor.web.site import (
    SESSION,
    address_of,
    forget_cookie,
    get_cookie,
    path_of,
    show_problem,
    site_of,
    viewer_of,
)

log = structlog.get_logger()

TOO_MANY = Refusal(429, TRY_LATER)

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
        if site_of(request).is_https:  # or a redirect would lead to http, since a proxy ends TLS
            scope["scheme"] = "https"
        request.state.viewer = Viewer(Role.NOBODY)
        has_started = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        answer = _with_headers(request, send_and_note)
        try:
            refusal = await _refuse(request)
            if refusal:
                await _refused(request, refusal)(scope, receive, answer)
            else:
                await self.app(scope, _limited(receive, _longest(request)), answer)
        except Exception as error:  # one page that fails stops no other
            log.error("page failed", path=_route_of(request), error=str(error), exc_info=error)
            # An answer that has begun cannot become another one: the server closes its connection,
            # which tells the client that it is incomplete.
            if not has_started:
                await _failed(request, error)(scope, receive, answer)


async def _refuse(request: Request) -> Refusal | None:
    """Note who asks, or return why the request is refused."""
    rules = site_of(request).rules
    asked = Asked(
        method=request.method,
        path=path_of(request),
        peer=request.client.host if request.client else "",
        headers=_joined(request),
    )
    refusal = _refuse_long(request) or refuse_way(rules, asked)
    if refusal:
        return refusal
    request.state.client = client_address(rules, asked)
    proof = await _prove(request, asked)
    admitted = proof if isinstance(proof, Refusal) else admit(rules, asked, proof)
    if isinstance(admitted, Refusal):
        return admitted
    request.state.viewer = admitted
    return None


def _refuse_long(request: Request) -> Refusal | None:
    length = whole_number(request.headers.get("content-length", "0"))
    if length is None or length > _longest(request):
        return Refusal(413, "This request is longer than any form here.")
    return None


def _joined(request: Request) -> dict[str, str]:
    """Return the headers by name; of one that is sent twice, all values (RFC 9110, 5.3)."""
    return {name: ", ".join(request.headers.getlist(name)) for name in request.headers}


async def _prove(request: Request, asked: Asked) -> Proof | Refusal:
    """Look at the token or the cookie of a request. A wrong one counts as a guess."""
    site = site_of(request)
    if asked.path.startswith((STATIC, SLACK)) or not site.rules.takes_logins:
        return Proof.NONE
    if asked.bearer and site.rules.token:
        if not await may_guess(request):
            return TOO_MANY
        if is_token(site.rules, asked.bearer):
            guesses_of(request).was_right(request.state.client)
            return Proof.BEARER
        log.warning("login failed", address=request.state.client, by="bearer")
        return Proof.NONE
    cookie = get_cookie(request, SESSION)
    if not cookie:
        return Proof.NONE
    state = await run_in_threadpool(site.logins.look_up, cookie)
    if state is SessionState.UNKNOWN:  # after the look-up, whose time tells nothing about 256 bits
        if not await may_guess(request):
            return TOO_MANY
        log.warning("login failed", address=request.state.client, by="cookie")
    request.state.has_dead_cookie = state is not SessionState.OPEN
    return Proof.SESSION if state is SessionState.OPEN else Proof.NONE


def _refused(request: Request, refusal: Refusal) -> Response:
    log.info("request refused", path=_kind_of(path_of(request)), status=refusal.status)
    if path_of(request).startswith("/api/"):
        return JSONResponse({"error": refusal.message}, refusal.status)
    if refusal.login and request.method in ("GET", "HEAD"):
        return RedirectResponse(f"/login?next={quote(address_of(request))}", 303)
    return show_problem(request, refusal.status, refusal.message)


def _failed(request: Request, error: Exception) -> Response:
    """Say that a page failed; the operator is told why where the error is one of ours.

    It may name files of the machine, which visitors need not know.
    """
    is_ours = isinstance(error, MonitorError)
    status = 503 if is_ours else 500
    may_know = is_ours and viewer_of(request).is_operator
    message = str(error) if may_know else "This page could not be made; the log says why."
    if path_of(request).startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return show_problem(request, status, message)


def _route_of(request: Request) -> str:
    """Return the path of a page as its route has it: no token, and no name of a reader."""
    return str(getattr(request.scope.get("route"), "path", ""))


def _kind_of(path: str) -> str:
    """Return a path without the token that may be in it.

    Characters that a terminal would obey are percent-encoded.
    """
    return next((f"{prefix}…" for prefix in SIGNED if path.startswith(prefix)), quote(path))


def _dead_cookie(request: Request, present: set[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the header by which a browser forgets a session that ended, unless another began."""
    if b"set-cookie" in present or not getattr(request.state, "has_dead_cookie", False):
        return []
    answer = Response()
    forget_cookie(request, answer, SESSION)
    return [header for header in answer.raw_headers if header[0] == b"set-cookie"]


def _longest(request: Request) -> int:
    return LONGEST_OF_SLACK if path_of(request).startswith(SLACK) else LONGEST_BODY


def _limited(receive: Receive, left: int) -> Receive:
    """Cut off a body without a length that is too long, as if the client were gone."""

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return read


def _with_headers(request: Request, send: Send) -> Send:
    signed = path_of(request).startswith(SIGNED)

    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
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
                *((name, value) for name, value in headers.items() if name not in present),
                *_dead_cookie(request, present),
            ]
        await send(message)

    return write
