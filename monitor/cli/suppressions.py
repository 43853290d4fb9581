"""Suppressions: recipients who are sent nothing more, whatever the configuration says."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from monitor.app import App
from monitor.cli.opening import open_configured, open_to_read
from monitor.cli.options import Call, argument, flag, option, parse_time
from monitor.cli.terminal import show_table
from monitor.commands.suppressions import lift
from monitor.commands.suppressions import suppress as stop
from monitor.digest.paper_json import plain
from monitor.errors import UsageError
from monitor.model import Suppression
from monitor.store.digests import suppressions

RECIPIENT = argument("RECIPIENT", "An e-mail address, or a channel's recipient.")
OF_SUBSCRIPTION = option("--subscription", "NAME", "Only this one (default: all).")


def suppressions_list(call: Call) -> None:
    with open_to_read(call) as app:
        _answer(call, app)


def suppressions_add(
    call: Call,
    recipient: str = RECIPIENT,
    subscription: str = OF_SUBSCRIPTION,
    until: str = option("--until", "DATE", "Only until then (ISO 8601)."),
    force: bool = flag("--force", "Also an address that is not configured yet."),
) -> None:
    with open_configured(call, create=False) as app:
        end = parse_time("--until", until, ZoneInfo(app.settings.timezone)) if until else None
        if end and end <= app.runtime.clock.now():
            raise UsageError(f"--until: {until} is over")
        stop(app.runtime, recipient, subscription, until=end, force=force)
        _answer(call, app, recipient)


def suppressions_lift(
    call: Call,
    recipient: str = RECIPIENT,
    subscription: str = OF_SUBSCRIPTION,
) -> None:
    with open_configured(call, create=False) as app:
        if not lift(app.runtime, recipient, subscription):
            of = f"for the subscription {subscription}" if subscription else "for all subscriptions"
            raise UsageError(
                f"{recipient} is not suppressed {of}", "`paper-monitor suppressions` lists who is"
            )
        _answer(call, app, recipient)


def suppressions_confirm(call: Call) -> None:
    with open_configured(call, create=False) as app:
        with app.runtime.database.writing() as tx:
            suppressions.confirm(tx, app.runtime.clock.now())
        _answer(call, app)


def _answer(call: Call, app: App, recipient: str | None = None) -> None:
    with app.runtime.database.reading() as tx:
        listed = suppressions.listing(tx, app.runtime.clock.now(), recipient)
    call.answer({"suppressions": plain(listed)}, _show, listed)


def _show(listed: list[Suppression]) -> None:
    rows = [
        (
            s.recipient,
            s.subscription or "all",
            s.since,
            s.until or "permanently",
            f"{s.how}: {s.reason}" if s.reason else s.how,
        )
        for s in listed
    ]
    columns = ("Recipient", "Subscription", "Since", "Until", "How")
    show_table(columns, rows, "Nobody is suppressed.")
