"""Options that several commands share, and how a command ends."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from monitor.errors import QueryError, UsageError

if TYPE_CHECKING:
    from monitor.app import App
    from monitor.config import Settings

Config = Annotated[
    Path,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        envvar="PAPER_MONITOR_CONFIG",
        help="The configuration file.",
    ),
]
CONFIG = Path("monitor.yaml")
AsJson = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document to stdout.")
]
Now = Annotated[
    str | None,
    typer.Option("--now", metavar="ISO-8601", help="Act as if this were the current time."),
]


class ListFirst(TyperGroup):
    """A group of commands that, alone or with the options of `list`, lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


PART = 10_000  # pieces of JSON that are written at once
# Calendars reckon some years around a moment: what is further away than this is a slip.
YEARS = range(1970, 2970)


def moment(now: str | None) -> datetime | None:
    """Read `--now`; a moment without a zone is UTC. Raises UsageError."""
    if now is None:
        return None
    try:
        parsed = datetime.fromisoformat(now)
    except ValueError:
        parsed = datetime.min
    if parsed.year not in YEARS:
        raise UsageError(
            f"--now: {now!r} is not a valid ISO 8601 date and time",
            "for example 2026-11-21T08:00+01:00",
        )
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


@contextmanager
def open_configured(config: Path, now: str | None = None, *, create: bool = True) -> Iterator[App]:
    """Open the store and channels that a configuration file names, and close them again.

    Without `create` a store that does not exist is not created: raises NoStoreError.
    """
    with _open(_settings(config), now, create=create) as app:
        yield app


@contextmanager
def open_to_read(config: Path, now: str | None = None) -> Iterator[App]:
    """Open a store to read it, also with a configuration that has faults: they are warnings here.

    Nothing can be sent. Raises NoStoreError where there is no store yet, and ConfigError where
    the file does not say which it is.
    """
    from monitor.cli import report_output
    from monitor.config import load_for_reading
    from monitor.store.opening import queries_in_force

    settings, faults = load_for_reading(config, active_queries=queries_in_force)
    report_output.left_out(faults)
    with _open(settings, now, create=False) as app:
        yield app


@contextmanager
def open_or_empty(config: Path, now: str | None = None) -> Iterator[App]:
    """Open a store, or where there is none yet an empty one, which is gone at the end.

    `App.settings.store` is the one that the configuration names in either case.
    """
    from monitor.store.opening import is_there

    settings = _settings(config)
    if is_there(settings.store):
        with _open(settings, now, create=False) as app:
            yield app
        return
    with tempfile.TemporaryDirectory(prefix="paper-monitor-") as folder:
        empty = settings.model_copy(update={"store": f"sqlite:///{folder}/monitor.db"})
        with _open(empty, now) as app:
            yield replace(app, settings=settings)


def _settings(config: Path) -> Settings:
    from monitor.app import load_settings
    from monitor.log import set_up_logging

    set_up_logging()
    return load_settings(config)


@contextmanager
def _open(settings: Settings, now: str | None, *, create: bool = True) -> Iterator[App]:
    from monitor.app import open_app
    from monitor.clocks import clock_at
    from monitor.log import set_up_logging

    set_up_logging()
    with open_app(settings, clock_at(moment(now)), create=create) as app:
        yield app


@contextmanager
def pointing(query: str) -> Iterator[None]:
    """Refuse a query that cannot be understood with a caret under the place."""
    from monitor.config.messages import pointed

    try:
        yield
    except QueryError as fault:
        raise UsageError(pointed(query, fault)) from None


def emit(document: dict[str, Any]) -> None:
    """Write the one JSON document of a command, in ASCII where stdout is not UTF-8."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    written = json.JSONEncoder(ensure_ascii=plain, indent=2).iterencode(document)
    while part := "".join(islice(written, PART)):  # one of a large dump never stands in memory
        sys.stdout.write(part)
    sys.stdout.write("\n")
    sys.stdout.flush()


def finish(ok: bool) -> NoReturn:
    raise typer.Exit(0 if ok else 1)
