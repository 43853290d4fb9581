"""`web`: the pages alone; `web login`: an address that logs the operator in."""

from __future__ import annotations

import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, moment, open_configured
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.app import App

web = typer.Typer(invoke_without_command=True)


@web.callback()
def serve_pages(
    context: typer.Context,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            show_default=False,
            help="HOST:PORT or unix:PATH, in place of the configured address.",
        ),
    ] = "",
    config: Config = CONFIG,
    now: Now = None,
) -> None:
    """Serve the pages alone, beside a service with `--no-pages` or on another address."""
    if context.invoked_subcommand:
        if listen or now:
            raise UsageError(f"--listen and --now are not for `web {context.invoked_subcommand}`")
        context.default_map = {context.invoked_subcommand: {"config": str(config)}}
        return
    import logging

    from monitor.clocks import clock_at
    from monitor.log import set_up_logging
    from monitor.service.pages import Pages

    set_up_logging(logging.INFO)
    Pages(config, clock_at(moment(now), running=True), listen, on_pages=offer_login).run()


@web.command()
def login(
    open_: Annotated[
        bool, typer.Option("--open", metavar="", help="Open the address in a browser.")
    ] = False,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Print an address that logs the operator in, once and within 15 minutes."""
    from monitor.cli import terminal
    from monitor.commands.web_login import login_address

    with open_configured(config, create=False) as app:
        address = login_address(app.settings, app.runtime.database, app.runtime.clock)
    if as_json:
        emit({"url": address})
    else:
        typer.echo(address)
    if open_:
        terminal.open_pages([_write_redirect(address)])


def _write_redirect(address: str) -> str:
    """Return a private file that leads to the address.

    The command line of a browser can be read by every account of the machine.
    """
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="paper-monitor-login-", suffix=".html", delete=False
    ) as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={escape(address)}">')
    return file.name


def offer_login(app: App) -> None:
    """Print the address of a login where a person reads it; a log names the command instead."""
    import structlog

    from monitor.commands.web_login import login_address

    settings = app.settings
    if settings.web is None or settings.web.token or settings.web.user_header:
        return
    if sys.stdout.isatty():
        address = login_address(settings, app.runtime.database, app.runtime.clock)
        typer.echo(f"Open the pages, once and within 15 minutes: {address}")
    else:
        command = "paper-monitor web login" + _config_option(settings.file)
        log = structlog.get_logger()
        log.info("log in to the pages", command=command)


def _config_option(file: Path) -> str:
    return "" if file == CONFIG.absolute() else f" --config {file}"
