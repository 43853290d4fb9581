"""Readers' ratings of papers: stored, listed and deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from monitor.cli.opening import open_configured, open_to_read
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, emit, flag
from monitor.cli.papers import Format, show_papers, write_export
from monitor.cli.terminal import console, show_table
from monitor.commands import ratings
from monitor.commands.json_output import papers_json, rated_json
from monitor.commands.ratings import Rated, Whose
from monitor.digest.wording import format_count
from monitor.errors import UsageError

OfSubscription = Annotated[
    str,
    typer.Option(
        "--subscription", metavar="NAME", show_default=False, help="Only for this subscription."
    ),
]
OfTopic = Annotated[
    str,
    typer.Option("--topic", metavar="NAME", show_default=False, help="Only for this topic."),
]


def papers_rate(  # noqa: PLR0913 - the options of a command
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="An id, identifier, link or title.")
    ] = None,
    verdict: Annotated[
        Literal["up", "down", "none"] | None,
        typer.Argument(
            metavar="VERDICT", help="`up` for more like it, `down` for less, `none` takes it back."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Rate the papers of a CSV or BibTeX file."),
    ] = None,
    topic: OfTopic = "",
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    if file and paper:
        raise UsageError("name a paper, or a file with --file, but not both")
    if not file and not (paper and verdict):
        raise UsageError("name a paper, and up, down or none", "or a file with --file")
    whose = Whose(subscription, topic)
    with open_configured(config, now, create=False) as app:
        if not file:
            rated = ratings.rate(app.runtime, paper or "", verdict or "", whose)
            answer(as_json, rated_json, _show, rated)
            return
        result = ratings.rate_file(app.runtime, file, whose)
    if as_json:
        left_out = [{"paper": name, "why": why} for name, why in result.left_out]
        emit({"rated": result.rated, "left_out": left_out})
        return
    typer.echo(f"{format_count(result.rated, 'paper')} rated.")
    for name, why in result.left_out:
        typer.echo(f"{name}: {why}", err=True)


def papers_save(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="As for `papers rate`.")],
    topic: OfTopic = "",
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_configured(config, now, create=False) as app:
        rated = ratings.rate(app.runtime, paper, "save", Whose(subscription, topic))
    answer(as_json, rated_json, _show, rated)


def papers_rated(
    forget: Annotated[bool, flag("--forget", "Delete the answers of the subscription.")] = False,
    topic: OfTopic = "",
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    whose = Whose(subscription, topic)
    if not forget:
        with open_to_read(config, now) as app:
            rated = ratings.rated(app.runtime, whose)
        answer(as_json, rated_json, _show, rated)
        return
    with open_configured(config, now, create=False) as app:
        count = ratings.forget(app.runtime, whose)
    if as_json:
        emit({"forgotten": count})
    else:
        typer.echo(f"{format_count(count, 'answer')} deleted.")


def papers_saved(
    subscription: OfSubscription = "",
    format_: Format = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    with open_to_read(config, now) as app:
        papers = ratings.saved(app.runtime, subscription)
    if format_:
        write_export(papers, format_)
    else:
        answer(as_json, papers_json, show_papers, papers)


def _show(ratings: tuple[Rated, ...]) -> None:
    if ratings:
        columns = ("Id", "Title", "Verdict", "Topic", "Subscription", "Who")
        rows = [
            (str(r.paper_id), title, r.verdict, r.topic, r.subscription, r.who)
            for r, title in ((rated.judgement, rated.title) for rated in ratings)
        ]
        show_table(columns, rows, right=("Id",))
    console.print(f"{format_count(len(ratings), 'answer')}.")
