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
from monitor.config import WebSettings
from monitor.errors import UsageError
from monitor.log import set_up_logging
from monitor.service.demo import DemoProcess
from monitor.service.first_start import FirstStartService
from monitor.service.scheduler import Service
from monitor.service.workers import Worker

log = structlog.get_logger()


def serve(
    pages: bool = flag("--pages/--no-pages", "Serve the pages, too.", default=True),
    first_start: str = option(
        "--first-start",
        "ADDRESS",
        "In an empty folder, write monitor.yaml, and show a demo to everybody at HOST:PORT until "
        "it is edited.",
    ),
    config: Config = CONFIG,
    now: Now = None,
) -> None:
    clock = _start(now)
    if not first_start:
        Service(config, clock, with_pages=pages, on_pages=_offer_login).run()
        return
    if not pages:
        raise UsageError("--first-start serves pages; leave out --no-pages")
    try:
        web = WebSettings.open_to_all(first_start)
    except ValueError as fault:
        raise UsageError(f"--first-start: {fault}") from None
    demo = DemoProcess(web, [sys.executable, "-m", "monitor.cli.demo_pages"])
    FirstStartService(config, clock, on_pages=_say_how_to_log_in, demo=demo).run()


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
        _log_login(app)


def _say_how_to_log_in(app: App) -> None:
    """Log how to log in to a container, whose terminal is a log and whose loopback is its own."""
    web = app.settings.web
    if web and (web.token or not web.user_header):
        _log_login(app)
    if not app.settings.public_url:
        hint = "from outside of a container, they need web.token, web.listen and public_url"
        log.warning("pages are for this machine only", hint=hint)


def _log_login(app: App) -> None:
    """Log the command for a login address, and no address: a log is read by others."""
    settings = app.settings
    file = CONFIG if settings.file == CONFIG.absolute() else settings.file
    log.info("log in to the pages", command=full_command("web login", file))
