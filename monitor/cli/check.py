"""`check`: the configuration, topics and templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.text import Text

from monitor.cli.options import CONFIG, AsJson, Call, Config
from monitor.cli.terminal import console, print_faults
from monitor.config import load_for_reading
from monitor.digest.paper_json import plain
from monitor.errors import ConfigError, Fault

PARKED = (
    "This topic was accepted before: the service starts, but the topic matches nothing until its "
    "query is corrected."
)


def check(config: Config = CONFIG, as_json: AsJson = False) -> None:
    warnings: list[Fault] = []
    may_repeat: tuple[str, ...] = ()
    # Jinja, SQLAlchemy and NumPy take most of the time of a check: imported only if needed.
    try:
        settings, invalid = load_for_reading(config, active_queries=_active_queries)
        parked = (replace(f, message=f"{f.message}\n{PARKED}") for f in settings.parked.values())
        faults = [*invalid, *parked]
        if not faults:
            warnings += settings.warnings
            may_repeat = settings.may_repeat
            if settings.templates:
                # It imports Jinja, which a check without templates does without.
                from monitor.commands.sample_digest import template_faults

                faults += template_faults(settings.templates, settings.channels)
            has_examples = any(t.like and t.like.file for t in settings.topics.values())
            if has_examples or not _is_missing(settings.store):
                # It imports the store, which the first check has not.
                from monitor.commands.topic_trial import topic_warnings

                warnings += topic_warnings(settings)
    except ConfigError as error:
        faults = [*error.faults]
    print_faults(warnings, "bold yellow")
    if faults and not as_json:
        print_faults(faults, "bold red")
    else:
        document = {"ok": not faults, "faults": plain(faults), "warnings": plain(warnings)}
        document["may_repeat"] = list(may_repeat)
        Call(config, as_json=as_json).answer(document, _show_valid, config, may_repeat)
    raise typer.Exit(2 if faults else 0)


def _show_valid(config: Path, may_repeat: Sequence[str]) -> None:
    console.print(Text(f"{config} is valid.", "green"))
    for name in may_repeat:
        console.print(
            Text(
                f"channels.{name} may get a message twice, if the answer to it is lost or is an "
                "error; unknown: hold leaves such a message to you"
            )
        )


def _active_queries(url: str) -> Mapping[str, str]:
    # The store, which the first check has not.
    from monitor.commands.topic_trial import PATIENCE
    from monitor.store.engine.opening import queries_in_force

    return queries_in_force(url, PATIENCE)


def _is_missing(url: str) -> bool:
    """Return whether a store is a SQLite file that does not exist; loads no SQLAlchemy."""
    path = url.removeprefix("sqlite:///").partition("?")[0]
    return url.startswith("sqlite:///") and not Path(path).exists()
