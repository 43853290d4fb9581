"""The store as a whole: backed up and restored."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from monitor.app import load_settings
from monitor.cli.opening import open_to_read
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, argument, emit, flag, parse_now
from monitor.clocks import clock_at
from monitor.store.digests import incidents, suppressions
from monitor.store.engine.database import Database
from monitor.store.restore import restore as restore_store


def backup(
    target: Annotated[Path, argument("FILE")],
    with_tokens: Annotated[
        bool, flag("--with-tokens", "Include the refresh tokens of mail accounts.")
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_to_read(config, now) as app:
        app.runtime.database.backup(target, with_tokens=with_tokens)
    size = target.stat().st_size
    document = {"path": str(target), "bytes": size}
    answer(as_json, document, f"Wrote {target} ({size:,} bytes).")


def restore(
    source: Annotated[Path, argument("FILE")],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    store = load_settings(config).store
    held, replaced = restore_store(store, source, clock_at(parse_now(now)).now())
    if as_json:
        emit({"held": held, "replaced": str(replaced) if replaced else None})
        return
    previous = f" The previous store was kept as {replaced}." if replaced else ""
    typer.echo(f"Restored {source}.{previous}")
    if held:
        typer.echo(
            f"{held} deliveries are held for you to confirm; see `paper-monitor deliveries`."
        )
    # The suppressions have to be confirmed if those of the replaced store could not be read.
    with closing(Database(store)) as database, database.reading() as tx:
        doubt = incidents.open_error(tx, suppressions.LIST, suppressions.UNCONFIRMED)
    if doubt:
        typer.echo(f"List of suppressions: {doubt}.")
