"""`/login`, `/logout`, and the zone in which a visitor sees times."""

from __future__ import annotations

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.web_login import SESSION_LASTS
from monitor.config.settings import valid_zone
from monitor.errors import UsageError
from monitor.web.forms import form
from monitor.web.guesses import TRY_LATER, guesses_of, may_guess
from monitor.web.site import (
    SESSION,
    ZONE,
    Form,
    forget_cookie,
    get_cookie,
    go,
    set_cookie,
    show,
    show_problem,
    site_of,
    viewer_of,
)

YEAR = 365 * 86_400

log = structlog.get_logger()


def show_login(request: Request) -> Response:
    """Ask for a token, or for a click where the address has one: looking changes nothing."""
    onward = request.query_params.get("next", "/")
    if viewer_of(request).is_known:
        return go(_own_path(onward))
    if not site_of(request).rules.takes_logins:
        return show_problem(request, 404, "The proxy in front of these pages logs people in.")
    return _ask(request, onward, request.query_params.get("token", ""))


async def log_in(request: Request) -> Response:
    """Begin a session; wrong tokens are counted, and after some of them wait for each other."""
    if not await may_guess(request):
        return await run_in_threadpool(show_problem, request, 429, TRY_LATER)
    return await form(_begin_session)(request)


def _begin_session(request: Request, fields: Form) -> Response:
    site, onward = site_of(request), fields.get("next", "/")
    token = fields.get("token", "").strip()
    cookie = site.logins.begin(token) if site.rules.takes_logins else None
    if cookie is None:
        log.warning("login failed", address=request.state.client, by="token")
        return _ask(request, onward, wrong=True)
    guesses_of(request).was_right(request.state.client)
    log.info("logged in", address=request.state.client)
    answer = go(_own_path(onward))
    set_cookie(request, answer, SESSION, cookie, int(SESSION_LASTS.total_seconds()))
    return answer


def _ask(request: Request, onward: str, token: str = "", *, wrong: bool = False) -> Response:
    has_token = bool(site_of(request).rules.token)
    status = 403 if wrong else 200
    return show(
        request, "login", status, next=onward, token=token, wrong=wrong, has_token=has_token
    )


def log_out(request: Request, fields: Form) -> Response:
    cookie = get_cookie(request, SESSION)
    if cookie:
        site_of(request).logins.end(cookie)
    answer = go("/login")
    forget_cookie(request, answer, SESSION)
    return answer


def choose_zone(request: Request, fields: Form) -> Response:
    """Show times in another zone from now on, or in the server's."""
    answer = go(_own_path(fields.get("next", "/")))
    chosen = fields.get("zone", "").strip()
    if not chosen:
        forget_cookie(request, answer, ZONE)
        return answer
    try:
        valid_zone(chosen)
    except ValueError as error:
        raise UsageError(str(error), "write a name such as Europe/Berlin") from None
    set_cookie(request, answer, ZONE, chosen, YEAR)
    return answer


def _own_path(path: str) -> str:
    """Return a path of these pages: never that of another site, such as //example.org."""
    return path if path.startswith("/") and path[1:2] not in ("/", "\\") else "/"


ROUTES = [
    Route("/login", show_login),
    Route("/login", log_in, methods=["POST"]),
    Route("/logout", form(log_out), methods=["POST"]),
    Route("/zone", form(choose_zone), methods=["POST"]),
]
