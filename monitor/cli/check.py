"""`check`: the configuration, topics and templates."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.text import Text

from monitor.cli.options import CONFIG, AsJson, Call, Config
from monitor.cli.terminal import console, print_faults
from monitor.commands.json_output import plain
from monitor.config import load
from monitor.errors import ConfigError, Fault


def check(config: Config = CONFIG, as_json: AsJson = False) -> None:
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    # Jinja, SQLAlchemy and NumPy take most of the time of a check: imported only if needed.
    try:
        settings = load(config)
        warnings = settings.warnings
        if settings.templates:
            from monitor.commands.sample_digest import template_faults

            faults = tuple(template_faults(settings.templates))
        if not _is_missing(settings.store):
            from monitor.commands.topic_width import topic_warnings

            warnings = (*warnings, *topic_warnings(settings))
    except ConfigError as fault:
        from monitor.commands.topic_width import explain_parked_faults

        faults = explain_parked_faults(config, fault.faults)
    print_faults(warnings, "bold yellow")
    if faults and not as_json:
        print_faults(faults, "bold red")
    else:
        document = {"ok": not faults, "faults": plain(faults), "warnings": plain(warnings)}
        valid = Text(f"{config} is valid.", "green")
        Call(config, as_json=as_json).answer(document, lambda: console.print(valid))
    raise typer.Exit(2 if faults else 0)


def _is_missing(url: str) -> bool:
    """Return whether a store is a SQLite file that does not exist; loads no SQLAlchemy."""
    path = url.removeprefix("sqlite:///").partition("?")[0]
    return url.startswith("sqlite:///") and not Path(path).exists()
