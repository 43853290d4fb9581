"""Commands that ask and change nothing: check, config, status, papers, explain, read, ..."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    Now,
    emit,
    finish,
    moment,
    open_configured,
    open_or_empty,
    open_to_read,
    pointing,
)
from monitor.errors import ConfigError, Fault

if TYPE_CHECKING:
    from monitor.commands.export import Format

topics = typer.Typer(help="Test a topic on the stored papers before using it.")


def check(config: Config = CONFIG, as_json: AsJson = False) -> None:
    """Check the configuration, topics and templates, and report every error."""
    from monitor.cli import report_output
    from monitor.commands import json_output
    from monitor.config import load
    from monitor.store.sqlite_files import is_missing

    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    try:
        settings = load(config)
        warnings = settings.warnings
        # Jinja and SQLAlchemy take long to import: only for what is there.
        if settings.templates:
            from monitor.digest.render import JinjaTemplates

            faults = tuple(JinjaTemplates(settings.templates).faults())
        if not is_missing(settings.store):
            from monitor.commands.topic_width import topic_warnings

            warnings = (*warnings, *topic_warnings(settings))
    except ConfigError as fault:
        from monitor.commands.topic_width import explain_parked_faults

        faults = explain_parked_faults(config, fault.faults)
    report_output.doubts(warnings)
    if as_json:
        emit(json_output.faults(faults, warnings))
    else:
        report_output.faults(faults) if faults else report_output.right(config)
    raise typer.Exit(2 if faults else 0)


def config(config: Config = CONFIG, as_json: AsJson = False) -> None:
    """Show the configuration in use, with secrets masked."""
    from monitor.app import load_settings
    from monitor.cli import report_output
    from monitor.config import masked as without_secrets

    masked = without_secrets(load_settings(config))
    if as_json:
        emit(masked)
    else:
        report_output.settings(masked)


def status(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    """Show the state of sources, subscriptions and deliveries, and why a digest was not sent."""
    from monitor.cli import report_output
    from monitor.commands import json_output
    from monitor.commands.status import status as findstatus

    with open_to_read(config, now) as app:
        report = findstatus(app.runtime)
    if as_json:
        emit(json_output.status(report))
    else:
        report_output.status(report)
    finish(report.ok)


def papers(
    query: Annotated[str, typer.Argument(metavar="QUERY", show_default=False)] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            max=10**18,
            help="Maximum number of papers (default: 50; all with --json; 10,000 with --format).",
        ),
    ] = None,
    format_: Annotated[
        Literal["bibtex", "ris", "csv", "json"] | None,
        typer.Option("--format", show_default=False, help="Write them for other programs."),
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Search stored papers with the topic language, newest first."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.search import search as find

    if format_ is not None:
        _export(query, limit, format_, config, now)
        return
    with open_to_read(config, now) as app, pointing(query):
        found = find(app.runtime, query, limit if as_json else limit or 50)
    if as_json:
        emit(paper_json.papers(found.papers))
    else:
        paper_output.papers(found)


def _export(query: str, limit: int | None, format_: Format, config: Path, now: str | None) -> None:
    """Write papers for other programs; say on stderr that there are more."""
    from monitor.commands.export import MAX_PAPERS, export
    from monitor.commands.find_papers import find_all

    most = limit or MAX_PAPERS
    with open_to_read(config, now) as app, pointing(query):
        found = find_all(app.runtime, query, most=most + 1)
        for piece in export(islice(found, most), format_):
            sys.stdout.write(piece)
        has_more = next(found, None) is not None
    if has_more:
        typer.echo(f"These are the newest {most:,}; --limit shows more.", err=True)


@topics.command("try")
def try_(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A query or a topic name.")],
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare", metavar="OTHER", help="Another query or topic name to compare with."
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            metavar="POINTS",
            min=0,
            help="Minimum total weight of the matched terms.",
        ),
    ] = 0,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Show which stored papers a query or topic would have matched."""
    from monitor.cli import paper_output
    from monitor.commands import json_output
    from monitor.commands.search import find_topic, read_query
    from monitor.commands.search import try_topic as find

    with open_or_empty(config, now) as app:
        topic = find_topic(app.runtime, query)
        with pointing(compare or ""):
            other = read_query(app.runtime, compare) if compare is not None else None
        with pointing(topic.query if topic else query):
            trial = find(app.runtime, topic or query, other, threshold)
    if as_json:
        emit(json_output.trial(trial))
    else:
        paper_output.trial(query, trial)


def explain(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="An id, identifier, link or title.")
    ],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Show where a paper came from, why it was new, what it matched and where it was sent."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.explain import explain as findexplanation

    with open_to_read(config, now) as app:
        explanation = findexplanation(app.runtime, paper)
    if as_json:
        emit(paper_json.explanation(explanation))
    else:
        paper_output.explanation(explanation)


class Form(StrEnum):
    """How a digest may be written."""

    PAGE = "page"
    EMAIL = "email"
    SLACK = "slack"


def preview(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", show_default=False)] = "",
    period: Annotated[
        str,
        typer.Option("--period", metavar="PERIOD", help="A past digest instead of the next one."),
    ] = "",
    channel: Annotated[
        Form, typer.Option("--channel", help="The form in which to write it.")
    ] = Form.PAGE,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", metavar="", help="Open the page in a browser.")
    ] = True,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Show a past or the next digest as a page, a mail or a Slack message. Sends nothing."""
    from monitor.cli import run_output
    from monitor.cli.terminal import open_pages
    from monitor.commands import json_output
    from monitor.commands.preview import preview as write_preview

    with open_configured(config, now, create=False) as app:
        written = write_preview(app.runtime, subscription, period, channel.value)
    if as_json:
        emit(json_output.previews(written))
        return
    run_output.rehearsals(written)
    if browser:
        open_pages(one.deliveries[0].reference for one in written)


def read(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="A kind of source, or the name of a configured source."
        ),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE")],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Read files as a source of this kind would. Stores nothing."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json, read_files

    readings = read_files.read(kind, files, config, moment(now))
    if as_json:
        emit(
            {
                "documents": [
                    paper_json.document(str(file), reading, kind) for file, reading in readings
                ]
            }
        )
    else:
        paper_output.documents(readings)
    finish(all(not found.error for _, found in readings))
