"""What the terminal shows of papers: searches, trials of topics, explanations, doubtful merges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.cli.terminal import at, console, count_of, stderr, table, with_mark
from monitor.model import MatchReason, Reading

if TYPE_CHECKING:
    from monitor.commands.doubtful_joins import Doubtful, Doubts
    from monitor.commands.explain import Explanation
    from monitor.commands.search import Comparison, Day, Sample, Searched, Trial


def papers(searched: Searched) -> None:
    if searched.papers:
        rows = table("Id", "First seen", "Title", "Source", right=("Id",))
        for one in searched.papers:
            stored = one.stored
            names = ", ".join(dict.fromkeys(sighting.source for sighting in one.sightings))
            day = f"{stored.first_seen.astimezone():%Y-%m-%d}"
            rows.add_row(str(stored.id), day, escape(stored.paper.title), escape(names))
        console.print(rows)
    if searched.more:
        console.print(f"The newest {len(searched.papers):,}; use --limit to see more.")
    else:
        console.print(f"{count_of(len(searched.papers))}.")


def trial(query: str, result: Trial) -> None:
    share = f", {result.share:.1%} of all stored papers" if result.papers else ""
    console.print(f"[bold]{escape(query)}[/] matches {count_of(result.papers).lower()}{share}.\n")
    days = _last_days(result.per_day)
    most = max((count for _, count in days), default=1)
    for day, count in days:
        bar = "█" * max(bool(count), round(40 * count / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{count:,}")
    _samples("Best matches, with the matched words:", result.sample)
    if result.compare:
        _comparison(result.compare)
    for warning in result.warnings:
        stderr.print(with_mark(Text("!", "bold yellow"), warning))


def _last_days(per_day: Sequence[Day]) -> list[tuple[str, int]]:
    """Return every day up to the last one that had papers, 30 at most: quiet ones have none."""
    counts = {day.day: day.papers for day in per_day}
    if not counts:
        return []
    first, last = date.fromisoformat(min(counts)), date.fromisoformat(max(counts))
    days = [last - timedelta(days=n) for n in range(min(30, (last - first).days + 1))]
    return [(str(day), counts.get(str(day), 0)) for day in reversed(days)]


def _comparison(comparison: Comparison) -> None:
    console.print(
        f"\n[bold]{escape(comparison.query)}[/] matches {count_of(comparison.papers).lower()}: "
        f"{comparison.gained:,} gained, {comparison.lost:,} lost."
    )
    _samples("Gained:", comparison.gained_sample)
    _samples("Lost:", comparison.lost_sample)


def _samples(heading: str, samples: Sequence[Sample]) -> None:
    if samples:
        console.print(f"\n{heading}\n")
    for sample in samples:
        console.print(Padding(_highlight(sample), (0, 0, 0, 2), expand=False))
        console.print(Padding(Text(_words(sample.why), "dim"), (0, 0, 0, 4), expand=False))


def _highlight(sample: Sample) -> Text:
    text = Text(sample.title)
    for why in sample.why:
        if why.field == "title":
            for start, end in why.spans:
                text.stylize("bold yellow", start, end)
    return text


def _words(whys: Sequence[MatchReason]) -> str:
    return "; ".join(f"{why.field}: {', '.join(why.words)}" for why in whys)


def explanation(found: Explanation) -> None:
    console.print(f"[bold]{escape(found.paper.title)}[/]\n")
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, text in _facts(found):
        grid.add_row(label, Text(text))
    console.print(grid)


def _facts(found: Explanation) -> Iterator[tuple[str, str]]:
    yield (
        "Paper",
        f"{found.id}, first seen {at(found.first_seen)}"
        + (", withdrawn" if found.paper.withdrawn else ""),
    )
    for scheme, value in found.paper.keys.items():
        for one in (value,) if isinstance(value, str) else value:
            yield "Identifier", f"{scheme}:{one}"
    for seen in found.sources:
        document = f", {seen.document}" if seen.document else ""
        title = f", “{seen.text.title}”" if seen.text else ""
        because = f": {seen.why}" if seen.why else ""
        yield "Source", f"{seen.source}{document}, {at(seen.first_seen)}{title}{because}"
    for joined in found.joined:
        yield "Joined", f"paper {joined.id}, {at(joined.at)}: {joined.why}"
    for ruling in found.rulings:
        yield "Ruling", f"{ruling.one} and {ruling.other} are {ruling.verdict}, {at(ruling.at)}"
    yield from _news(found)
    if not found.topics:
        yield "Topics", "no topic matched" if found.news_at else "not matched, since it is not news"
    for topic in found.topics:
        # The words may be gone: the paper reads otherwise now than when the topic met it.
        words = f", {_words(topic.why)}" if topic.why else ""
        yield "Topic", f"{topic.topic} (score {topic.score:.2f}){words}"
    if not found.digests:
        yield "Digests", "not in any digest yet"
    for digest in found.digests:
        place = f", number {digest.place} in its topic" if digest.place else ""
        because = f": {digest.reason}" if digest.reason else ""
        yield "Digest", f"{digest.subscription}, {digest.period}{place}{because}"


def _news(found: Explanation) -> Iterator[tuple[str, str]]:
    if not found.news_at:
        yield "News", "none: the first reading of its source is not announced (see first_run)"
    elif not found.changes:
        yield "News", f"{at(found.news_at)}; the details were removed (see retention)"
    for change in found.changes:
        yield "News", f"{change.kind}, {at(change.at)}" + (f": {change.why}" if change.why else "")


def doubtful(doubts: Doubts, command: str) -> None:
    for one in doubts.found:
        console.print(f"[bold]{one.paper_id}  {escape(one.title)}[/]")
        grid = Table.grid(padding=(0, 3))
        grid.add_column(style="dim")
        grid.add_column(overflow="fold")
        for label, text in _doubt(one):
            grid.add_row(label, Text(text))
        console.print(grid)
        console.print(Text(f"{one.command(command)}\n"), soft_wrap=True)
    console.print(
        f"{len(doubts.found):,} of {doubts.joins:,} merges are doubtful; {doubts.unjudged:,} "
        "cannot be checked, because the texts of their records are not stored"
    )


def _doubt(doubtful: Doubtful) -> Iterator[tuple[str, str]]:
    for seen in doubtful.doubt.records:
        title = f", “{seen.text.title}”" if seen.text else ""
        yield "Record", f"{seen.source}/{seen.raw_id}{title}"
    if doubtful.doubt.why:
        yield "Joined by", doubtful.doubt.why
    yield "Refused today" if doubtful.doubt.judged else "Doubtful", doubtful.doubt.reason


def documents(readings: Sequence[tuple[Path, Reading]]) -> None:
    rows = table("File", "Papers", "Rejected", "Error", right=("Papers", "Rejected"))
    for file, found in readings:
        counts = (str(len(found.papers)), str(len(found.rejected)))
        rows.add_row(escape(str(file)), *counts, escape(found.error))
    console.print(rows)
    for file, found in readings:
        for part in found.rejected:
            stderr.print(f"{escape(str(file))}, {escape(part.where)}: {escape(part.why)}")
