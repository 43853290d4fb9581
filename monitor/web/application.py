"""The pages as one application: its routes, and what it shows to whom."""

from __future__ import annotations

import ipaddress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from monitor.commands.slack_answers import SlackAnswers
from monitor.commands.web_login import Logins
from monitor.config import Settings, WebSettings
from monitor.errors import QueryError, UsageError
from monitor.pipeline.runtime import Runtime
from monitor.web.access import AccessRules
from monitor.web.guard import Guard
from monitor.web.pages import (
    api,
    deliveries,
    digests,
    exports,
    feeds,
    papers,
    reader,
    search,
    session,
    sources,
    today,
    topics,
)
from monitor.web.site import API, Site, Visit

# Exports have addresses that digests and papers would take for one of theirs.
ROUTES = [
    *today.routes,
    *exports.routes,
    *feeds.routes,
    *digests.routes,
    *search.routes,
    *papers.routes,
    *topics.routes,
    *sources.routes,
    *deliveries.routes,
    *session.routes,
    *reader.routes,
    *api.routes,
]


def open_site(settings: Settings, runtime: Runtime, *, on_unix_socket: bool = False) -> Site:
    """Return what pages show, and to whom, as a configuration says."""
    rules = access_rules(settings, on_unix_socket=on_unix_socket)
    slack = settings.slack if rules.slack_secret and rules.url else None
    return Site(
        runtime=runtime,
        rules=rules,
        titles={entry.name: entry.settings.title or entry.name for entry in runtime.subscriptions},
        source_titles={
            name: entry.settings.title or name for name, entry in runtime.sources.items()
        },
        logins=Logins(runtime.database, rules.token),
        slack=SlackAnswers(runtime, slack) if slack else None,
    )


def access_rules(settings: Settings, *, on_unix_socket: bool = False) -> AccessRules:
    """Return who may see and do what, as a configuration says."""
    web, slack = settings.web or WebSettings(), settings.slack
    return AccessRules(
        url=settings.public_url or "",
        token=web.token.reveal() if web.token else "",
        user_header=(web.user_header or "").lower(),
        operators=frozenset(address.lower() for address in web.operators),
        proxies=tuple(ipaddress.ip_network(network) for network in web.trusted_proxies),
        proxy_secret=web.proxy_secret.reveal() if web.proxy_secret else "",
        slack_secret=slack.signing_secret.reveal() if slack and slack.signing_secret else "",
        on_unix_socket=on_unix_socket,
    )


def make_application(site: Site) -> Starlette:
    """Return the ASGI application of a site."""
    application = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Guard)],
        exception_handlers={
            HTTPException: _on_http_error,
            UsageError: _on_usage_error,
            QueryError: _on_query_error,
            ClientDisconnect: _on_disconnect,
        },
    )
    application.state.site = site
    return application


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # Starlette's own words for a path without a route.
    message = "There is no such page." if error.detail == "Not Found" else error.detail
    return Visit(request.scope).show_problem(error.status_code, message)


def _on_usage_error(request: Request, error: Exception) -> Response:
    """Answer that there is nothing with the name in an address; for forms, see `routes`."""
    assert isinstance(error, UsageError)
    return Visit(request.scope).show_problem(404, error.message, error.hint)


def _on_query_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, QueryError)
    visit = Visit(request.scope)
    if visit.path.startswith(API):
        return JSONResponse({"error": str(error), "position": error.position}, 400)
    return visit.show_problem(400, str(error), error.hint)


def _on_disconnect(request: Request, error: Exception) -> Response:
    """Answer a client that closed its connection within a body: nothing was changed."""
    return PlainTextResponse("cut off", 400)
