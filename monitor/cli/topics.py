"""A topic tried on the stored papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from monitor.cli.opening import open_or_empty, pointing
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer, argument, option
from monitor.cli.terminal import console, count_of, list_words, stderr, with_sign
from monitor.commands.json_output import trial_json
from monitor.commands.topic_trial import (
    Comparison,
    Sample,
    Trial,
    find_topic,
    read_query,
    try_topic,
)


def topics_try(
    query: Annotated[str, argument("QUERY", "A query or a topic name.")],
    compare: Annotated[
        str | None, option("--compare", "OTHER", "Another query or topic name to compare with.")
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
    with open_or_empty(config, now) as app:
        topic = find_topic(app.runtime, query)
        with pointing(compare or ""):
            other = read_query(app.runtime, compare) if compare is not None else None
        with pointing(topic.query if topic else query):
            trial = try_topic(app.runtime, topic or query, other, threshold)
    answer(as_json, trial_json(trial), _show, query, trial)


def _show(query: str, trial: Trial) -> None:
    share = f", {trial.share:.1%} of all stored papers" if trial.papers else ""
    console.print(f"[bold]{escape(query)}[/] matches {count_of(trial.papers).lower()}{share}.\n")
    counts = [(day.day, day.papers or 0) for day in trial.days[-30:]]
    most = max((count for _, count in counts), default=1)
    for day, count in counts:
        bar = "█" * max(bool(count), round(40 * count / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{count:,}")
    _show_samples("Best matches, with the matched words:", trial.sample)
    if trial.compare:
        _show_comparison(trial.compare)
    for warning in trial.warnings:
        stderr.print(with_sign("!", "bold yellow", warning))


def _show_comparison(comparison: Comparison) -> None:
    console.print(
        f"\n[bold]{escape(comparison.query)}[/] matches {count_of(comparison.papers).lower()}: "
        f"{comparison.gained:,} gained, {comparison.lost:,} lost."
    )
    _show_samples("Gained:", comparison.gained_sample)
    _show_samples("Lost:", comparison.lost_sample)


def _show_samples(heading: str, samples: Sequence[Sample]) -> None:
    if samples:
        console.print(f"\n{heading}\n")
    for sample in samples:
        title = Text(sample.title)
        for reason in sample.why:
            for start, end in reason.spans if reason.field == "title" else ():
                title.stylize("bold yellow", start, end)
        console.print(Padding(title, (0, 0, 0, 2), expand=False))
        console.print(Padding(Text(list_words(sample.why), "dim"), (0, 0, 0, 4), expand=False))
