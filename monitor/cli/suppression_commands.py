"""`suppressions`: who is sent nothing more, whatever the configuration says."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    ListFirst,
    Now,
    emit,
    open_configured,
    open_to_read,
)
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.app import App

suppressions = typer.Typer(
    cls=ListFirst, help="List, add and lift suppressions: recipients who are sent nothing more."
)

Recipient = Annotated[
    str, typer.Argument(metavar="RECIPIENT", help="An e-mail address, or a channel's recipient.")
]
OfSubscription = Annotated[
    str,
    typer.Option(
        "--subscription", metavar="NAME", show_default=False, help="Only this one (default: all)."
    ),
]


@suppressions.command("list")
def list_(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """List who is sent nothing, since when, until when, and who asked for it."""
    with open_to_read(config, now) as app:
        _show(app, None, as_json)


@suppressions.command()
def add(
    recipient: Recipient,
    subscription: OfSubscription = "",
    until: Annotated[
        str,
        typer.Option(
            "--until", metavar="DATE", show_default=False, help="Only until then (ISO 8601)."
        ),
    ] = "",
    force: Annotated[
        bool,
        typer.Option("--force", metavar="", help="Also an address that is not configured yet."),
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Send a recipient nothing more, permanently or until a date."""
    from monitor.commands.suppress import suppress

    with open_configured(config, now, create=False) as app:
        end = _moment(until, app.settings.timezone)
        if end is not None and end <= app.runtime.clock.now():
            raise UsageError(f"--until: {until} is over")
        suppress(app.runtime, recipient, subscription, until=end, force=force)
        _show(app, recipient, as_json)


@suppressions.command()
def lift(
    recipient: Recipient,
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Send a recipient digests again, beginning with the next."""
    from monitor.store import suppressions as stored

    with open_configured(config, now, create=False) as app:
        with app.runtime.database.writing() as tx:
            lifted = stored.lift(tx, recipient, subscription)
        if not lifted:
            of = f"for the subscription {subscription}" if subscription else "for all subscriptions"
            raise UsageError(
                f"{recipient} is not suppressed {of}", "`paper-monitor suppressions` lists who is"
            )
        _show(app, recipient, as_json)


@suppressions.command()
def confirm(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """Confirm that the list is complete, after a restore that could not read the replaced store."""
    from monitor.store import suppressions as stored

    with open_configured(config, now, create=False) as app:
        with app.runtime.database.writing() as tx:
            stored.confirm(tx, app.runtime.clock.now())
        _show(app, None, as_json)


def _show(app: App, recipient: str | None, as_json: bool) -> None:
    from monitor.cli import run_output
    from monitor.commands import json_output
    from monitor.store import suppressions as stored

    with app.runtime.database.reading() as tx:
        listed = stored.listing(tx, app.runtime.clock.now(), recipient)
    if as_json:
        emit(json_output.suppressions(listed))
    else:
        run_output.suppressions(listed)


def _moment(until: str, zone: str) -> datetime | None:
    """Read `--until`; a date is its beginning in the time zone of the configuration."""
    if not until:
        return None
    with contextlib.suppress(ValueError):
        parsed = datetime.fromisoformat(until)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=ZoneInfo(zone))
    raise UsageError(f"--until: {until!r} is not a date", "for example 2026-12-24")
