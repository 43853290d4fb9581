"""`papers`: searched with the topic language, merged and split for good."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, opened
from monitor.cli.report_commands import papers as search

PAPER = "An id, key, link or title."


class Library(TyperGroup):
    """`papers` with a query, or alone, searches."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["search", *args]
        return super().parse_args(ctx, args)


papers = typer.Typer(
    cls=Library, help="Search the papers stored; say which are one work, and which are not."
)
papers.command("search")(search)


@papers.command()
def merge(
    wanted: Annotated[list[str], typer.Argument(metavar="PAPER", help=PAPER)],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Make one of papers that are one work, for good; what was sent of any was sent of it."""
    from monitor.cli import json_output, paper_output
    from monitor.commands.identity import merge as corrected
    from monitor.commands.search import Searched

    with opened(config, now, create=False) as app:
        one = corrected(app.runtime, wanted)
    if as_json:
        emit(json_output.papers([one]))
    else:
        paper_output.papers(Searched((one,)))


@papers.command()
def split(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=PAPER)],
    what: Annotated[
        list[str], typer.Argument(metavar="WHAT", help="A key, SOURCE/RAW-ID, or a source.")
    ],
    title: Annotated[str, typer.Option("--title", metavar="TITLE", help="Of the new paper.")] = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Make a paper of its own of what was taken for another, for good."""
    from monitor.cli import json_output, paper_output
    from monitor.commands.identity import split as corrected
    from monitor.commands.search import Searched

    with opened(config, now, create=False) as app:
        both = corrected(app.runtime, paper, what, title)
    if as_json:
        emit(json_output.papers(both))
    else:
        paper_output.papers(Searched(both))


@papers.command()
def doubtful(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """List joins that today's rules would refuse, with the command that splits each."""
    from monitor.cli import json_output, paper_output
    from monitor.commands.doubtful_joins import doubtful as judged

    with opened(config, now) as app:
        found = judged(app.runtime)
    command = "paper-monitor papers split"
    if config != CONFIG:
        command += f" --config {shlex.quote(str(config))}"
    if as_json:
        emit(json_output.doubtful(found, command))
    else:
        paper_output.doubtful(found, command)
