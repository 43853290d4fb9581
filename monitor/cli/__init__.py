"""The command line. It is an interface: names, JSON and exit codes are held by tests.

Exit status: 0 done, 1 something failed (it says what), 2 wrong usage or configuration.
The module of a command is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from monitor.cli.options import with_common_options
from monitor.commit import find_commit
from monitor.errors import NEAREST_NAMES, ConfigError, MonitorError, UsageError

# Most commands create fewer objects than this. Garbage collection at Python's own threshold takes a
# tenth of their time and frees little.
GC_THRESHOLD = 200_000

DESCRIPTION = (
    "Collects new research papers, filters out duplicates, "
    "and sends each subscriber a digest of matches."
)
# The help of each command, by the panel of `--help` that lists it or its group.
COMMANDS = {
    "Start": {
        "demo": "Write digests of four sample dumps as local pages. Needs no account.",
        "init": "Write a commented monitor.yaml that works as is, with your topic and address.",
        "check": "Check the configuration, topics and templates, and report every error.",
    },
    "Work": {
        "run": "Run `ingest` and `digest` once, for use with cron.",
        "serve": "Run as a service: read sources, send digests on schedule, and serve the pages.",
        "worker": "Run a worker process for a PostgreSQL store; jobs are queued by `serve`.",
        "ingest": "Read all sources, or those named, and match new papers.",
        "digest": "Compose and send the digests that are due.",
        "web serve": "Serve the pages alone, beside a service with `--no-pages`.",
        "web login": "Print an address that logs the operator in, once and within 15 minutes.",
    },
    "Ask": {
        "status": "Show the state of everything, and why a digest was not sent.",
        "subscriptions": "Show who gets what and when, and how many papers wait.",
        "references": "Show what became of the papers of libraries: retracted, published, nothing.",
        "explain": "Show where a paper came from, what it matched and where it was sent.",
        "preview": "Show a past or the next digest in the form of a channel. Sends nothing.",
        "read": "Read files as a source of this kind would. Stores nothing.",
        "papers search": "Search stored papers with the topic language, newest first.",
        "papers rate": "Rate a paper; later digests are ordered by it.",
        "papers save": "Save a paper; it counts as wanted. `papers rate PAPER none` takes it back.",
        "papers rated": "List the answers that order digests, newest first.",
        "papers saved": "List saved papers, the last saved first.",
        "papers merge": "Permanently merge duplicate papers. Nothing is sent again.",
        "papers split": "Permanently separate a record that was wrongly merged.",
        "papers unmark": "Permanently undo the mark of a paper that was withdrawn by mistake.",
        "papers look-up": "Ask services what the records of papers do not say, and fill it in.",
        "papers unfill": "Take out what services filled in of a paper, permanently.",
        "papers doubtful": "List merges that the current rules would reject.",
        "papers undecided": "List records that an error kept from being stored.",
        "templates preview": "Show digests of the sample papers in each form. Sends nothing.",
        "topics list": "List the topics, and how many subscriptions have each.",
        "topics try": "Show which stored papers a query or topic would have matched.",
        "topics words": "Show the words by which a topic with `like:` matches, and their weights.",
        "topics relearn": "Learn the words of a topic with `like:` again, as a new version.",
    },
    "Operate": {
        "config": "Show the configuration in use, with secrets masked.",
        "doctor": "Check the installation and explain how to fix problems.",
        "send-test": "Send a test message to the recipients of subscriptions.",
        "backup": "Copy a SQLite store to a file, also while the service is running.",
        "restore": "Restore a backup. Deliveries that may have been sent are held.",
        "deliveries list": "List the deliveries, newest first.",
        "deliveries retry": "Retry a failed, waiting or suppressed delivery now.",
        "deliveries resolve": "Mark an uncertain delivery as sent, or send it again.",
        "suppressions list": "List who is sent nothing, until when, and who asked for it.",
        "suppressions add": "Send a recipient nothing more, permanently or until a date.",
        "suppressions lift": "Send a recipient digests again, beginning with the next.",
        "suppressions confirm": "Confirm the list after a restore that could not read it.",
        "mail login": "Log in once to the account from which mail is sent.",
    },
}
# Words that people try for a command, with the words before them in a group, and what is nearest.
NEAREST = {
    **dict.fromkeys(("people", "readers", "recipients", "subscribers", "users"), "subscriptions"),
    **dict.fromkeys(("feeds", "sources"), "status"),
    **dict.fromkeys(("pause", "stop", "unsubscribe"), "suppressions add"),
    **dict.fromkeys(("resume", "subscribe"), "suppressions lift"),
    **dict.fromkeys(
        (f"suppressions {verb}" for verb in ("delete", "remove", "rm")), "suppressions lift"
    ),
    **dict.fromkeys(("start", "up"), "serve"),
    "fetch": "ingest",
    "send": "digest",
    "validate": "check",
}
# Options that people try, and where they find what they mean.
NEAREST_OPTIONS = dict.fromkeys(
    ("--channel", "--channels", "--email", "--recipient", "--to"),
    "`channels:` or `email:` of a subscription in monitor.yaml say where its digests go; "
    "`paper-monitor preview --channel` shows one in the form of a channel.",
)
# The module of a command that is not named by its first word.
MODULES = {
    "start": ("demo", "config"),
    "work": ("run", "ingest", "digest"),
    "service": ("serve", "worker", "web serve", "web login"),
    "doubtful": ("papers doubtful",),
    "look_up": ("papers look-up", "papers unfill"),
    "previews": ("preview", "templates preview", "send-test"),
    "store": ("backup", "restore"),
}
# The help of each group, and the command that it runs if none is named.
GROUPS = {
    "papers": (
        "Search and rate stored papers; merge duplicates and separate wrong merges.",
        "search",
    ),
    "templates": ("See what your templates make of the sample papers.", ""),
    "topics": ("List topics, and test one on the stored papers before using it.", "list"),
    "deliveries": ("List, retry and resolve deliveries.", "list"),
    "suppressions": (
        "List, add and lift suppressions: recipients who are sent nothing more.",
        "list",
    ),
    "web": ("Serve the pages alone, or log in to them.", "serve"),
    "mail": ("Log in to a mail account without a password.", ""),
}


# Click's, of which newer versions of Typer have a copy. An unknown option has `possibilities`.
_USAGE_ERROR: Any = typer.BadParameter.__base__


class PlainHelp(TyperCommand):
    """A command whose help names parameters, and not the types of the program."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse further arguments; one that names a configuration is answered with `--config`."""
        ctx.allow_extra_args = True
        try:
            extra = super().parse_args(ctx, args)
        except _USAGE_ERROR as fault:
            if not hasattr(fault, "possibilities"):
                raise
            name = fault.option_name
            hint = _nearest_options(
                name, [opt for each in self.get_params(ctx) for opt in each.opts]
            )
            ctx.fail(f"No such option: {name}" + (f". {hint}" if hint else ""))
        if extra and not ctx.resilient_parsing:
            has_config = any(param.name == "config" for param in self.params)
            file = next((word for word in extra if word.endswith((".yaml", ".yml"))), "")
            hint = f"; write -c {file} for another configuration" if file and has_config else ""
            if not hint and any(param.metavar == "QUERY" for param in self.params):
                hint = "; write a query of several words in quotes"
            ctx.fail(f"Got unexpected extra argument(s) ({', '.join(map(repr, extra))}){hint}")
        return extra


