"""Suppressions: recipients who are sent nothing more, whatever the configuration says."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from monitor.app import App
from monitor.cli.opening import open_configured, open_to_read
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, argument, flag, option
from monitor.cli.terminal import console, show_table
from monitor.commands.json_output import suppressions_json
from monitor.commands.suppressions import suppress as stop
from monitor.errors import UsageError
from monitor.model import Suppression
from monitor.store.digests import suppressions

Recipient = Annotated[str, argument("RECIPIENT", "An e-mail address, or a channel's recipient.")]
OfSubscription = Annotated[str, option("--subscription", "NAME", "Only this one (default: all).")]


def suppressions_list(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    with open_to_read(config, now) as app:
        _answer(app, None, as_json)


def suppressions_add(
    recipient: Recipient,
    subscription: OfSubscription = "",
    until: Annotated[str, option("--until", "DATE", "Only until then (ISO 8601).")] = "",
    force: Annotated[bool, flag("--force", "Also an address that is not configured yet.")] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_configured(config, now, create=False) as app:
        end = _parse_until(until, app.settings.timezone)
        if end is not None and end <= app.runtime.clock.now():
            raise UsageError(f"--until: {until} is over")
        stop(app.runtime, recipient, subscription, until=end, force=force)
        _answer(app, recipient, as_json)


def suppressions_lift(
    recipient: Recipient,
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_configured(config, now, create=False) as app:
        with app.runtime.database.writing() as tx:
            lifted = suppressions.lift(tx, recipient, subscription)
        if not lifted:
            of = f"for the subscription {subscription}" if subscription else "for all subscriptions"
            raise UsageError(
                f"{recipient} is not suppressed {of}", "`paper-monitor suppressions` lists who is"
            )
        _answer(app, recipient, as_json)


def suppressions_confirm(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    with open_configured(config, now, create=False) as app:
        with app.runtime.database.writing() as tx:
            suppressions.confirm(tx, app.runtime.clock.now())
        _answer(app, None, as_json)


def _answer(app: App, recipient: str | None, as_json: bool) -> None:
    with app.runtime.database.reading() as tx:
        listed = suppressions.listing(tx, app.runtime.clock.now(), recipient)
    answer(as_json, suppressions_json(listed), _show, listed)


def _show(listed: list[Suppression]) -> None:
    if not listed:
        console.print("Nobody is suppressed.")
        return
    rows = [
        (s.recipient, s.subscription or "all", s.since, s.until or "permanently", s.how)
        for s in listed
    ]
    show_table(("Recipient", "Subscription", "Since", "Until", "How"), rows)


def _parse_until(until: str, zone: str) -> datetime | None:
    """Read `--until`; a date is its beginning in the time zone of the configuration."""
    if not until:
        return None
    with suppress(ValueError):
        parsed = datetime.fromisoformat(until)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=ZoneInfo(zone))
    raise UsageError(f"--until: {until!r} is not a date", "for example 2026-12-24")
