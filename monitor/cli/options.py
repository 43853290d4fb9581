"""Options and arguments that several commands share, and how a command answers."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVarTuple

import typer

from monitor.errors import UsageError

Values = TypeVarTuple("Values")


def flag(name: str, summary: str, default: bool = False) -> Any:
    """Return an option that takes no value."""
    return typer.Option(default, name, help=summary)


def option(name: str, metavar: str, summary: str, default: Any = "", parser: Any = None) -> Any:
    return typer.Option(
        default, name, metavar=metavar, parser=parser, show_default=False, help=summary
    )


def argument(
    metavar: str, summary: str | None = None, default: Any = ..., parser: Any = None
) -> Any:
    return typer.Argument(default, metavar=metavar, parser=parser, show_default=False, help=summary)


def number(name: str, kind: type[int] | type[float] = int, least: int = 1) -> Callable[[str], Any]:
    """Return a parser for the value of `name`, a number; it raises UsageError."""
    words = "a whole number" if kind is int else "a number"

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = least - 1
        if not least <= value < 10**18:
            raise UsageError(f"{name} needs {words} from {least}, not {text!r}")
        return value

    return parse


def word(what: str, words: Sequence[str], more: str = "") -> Callable[[str], str]:
    """Return a parser for `what`, which is one of some words; it raises UsageError."""

    def parse(text: str) -> str:
        if text in words:
            return text
        raise UsageError(f"{text!r} is not {what}", f"there are: {', '.join(words)}{more}")

    return parse


# Schedules are worked out for some years around the current time.
YEARS = range(1970, 2970)


def parse_time(name: str, text: str, zone: tzinfo = UTC) -> datetime:
    """Read the value of `name`; a time without a zone is in `zone`. Raises UsageError."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = datetime.min
    if parsed.year not in YEARS:
        raise UsageError(
            f"{name}: {text!r} is not a valid ISO 8601 date or time",
            "for example 2026-11-21T08:00+01:00",
        )
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)


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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout.")]
Now = Annotated[
    datetime | None,
    typer.Option(
        "--now",
        metavar="ISO-8601",
        parser=lambda text: parse_time("--now", text),
        show_default=False,
        help="Act as if this were the current time.",
    ),
]


@dataclass(frozen=True, slots=True)
class Call:
    """The options that most commands have in common, as a command was called with them."""

    config: Config = CONFIG
    now: Now = None
    as_json: AsJson = False

    def answer(
        self, document: dict[str, Any], show: Callable[[*Values], None] | str, *values: *Values
    ) -> None:
        """Write JSON or a sentence, or show values."""
        if self.as_json:
            write_json(document)
        elif isinstance(show, str):
            typer.echo(show)
        else:
            show(*values)


def write_json(value: object) -> None:
    """Write JSON to stdout, in ASCII where that is not UTF-8."""
    is_ascii = "utf" not in (sys.stdout.encoding or "").lower()
    json.dump(value, sys.stdout, ensure_ascii=is_ascii, indent=2)
    sys.stdout.write("\n")
    sys.stdout.flush()


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as Typer takes it: in place of a `Call`, it has the options of one."""
    parameters = signature(command, eval_str=True).parameters
    if "call" not in parameters:
        return command
    common = signature(Call, eval_str=True).parameters

    def called(**options: Any) -> None:
        command(call=Call(*map(options.pop, common)), **options)

    own = [parameter for name, parameter in parameters.items() if name != "call"]
    vars(called)["__signature__"] = Signature([*own, *common.values()])
    return called


def full_command(words: str, config: Path) -> str:
    """Return a command of this program as a shell takes it, for the same configuration."""
    file = "" if config == CONFIG else f" --config {shlex.quote(str(config))}"
    return f"paper-monitor {words}{file}"


def finish(ok: bool) -> NoReturn:
    raise typer.Exit(0 if ok else 1)