def _nearest_options(name: str, own: Sequence[str]) -> str:
    """Say which option an unknown one probably means, or which other commands have it."""
    bare = {option.strip("-"): option for option in own if option.startswith("--")}
    if near := get_close_matches(name.strip("-"), bare, n=1, cutoff=0.7):
        return f"Did you mean {bare[near[0]]}?"
    if name in NEAREST_OPTIONS:
        return NEAREST_OPTIONS[name]
    paths = [path for summaries in COMMANDS.values() for path in summaries]
    have_it = [path for path in paths if any(name in each.opts for each in _load(path).params)]
    named = [f"`paper-monitor {path}`" for path in have_it[:NEAREST_NAMES]]
    return f"It is an option of {' and '.join(named)}." if named else ""


def _load(path: str) -> Any:
    return LazyCommand(path, "", None).load()


def _without_types(params: list[Any]) -> list[Any]:
    """Keep types such as `<str>` out of the help of parameters."""
    for param in params:
        if param.param_type_name == "argument":
            param.display_type_rich = lambda **_: None
        elif param.is_flag and param.metavar is None:
            param.metavar = ""
    return params


class LazyCommand(PlainHelp):
    """A command as its group lists it; `load` imports the module of its function."""

    def __init__(self, path: str, summary: str, panel: str | None) -> None:
        name = path.rpartition(" ")[2]
        super().__init__(name, help=summary, rich_help_panel=panel, rich_markup_mode="rich")
        self.path = path

    def load(self) -> Any:
        """Return the command; its function is named as it: `papers_rate` for `papers rate`."""
        own = (module for module, paths in MODULES.items() if self.path in paths)
        module = import_module(f"monitor.cli.{next(own, self.path.partition(' ')[0])}")
        function = getattr(module, self.path.replace(" ", "_").replace("-", "_"))
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        single.command(self.name, cls=PlainHelp)(with_common_options(function))
        command = typer.main.get_command(single)
        command.help = self.help
        return command


