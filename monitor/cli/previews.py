"""Digests as pages, mails and Slack messages, of a subscription or of a user's templates."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from monitor.app import DigestReport
from monitor.cli.opening import open_configured
from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    Now,
    answer,
    argument,
    flag,
    option,
    parse_now,
)
from monitor.cli.terminal import open_pages
from monitor.cli.work import show_rehearsals
from monitor.commands import preview as previews
from monitor.commands.json_output import Answer, pick
from monitor.config import load
from monitor.log import set_up_logging


class Form(StrEnum):
    """How a digest may be written."""

    PAGE = "page"
    EMAIL = "email"
    SLACK = "slack"


def preview(
    subscription: Annotated[str, argument("SUBSCRIPTION")] = "",
    period: Annotated[
        str, option("--period", "PERIOD", "A past digest instead of the next one.")
    ] = "",
    channel: Annotated[
        Form, typer.Option("--channel", help="The form in which to write it.")
    ] = Form.PAGE,
    browser: Annotated[bool, flag("--open/--no-open", "Open the page in a browser.")] = True,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_configured(config, now, create=False) as app:
        written = previews.preview(app.runtime, subscription, period, channel.value)
    _answer(written, browser, as_json)


def templates_preview(
    browser: Annotated[bool, flag("--open/--no-open", "Open the pages in a browser.")] = True,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    set_up_logging()
    written = previews.preview_templates(load(config).templates, parse_now(now))
    _answer(written, browser, as_json)


def _answer(written: Sequence[DigestReport], browser: bool, as_json: bool) -> None:
    answer(as_json, _json(written), show_rehearsals, written)
    if browser and not as_json:
        open_pages(digest.deliveries[0].reference for digest in written)


def _json(written: Sequence[DigestReport]) -> Answer:
    return {
        "digests": [
            pick(digest, "subscription period papers") | {"path": digest.deliveries[0].reference}
            for digest in written
        ]
    }
