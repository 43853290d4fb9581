"""What every page has at hand, and how it is written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from monitor.config.zones import zone as valid_zone
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.web import assets
from monitor.web.access import AccessRules, Viewer

ZONE = "zone"

Form = Mapping[str, str]
Page = Callable[[Request], Response]


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
    slack: SlackRequests | None = None

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https:")


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


def viewer_of(request: Request) -> Viewer:
    return cast("Viewer", request.state.viewer)


def zone_of(request: Request) -> str:
    """Return the zone in which this viewer sees times: their choice, or the server's."""
    chosen = request.cookies.get(ZONE, "")
    try:
        return valid_zone(chosen) if chosen else site_of(request).runtime.timezone
    except ValueError:
        return site_of(request).runtime.timezone


def address_of(request: Request) -> str:
    """Return the path and query of a page that can be opened again, "/" after a form."""
    if request.method not in ("GET", "HEAD"):
        return "/"
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def show(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page: a template of templates/pages with what all pages have."""
    site = site_of(request)
    content = site.runtime.fallback_templates.render(
        f"pages/{template}.html.j2",
        viewer=viewer_of(request),
        path=request.url.path,
        address=address_of(request),
        asset=assets.address,
        zone=zone_of(request),
        own_zone=site.runtime.timezone,
        can_log_out=bool(site.rules.token),
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


def subscriptions_of(request: Request) -> tuple[Subscription, ...]:
    """Return the subscriptions that a viewer may see: an operator all, a reader their own."""
    site, viewer = site_of(request), viewer_of(request)
    if viewer.is_operator:
        return site.runtime.subscriptions
    wanted = viewer.address.strip().lower()
    return tuple(
        one
        for one in site.runtime.subscriptions
        if any(to.lower() == wanted for way in one.ways for to in way.recipients)
    )
