"""What every page has at hand, and how it is written out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from monitor.commands.web_login import Logins
from monitor.config.settings import valid_zone
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.resources import resource
from monitor.web.access import AccessRules, Viewer

# Cookies: the operator's session, and the zone in which a visitor sees times.
SESSION, ZONE = "paper-monitor", "zone"

Form = Mapping[str, str]
Page = Callable[[Request], Response]
Endpoint = Callable[[Request], Awaitable[Response]]

# Pages that take much work are made one at a time: several at once would take more memory, and no
# less time. Searches have a thread of their own, so that other pages do not wait for them.
PAGES, SEARCHES = "pages", "searches"


@dataclass(frozen=True, slots=True)
class SlackRequests:
    """The secret that Slack signs its requests with, and who takes what is chosen in a menu."""

    secret: str = field(repr=False)
    take: Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one installation: what they show, who may see it, where they are.

    `titles` and `source_titles` are what people call subscriptions and sources.
    """

    runtime: Runtime
    rules: AccessRules
    url: str
    titles: Mapping[str, str]
    source_titles: Mapping[str, str]
    logins: Logins
    slack: SlackRequests | None = None

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https:")


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


def viewer_of(request: Request) -> Viewer:
    return cast("Viewer", request.state.viewer)


def own_threads() -> dict[str, ThreadPoolExecutor]:
    """Return a thread for the pages of a server, and one for its searches."""
    return {kind: ThreadPoolExecutor(1, thread_name_prefix=kind) for kind in (PAGES, SEARCHES)}


def one_at_a_time(page: Page, kind: str = PAGES) -> Endpoint:
    """Return an endpoint for a page that takes much work."""

    async def answer(request: Request) -> Response:
        thread = request.app.state.threads[kind]
        return await asyncio.get_running_loop().run_in_executor(thread, page, request)

    return answer


def path_of(request: Request) -> str:
    """Return the path by which routes are chosen.

    `request.url` is put together with the Host header, and a wrong one moves parts of it.
    """
    return cast("str", request.scope["path"])


def get_cookie(request: Request, name: str) -> str:
    return request.cookies.get(_cookie_name(request, name), "")


def set_cookie(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    """Set a cookie of this host alone, which scripts of pages cannot read."""
    answer.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=site_of(request).is_https,
    )


def forget_cookie(request: Request, answer: Response, name: str) -> None:
    set_cookie(request, answer, name, "", 0)


def _cookie_name(request: Request, name: str) -> str:
    """Return the name of a cookie: with `__Host-` no other host of the domain can set it."""
    return f"__Host-{name}" if site_of(request).is_https else name


def zone_of(request: Request) -> str:
    """Return the zone in which this viewer sees times: their choice, or the server's."""
    chosen = get_cookie(request, ZONE)
    try:
        return valid_zone(chosen) if chosen else site_of(request).runtime.timezone
    except ValueError:
        return site_of(request).runtime.timezone


def address_of(request: Request) -> str:
    """Return the path and query of a page that can be opened again, "/" after a form."""
    if request.method not in ("GET", "HEAD"):
        return "/"
    path, query = quote(path_of(request)), request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def show(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page: a template of templates/pages with what all pages have."""
    site = site_of(request)
    content = site.runtime.fallback_templates.render(
        f"pages/{template}.html.j2",
        viewer=viewer_of(request),
        path=path_of(request),
        address=address_of(request),
        asset=asset_address,
        zone=zone_of(request),
        own_zone=site.runtime.timezone,
        can_log_out=bool(get_cookie(request, SESSION)),
        **values,
    )
    return HTMLResponse(content, status)


def show_problem(request: Request, status: int, message: str, hint: str = "") -> HTMLResponse:
    return show(request, "problem", status, code=status, message=message, hint=hint)


def go(path: str, **query: str) -> RedirectResponse:
    """Send the browser on to another page after a form was handled."""
    return RedirectResponse(with_query(path, query), 303)


def with_query(path: str, query: Mapping[str, Any]) -> str:
    wanted = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{path}?{urlencode(wanted)}" if wanted else path


def path_to(*parts: object) -> str:
    """Return a path of names, each percent-encoded."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def require_subscription(request: Request, name: str) -> str:
    """Return a name of a subscription that the viewer may see; there is no page of another."""
    if name not in {subscription.name for subscription in subscriptions_of(request)}:
        raise HTTPException(404, f"There is no subscription “{name}”.")
    return name


def subscriptions_of(request: Request) -> tuple[Subscription, ...]:
    """Return the subscriptions that a viewer may see: an operator all, a reader their own."""
    site, viewer = site_of(request), viewer_of(request)
    if viewer.is_operator:
        return site.runtime.subscriptions
    wanted = viewer.address.strip().lower()
    return tuple(
        s
        for s in site.runtime.subscriptions
        if any(to.lower() == wanted for way in s.destinations for to in way.recipients)
    )


# ── style, script and icon ──────────────────────────────────────────────────────────


# The media type of each, and the files of templates/ that it is made of.
ASSETS = {
    "icon.svg": ("image/svg+xml", ("pages/icon.svg",)),
    "style.css": ("text/css; charset=utf-8", ("web/style.css", "pages/style.css")),
    "pages.js": ("text/javascript; charset=utf-8", ("pages/pages.js",)),
}


@cache
def asset_content(name: str) -> bytes:
    parts = (resource("templates") / part for part in ASSETS[name][1])
    return b"\n".join(part.read_bytes() for part in parts)


@cache
def asset_address(name: str) -> str:
    """Return the address of a file: another version has another one, since browsers keep it."""
    return f"/static/{name}?{hashlib.sha256(asset_content(name)).hexdigest()[:8]}"
