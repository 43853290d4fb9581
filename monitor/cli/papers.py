"""Stored papers: searched, merged and split, and the records that could not be stored."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

import typer

from monitor.cli.opening import open_configured, open_to_read, pointing
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, finish, flag
from monitor.cli.terminal import at, console, count_of, reading, show_table
from monitor.cli.work import runs_json, show_runs
from monitor.commands.export import MAX_PAPERS, export
from monitor.commands.export import Format as ExportFormat
from monitor.commands.identity import merge, split
from monitor.commands.json_output import Answer, papers_json, pick
from monitor.commands.paper_search import FoundPaper, find_all
from monitor.model import Run, UndecidedRecord
from monitor.store.papers import undecided
from monitor.text import clean

PAPER = "An id, identifier, link or title."
# Papers that a table shows without `--limit`.
TABLE_LIMIT = 50
Format = Annotated[
    ExportFormat | None,
    typer.Option("--format", show_default=False, help="Write them for other programs."),
]


def papers_search(
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
    format_: Format = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    default = MAX_PAPERS if format_ else sys.maxsize - 1 if as_json else TABLE_LIMIT
    most = limit or default
    with open_to_read(config, now) as app, pointing(query):
        papers = find_all(app.runtime, query, most=most + 1)
        if format_:
            write_export(islice(papers, most), format_)
            if next(papers, None) is not None:
                typer.echo(f"These are the newest {most:,}; --limit shows more.", err=True)
            return
        listed = list(papers)
    shown, has_more = listed[:most], len(listed) > most
    answer(as_json, lambda: papers_json(shown), lambda: show_papers(shown, has_more))


def write_export(papers: Iterable[FoundPaper], format_: ExportFormat) -> None:
    for piece in export(papers, format_):
        sys.stdout.write(piece)


def show_papers(papers: Sequence[FoundPaper], has_more: bool = False) -> None:
    if papers:
        rows = [
            (
                str(hit.stored.id),
                f"{hit.stored.first_seen.astimezone():%Y-%m-%d}",
                hit.stored.paper.title,
                ", ".join(dict.fromkeys(sighting.source for sighting in hit.sightings)),
            )
            for hit in papers
        ]
        show_table(("Id", "First seen", "Title", "Source"), rows, right=("Id",))
    if has_more:
        console.print(f"The newest {len(papers):,}; use --limit to see more.")
    else:
        console.print(f"{count_of(len(papers))}.")


def papers_merge(
    references: Annotated[list[str], typer.Argument(metavar="PAPER", help=PAPER)],
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_configured(config, now, create=False) as app:
        merged = merge(app.runtime, references)
    answer(as_json, papers_json, show_papers, [merged])


def papers_split(
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
    with open_configured(config, now, create=False) as app:
        both = split(app.runtime, paper, what, title)
    answer(as_json, papers_json, show_papers, both)


def papers_undecided(
    retry: Annotated[bool, flag("--retry", "Try them again, and match new papers.")] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    runs: list[Run] = []
    with open_configured(config, now, create=False) as app:
        if retry:
            with reading(quiet=as_json) as on_progress:
                runs = app.retry_undecided(on_progress)
            app.match()
        with app.runtime.database.reading() as tx:
            records = undecided.listing(tx)
    answer(as_json, _undecided_json, _show_undecided, records, runs)
    finish(not (retry and records))


def _undecided_json(records: Sequence[UndecidedRecord], runs: Sequence[Run]) -> Answer:
    return {
        "undecided": [
            pick(record, "source document raw_id error version")
            | {
                "read": record.at.isoformat(),
                "tried": record.tried_at.isoformat(),
                "record": json.loads(record.text),
            }
            for record in records
        ],
        **runs_json(runs),
    }


def _show_undecided(records: Sequence[UndecidedRecord], runs: Sequence[Run]) -> None:
    if runs:
        show_runs(runs)
    if not records:
        console.print("No record is undecided.")
        return
    rows = []
    for record in records:
        title = clean(str(json.loads(record.text).get("title", record.raw_id)))
        rows.append((record.source, record.document, title, at(record.at), record.error))
    show_table(("Source", "Document", "Title", "Read", "Error"), rows)
    console.print(f"{count_of(len(records), 'record')} will be tried again after an upgrade.")
