"""Topics: listed, and tried on the stored papers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from monitor.cli.opening import open_configured, open_or_empty, open_to_read, pointing
from monitor.cli.options import Call, argument, number, option
from monitor.cli.terminal import at, console, list_words, show_table, with_sign
from monitor.commands.json_output import like_trial_json, trial_json, words_json
from monitor.commands.like_trial import (
    LikeTrial,
    WordsReport,
    like_of,
    relearn,
    try_like,
    with_bar,
    words_of_topic,
)
from monitor.commands.subscriptions import TopicReport, report_topics
from monitor.commands.topic_trial import (
    Sample,
    Trial,
    topic_of,
    try_topic,
)
from monitor.config.yaml_positions import quote_yaml
from monitor.digest.paper_json import plain
from monitor.digest.wording import format_count, format_rate, shorten_text
from monitor.errors import UsageError
from monitor.match import parse_topic
from monitor.match.like import WHOLE, is_bar
from monitor.match.suggestions import Suggestion
from monitor.model import DayCount, LikeWords, Topic


def topics_list(call: Call) -> None:
    with open_to_read(call) as app:
        runtime = app.runtime
        listed = list(report_topics(runtime, runtime.topics, runtime.subscriptions))
    call.answer({"topics": plain(listed)}, _show_list, listed)


def _show_list(listed: Sequence[TopicReport]) -> None:
    rows = [(t.name, t.query, t.subscriptions, t.papers_7_days) for t in listed]
    show_table(("Topic", "Query", "Subscriptions", "Last 7 days"), rows, "There are no topics yet.")


def topics_words(call: Call, name: str = argument("NAME", "A topic with `like:`.")) -> None:
    with open_to_read(call) as app:
        report = words_of_topic(app.runtime, name)
    call.answer(words_json(report), _show_words, report)


def topics_relearn(call: Call, name: str = argument("NAME", "A topic with `like:`.")) -> None:
    with open_configured(call, create=False) as app:
        report = relearn(app.runtime, name)
    call.answer(words_json(report), _show_words, report)


def _show_words(report: WordsReport) -> None:
    words = report.words
    made = f"version {words.version}, {at(words.at)}" if words.at else "not put in force yet"
    examples = f", {format_count(words.examples, 'example')}" if words.examples else ""
    console.print(f"[bold]{escape(report.topic)}[/] ({made}{examples}), bar {words.bar:.3g}\n")
    _show_weights(words)
    for name in words.missing:
        console.print(with_sign("!", "bold yellow", f"no example: {name}"))
    added = [change.word for change in report.changes if change.add]
    dropped = [change.word for change in report.changes if not change.add]
    for what, proposed in (("add to the text", added), ("drop", dropped)):
        if proposed:
            console.print(Text(f"\nBy the answers of readers, {what}: {', '.join(proposed)}"))


def _show_weights(words: LikeWords) -> None:
    most = max(word.weight for word in words.words)
    for word in words.words:
        bar = "█" * max(1, round(30 * word.weight / most))
        line = Text(f"{shorten_text(word.written, 24):24}  ")
        console.print(line.append(bar, "cyan").append(f" {word.weight / WHOLE:.1%}"))


def topics_try(
    call: Call,
    query: str = argument("QUERY", "A query or a topic name.", default=""),
    like: str = option("--like", "TEXT|FILE", "A text, or a file with a text or with examples."),
    at_least: float | None = option(
        "--at-least",
        "BAR",
        "With --like or a topic that has it: how near a paper must be, from 0 to 1.",
        None,
        number("--at-least", float, 0),
    ),
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
    if at_least is not None and not is_bar(at_least):
        raise UsageError("--at-least needs a number above 0, up to 1", "as in --at-least 0.3")
    if like:
        _try_like(call, query, like, at_least)
        return
    if not query:
        raise UsageError("there is no query to try", "write a query, or --like with a text")
    with open_or_empty(call) as app:
        topic = topic_of(app.runtime, query)
        if topic.like and not topic.query and compare is None:
            _answer_like(call, try_like(app.runtime, with_bar(topic, at_least)))
            return
        if at_least is not None and not topic.like:
            raise UsageError("--at-least is the bar of a text", "write --like with the text")
        topic = structs.replace(with_bar(topic, at_least), threshold=threshold or topic.threshold)
        with pointing(compare or ""):
            other = None if compare is None else parse_topic(topic_of(app.runtime, compare))
        with pointing(topic.query):
            trial = try_topic(app.runtime, topic, other)
    call.answer(trial_json(trial), _show, query, trial)


def _try_like(call: Call, query: str, given: str, at_least: float | None) -> None:
    if query:
        raise UsageError("a query and --like are tried one by one", "leave one of them out")
    topic = Topic("", "", like=like_of(given, at_least))
    with open_or_empty(call) as app, pointing(given):
        trial = try_like(app.runtime, topic)
    _answer_like(call, trial)


def _answer_like(call: Call, trial: LikeTrial) -> None:
    call.answer(like_trial_json(trial), _show_like, trial)


def _show_like(trial: LikeTrial) -> None:
    _show_weights(trial.words)
    console.print(
        f"\n{format_count(trial.papers, 'paper')} of the newest {trial.looked_at:,} "
        f"{'reaches' if trial.papers == 1 else 'reach'} the bar of {trial.words.bar:.3g}"
        f"{', ' if trial.papers else ''}{format_rate(trial.a_day)}.\n"
    )
    _show_days(trial.days)
    if not trial.nearest:
        console.print("\nNo stored paper has one of the words.")
        return
    console.print("\nThe nearest, with their words:\n")
    bar = Text(f"  {'─' * 8} bar {trial.words.bar:.3g} {'─' * 40}", "yellow")
    reaching = sum(paper.matches for paper in trial.listed)
    for place, paper in enumerate(trial.listed):
        if place == len(trial.nearest) and trial.unlisted:
            console.print(f"\n  {format_count(trial.unlisted, 'more paper')}\n")
        if place == reaching:
            console.print(bar)
        console.print(Text(f"  {paper.score:.3f}  {paper.title}"), soft_wrap=True)
        console.print(Padding(Text(list_words(paper.why), "dim"), (0, 0, 0, 9), expand=False))
    if reaching == len(trial.listed):
        console.print(bar)


def _show(query: str, trial: Trial) -> None:
    share = f", {trial.share:.1%} of all stored papers" if trial.papers else ""
    console.print(
        f"[bold]{escape(query)}[/] matches {format_count(trial.papers, 'paper')}{share}.\n"
    )
    _show_days(trial.days)
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


def _show_days(counts: Sequence[DayCount]) -> None:
    days = [(count.day, count.papers or 0) for count in counts[-30:]]
    most = max((papers for _, papers in days), default=1)
    for day, papers in days:
        bar = "█" * max(bool(papers), round(40 * papers / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{papers:,}")


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
