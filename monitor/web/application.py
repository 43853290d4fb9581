"""The pages as one application: its routes, and what it shows to whom."""

from __future__ import annotations

import ipaddress

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from monitor.commands.web_login import Logins
from monitor.config import Settings, WebSettings
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.web.access import AccessRules
from monitor.web.guard import Guard
from monitor.web.guesses import Guesses
from monitor.web.pages import (
    api,
    deliveries,
    digests,
    exports,
    feeds,
    metrics,
    papers,
    ratings,
    reader,
    session,
    slack,
    sources,
    static,
    today,
    topics,
)
from monitor.web.site import Site, SlackRequests, own_threads, path_of, show_problem

# Exports have addresses that digests and papers would take for one of theirs.
PAGES = (
    today,
    exports,
    feeds,
    metrics,
    digests,
    papers,
    ratings,
    topics,
    sources,
    deliveries,
    session,
    reader,
    slack,
    api,
    static,
)


def open_site(settings: Settings, runtime: Runtime, *, on_unix_socket: bool = False) -> Site:
    """Return what pages show, and to whom, as a configuration says."""
    rules = access_rules(settings, on_unix_socket=on_unix_socket)
    return Site(
        runtime=runtime,
        rules=rules,
        url=rules.url,
        titles={entry.name: entry.settings.title or entry.name for entry in runtime.subscriptions},
        source_titles={
            name: entry.settings.title or name for name, entry in runtime.sources.items()
        },
        logins=Logins(runtime.database, rules.token),
        slack=_slack_requests(settings, runtime),
    )


def _slack_requests(settings: Settings, runtime: Runtime) -> SlackRequests | None:
    slack = settings.slack
    if slack is None or slack.signing_secret is None or not settings.public_url:
        return None
    from monitor.commands.slack_answers import SlackAnswers

    return SlackRequests(slack.signing_secret.reveal(), SlackAnswers(runtime, slack).take)


def access_rules(settings: Settings, *, on_unix_socket: bool = False) -> AccessRules:
    """Return who may see and do what, as a configuration says."""
    web = settings.web or WebSettings()
    return AccessRules(
        url=settings.public_url or "",
        token=web.token.reveal() if web.token else "",
        user_header=(web.user_header or "").lower(),
        operators=frozenset(address.lower() for address in web.operators),
        proxies=tuple(ipaddress.ip_network(network) for network in web.trusted_proxies),
        proxy_secret=web.proxy_secret.reveal() if web.proxy_secret else "",
        on_unix_socket=on_unix_socket,
    )


def make_application(site: Site, guesses: Guesses | None = None) -> Starlette:
    """Return the ASGI application of a site."""
    application = Starlette(
        routes=[route for part in PAGES for route in part.ROUTES],
        middleware=[Middleware(Guard)],
        exception_handlers={HTTPException: _on_http_error, UsageError: _on_usage_error},
    )
    application.state.site = site
    application.state.guesses = guesses or Guesses()
    application.state.threads = own_threads()
    return application


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if path_of(request).startswith("/api/"):
        return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)
    # Starlette's own words for a path without a route.
    message = "There is no such page." if error.detail == "Not Found" else error.detail
    return show_problem(request, error.status_code, message)


def _on_usage_error(request: Request, error: Exception) -> Response:
    """Answer that what an address names is not there; of forms, see `forms`."""
    assert isinstance(error, UsageError)
    if path_of(request).startswith("/api/"):
        return JSONResponse({"error": str(error)}, 404)
    return show_problem(request, 404, error.message, error.hint)
