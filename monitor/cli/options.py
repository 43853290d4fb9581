"""Options that several commands share, and how a command ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.app import App

Config = Annotated[
    Path,
    typer.Option("--config", "-c", envvar="PAPER_MONITOR_CONFIG", help="The configuration file."),
]
CONFIG = Path("monitor.yaml")
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Now = Annotated[
    str,
    typer.Option("--now", metavar="ISO-8601", help="Act as if it were this moment."),
]


def moment(now: str) -> datetime | None:
    """Read `--now`; a moment without a zone is UTC. Raises UsageError."""
    if not now:
        return None
    try:
        told = datetime.fromisoformat(now)
    except ValueError:
        raise UsageError(
            f"--now: {now!r} is no ISO 8601 date and time", "for example 2026-11-21T08:00+01:00"
        ) from None
    return told if told.tzinfo else told.replace(tzinfo=UTC)


@contextmanager
def opened(config: Path, now: str = "") -> Iterator[App]:
    """Open the store and channels that a configuration file names, and close them again."""
    from monitor.app import clock_at, open_app
    from monitor.config import load
    from monitor.log import set_up_logging

    set_up_logging()
    with open_app(load(config), clock_at(moment(now))) as app:
        yield app


def emit(document: dict[str, Any]) -> None:
    """Write the one JSON document of a command."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def finish(ok: bool) -> NoReturn:
    raise typer.Exit(0 if ok else 1)
