"""Topics: listed, and tried on the stored papers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from monitor.cli.opening import open_or_empty, open_to_read, pointing
from monitor.cli.options import Call, argument, number, option
from monitor.cli.terminal import console, list_words, show_table, with_sign
from monitor.commands.json_output import trial_json
from monitor.commands.subscriptions import TopicReport, report_topics
from monitor.commands.topic_trial import (
    Sample,
    Trial,
    topic_of,
    try_topic,
)
from monitor.config.yaml_positions import quote_yaml
from monitor.digest.paper_json import plain
from monitor.digest.wording import format_count
from monitor.match import parse_topic
from monitor.match.suggestions import Suggestion


def topics_list(call: Call) -> None:
    with open_to_read(call) as app:
        runtime = app.runtime
        listed = list(report_topics(runtime, runtime.topics, runtime.subscriptions))
    call.answer({"topics": plain(listed)}, _show_list, listed)


def _show_list(listed: Sequence[TopicReport]) -> None:
    rows = [(t.name, t.query, t.subscriptions, t.papers_7_days) for t in listed]
    show_table(("Topic", "Query", "Subscriptions", "Last 7 days"), rows, "There are no topics yet.")


def topics_try(
    call: Call,
    query: str = argument("QUERY", "A query or a topic name."),
    compare: str | None = option(
        "--compare", "OTHER", "Another query or topic name to compare with.", default=None
    ),
    threshold: float = option(
        "--threshold",
        "POINTS",
        "Minimum total weight of the matched terms.",
        0,
        number("--threshold", float, 0),
    ),
) -> None:
    with open_or_empty(call) as app:
        topic = topic_of(app.runtime, query)
        topic = structs.replace(topic, threshold=threshold or topic.threshold)
        with pointing(compare or ""):
            other = None if compare is None else parse_topic(topic_of(app.runtime, compare))
        with pointing(topic.query):
            trial = try_topic(app.runtime, topic, other)
    call.answer(trial_json(trial), _show, query, trial)


def _show(query: str, trial: Trial) -> None:
    share = f", {trial.share:.1%} of all stored papers" if trial.papers else ""
    console.print(
        f"[bold]{escape(query)}[/] matches {format_count(trial.papers, 'paper')}{share}.\n"
    )
    days = [(count.day, count.papers or 0) for count in trial.days[-30:]]
    most = max((papers for _, papers in days), default=1)
    for day, papers in days:
        bar = "█" * max(bool(papers), round(40 * papers / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{papers:,}")
    _show_samples("Best matches, with the matched words:", trial.sample)
    if other := trial.compare:
        console.print(
            f"\n[bold]{escape(other.query)}[/] matches {format_count(other.papers, 'paper')}: "
            f"{other.gained:,} gained, {other.lost:,} lost."
        )
        _show_samples("Gained:", other.gained_sample)
        _show_samples("Lost:", other.lost_sample)
    _show_suggestions(trial.suggestions)
    for warning in trial.warnings:
        console.print(with_sign("!", "bold yellow", warning))


def _show_suggestions(suggestions: Sequence[Suggestion]) -> None:
    if suggestions:
        among = f"of the newest {suggestions[0].looked_at:,} with such words"
        console.print(f"\nMay be missing (papers that each would add, {among}):\n")
    for each in suggestions:
        terms = f"{escape(each.term)} → [bold]{escape(each.alternative)}[/]"
        console.print(f"  {terms} +{each.papers:,}")
        console.print(Text(f"    query: {quote_yaml(each.query)}", "dim"), soft_wrap=True)


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
