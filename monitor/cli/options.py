"""Options and arguments that several commands share, and how a command answers."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVarTuple

import typer

from monitor.errors import UsageError

Values = TypeVarTuple("Values")


def flag(name: str, summary: str) -> Any:
    """Return an option that takes no value."""
    return typer.Option(name, metavar="", help=summary)


def option(name: str, metavar: str, summary: str) -> Any:
    return typer.Option(name, metavar=metavar, show_default=False, help=summary)


def argument(metavar: str, summary: str | None = None) -> Any:
    return typer.Argument(metavar=metavar, show_default=False, help=summary)


PAPER = "An id, identifier, link or title."
CONFIG = Path("monitor.yaml")
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
AsJson = Annotated[bool, flag("--json", "Print one JSON document to stdout.")]
Now = Annotated[str | None, option("--now", "ISO-8601", "Act as if this were the current time.")]
# Pieces of JSON written together: the JSON of a large store is never in memory as a whole.
PIECES = 10_000
# Schedules are worked out for some years around the current time.
YEARS = range(1970, 2970)


def parse_now(now: str | None) -> datetime | None:
    """Read `--now`; a time without a zone is UTC. Raises UsageError."""
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


def full_command(words: str, config: Path) -> str:
    """Return a command of this program as a shell takes it, for the same configuration."""
    file = "" if config == CONFIG else f" --config {shlex.quote(str(config))}"
    return f"paper-monitor {words}{file}"


def answer(
    as_json: bool,
    document: dict[str, Any],
    show: Callable[[*Values], None] | str,
    *values: *Values,
) -> None:
    """Write the JSON document of a command, or else a sentence or what `show` makes of values."""
    if as_json:
        emit(document)
    elif isinstance(show, str):
        typer.echo(show)
    else:
        show(*values)


def emit(document: dict[str, Any]) -> None:
    """Write the one JSON document of a command, in ASCII where stdout is not UTF-8."""
    is_ascii = "utf" not in (sys.stdout.encoding or "").lower()
    pieces = json.JSONEncoder(ensure_ascii=is_ascii, indent=2).iterencode(document)
    while text := "".join(islice(pieces, PIECES)):
        sys.stdout.write(text)
    sys.stdout.write("\n")
    sys.stdout.flush()


def finish(ok: bool) -> NoReturn:
    raise typer.Exit(0 if ok else 1)