class LazyGroup(TyperGroup):
    """A group that loads the command that is called; without a name of one it calls `default`."""

    default = ""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        word = args[0] if args else "-"
        is_query = self.default == "search" and word not in self.commands
        is_help = word in ctx.help_option_names
        if self.default and not is_help and (word.startswith("-") or is_query):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not args[0].startswith("-"):
            group = ctx.command_path.partition(" ")[2]
            ctx.fail(f"No such command {args[0]!r}. {_nearest_commands(group, args[0])}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest


def _nearest_commands(group: str, word: str) -> str:
    """Say which commands an unknown word of a group, or "" for the program, probably means."""
    summaries = {path: text for panel in COMMANDS.values() for path, text in panel.items()}
    asked = f"{group} {word}".strip()
    paths = [NEAREST[asked]] if asked in NEAREST else []
    paths = paths or [path for path in summaries if path.endswith(f" {word}")]
    if not paths:
        own = [
            path for path in (*summaries, *GROUPS) if path.startswith(f"{group} " if group else "")
        ]
        paths = get_close_matches(asked, own, n=NEAREST_NAMES, cutoff=0.7) or own * bool(group)
    listed = (f"paper-monitor {path}: {summaries.get(path) or GROUPS[path][0]}" for path in paths)
    return "\n".join(("Did you mean this?", *listed)) if paths else ""


class Commands(LazyGroup):
    """All commands and their groups."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for panel, summaries in COMMANDS.items():
            for path, summary in summaries.items():
                group = self._group(path.rpartition(" ")[0], panel)
                group.add_command(LazyCommand(path, summary, panel if group is self else None))

    def _group(self, name: str, panel: str) -> Any:
        """Return the group of this name, a new one when its first command is added."""
        if not name:
            return self
        if name not in self.commands:
            summary, default = GROUPS[name]
            group = LazyGroup(name=name, help=summary, rich_help_panel=panel, no_args_is_help=False)
            group.default = default
            self.add_command(group)
        return self.commands[name]


app = typer.Typer(
    name="paper-monitor",
    cls=Commands,
    help=DESCRIPTION,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        commit = find_commit()
        of = f" (commit {commit[:12]})" if commit else ""
        typer.echo(f"paper-monitor {version('paper-monitor')}{of}")
        raise typer.Exit


@app.callback(help=DESCRIPTION)
def _root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; errors are sentences on stderr, with the status that fits them."""
    gc.set_threshold(GC_THRESHOLD)
    # A last collection at exit would take 0.2 seconds.
    atexit.register(gc.freeze)
    # NumPy would start a thread for each processor, which takes as long as to import it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="paper-monitor")
    except ConfigError as fault:
        from monitor.cli.terminal import print_faults  # rich is needed only for its colours

        print_faults(fault.faults, "bold red")
        sys.exit(2)
    except MonitorError as fault:
        typer.echo(f"paper-monitor: {fault}", err=True)
        sys.exit(2 if isinstance(fault, UsageError) else 1)
    except OSError as fault:
        file = f"{fault.filename}: " if fault.filename else ""
        typer.echo(f"paper-monitor: {file}{fault.strerror or fault}", err=True)
        sys.exit(1)
