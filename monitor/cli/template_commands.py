"""`templates preview`: a user's templates with the sample dumps."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, moment

templates = typer.Typer(help="See what your templates make of the sample papers.")


@templates.command()
def preview(
    browser: Annotated[
        bool, typer.Option("--open/--no-open", metavar="", help="Open the pages in a browser.")
    ] = True,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Write digests of the sample papers as pages, mails and Slack messages. Sends nothing."""
    from monitor.cli import run_output
    from monitor.cli.terminal import open_pages
    from monitor.commands import json_output
    from monitor.commands.preview import preview_templates
    from monitor.config import load
    from monitor.log import set_up_logging

    set_up_logging()
    written = preview_templates(load(config).templates, moment(now))
    if as_json:
        emit(json_output.previews(written))
        return
    run_output.rehearsals(written)
    if browser:
        open_pages(one.deliveries[0].reference for one in written)
