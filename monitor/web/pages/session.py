"""`/login`, `/logout`, and the zone in which a visitor sees times."""

from __future__ import annotations

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from monitor.commands.web_login import SESSION_LASTS
from monitor.config.settings import valid_zone
from monitor.errors import UsageError
from monitor.web.access import Role
from monitor.web.guesses import TRY_LATER
from monitor.web.routes import Form, PageRoute, Routes, handle_form
from monitor.web.site import SESSION, ZONE, Visit, go, own_path

YEAR = 365 * 86_400

log = structlog.get_logger()
routes = Routes()


@routes.page("/login", Role.NOBODY)
def show_login(visit: Visit) -> Response:
    """Ask for a token, or for a click where the address has one: looking changes nothing."""
    onward = visit.query_params.get("next", "/")
    if visit.viewer.is_known:
        return go(own_path(onward))
    if not visit.site.rules.takes_logins:
        return visit.show_problem(404, "The proxy in front of these pages logs people in.")
    return _ask(visit, onward, visit.query_params.get("token", ""))


async def log_in(request: Request) -> Response:
    """Begin a session; wrong tokens are counted, and after some of them wait for each other."""
    visit = Visit(request.scope)
    if not await visit.site.guesses.wait(visit.visitor_address):
        return await run_in_threadpool(visit.show_problem, 429, TRY_LATER)
    return await handle_form(_begin_session, request)


routes.append(PageRoute("/login", log_in, Role.NOBODY, "POST"))


def _begin_session(visit: Visit, fields: Form) -> Response:
    site = visit.site
    onward = fields.get("next", "/")
    token = fields.get("token", "").strip()
    cookie = site.logins.begin(token) if site.rules.takes_logins else None
    if cookie is None:
        log.warning("login failed", address=visit.visitor_address, by="token")
        return _ask(visit, onward, wrong=True)
    site.guesses.was_right(visit.visitor_address)
    log.info("logged in", address=visit.visitor_address)
    answer = go(own_path(onward))
    visit.set_cookie(answer, SESSION, cookie, int(SESSION_LASTS.total_seconds()))
    return answer


def _ask(visit: Visit, onward: str, token: str = "", *, wrong: bool = False) -> Response:
    has_token = bool(visit.site.rules.token)
    status = 403 if wrong else 200
    return visit.show("login", status, next=onward, token=token, wrong=wrong, has_token=has_token)


@routes.form("/logout", Role.READER)
def log_out(visit: Visit, fields: Form) -> Response:
    cookie = visit.cookie(SESSION)
    if cookie:
        visit.site.logins.end(cookie)
    answer = go("/login")
    visit.forget_cookie(answer, SESSION)
    return answer


@routes.form("/zone", Role.READER)
def choose_zone(visit: Visit, fields: Form) -> Response:
    """Show times in another zone from now on, or in the server's."""
    answer = go(own_path(fields.get("next", "/")))
    chosen = fields.get("zone", "").strip()
    if not chosen:
        visit.forget_cookie(answer, ZONE)
        return answer
    try:
        valid_zone(chosen)
    except ValueError as error:
        raise UsageError(str(error), "write a name such as Europe/Berlin") from None
    visit.set_cookie(answer, ZONE, chosen, YEAR)
    return answer
