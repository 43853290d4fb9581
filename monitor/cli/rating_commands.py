"""`papers rate`, `papers save`, `papers rated` and `papers saved`: readers' answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from monitor.cli.options import CONFIG, AsJson, Config, Now, emit, open_configured, open_to_read
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.commands.ratings import Rated, Whose

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


def rate(  # noqa: PLR0913 - the options of a command
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
    """Say which papers you want more of, or less: the next digests are ordered by it."""
    from monitor.commands.ratings import Whose
    from monitor.commands.ratings import rate as answer

    whose = Whose(subscription, topic)
    if file and paper:
        raise UsageError("name a paper, or a file with --file, but not both")
    if file:
        _rate_file(file, whose, config, now, as_json)
        return
    if not paper or not verdict:
        raise UsageError("name a paper, and up, down or none", "or a file with --file")
    with open_configured(config, now, create=False) as app:
        answers = answer(app.runtime, paper, verdict, whose)
    _show(answers, as_json)


def _rate_file(file: Path, whose: Whose, config: Path, now: str | None, as_json: bool) -> None:
    from monitor.commands.ratings import rate_file
    from monitor.digest.wording import format_count

    with open_configured(config, now, create=False) as app:
        result = rate_file(app.runtime, file, whose)
    if as_json:
        left_out = [{"paper": paper, "why": why} for paper, why in result.left_out]
        emit({"rated": result.rated, "left_out": left_out})
        return
    typer.echo(f"{format_count(result.rated, 'paper')} rated.")
    for paper, why in result.left_out:
        typer.echo(f"{paper}: {why}", err=True)


def save(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="As for `papers rate`.")],
    topic: OfTopic = "",
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """Save a paper; it counts as wanted. `papers rate PAPER none` takes it back."""
    from monitor.commands.ratings import Whose
    from monitor.commands.ratings import rate as answer

    with open_configured(config, now, create=False) as app:
        answers = answer(app.runtime, paper, "save", Whose(subscription, topic))
    _show(answers, as_json)


def rated(
    forget: Annotated[
        bool, typer.Option("--forget", metavar="", help="Delete the answers of the subscription.")
    ] = False,
    topic: OfTopic = "",
    subscription: OfSubscription = "",
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """List the answers that order digests, newest first."""
    from monitor.commands.ratings import Whose
    from monitor.commands.ratings import forget as drop
    from monitor.commands.ratings import rated as given
    from monitor.digest.wording import format_count

    whose = Whose(subscription, topic)
    if not forget:
        with open_to_read(config, now) as app:
            answers = given(app.runtime, whose)
        _show(answers, as_json)
        return
    with open_configured(config, now, create=False) as app:
        count = drop(app.runtime, whose)
    if as_json:
        emit({"forgotten": count})
    else:
        typer.echo(f"{format_count(count, 'answer')} deleted.")


def saved(
    subscription: OfSubscription = "",
    format_: Annotated[
        Literal["bibtex", "ris", "csv", "json"] | None,
        typer.Option("--format", show_default=False, help="Write them for other programs."),
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    """List saved papers, the last saved first."""
    from monitor.cli import paper_output
    from monitor.commands import paper_json
    from monitor.commands.export import export
    from monitor.commands.ratings import saved as kept
    from monitor.commands.search import Searched

    with open_to_read(config, now) as app:
        found = kept(app.runtime, subscription)
    if format_:
        for piece in export(found, format_):
            sys.stdout.write(piece)
    elif as_json:
        emit(paper_json.papers(found))
    else:
        paper_output.papers(Searched(found))


def _show(answers: tuple[Rated, ...], as_json: bool) -> None:
    from monitor.cli import rating_output
    from monitor.commands import paper_json

    if as_json:
        emit(paper_json.rated(answers))
    else:
        rating_output.as_table(answers)
