"""`papers`: searched with the topic language, rated, merged and split for good."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, finish, open_configured
from monitor.cli.rating_commands import rate, rated, save, saved
from monitor.cli.report_commands import papers as search

PAPER = "An id, identifier, link or title."


class Library(TyperGroup):
    """`papers` with a query, or alone, searches."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["search", *args]
        return super().parse_args(ctx, args)


papers = typer.Typer(
    cls=Library, help="Search and rate stored papers; merge duplicates and separate wrong merges."
)
papers.command("search")(search)
for answer in (rate, save, rated, saved):
    papers.command(answer.__name__)(answer)


@papers.command()
def merge(
    wanted: Annotated[list[str], typer.Argument(metavar="PAPER", help=PAPER)],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Permanently merge duplicate papers. Papers already sent are not sent again."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.identity import merge as corrected
    from monitor.commands.search import Searched

    with open_configured(config, now, create=False) as app:
        one = corrected(app.runtime, wanted)
    if as_json:
        emit(paper_json.papers([one]))
    else:
        paper_output.papers(Searched((one,)))


@papers.command()
def split(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=PAPER)],
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT", help="An identifier, SOURCE/RAW-ID, or a source to separate."
        ),
    ],
    title: Annotated[
        str, typer.Option("--title", metavar="TITLE", help="Title of the separated paper.")
    ] = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Permanently separate a record that was wrongly merged."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.identity import split as corrected
    from monitor.commands.search import Searched

    with open_configured(config, now, create=False) as app:
        both = corrected(app.runtime, paper, what, title)
    if as_json:
        emit(paper_json.papers(both))
    else:
        paper_output.papers(Searched(both))


@papers.command()
def doubtful(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """List merges that the current rules would reject, with a command to undo each."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.doubtful_joins import doubtful as judged

    with open_configured(config, now) as app:
        found = judged(app.runtime)
    command = "paper-monitor papers split"
    if config != CONFIG:
        command += f" --config {shlex.quote(str(config))}"
    if as_json:
        emit(paper_json.doubtful(found, command))
    else:
        paper_output.doubtful(found, command)


@papers.command()
def undecided(
    retry: Annotated[
        bool, typer.Option("--retry", metavar="", help="Try them again, and match new papers.")
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """List records that an error kept from being stored; the others of their documents were."""
    from monitor.cli import run_output, terminal
    from monitor.commands import json_output
    from monitor.commands.undecided import undecided as kept
    from monitor.model import Run

    runs: list[Run] = []
    with open_configured(config, now, create=False) as app:
        if retry:
            with terminal.reading(quiet=as_json) as on_progress:
                runs = app.retry_undecided(on_progress)
            app.match()
        records = kept(app.runtime)
    if as_json:
        emit(json_output.undecided(records) | json_output.runs(runs))
    else:
        if runs:
            run_output.runs(runs)
        run_output.undecided(records)
    finish(not (retry and records))
