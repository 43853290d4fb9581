"""`/login`, `/logout`, and the zone in which somebody sees times."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.config.zones import zone as valid_zone
from monitor.errors import UsageError
from monitor.store import login_attempts
from monitor.web.access import SESSION, is_token
from monitor.web.forms import form
from monitor.web.site import ZONE, Form, go, show, show_problem, site_of, viewer_of

MONTH, YEAR = 30 * 86_400, 365 * 86_400


def show_login(request: Request) -> Response:
    """Ask for the token, where there is one and who asks has not given it yet."""
    onward = request.query_params.get("next", "/")
    if viewer_of(request).is_known:
        return go(_own_path(onward))
    if not site_of(request).rules.token:
        return show_problem(request, 404, "The proxy in front of these pages logs people in.")
    return show(request, "login", next=onward, wrong=False)


def log_in(request: Request, fields: Form) -> Response:
    site, onward = site_of(request), fields.get("next", "/")
    if not _may_try(request):
        message = "Too many attempts to log in. Wait an hour, and try again."
        return show_problem(request, 429, message)
    if not site.rules.token or not is_token(site.rules, fields.get("token", "").strip()):
        return show(request, "login", 403, next=onward, wrong=True)
    answer = go(_own_path(onward))
    answer.set_cookie(
        SESSION,
        site.rules.session,
        max_age=MONTH,
        httponly=True,
        samesite="lax",
        secure=site.is_https,
    )
    return answer


def _may_try(request: Request) -> bool:
    runtime, peer = site_of(request).runtime, request.client.host if request.client else ""
    with runtime.database.writing() as tx:
        return login_attempts.may_try(tx, peer, runtime.clock.now())


def log_out(request: Request, fields: Form) -> Response:
    answer = go("/login")
    answer.delete_cookie(SESSION)
    return answer


def choose_zone(request: Request, fields: Form) -> Response:
    """Show times in another zone from now on, or in the server's."""
    answer = go(_own_path(fields.get("next", "/")))
    chosen = fields.get("zone", "").strip()
    if not chosen:
        answer.delete_cookie(ZONE)
        return answer
    try:
        valid_zone(chosen)
    except ValueError as error:
        raise UsageError(str(error), "write a name such as Europe/Berlin") from None
    answer.set_cookie(ZONE, chosen, max_age=YEAR, httponly=True, samesite="lax")
    return answer


def _own_path(path: str) -> str:
    """Return a path of these pages: never that of another site, such as //example.org."""
    return path if path.startswith("/") and path[1:2] not in ("/", "\\") else "/"


ROUTES = [
    Route("/login", show_login),
    Route("/login", form(log_in), methods=["POST"]),
    Route("/logout", form(log_out), methods=["POST"]),
    Route("/zone", form(choose_zone), methods=["POST"]),
]
