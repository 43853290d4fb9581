"""Commands that an operator needs: deliveries, doctor, send-test, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    ListFirst,
    Now,
    emit,
    finish,
    moment,
    open_configured,
    open_or_empty,
    open_to_read,
)

if TYPE_CHECKING:
    from monitor.app import App
    from monitor.commands.heartbeat import Check


deliveries = typer.Typer(cls=ListFirst, help="List, retry and resolve deliveries.")

mail = typer.Typer(help="Log in to a mail account without a password.")

DeliveryId = Annotated[
    int, typer.Argument(metavar="ID", min=1, max=2**63 - 1, help="The id that `deliveries` shows.")
]


@deliveries.command("list")
def list_(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """List the deliveries, newest first."""
    from monitor.cli import run_output
    from monitor.commands import json_output
    from monitor.store import deliveries as stored_deliveries

    with open_to_read(config, now) as app, app.runtime.database.reading() as tx:
        listed = stored_deliveries.listing(tx)
    if as_json:
        emit(json_output.deliveries(listed))
    else:
        run_output.deliveries(listed)


@deliveries.command()
def retry(
    id_: DeliveryId, config: Config = CONFIG, now: Now = None, as_json: AsJson = False
) -> None:
    """Retry a failed, waiting or suppressed delivery now."""
    from monitor.store import uncertain_deliveries

    with open_configured(config, now, create=False) as app:
        with app.runtime.database.writing() as tx:
            uncertain_deliveries.retry(tx, id_, app.runtime.clock.now())
        app.deliver()
        _report(app, id_, as_json)


@deliveries.command()
def resolve(
    id_: DeliveryId,
    fate: Annotated[
        Literal["sent", "resend"],
        typer.Argument(help="`sent` if it arrived, `resend` to send it again."),
    ],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Mark an uncertain delivery as sent, or send it again."""
    from monitor.pipeline.settle_deliveries import resolve

    with open_configured(config, now, create=False) as app:
        resolve(app.runtime, id_, fate)
        if fate == "resend":
            app.deliver()
        _report(app, id_, as_json)


def _report(app: App, id_: int, as_json: bool) -> None:
    from monitor.cli import run_output
    from monitor.commands import json_output
    from monitor.model import DeliveryState
    from monitor.store import deliveries as stored_deliveries

    with app.runtime.database.reading() as tx:
        delivery = stored_deliveries.get(tx, id_)
    if as_json:
        emit(json_output.deliveries([delivery]))
    else:
        run_output.deliveries([delivery])
    finish(delivery.state is DeliveryState.SENT)


def doctor(
    alive: Annotated[
        bool,
        typer.Option("--alive", metavar="", help="Only whether the service lives and can record."),
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation and explain how to fix problems."""
    from monitor.cli import report_output
    from monitor.commands import json_output

    checks = _alive(config) if alive else _examine(config, now)
    if as_json:
        emit(json_output.checks(checks))
    else:
        report_output.checks(checks)
    finish(all(check.ok for check in checks))


def _alive(config: Path) -> list[Check]:
    """Ask the store alone: a file with a new fault is no illness of the service that runs."""
    from monitor.commands.heartbeat import vital_signs
    from monitor.config import store_url
    from monitor.store.database import Database

    database = Database(store_url(config))
    try:
        return vital_signs(database)
    finally:
        database.close()


def _examine(config: Path, now: str | None) -> list[Check]:
    from monitor.commands.doctor import before_first_run
    from monitor.commands.doctor import doctor as examine
    from monitor.store.database import Database
    from monitor.store.opening import is_there

    with open_or_empty(config, now) as app:
        store, files, slack = app.settings.store, [app.settings.file], app.settings.slack
        if is_there(store):
            return examine(app.runtime, files, slack)
        return before_first_run(app.runtime, str(Database(store)), files, slack)


@mail.callback()
def mail_commands() -> None:
    """Log in to a mail account without a password."""


@mail.command()
def login(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """Consent once that mail is sent from the account; its refresh token is kept in the store."""
    from monitor.commands.mail_login import log_in

    def say(text: str) -> None:
        typer.echo(text, err=as_json)

    def ask(question: str) -> str:
        return str(typer.prompt(question, err=as_json))

    with open_configured(config, now) as app:
        missing = log_in(app.runtime, say, ask)
    if as_json:
        emit({"ok": not missing, "missing": missing or None})
    else:
        typer.echo(f"Still missing: {missing}" if missing else "The mail server accepts the login.")
    finish(not missing)


def send_test(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="SUBSCRIPTION", show_default=False)
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Send a test message to the recipients of all subscriptions, or of those named."""
    from monitor.cli import run_output
    from monitor.commands import json_output
    from monitor.commands.send_test import send_test as send

    with open_or_empty(config, now) as app:
        tried = send(app.runtime, names or ())
    if as_json:
        emit(json_output.sent_tests(tried))
    else:
        run_output.sent_tests(tried)
    finish(all(one.state == "sent" for one in tried))


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE")],
    with_tokens: Annotated[
        bool, typer.Option("--with-tokens", help="Include the refresh tokens of mail accounts.")
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Copy a SQLite store to a file, also while the service is running."""
    with open_to_read(config, now) as app:
        app.runtime.database.backup(target, with_tokens=with_tokens)
    if as_json:
        emit({"path": str(target), "bytes": target.stat().st_size})
    else:
        typer.echo(f"Wrote {target} ({target.stat().st_size:,} bytes).")


def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE")],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup. Deliveries that may already have been sent are held for you to confirm."""
    from monitor.app import load_settings
    from monitor.clocks import clock_at
    from monitor.store.restore import restore as put_back

    store = load_settings(config).store
    held, kept = put_back(store, source, clock_at(moment(now)).now())
    if as_json:
        emit({"held": held, "replaced": str(kept) if kept else None})
        return
    typer.echo(f"Restored {source}." + (f" The previous store was kept as {kept}." if kept else ""))
    if held:
        typer.echo(
            f"{held} deliveries are held for you to confirm; see `paper-monitor deliveries`."
        )
    if doubt := _doubt(store):
        typer.echo(f"List of suppressions: {doubt}.")


def _doubt(store: str) -> str:
    """Return why the suppressions of a restored store have to be confirmed, "" if they have not."""
    from monitor.store import incidents, suppressions
    from monitor.store.database import Database

    database = Database(store)
    try:
        with database.reading() as tx:
            return incidents.open_error(tx, suppressions.LIST, suppressions.UNCONFIRMED)
    finally:
        database.close()
