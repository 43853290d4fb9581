"""The store as a whole: backed up and restored."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import typer

from monitor.app import load_settings
from monitor.cli.opening import open_to_read
from monitor.cli.options import Call, argument, flag
from monitor.clocks import clock_at
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.store.digests import incidents
from monitor.store.engine.database import Database
from monitor.store.restore import restore as restore_store


def backup(
    call: Call,
    target: Path = argument("FILE"),
    with_tokens: bool = flag("--with-tokens", "Include the refresh tokens of mail accounts."),
) -> None:
    with open_to_read(call) as app:
        app.runtime.database.backup(target, with_tokens=with_tokens)
    size = target.stat().st_size
    document = {"path": str(target), "bytes": size}
    call.answer(document, f"Wrote {target} ({size:,} bytes).")


def restore(call: Call, source: Path = argument("FILE")) -> None:
    store = load_settings(call.config).store
    held, replaced = restore_store(store, source, clock_at(call.now).now())
    document = {"held": held, "replaced": str(replaced) if replaced else None}
    previous = f" The previous store was kept as {replaced}." if replaced else ""
    call.answer(document, _show_restored, store, f"Restored {source}.{previous}", held)


def _show_restored(store: str, done: str, held: int) -> None:
    typer.echo(done)
    if held:
        what = "1 delivery is" if held == 1 else f"{held:,} deliveries are"
        typer.echo(f"{what} held for you to confirm; see `paper-monitor deliveries`.")
    # The suppressions have to be confirmed if those of the replaced store could not be read.
    with closing(Database(store)) as database, database.reading() as tx:
        doubt = incidents.open_error(
            tx, Subject(SubjectKind.SUPPRESSIONS), IncidentKind.UNCONFIRMED
        )
    if doubt:
        typer.echo(f"List of suppressions: {doubt}.")
