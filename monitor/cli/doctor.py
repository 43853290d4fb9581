"""Checks of the installation, each with how to fix it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, finish, flag
from monitor.cli.terminal import console, with_mark
from monitor.commands.heartbeat import Check, vital_signs
from monitor.commands.json_output import pick
from monitor.config import store_url
from monitor.store.engine.database import Database
from monitor.store.engine.opening import is_there


def doctor(
    alive: Annotated[
        bool,
        flag("--alive", "Only whether the service lives and can record."),
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    if alive:
        # Only the store is read: a fault in the configuration does not make the service unhealthy.
        with closing(Database(store_url(config))) as database:
            checks = vital_signs(database)
    else:
        checks = _examine(config, now)
    ok = all(check.ok for check in checks)
    document = {"ok": ok, "checks": [pick(check, "name ok message") for check in checks]}
    answer(as_json, document, _show_checks, checks)
    finish(ok)


def _examine(config: Path, now: str | None) -> list[Check]:
    # The health check of every minute needs neither channels nor stages.
    from monitor.cli.opening import open_or_empty
    from monitor.commands import doctor

    with open_or_empty(config, now) as app:
        store, files, slack = app.settings.store, [app.settings.file], app.settings.slack
        if is_there(store):
            return doctor.doctor(app.runtime, files, slack)
        return doctor.before_first_run(app.runtime, str(Database(store)), files, slack)


def _show_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        mark = ("!", "bold yellow") if check.warning else ("✓", "green")
        mark = mark if check.ok else ("✗", "bold red")
        console.print(with_mark(*mark, f"{check.name}: {check.message}"))
