"""Commands that do the work: demo, init, ingest, digest, run, serve, worker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, finish, moment, open_configured
from monitor.errors import UsageError
from monitor.private_files import create_file, make_folder

if TYPE_CHECKING:
    from monitor.app import App, DigestReport

Sources = Annotated[list[str] | None, typer.Argument(metavar="SOURCE", show_default=False)]
Subscriptions = Annotated[
    list[str] | None, typer.Argument(metavar="SUBSCRIPTION", show_default=False)
]


class Failures:
    """The subscriptions whose digests could not be composed, with the reasons."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []

    def add(self, subscription: str, fault: Exception) -> None:
        self.found.append((subscription, str(fault) or type(fault).__name__))


def demo(
    directory: Annotated[Path, typer.Argument(metavar="DIR")] = Path("demo"),
    open_: Annotated[
        bool, typer.Option("--open", metavar="", help="Open the digests in a browser.")
    ] = False,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Process four sample dumps and write digest pages locally. Needs no account or server."""
    from monitor import demo as play
    from monitor.cli import run_output, terminal
    from monitor.log import set_up_logging

    set_up_logging()
    with terminal.reading(quiet=as_json) as on_progress:
        result = play.demo(directory, moment(now), on_progress)
    if as_json:
        emit(result.json())
    else:
        run_output.demo(result)
    if open_:
        terminal.open_pages([str(result.index)])
    finish(result.ok)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a commented monitor.yaml that works as is."""
    from monitor.config import starter

    target = directory / "monitor.yaml"
    if target.exists():
        raise UsageError(f"{target} already exists", "it is left unchanged; choose another folder")
    make_folder(directory / "dumps")
    with create_file(target) as file:
        file.write(starter().encode())
    if as_json:
        emit({"path": str(target)})
    else:
        typer.echo(f"Wrote {target}. Put a dump into {directory / 'dumps'}/ and then:")
        typer.echo("  paper-monitor run" + ("" if directory == Path() else f" --config {target}"))


def ingest(
    names: Sources = None,
    accept: Annotated[
        bool, typer.Option("--accept", metavar="", help="Store a reading that was held back.")
    ] = False,
    silently: Annotated[
        bool,
        typer.Option("--silently", metavar="", help="Store its papers without announcing them."),
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Read all sources, or those named, and match new papers."""
    from monitor.cli import run_output, terminal
    from monitor.commands import json_output
    from monitor.model import FirstRun

    if accept and not names:
        raise UsageError("--accept needs at least one source name")
    if silently and not accept:
        raise UsageError("--silently is only valid together with --accept")
    worth = FirstRun.BASELINE if silently else FirstRun.DELIVER
    with open_configured(config, now) as app, terminal.reading(quiet=as_json) as on_progress:
        runs = app.ingest(names or (), on_progress, worth if accept else None)
        app.match()
    if as_json:
        emit(json_output.runs(runs))
    else:
        run_output.runs(runs)
    finish(json_output.runs_ok(runs))


def digest(
    names: Subscriptions = None,
    early: Annotated[
        bool,
        typer.Option(
            "--early", metavar="", help="Send the next digest of the named subscriptions now."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", metavar="", help="Write the digests as pages; send and store nothing."
        ),
    ] = False,
    order: Annotated[
        Literal["learned", "words", "newest"] | None,
        typer.Option("--order", show_default=False, help="Another order, with --dry-run only."),
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Compose and send the digests that are due."""
    from monitor.cli import run_output
    from monitor.commands import json_output
    from monitor.commands.upcoming import upcoming

    _refuse_unclear(names, early, dry_run, order)
    failed = Failures()
    with open_configured(config, now, create=not dry_run) as app:
        if dry_run:
            sent = _rehearse(app, names or (), early, failed, order)
        else:
            sent = app.digest(names or (), early, on_failure=failed.add)
        waiting = [] if as_json or sent or failed.found else upcoming(app.runtime, names or ())
    if as_json:
        emit(json_output.digests(sent, failed.found))
    else:
        run_output.digests(sent, failed.found, waiting, config, rehearsed=dry_run)
    finish(json_output.digests_ok(sent, failed.found, rehearsed=dry_run))


def _rehearse(
    app: App, names: Sequence[str], early: bool, failed: Failures, order: str | None
) -> list[DigestReport]:
    from monitor.commands.preview import dry_run

    return dry_run(app.runtime, names, early, failed.add, order)


def _refuse_unclear(
    names: Sequence[str] | None, early: bool, dry_run: bool, order: str | None
) -> None:
    if early and not names:
        raise UsageError("--early needs at least one subscription name")
    if order and not dry_run:
        raise UsageError("--order needs --dry-run", "`order:` of a subscription sets its order")


def run(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """Run `ingest` and `digest` once, for use with cron."""
    from monitor.cli import run_output, terminal
    from monitor.commands import json_output
    from monitor.commands.upcoming import upcoming

    failed = Failures()
    with open_configured(config, now) as app:
        with terminal.reading(quiet=as_json) as on_progress:
            runs = app.ingest((), on_progress)
        sent = app.digest(ignore_backoff=False, on_failure=failed.add)
        waiting = [] if as_json or sent or failed.found else upcoming(app.runtime)
        if as_json:
            emit(json_output.runs(runs) | json_output.digests(sent, failed.found))
        else:
            run_output.runs(runs)
            run_output.digests(sent, failed.found, waiting, config)
        app.upkeep()
    finish(json_output.runs_ok(runs) and json_output.digests_ok(sent, failed.found))


def serve(
    pages: Annotated[
        bool, typer.Option("--pages/--no-pages", metavar="", help="Serve the pages, too.")
    ] = True,
    config: Config = CONFIG,
    now: Now = None,
) -> None:
    """Run as a service: read sources, send digests on schedule, and serve the pages."""
    import logging

    from monitor.cli.web_commands import offer_login
    from monitor.clocks import clock_at
    from monitor.log import set_up_logging
    from monitor.service.scheduler import Service

    set_up_logging(logging.INFO)
    clock = clock_at(moment(now), running=True)
    Service(config, clock, with_pages=pages, on_pages=offer_login).run()


def worker(config: Config = CONFIG, now: Now = None) -> None:
    """Run a worker process for a PostgreSQL store; jobs are queued by `serve`."""
    import logging

    from monitor.clocks import clock_at
    from monitor.log import set_up_logging
    from monitor.service.workers import Worker

    set_up_logging(logging.INFO)
    Worker(config, clock_at(moment(now), running=True)).run()
