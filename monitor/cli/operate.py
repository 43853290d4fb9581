"""Commands that an operator needs: deliveries, doctor, send-test, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, finish, opened
from monitor.errors import UsageError

deliveries = typer.Typer(help="The outbox: what was sent, what waits, what a person must settle.")

DeliveryId = Annotated[int, typer.Argument(metavar="ID", help="As `deliveries` lists it.")]


@deliveries.callback(invoke_without_command=True)
def _deliveries(
    context: typer.Context, config: Config = CONFIG, as_json: AsJson = False
) -> None:
    """The outbox: what was sent, what waits, what a person must settle."""
    if context.invoked_subcommand is None:
        _list(config, as_json)


@deliveries.command("list")
def list_(config: Config = CONFIG, as_json: AsJson = False) -> None:
    """List the deliveries, newest first."""
    _list(config, as_json)


def _list(config: Path, as_json: bool) -> None:
    from monitor.cli import answers, show
    from monitor.store import deliveries as outbox

    with opened(config) as app, app.parts.database.reading() as tx:
        listed = outbox.listing(tx)
    if as_json:
        emit(answers.deliveries(listed))
    else:
        show.deliveries(listed)


@deliveries.command()
def retry(
    id_: DeliveryId, config: Config = CONFIG, now: Now = "", as_json: AsJson = False
) -> None:
    """Try a delivery again now that failed, waits or was suppressed."""
    from monitor.store import deliveries as outbox

    with opened(config, now) as app:
        with app.parts.database.writing() as tx:
            outbox.retry(tx, id_, app.parts.clock.now())
        app.deliver()
        _report(app, id_, as_json)


@deliveries.command()
def resolve(
    id_: DeliveryId,
    fate: Annotated[str, typer.Argument(metavar="sent|resend", help="What you found out.")],
    config: Config = CONFIG,
    now: Now = "",
    as_json: AsJson = False,
) -> None:
    """Settle a delivery of which nobody knows whether it arrived."""
    from monitor.store import deliveries as outbox

    if fate not in ("sent", "resend"):
        raise UsageError(f"a delivery is resolved as sent or resend, not {fate!r}")
    with opened(config, now) as app:
        with app.parts.database.writing() as tx:
            outbox.resolve(tx, id_, fate, app.parts.clock.now())
        if fate == "resend":
            app.deliver()
        _report(app, id_, as_json)
