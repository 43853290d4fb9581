"""The long-running processes: the service, a worker, and the pages alone with their login."""

from __future__ import annotations

import logging
import sys
import tempfile
from datetime import datetime
from html import escape

import structlog
import typer

from monitor.app import App
from monitor.cli.opening import open_configured
from monitor.cli.options import CONFIG, AsJson, Call, Config, Now, flag, full_command, option
from monitor.cli.terminal import open_pages
from monitor.clocks import Clock, clock_at
from monitor.commands.web_login import login_address
from monitor.log import set_up_logging
from monitor.service.scheduler import Service
from monitor.service.workers import Worker

log = structlog.get_logger()


def serve(
    pages: bool = flag("--pages/--no-pages", "Serve the pages, too.", default=True),
    config: Config = CONFIG,
    now: Now = None,
) -> None:
    clock = _start(now)
    Service(config, clock, with_pages=pages, on_pages=_offer_login).run()


def worker(config: Config = CONFIG, now: Now = None) -> None:
    Worker(config, _start(now)).run()


def web_serve(
    listen: str = option(
        "--listen", "ADDRESS", "HOST:PORT or unix:PATH, in place of the configured address."
    ),
    config: Config = CONFIG,
    now: Now = None,
) -> None:
    from monitor.service.pages import Pages  # a web server, which `serve` has in another process

    Pages(config, _start(now), on_pages=_offer_login, listen=listen).run()


def _start(now: datetime | None) -> Clock:
    set_up_logging(logging.INFO)
    return clock_at(now, running=True)


def web_login(
    open_: bool = flag("--open", "Open the address in a browser."),
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    call = Call(config, as_json=as_json)
    with open_configured(call, create=False) as app:
        address = login_address(app.runtime)
    call.answer({"url": address}, address)
    if open_:
        open_pages([_write_redirect(address)])


def _write_redirect(address: str) -> str:
    """Return a private file that redirects: every account can read a browser's command line."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="paper-monitor-login-", suffix=".html", delete=False
    ) as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={escape(address)}">')
    return file.name


def _offer_login(app: App) -> None:
    """Print a login address on a terminal; a log gets the command for one instead."""
    settings = app.settings
    if settings.web is None or settings.web.token or settings.web.user_header:
        return
    if sys.stdout.isatty():
        address = login_address(app.runtime)
        typer.echo(f"Open the pages, once and within 15 minutes: {address}")
    else:
        file = CONFIG if settings.file == CONFIG.absolute() else settings.file
        log.info("log in to the pages", command=full_command("web login", file))
