"""The door: each request is admitted or refused, and answered with safe headers."""

from __future__ import annotations

from urllib.parse import quote

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.errors import MonitorError
from monitor.web.access import (
    Asked,
    Proof,
    Refusal,
    Role,
    Viewer,
    admit,
    client_address,
    may_compress,
    refuse_way,
    same_secret,
)
from monitor.web.guesses import TRY_LATER
from monitor.web.routes import PageRoute, find_route
from monitor.web.site import SESSION, Visit

log = structlog.get_logger()

TOO_MANY = Refusal(429, TRY_LATER)

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
        # Level 9 takes twice the time to save 3 percent.
        self.compressing = GZipMiddleware(app, minimum_size=1000, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(scope)
        if visit.site.is_https:  # or a redirect would lead to http, since a proxy ends TLS
            scope["scheme"] = "https"
        visit.state.viewer = Viewer(Role.NOBODY)
        visit.state.zone = visit.chosen_zone()
        visit.state.can_log_out = bool(visit.cookie(SESSION))
        visit.state.has_dead_cookie = False
        route = find_route(visit.app.routes, scope)
        has_started = False

        async def answer(message: Message) -> None:
            nonlocal has_started
            has_started = True
            if message["type"] == "http.response.start":
                _add_headers(visit, route, MutableHeaders(scope=message))
            await send(message)

        try:
            asked = _asked(visit, route)
            refusal = await _refuse(visit, asked)
            if refusal:
                await _refused(visit, route, refusal)(scope, receive, answer)
            elif may_compress(visit.site.rules, asked):
                await self.compressing(scope, receive, answer)
            else:
                await self.app(scope, receive, answer)
        except Exception as error:  # one page that fails stops no other
            path = route.path if route else ""  # no token, and no name of a reader
            log.error("page failed", path=path, error=str(error), exc_info=error)
            # An answer that has begun cannot become another one: the server closes its connection,
            # by which the client sees that it is incomplete.
            if not has_started:
                await _failed(visit, error)(scope, receive, answer)


def _asked(visit: Visit, route: PageRoute | None) -> Asked:
    return Asked(
        method=visit.method,
        path=visit.path,
        peer=visit.client.host if visit.client else "",
        # Of a header that is sent twice, all values (RFC 9110, 5.3).
        headers={name: ", ".join(visit.headers.getlist(name)) for name in visit.headers},
        role=route.role if route else Role.READER,
        has_token=route.has_token if route else False,
    )


async def _refuse(visit: Visit, asked: Asked) -> Refusal | None:
    """Note who asks, or return why the request is refused."""
    rules = visit.site.rules
    refusal = refuse_way(rules, asked)
    if refusal:
        return refusal
    visit.state.visitor_address = client_address(rules, asked)
    takes_proof = rules.takes_logins and not asked.has_token
    proof = await _prove(visit, asked) if takes_proof else Proof.NONE
    admitted = proof if isinstance(proof, Refusal) else admit(rules, asked, proof)
    if isinstance(admitted, Refusal):
        visit.state.viewer = admitted.viewer
        return admitted
    visit.state.viewer = admitted
    return None


async def _prove(visit: Visit, asked: Asked) -> Proof | Refusal:
    """Look at the token or the cookie of a request. A wrong one counts as a guess."""
    site = visit.site
    visitor = visit.visitor_address
    if asked.bearer and site.rules.token:
        is_right = same_secret(asked.bearer, site.rules.token)
        if not await site.guesses.wait(visitor, is_right=is_right):
            return TOO_MANY
        if is_right:
            return Proof.BEARER
        log.warning("login failed", address=visitor, by="bearer")
        return Proof.NONE
    cookie = visit.cookie(SESSION)
    if not cookie:
        return Proof.NONE
    is_open = await run_in_threadpool(site.logins.look_up, cookie)
    if is_open is None:  # after the look-up, whose time tells nothing about 256 bits
        if not await site.guesses.wait(visitor):
            return TOO_MANY
        log.warning("login failed", address=visitor, by="cookie")
    visit.state.has_dead_cookie = not is_open
    return Proof.SESSION if is_open else Proof.NONE


def _refused(visit: Visit, route: PageRoute | None, refusal: Refusal) -> Response:
    # Without a route, what follows the first part of a path may be a token that was cut off.
    path = route.path if route else quote("/".join(visit.path.split("/")[:2]))
    log.info("request refused", path=path, status=refusal.status)
    if refusal.login and visit.method in ("GET", "HEAD"):
        return RedirectResponse(f"/login?next={quote(visit.address)}", 303)
    return visit.show_problem(refusal.status, refusal.message)


def _failed(visit: Visit, error: Exception) -> Response:
    """Answer that a page failed; an operator also sees an error of ours.

    It may name files of the machine, which visitors need not know.
    """
    message = "This page could not be made; the log says why."
    if not isinstance(error, MonitorError):
        return visit.show_problem(500, message)
    return visit.show_problem(503, str(error) if visit.viewer.is_operator else message)


def _add_headers(visit: Visit, route: PageRoute | None, headers: MutableHeaders) -> None:
    headers.setdefault("content-security-policy", POLICY)
    # A token in an address goes nowhere else.
    has_token = route is not None and route.has_token
    headers.setdefault("referrer-policy", "no-referrer" if has_token else "same-origin")
    headers.setdefault("x-robots-tag", "noindex, nofollow")
    headers.setdefault("x-content-type-options", "nosniff")
    headers.setdefault("cache-control", "no-store")
    if visit.state.has_dead_cookie:  # unless another session begins
        forget = Response()
        visit.forget_cookie(forget, SESSION)
        headers.setdefault("set-cookie", forget.headers["set-cookie"])
